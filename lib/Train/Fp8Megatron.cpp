//===- Fp8Megatron.cpp - Megatron-LM's flags of FP8 and FP4 ===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//
// Defaults and what is refused: megatron/training/arguments.py and
// megatron/core/transformer/transformer_config.py.

#include "Fp8Reader.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace llvm;
using namespace mpopt;

/// The recipe by its name in Megatron-LM; empty for `custom`.
static StringRef toOwn(StringRef name) {
  return StringSwitch<StringRef>(name)
      .Case("delayed", "delayed")
      .Case("tensorwise", "current")
      .Case("blockwise", "block128")
      .Case("mxfp8", "mxfp8")
      .Default("");
}

static void judgeRecipe(const Section &flags, StringRef recipe, TrainFp8 &fp8) {
  judgeFormat(flags, "fp8-format", fp8);
  if (fp8.recipe && flags.has("no-fp8-wgrad"))
    fp8.recipe->wideWeightGradient = true;
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
  judgeMargin(flags, "fp8-margin", fp8);
}

/// True if a word of the flag's value, which may be a list, is `word`.
static bool lists(const Section &flags, StringRef key, StringRef word) {
  const ConfigNode *node = flags.take(key);
  if (!node)
    return false;
  SmallVector<StringRef> words;
  StringRef(node->text).split(words, ' ');
  return llvm::is_contained(words, word) ||
         llvm::any_of(node->items, [&](const ConfigNode &item) {
           return item.text == word;
         });
}

/// Flags that other flags make void or refused.
static void judgeCombinations(const Section &flags, bool isOn, bool isFp8,
                              StringRef recipe) {
  bool recomputes = lists(flags, "recompute-modules", "moe_act") ||
                    lists(flags, "recompute-modules", "layernorm");
  std::string dispatcher =
      flags.word("moe-token-dispatcher-type").value_or("allgather");
  bool isDense = dispatcher == "allgather" || dispatcher == "alltoall_seq";
  bool isCustom = isFp8 && recipe == "custom";
  bool gathers = flags.has("fp8-param-gather");
  std::string padding =
      !isOn ? "is refused without --fp8-format or --fp4-format"
            : "is refused with --moe-token-dispatcher-type " + dispatcher;
  const struct {
    StringLiteral key;
    bool isWrong;
    std::string text;
  } kinds[] = {
      {"recompute-modules", isFp8 && recipe == "delayed" && recomputes,
       "has moe_act or layernorm, which is refused with --fp8-recipe delayed"},
      {"moe-router-padding-for-quantization", !isOn || isDense, padding},
      {"moe-router-padding-for-fp8", !isOn || isDense, padding},
      {"fp8-recipe", isCustom && !flags.has("fp8-quantizer-factory"),
       "is custom, which is refused without --fp8-quantizer-factory"},
      {"fp8-quantizer-factory", isFp8 && !isCustom,
       ("is passed over: it is for --fp8-recipe custom, and the recipe is " +
        recipe)
           .str()},
      {"fp4-param-gather", !flags.has("fp4-format"),
       "is refused without --fp4-format"},
      {"optimizer-cpu-offload", gathers && recipe != "delayed",
       ("is refused beside --fp8-param-gather with --fp8-recipe " + recipe +
        ": with delayed only")
           .str()},
      {"moe-single-grouped-weight", isFp8 && recipe != "mxfp8",
       ("is for --fp8-recipe mxfp8 only, and the recipe is " + recipe).str()},
      {"activation-func-fp8-input-store", !flags.has("swiglu"),
       "is refused without --swiglu"},
      {"fp8-dot-product-attention", isFp8 && recipe == "blockwise",
       "is passed over: --fp8-recipe blockwise has no FP8 attention"},
      {"fp8-param-gather", isOn && flags.has("use-torch-fsdp2"),
       "is turned off under --use-torch-fsdp2: TransformerEngine 2 gathers "
       "16 bits there"},
      {"overlap-param-gather-with-optimizer-step",
       flags.has("reuse-grad-buf-for-mxfp8-param-ag"),
       "is refused beside --reuse-grad-buf-for-mxfp8-param-ag"},
  };
  for (const auto &kind : kinds)
    if (flags.has(kind.key) && kind.isWrong)
      flags.blame(kRefused, kind.key, kind.text);
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
  int64_t stages = flags.integer("pipeline-model-parallel-size", 1).value_or(1);
  for (auto [key, count] :
       {std::pair<StringRef, int64_t>{"num-layers-at-start-in-bf16", start},
        {"num-layers-at-end-in-bf16", end}})
    if (isKept && layers && stages > 1 && count > *layers / stages &&
        start + end < *layers)
      flags.blame(kRefused, flags.has(key) ? key : "first-last-layers-bf16",
                  "keeps " + Twine(count) + " layers in BF16, more than the " +
                      Twine(*layers / stages) + " of a pipeline stage");
  for (StringRef key :
       {"num-layers-at-start-in-bf16", "num-layers-at-end-in-bf16"})
    if (!isKept && flags.has(key) && flags.integer(key, 0) != 0)
      flags.blame(kRefused, key,
                  "is passed over without --first-last-layers-bf16: all "
                  "layers are in FP8");
  if (isFp4 && !isKept)
    flags.blame("fp8-layers", "fp4-format",
                "puts every linear layer in FP4: training diverges unless some "
                "stay in BF16 (--first-last-layers-bf16)");
}

