//===- Fp8Recipe.cpp - TransformerEngine's recipes in files ===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//
// mpopt-fp8-recipe/1 has the fields of the classes of
// transformer_engine/common/recipe/__init__.py, and those of Accelerate's
// `fp8_config` as accelerate/commands/launch.py reads it.

#include "Fp8Reader.h"

#include "llvm/ADT/StringSwitch.h"

#include <limits>

using namespace llvm;
using namespace mpopt;

//===----------------------------------------------------------------------===//
// mpopt-fp8-recipe/1
//===----------------------------------------------------------------------===//

static void judgeSums(const Section &recipe, bool isOfBlocks, TrainFp8 &fp8) {
  for (StringRef gemm :
       {"fp8_gemm_fprop", "fp8_gemm_dgrad", "fp8_gemm_wgrad"}) {
    Section section = recipe.section(gemm);
    if (section.truth("use_split_accumulator") != false)
      continue;
    if (isOfBlocks)
      section.blame(
          kRefused, "use_split_accumulator",
          "is false, which is refused with scales of blocks: they are "
          "applied between parts of the sum");
    else if (gemm == "fp8_gemm_wgrad")
      fp8.addsOnce = section.keyOf("use_split_accumulator");
  }
}

static void judgeFp4(const Section &recipe, const TrainFp8 &fp8) {
  bool isEven = recipe.truth("disable_stochastic_rounding").value_or(false);
  bool isPlain = recipe.truth("disable_rht").value_or(false);
  if (isEven && isPlain)
    recipe.blame(
        kScaling, "disable_stochastic_rounding",
        "and disable_rht: gradients in FP4 that are rounded to nearest "
        "are biased, and outliers take their blocks' codes");
  if (fp8.filters.empty())
    recipe.blame(
        "fp8-layers", "recipe",
        "puts every linear layer in FP4: training diverges unless some "
        "stay in BF16 (disable)");
}

void mpopt::readFp8Recipe(ConfigReader &reader, const Section &top) {
  TrainFp8 &fp8 = reader.config.fp8;
  top.ignore({"schema", "world", "interval"});
  fp8.filters = top.words("disable").value_or(std::vector<std::string>());
  fp8.filtersBy = top.keyOf("disable");
  // Largest codes, E5M2's, over it have to be FP32 numbers.
  constexpr double kLeast = 57344.0 / std::numeric_limits<float>::max();
  if (std::optional<double> least = top.number("least");
      least && *least < kLeast)
    fp8.noEpsilon = top.keyOf("least");
  std::string name = top.word("recipe").value_or("DelayedScaling");
  bool isPlain = top.truth("disable_2d_quantization").value_or(false);
  auto known = StringSwitch<StringRef>(name)
                   .Case("DelayedScaling", "delayed")
                   .Case("Float8CurrentScaling", "current")
                   .Case("Float8BlockScaling", "block128")
                   .Case("MXFP8BlockScaling", "mxfp8")
                   .Case("NVFP4BlockScaling", isPlain ? "nvfp4" : "nvfp4_2d")
                   .Default(name);
  fp8.setRecipe(known);
  fp8.by = top.keyOf("recipe");
  if (!fp8.recipe)
    return top.fail("recipe", "'" + shown(name) +
                                  "' is no recipe of TransformerEngine, nor "
                                  "one of mpopt's");
  judgeFormat(top, "fp8_format", fp8);
  judgeMargin(top, "margin", fp8);
  if (known == "delayed")
    judgeHistory(top, "amax_history_len", "amax_compute_algo", 1024, "max");
  judgeSums(top, known == "block128", fp8);
  if (StringRef(known).starts_with("nvfp4"))
    judgeFp4(top, fp8);
  bool isSplit = top.truth("sequence_parallel").value_or(false);
  if (top.truth("reduce_amax") == false && isSplit)
    top.blame(
        kScaling, "reduce_amax",
        "is false under sequence parallelism: each rank sees other tokens "
        "of one tensor and has a scale of its own, and reads gathered "
        "codes by it");
  top.ignore({"fp8_gemm_fprop", "fp8_gemm_dgrad", "fp8_gemm_wgrad",
              "amax_history_len", "amax_compute_algo", "fp8_dpa", "fp8_mha",
              "disable_stochastic_rounding", "disable_rht"});
  top.warnOfOthers();
}

//===----------------------------------------------------------------------===//
// Accelerate
//===----------------------------------------------------------------------===//

static void judgeEngine(const Section &settings, TrainFp8 &fp8) {
  for (auto [wrong, right] : {std::pair<StringRef, StringRef>{
                                  "amax_history_length", "amax_history_len"},
                              {"amax_compute_algorithm", "amax_compute_algo"}})
    if (settings.has(wrong))
      settings.blame(kRefused, wrong,
                     "is passed over: the launcher reads " + right);
  // TERecipeKwargs' own defaults.
  judgeHistory(settings, "amax_history_len", "amax_compute_algo", 1024,
               "most_recent");
  judgeFormat(settings, "fp8_format", fp8);
  judgeMargin(settings, "margin", fp8);
}

/// Settings that another backend reads.
static void judgeOthers(const Section &settings, StringRef backend) {
  constexpr std::pair<StringLiteral, StringLiteral> kReaders[] = {
      {"fp8_format", "TE"},        {"amax_history_len", "TE"},
      {"amax_compute_algo", "TE"}, {"override_linear_precision", "TE"},
      {"pad_inner_dim", "AO"},     {"enable_fsdp_float8_all_gather", "AO"},
      {"opt_level", "MSAMP"}};
  for (auto [key, reader] : kReaders)
    if (settings.has(key) && reader != backend)
      settings.blame(kRefused, key,
                     "is passed over: it is of backend " + reader +
                         ", and the backend is " + backend);
}

void mpopt::readAccelerateFp8(ConfigReader &reader, const Section &top,
                              bool isOn) {
  Section settings = top.section("fp8_config");
  if (!settings && !isOn)
    return;
  if (settings && !isOn) {
    top.blame(kRefused, "fp8_config",
              "has no effect: mixed_precision is " +
                  top.word("mixed_precision").value_or("no") + ", not fp8");
    return;
  }
  TrainFp8 &fp8 = reader.config.fp8;
  fp8.by = top.keyOf("mixed_precision");
  std::string backend =
      StringRef(settings.word("backend").value_or("TE")).upper();
  bool isTorch = backend == "AO" || backend == "TORCHAO";
  fp8.setRecipe(isTorch ? "current" : "delayed");
  if (!settings)
    return;
  judgeOthers(settings, isTorch ? "AO" : backend);
  if (!isTorch) {
    if (backend == "TE")
      judgeEngine(settings, fp8);
    return;
  }
  if (settings.truth("pad_inner_dim").value_or(false))
    fp8.misfits = TrainFp8::Misfits::Padded;
  else
    fp8.by = settings.keyOf("pad_inner_dim");
  int64_t version =
      top.section("fsdp_config").integer("fsdp_version", 1).value_or(1);
  if (settings.truth("enable_fsdp_float8_all_gather") == true && version < 2)
    settings.blame(kRefused, "enable_fsdp_float8_all_gather",
                   "is FSDP2's, and fsdp_version is " + Twine(version));
}
