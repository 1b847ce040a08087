//===- Fp8Config.cpp - Settings of FP8, and layers under them ===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Train/Fp8Config.h"

#include "Fp8Reader.h"

#include "mpopt/Support/Blocks.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace mpopt;

void TrainFp8::setRecipe(StringRef name) {
  const Fp8Recipe *known = Fp8Recipe::byName(name);
  recipe = known ? std::optional(*known) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Settings that mean the same everywhere
//===----------------------------------------------------------------------===//

void mpopt::judgeFormat(const Section &section, StringRef key, TrainFp8 &fp8) {
  if (!fp8.recipe)
    return;
  std::string format = StringRef(section.word(key).value_or("")).upper();
  OperandScaling &gradient = fp8.recipe->gradient;
  bool isWhole = fp8.recipe->input.grain == OperandScaling::Grain::Tensor;
  if (format == "E5M2")
    section.blame(kScaling, key,
                  "is E5M2 for activations and weights, too: two bits, which "
                  "is refused for training");
  if (format == "E4M3" && isWhole) {
    gradient.format = fp8.recipe->input.format;
    section.blame(kScaling, key,
                  "is E4M3 for gradients, too, with one scale a tensor: those "
                  "below 2^-18 of the largest are read as 0. HYBRID has E5M2 "
                  "for them");
  } else if (format == "HYBRID" && fp8.recipe->input.size &&
             gradient.format == "f8E4M3FN") {
    section.blame("mxfp8-e5m2", key,
                  "is HYBRID with scales of " + Twine(fp8.recipe->input.size) +
                      " elements: gradients have E5M2's two bits in blocks "
                      "that E4M3 holds, and runs diverge. E4M3 keeps one more");
    if (fp8.recipe->name == "mxfp8")
      fp8.setRecipe("mxfp8_e5m2");
    else
      gradient.format = "f8E5M2";
  }
}

void mpopt::judgeMargin(const Section &section, StringRef key,
                        const TrainFp8 &fp8) {
  std::optional<double> margin = section.number(key);
  if (!margin || *margin == 0)
    return;
  if (fp8.recipe && fp8.recipe->history == 0)
    return section.blame(kRefused, key,
                         "is passed over: it is of delayed scaling, and the "
                         "recipe is '" +
                             fp8.recipe->name + "'");
  // In a normal distribution whose largest element is five deviations, one
  // element in a hundred is below 2^-8.6 of it; E4M3's normal numbers reach
  // 2^-14.8 below 448. From a margin of 7 on these are subnormal.
  constexpr double kMost = 6;
  if (*margin < 0)
    section.blame(kScaling, key,
                  "is negative: numbers within " + Twine(int(-*margin)) +
                      " powers of two of the largest are clipped");
  else if (*margin > kMost)
    section.blame(kScaling, key,
                  "leaves 2^-" + Twine(int(*margin)) +
                      " of the format's range: small numbers become subnormal "
                      "or 0. 0 is usual");
}

void mpopt::judgeHistory(const Section &section, StringRef lengthKey,
                         StringRef algorithmKey, int64_t usualLength,
                         StringRef usualAlgorithm) {
  if (section.isOpen(lengthKey) || section.isOpen(algorithmKey))
    return;
  std::optional<int64_t> length = section.integer(lengthKey, 0);
  std::optional<std::string> algorithm = section.word(algorithmKey);
  bool isRecent = algorithm.value_or(usualAlgorithm.str()) == "most_recent";
  bool isShort = length.value_or(usualLength) <= 1;
  if (!isRecent && !isShort)
    return;
  StringRef key = isShort && (length || !algorithm) ? lengthKey : algorithmKey;
  section.blame("short-amax-history", key,
                Twine(section.take(key) ? "" : "is not given: ") +
                    "scales are those of the last step alone, and values that "
                    "grow from one step to the next are clipped; " +
                    section.spell(lengthKey) + " 1024 and " +
                    section.spell(algorithmKey) + " max keep the largest");
}

//===----------------------------------------------------------------------===//
// Layers
//===----------------------------------------------------------------------===//

int64_t mpopt::getTokenMultiple(const TrainFp8 &fp8) {
  const OperandScaling &input = fp8.recipe->input;
  if (!fp8.isTorchao && input.grain != OperandScaling::Grain::Row) {
    // TransformerEngine: utils.py, assert_dim_for_fp8_exec, for all recipes;
    // csrc/quantizer.cpp for MXFP8 and NVFP4, whose blocks lie along the tokens
    // in the product of the weight's gradient.
    constexpr int64_t kLeast = 8, kLargestBlock = 32;
    return input.size <= kLargestBlock ? std::max(kLeast, input.size) : kLeast;
  }
  if (fp8.misfits == TrainFp8::Misfits::Padded ||
      fp8.recipe->wideWeightGradient)
    return 1;
  // torch._scaled_mm adds over multiples of 16, torchao's
  // blockwise_fp8_training/kernels.py over whole blocks.
  constexpr int64_t kLeast = 16;
  return std::max(kLeast, input.size);
}

static bool isTaken(StringRef name, const TrainFp8 &fp8) {
  return llvm::any_of(fp8.filters,
                      [&](StringRef filter) { return name.contains(filter); });
}

static bool isAutomatic(StringRef filter) {
  return filter.starts_with("auto_filter");
}

std::optional<std::vector<bool>>
mpopt::findKeptLayers(const TrainFp8 &fp8, ArrayRef<std::string> modules) {
  if (llvm::any_of(fp8.filters, isAutomatic))
    return std::nullopt;
  std::vector<bool> kept;
  for (StringRef module : modules)
    kept.push_back(isTaken(module, fp8));
  if (fp8.keptAtStart == 0 && fp8.keptAtEnd == 0)
    return kept;
  std::vector<std::optional<int64_t>> blocks;
  int64_t count = 0;
  for (StringRef module : modules) {
    blocks.push_back(getBlock(module));
    count = std::max(count, blocks.back().value_or(-1) + 1);
  }
  if (count == 0)
    return std::nullopt;
  // Megatron-LM, which alone has such ends, has blocks in FP8 and no layer
  // outside of them.
  for (auto [index, block] : llvm::enumerate(blocks))
    if (!block || *block < fp8.keptAtStart || *block >= count - fp8.keptAtEnd)
      kept[index] = true;
  return kept;
}

/// True if `filter` is whole parts of the name where it first occurs.
static bool isWhole(StringRef name, StringRef filter) {
  size_t begin = name.find(filter), end = begin + filter.size();
  return (begin == 0 || name[begin - 1] == '.' || filter.starts_with(".")) &&
         (end == name.size() || name[end] == '.' || filter.ends_with("."));
}

static void judgeFilters(const TrainFp8 &fp8, ArrayRef<LinearLayer> layers,
                         std::vector<TrainFault> &faults) {
  auto blame = [&](const Twine &text) {
    faults.push_back({"fp8-layers", fp8.filtersBy.key, fp8.filtersBy.line,
                      (fp8.filtersBy.key + ": " + text).str()});
  };
  for (const std::string &filter : fp8.filters) {
    if (isAutomatic(filter))
      continue;
    const LinearLayer *whole = nullptr, *part = nullptr;
    for (const LinearLayer &layer : layers)
      if (StringRef(layer.name).contains(filter))
        (isWhole(layer.name, filter) ? whole : part) = &layer;
    if (!whole && !part)
      blame("'" + filter +
            "' is in the name of no linear layer: nothing stays "
            "in BF16 by it");
    else if (whole && part)
      blame("'" + filter + "' is '" + whole->name + "', and a part of '" +
            part->name + "', which stays in BF16 as well");
  }
  if (!fp8.filters.empty() &&
      llvm::all_of(layers, [&](const LinearLayer &layer) {
        return isTaken(layer.name, fp8);
      }))
    blame("takes all " + Twine(layers.size()) +
          " linear layers: nothing is in FP8");
}

std::vector<TrainFault> mpopt::judgeLayers(const TrainFp8 &fp8,
                                           ArrayRef<LinearLayer> layers) {
  std::vector<TrainFault> faults;
  if (!fp8.recipe || layers.empty())
    return faults;
  judgeFilters(fp8, layers, faults);
  if (fp8.misfits == TrainFp8::Misfits::Padded)
    return faults;
  int64_t multiple = fp8.recipe->multiple, meant = 0;
  std::vector<const LinearLayer *> misfits;
  for (const LinearLayer &layer : layers) {
    if (isTaken(layer.name, fp8))
      continue;
    ++meant;
    if (layer.inputs % multiple || layer.outputs % multiple)
      misfits.push_back(&layer);
  }
  if (misfits.empty())
    return faults;
  bool isPassed = fp8.misfits == TrainFp8::Misfits::PassedOver;
  // Layers of a few outputs are left out as a rule; most of them are not.
  if (isPassed && 2 * int64_t(misfits.size()) < meant)
    return faults;
  const LinearLayer &first = *misfits.front();
  faults.push_back(
      {"fp8-sizes", fp8.by.key, fp8.by.line,
       (Twine(fp8.by.key) + ": " + Twine(misfits.size()) + " of " +
        Twine(meant) + " linear layers have sizes that are no multiples of " +
        Twine(multiple) + " ('" + first.name + "': " + Twine(first.inputs) +
        " x " + Twine(first.outputs) + "), and " +
        (isPassed ? "are passed over: they stay in BF16"
                  : "nothing pads them: kernels refuse them"))
           .str()});
  return faults;
}