/// Sizes of the shard that a rank holds, and the tokens of one pass over them.
static void judgeSizes(const Section &flags, const TrainFp8 &fp8) {
  int64_t ranks = flags.integer("tensor-model-parallel-size", 1).value_or(1);
  int64_t context = flags.integer("context-parallel-size", 1).value_or(1);
  bool isSplit = flags.has("sequence-parallel");
  auto judge = [&](StringRef key, int64_t size, int64_t parts,
                   int64_t multiple) {
    // A size that ranks do not share evenly is refused for that.
    if (size % parts == 0 && size / parts % multiple)
      flags.blame("fp8-sizes", key,
                  Twine(size / parts) +
                      (parts > 1
                           ? " on each of " + Twine(parts).str() + " ranks"
                           : std::string()) +
                      " is no multiple of " + Twine(multiple) +
                      ", which kernels of the recipe need");
  };
  if (std::optional<int64_t> size = flags.integer("hidden-size", 1))
    judge("hidden-size", *size, 1, fp8.recipe->multiple);
  if (std::optional<int64_t> size = flags.integer("ffn-hidden-size", 1))
    judge("ffn-hidden-size", *size, ranks, fp8.recipe->multiple);
  std::optional<int64_t> length = flags.integer("seq-length", 1);
  std::optional<int64_t> batch = flags.integer("micro-batch-size", 1);
  if (length && batch && *length < INT32_MAX && *batch < INT32_MAX)
    judge("seq-length", *length * *batch, context * (isSplit ? ranks : 1),
          getTokenMultiple(fp8));
}

void mpopt::readMegatronFp8(ConfigReader &reader, const Section &flags) {
  TrainFp8 &fp8 = reader.config.fp8;
  std::optional<std::string> format = flags.word("fp8-format");
  std::optional<std::string> fp4 = flags.word("fp4-format");
  std::optional<std::string> said = flags.word("fp8-recipe");
  std::string recipe = said.value_or("delayed");
  flags.ignore({"fp8-interval", "fp8-wgrad", "no-fp8-wgrad", "fp4-recipe",
                "moe-router-dtype", "fp8-amax-history-len",
                "fp8-amax-compute-algo", "fp8-margin", "fp4-param-gather"});
  bool isOpen = flags.isOpen("fp8-format") || flags.isOpen("fp8-recipe");
  if (format && fp4)
    flags.blame(kRefused, "fp4-format",
                "is refused beside --fp8-format: one of them");
  if (said && !format && !fp4 && !isOpen)
    flags.blame(kRefused, "fp8-recipe",
                "without --fp8-format: nothing is in FP8");
  if (!isOpen) {
    judgeParameters(flags, format || fp4, recipe == "mxfp8");
    judgeCombinations(flags, format || fp4, format.has_value(), recipe);
  }
  if (format && *format != "e4m3" && *format != "hybrid")
    flags.blame(kRefused, "fp8-format",
                "is " + shown(*format) + ", none of e4m3 and hybrid");
  if (format && toOwn(recipe).empty() && recipe != "custom")
    flags.blame(kRefused, "fp8-recipe",
                "is " + shown(recipe) +
                    ", none of delayed, tensorwise, blockwise, mxfp8, custom");
  StringRef on = format ? "fp8-format" : "fp4-format";
  if (format || fp4) {
    fp8.by = flags.keyOf(on);
    fp8.setRecipe(fp4 ? "nvfp4_2d" : toOwn(recipe));
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
      judgeSizes(flags, fp8);
  }
  if (format && !isOpen)
    judgeRecipe(flags, recipe, fp8);
  for (StringRef key : {"exp-avg-sq-dtype"})
    if (flags.type(key) == TrainType::F8)
      flags.blame(
          "fp8-moments", key,
          "is fp8: second moments are squares, whose span E4M3 does not "
          "hold, and become 0; the step is divided by epsilon there");
}
