//===- Fp8Megatron.cpp - Megatron-LM's flags of FP8 and FP4 ===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//
// Defaults and what is refused: megatron/training/arguments.py and
// megatron/core/transformer/transformer_config.py.

#include "Fp8Reader.h"

#include "llvm/ADT/StringSwitch.h"

using namespace llvm;
using namespace mpopt;

/// The recipe by name; null for `custom`.
static const Fp8Recipe *findRecipe(StringRef name, bool isHybrid,
                                   bool isRecent) {
  return Fp8Recipe::byName(
      StringSwitch<StringRef>(name)
          .Case("delayed", isRecent ? "delayed_recent" : "delayed")
          .Case("tensorwise", "current")
          .Case("blockwise", "block128")
          .Case("mxfp8", isHybrid ? "mxfp8_e5m2" : "mxfp8")
          .Default(""));
}

static void judgeRecipe(const Section &flags, StringRef format,
                        StringRef recipe) {
  if (recipe == "mxfp8" && format == "hybrid")
    flags.blame("mxfp8-e5m2", "fp8-format",
                "is hybrid with --fp8-recipe mxfp8: gradients have E5M2's two "
                "bits under scales of 32 elements, and runs diverge. e4m3 "
                "keeps one more");
  if (recipe == "delayed") {
    judgeHistory(flags, "fp8-amax-history-len", "fp8-amax-compute-algo", 1,
                 "most_recent");
    if (flags.has("first-last-layers-bf16"))
      flags.blame(kRefused, "first-last-layers-bf16",
                  "is refused with --fp8-recipe delayed");
  }
  if (flags.has("fp8-output-proj") && recipe != "mxfp8")
    flags.blame(kRefused, "fp8-output-proj",
                "is for --fp8-recipe mxfp8 only, and the recipe is " + recipe);
  judgeMargin(flags, "fp8-margin");
}

/// Flags that count with FP8 or FP4 only.
static void judgeParameters(const Section &flags, bool isOn, bool isMx) {
  if (flags.has("fp8-param-gather")) {
    bool isSharded = flags.has("use-distributed-optimizer") ||
                     flags.has("use-torch-fsdp2") ||
                     flags.has("use-megatron-fsdp") ||
                     flags.has("use-custom-fsdp");
    if (!isOn)
      flags.blame(kRefused, "fp8-param-gather",
                  "is refused without --fp8-format");
    else if (!isSharded)
      flags.blame(kRefused, "fp8-param-gather",
                  "is refused without --use-distributed-optimizer");
  }
  StringRef reuse = "reuse-grad-buf-for-mxfp8-param-ag";
  bool overlaps =
      flags.has("overlap-grad-reduce") && flags.has("overlap-param-gather");
  if (flags.has(reuse) && !(isMx && flags.has("fp8-param-gather")))
    flags.blame(kRefused, reuse,
                "is for --fp8-recipe mxfp8 with --fp8-param-gather only");
  else if (flags.has(reuse) && !overlaps)
    flags.blame(kRefused, reuse,
                "without --overlap-grad-reduce and --overlap-param-gather "
                "gathers parameters into a buffer that still holds gradients: "
                "NaN from the second step on");
}

/// Which layers stay in BF16.
static void readEnds(const Section &flags, bool isFp4, TrainFp8 &fp8) {
  bool isKept = flags.has("first-last-layers-bf16");
  int64_t start = flags.integer("num-layers-at-start-in-bf16", 0).value_or(1);
  int64_t end = flags.integer("num-layers-at-end-in-bf16", 0).value_or(1);
  std::optional<int64_t> layers = flags.integer("num-layers", 1);
  if (isKept) {
    fp8.keptAtStart = start;
    fp8.keptAtEnd = end;
  }
  if (isKept && layers && start + end >= *layers)
    flags.blame("fp8-layers", "first-last-layers-bf16",
                "keeps " + Twine(start) +
                    " layers at the start "
                    "(--num-layers-at-start-in-bf16) and " +
                    Twine(end) + " at the end of " + Twine(*layers) +
                    " in BF16: none is left");
  if (isFp4 && !isKept)
    flags.blame("fp8-layers", "fp4-format",
                "puts every linear layer in FP4: training diverges unless some "
                "stay in BF16 (--first-last-layers-bf16)");
}

static void judgeSizes(const Section &flags, const Fp8Recipe &recipe) {
  for (StringRef key : {"hidden-size", "ffn-hidden-size"})
    if (std::optional<int64_t> size = flags.integer(key, 1);
        size && *size % recipe.multiple)
      flags.blame("fp8-sizes", key,
                  Twine(*size) + " is no multiple of " +
                      Twine(recipe.multiple) +
                      ", which kernels of the recipe need");
}

void mpopt::readMegatronFp8(ConfigReader &reader, const Section &flags) {
  TrainFp8 &fp8 = reader.config.fp8;
  std::optional<std::string> format = flags.word("fp8-format");
  std::optional<std::string> fp4 = flags.word("fp4-format");
  std::optional<std::string> said = flags.word("fp8-recipe");
  std::string recipe = said.value_or("delayed");
  flags.ignore({"fp8-interval", "fp8-wgrad", "no-fp8-wgrad", "fp4-recipe",
                "fp8-amax-history-len", "fp8-amax-compute-algo", "fp8-margin",
                "fp4-param-gather"});
  bool isOpen = flags.isOpen("fp8-format") || flags.isOpen("fp8-recipe");
  if (format && fp4)
    flags.blame(kRefused, "fp4-format",
                "is refused beside --fp8-format: one of them");
  if (said && !format && !fp4 && !isOpen)
    flags.blame(kRefused, "fp8-recipe",
                "without --fp8-format: nothing is in FP8");
  if (!isOpen)
    judgeParameters(flags, format || fp4, recipe == "mxfp8");
  StringRef on = format ? "fp8-format" : "fp4-format";
  if (format || fp4) {
    fp8.by = flags.keyOf(on);
    fp8.recipe = fp4 ? Fp8Recipe::byName("nvfp4_2d")
                     : findRecipe(recipe, format == "hybrid", false);
    if (!reader.config.precision || reader.config.precision == "fp32")
      flags.blame("fp8-without-bf16", on,
                  "without --bf16: all that is not a product of a linear layer "
                  "is FP32, and nothing of it is faster");
    if (flags.word("transformer-impl").value_or("transformer_engine") ==
        "local")
      flags.blame(kRefused, "transformer-impl",
                  "is local, which has no FP8: it needs transformer_engine");
    readEnds(flags, fp4 && !format, fp8);
    if (fp8.recipe)
      judgeSizes(flags, *fp8.recipe);
  }
  if (format && !isOpen)
    judgeRecipe(flags, *format, recipe);
  for (StringRef key : {"exp-avg-sq-dtype"})
    if (flags.type(key) == TrainType::F8)
      flags.blame(
          "fp8-moments", key,
          "is fp8: second moments are squares, whose span E4M3 does not "
          "hold, and become 0; the step is divided by epsilon there");
}
