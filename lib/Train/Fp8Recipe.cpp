//===- Fp8Recipe.cpp - TransformerEngine's recipes in files ===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//
// mpopt-fp8-recipe/1 has the fields of the classes of
// transformer_engine/common/recipe/__init__.py, and those of Accelerate's
// `fp8_config` as accelerate/commands/launch.py reads it.

#include "Fp8Reader.h"

#include "llvm/ADT/STLExtras.h"
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

/// DelayedScaling has two algorithms.
static void judgeAlgorithm(const Section &section, StringRef algorithm) {
  if (algorithm != "max" && algorithm != "most_recent")
    section.blame(kRefused, "amax_compute_algo",
                  "is " + shown(algorithm) + ", none of max and most_recent");
}

/// Fields that the class of the recipe refuses or does not have.
static void judgeFields(const Section &recipe, StringRef name) {
  bool isOfBlocks = name == "block128", isDelayed = name.starts_with("delayed"),
       isFp4 = name.starts_with("nvfp4");
  for (StringRef key : {"fp8_dpa", "fp8_mha"})
    if (isOfBlocks && recipe.truth(key) == true)
      recipe.blame(kRefused, key,
                   "is true, which is refused with scales of blocks");
  auto isSquare = [&](StringRef key, int64_t usual) {
    return isOfBlocks && recipe.integer(key, 1).value_or(usual) == 2;
  };
  bool x = isSquare("x_block_scaling_dim", 1),
       w = isSquare("w_block_scaling_dim", 2),
       gradient = isSquare("grad_block_scaling_dim", 1);
  if (x + w + gradient > 1)
    recipe.blame(kRefused, x ? "x_block_scaling_dim" : "grad_block_scaling_dim",
                 "is 2 beside another 2: no kernel multiplies two operands in "
                 "square blocks");
  if (isDelayed && recipe.word("backward_override"))
    recipe.blame(kRefused, "backward_override",
                 "is refused with delayed scales");
  for (StringRef key : {"amax_history_len", "amax_compute_algo", "reduce_amax"})
    if (!isDelayed && recipe.take(key))
      recipe.blame(kRefused, key,
                   "is a field of DelayedScaling alone, and the recipe has "
                   "scales of the tensor itself");
  judgeAlgorithm(recipe, recipe.word("amax_compute_algo").value_or("max"));
  if (std::string format = recipe.word("fp8_format").value_or("E4M3");
      isFp4 && StringRef(format).upper() != "E4M3")
    recipe.blame(kRefused, "fp8_format",
                 "is " + shown(format) + ", and scales of NVFP4 are E4M3");
  if (std::string scope = recipe.word("nvfp4_4over6").value_or("none");
      isFp4 && scope != "none" && recipe.truth("disable_rht") != true)
    recipe.blame(kRefused, "nvfp4_4over6",
                 "is not implemented beside rotations (disable_rht)");
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
  judgeFields(top, known);
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
  top.ignore({"fp8_gemm_fprop", "fp8_gemm_dgrad", "fp8_gemm_wgrad", "fp8_dpa",
              "fp8_mha", "disable_stochastic_rounding", "disable_rht",
              "backward_override", "nvfp4_4over6", "x_block_scaling_dim",
              "w_block_scaling_dim", "grad_block_scaling_dim"});
  top.warnOfOthers();
}

//===----------------------------------------------------------------------===//
// Accelerate
//===----------------------------------------------------------------------===//

/// True if the setting is a list, or the tuple that Python prints, of three
/// times true: one for each product of a linear layer.
static bool isAllTrue(const ConfigNode *setting) {
  if (!setting)
    return false;
  SmallVector<StringRef> products;
  if (setting->kind == ConfigNode::Kind::List)
    for (const ConfigNode &item : setting->items)
      products.push_back(item.text);
  else
    StringRef(setting->text).split(products, ',');
  return products.size() == 3 && llvm::all_of(products, [](StringRef product) {
           return product.trim(" ()[]").equals_insensitive("true");
         });
}

static void judgeEngine(const Section &settings, TrainFp8 &fp8) {
  std::string algorithm =
      StringRef(settings.word("amax_compute_algo").value_or("max")).lower();
  judgeAlgorithm(settings, algorithm);
  if (settings.truth("use_mxfp8_block_scaling") == true) {
    // Fields that have the launcher's own default are not passed on.
    fp8.setRecipe("mxfp8");
    if (settings.integer("amax_history_len", 0).value_or(1024) != 1024)
      settings.blame(kRefused, "amax_history_len",
                     "is refused with use_mxfp8_block_scaling");
    if (settings.has("amax_compute_algo") && algorithm != "most_recent")
      settings.blame(kRefused, "amax_compute_algo",
                     "is refused with use_mxfp8_block_scaling");
    return;
  }
  for (auto [wrong, right] : {std::pair<StringRef, StringRef>{
                                  "amax_history_length", "amax_history_len"},
                              {"amax_compute_algorithm", "amax_compute_algo"}})
    if (settings.has(wrong))
      settings.blame(kRefused, wrong,
                     "is passed over: the launcher reads " + right);
  if (isAllTrue(settings.take("override_linear_precision")))
    settings.blame(kRefused, "override_linear_precision",
                   "has true for all three products: nothing is in FP8");
  // TERecipeKwargs' own defaults.
  judgeHistory(settings, "amax_history_len", "amax_compute_algo", 1024,
               "most_recent");
  judgeFormat(settings, "fp8_format", fp8);
  judgeMargin(settings, "margin", fp8);
}

/// Settings that another backend reads.
static void judgeOthers(const Section &settings, StringRef backend) {
  constexpr std::pair<StringLiteral, StringLiteral> kReaders[] = {
      {"fp8_format", "TE"},
      {"amax_history_len", "TE"},
      {"amax_compute_algo", "TE"},
      {"override_linear_precision", "TE"},
      {"margin", "TE"},
      {"interval", "TE"},
      {"use_mxfp8_block_scaling", "TE"},
      {"pad_inner_dim", "AO"},
      {"enable_fsdp_float8_all_gather", "AO"},
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
  fp8.isTorchao = isTorch;
  if (!settings)
    return;
  judgeOthers(settings, isTorch ? "AO" : backend);
  // FP8BackendType's, and the other name of one.
  constexpr StringLiteral kBackends[] = {"TE", "MSAMP", "AO", "TORCHAO"};
  if (!llvm::is_contained(kBackends, backend))
    settings.blame(kRefused, "backend",
                   "is " + shown(backend) + ", none of AO, TE and MSAMP");
  if (!isTorch) {
    if (backend == "TE")
      judgeEngine(settings, fp8);
    return;
  }
  Section fsdp = top.section("fsdp_config");
  if (fsdp && fsdp.truth("fsdp_cpu_ram_efficient_loading").value_or(false))
    fsdp.blame(kRefused, "fsdp_cpu_ram_efficient_loading",
               "is true, which is refused with backend " + backend);
  if (settings.truth("pad_inner_dim").value_or(true))
    fp8.misfits = TrainFp8::Misfits::Padded;
  else
    fp8.by = settings.keyOf("pad_inner_dim");
  int64_t version = fsdp.integer("fsdp_version", 1).value_or(1);
  if (settings.truth("enable_fsdp_float8_all_gather") == true && version < 2)
    settings.blame(kRefused, "enable_fsdp_float8_all_gather",
                   "is FSDP2's, and fsdp_version is " + Twine(version));
}
