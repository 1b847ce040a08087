//===- LayerFindings.cpp - Layers of a step in FP8 as findings ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Driver/ConfigFindings.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <cmath>

using namespace mpopt;
using llvm::StringRef;
using llvm::Twine;

namespace {
class LayerFaults {
public:
  LayerFaults(const TrainConfig &config, const TrainingReport &step)
      : config(config), step(step), report(*step.fp8) {}

  std::vector<TrainFault> find();

private:
  void blame(StringRef rule, const TrainKey &key, const Twine &text);
  void judgeErrors();
  void judgeFlushed();
  void judgeGrowth();
  void judgeZeros();
  void judgeSums();
  void judgeRows();
  std::string describeWayOut() const;

  const TrainConfig &config;
  const TrainingReport &step;
  const Fp8Report &report;
  std::vector<TrainFault> faults;
};
} // namespace

static std::string percent(double share) {
  return llvm::formatv("{0:f0} %", 100 * share).str();
}

void LayerFaults::blame(StringRef rule, const TrainKey &key,
                        const Twine &text) {
  faults.push_back(
      {rule.str(), key.key, key.line, (Twine(key.key) + ": " + text).str()});
}

/// The largest aim has the fewest changes.
std::string LayerFaults::describeWayOut() const {
  if (report.recommended.empty())
    return "";
  double aim = report.recommended.back().aim;
  std::string text = "; within " + percent(aim) + ": ";
  bool any = false;
  for (const Fp8Report::Choice &choice : report.recommended)
    if (choice.aim == aim && choice.recipe) {
      text += (any ? ", " : "") + *choice.recipe + " on " + choice.device;
      any = true;
    }
  const auto &kept = report.keep.back().layers;
  if (kept && !kept->empty()) {
    text += any ? ", or " : "";
    text += "'" + report.layers[kept->front()].output + "'" +
            (kept->size() > 1
                 ? " and " + std::to_string(kept->size() - 1) + " more layers"
                 : "") +
            " in BF16";
    any = true;
  }
  return any ? text
             : "; no recipe nor list of layers is within " + percent(aim);
}

/// MP432.
void LayerFaults::judgeErrors() {
  std::vector<double> errors;
  const GradientReport *worst = nullptr;
  for (const GradientReport &gradient : step.parameters)
    if (gradient.error) {
      errors.push_back(*gradient.error);
      if (!worst || *gradient.error > *worst->error)
        worst = &gradient;
    }
  if (!worst)
    return;
  auto middle = errors.begin() + errors.size() / 2;
  std::nth_element(errors.begin(), middle, errors.end());
  // Between a quarter, which steps tolerate, and a half, which is as much as
  // what is left: the geometric mean.
  constexpr double kMost = 0.35;
  if (*middle >= kMost)
    blame("fp8-gradient-error", config.fp8.by,
          "half of all gradients are expected to be off by " +
              percent(*middle) + " or more under '" + report.recipe + "', '" +
              worst->name + "' by " + percent(*worst->error) +
              describeWayOut());
}

/// MP420.
void LayerFaults::judgeFlushed() {
  // As of a gradient in FP16 (gradient-underflow); layers that move no gradient
  // by more than an aim lose what does not count.
  constexpr double kLost = 0.1;
  const LayerReport *worst = nullptr;
  double most = 0;
  unsigned count = 0;
  for (const LayerReport &layer : report.layers) {
    double share = 0;
    for (const LayerReport::Product &product : layer.products)
      for (const LayerReport::Operand &operand : product.operands)
        if (operand.role == "dy" && product.isComputed)
          share = std::max(share, operand.flushed);
    if (!(share >= kLost && layer.effect > report.keep.back().aim))
      continue;
    ++count;
    if (share > most) {
      most = share;
      worst = &layer;
    }
  }
  if (worst)
    blame("fp8-gradient-flush", config.fp8.by,
          "the scales of '" + report.recipe + "' read " + percent(most) +
              " of the gradient at '" + worst->output + "' as 0" +
              (count > 1 ? ", and much of " + std::to_string(count - 1) +
                               " more layers'"
                         : "") +
              ", which changes gradients by " + percent(worst->effect) +
              describeWayOut());
}

/// MP423. The first step of Adam is lr for each weight (Kingma and Ba, 2015,
/// 2.1).
void LayerFaults::judgeGrowth() {
  const TrainOptimizer &optimizer = config.optimizer;
  std::string name = optimizer.name.value_or("");
  if (config.fp8.recipe->history == 0 || !optimizer.learningRate ||
      !StringRef(name).starts_with_insensitive("Adam"))
    return;
  const LayerReport *worst = nullptr;
  for (const LayerReport &layer : report.layers)
    if (*optimizer.learningRate > layer.weightMax &&
        (!worst || layer.weightMax < worst->weightMax))
      worst = &layer;
  if (worst)
    blame(
        "fp8-weight-growth", config.fp8.by,
        llvm::formatv("a step of the optimizer changes a weight by {0:g2}, and "
                      "the scale of '{1}' is that of its largest magnitude "
                      "before, {2:g2}: what grows past it is clipped",
                      *optimizer.learningRate, worst->weight, worst->weightMax)
            .str());
}

/// MP424.
void LayerFaults::judgeZeros() {
  // One group in a thousand, of which a step has many.
  constexpr double kSome = 1e-3;
  if (!config.fp8.noEpsilon)
    return;
  for (const LayerReport &layer : report.layers)
    for (const LayerReport::Product &product : layer.products)
      for (const LayerReport::Operand &operand : product.operands)
        if (operand.zero >= kSome && product.isComputed)
          return blame("fp8-zero-scale", *config.fp8.noEpsilon,
                       "guards nothing, and " + percent(operand.zero) +
                           " of the groups of " + Twine(operand.role) +
                           " at '" + layer.output +
                           "' are all zeros: their scale is 0, and 0 / 0 is "
                           "NaN");
}

/// MP425. Hopper's FP8 instructions keep 14 bits of a sum (DeepSeek-V3, 2024,
/// 3.3.2) and cut the rest off, in steps of 32 products: each is half a unit on
/// average, to one side.
void LayerFaults::judgeSums() {
  constexpr double kUnit = 0x1p-14, kAtOnce = 32;
  if (!config.fp8.addsOnce)
    return;
  for (const LayerReport &layer : report.layers) {
    auto product = llvm::find_if(
        layer.products, [](const auto &its) { return its.name == "wgrad"; });
    if (product == layer.products.end() || layer.m < 0)
      continue;
    double cut = double(layer.m) / kAtOnce * kUnit / 2;
    double noise = std::pow(10, -product->decibels / 20);
    if (cut > noise)
      return blame("fp8-sum-length", *config.fp8.addsOnce,
                   "is false, and the weight gradient at '" + layer.output +
                       "' adds " + Twine(layer.m) +
                       " products in 14 bits on Hopper: up to " +
                       percent(std::min(cut, 1.0)) +
                       " is cut off, more than the operands are rounded by");
  }
}

/// MP426 of rows, which the weight gradient adds over: those of the batch that
/// the model was exported with.
void LayerFaults::judgeRows() {
  const Fp8Recipe &recipe = *config.fp8.recipe;
  int64_t multiple = getTokenMultiple(config.fp8);
  const LayerReport *first = nullptr;
  unsigned count = 0;
  for (const LayerReport &layer : report.layers) {
    bool isLinear = layer.op.type == "MatMul" || layer.op.type == "Gemm";
    if (!isLinear || layer.kept || layer.m <= 0 || layer.m % multiple == 0 ||
        layer.k % recipe.multiple || layer.n % recipe.multiple)
      continue;
    first = first ? first : &layer;
    ++count;
  }
  if (first)
    blame("fp8-sizes", config.fp8.by,
          "the weight gradient at '" + first->output + "' adds over " +
              Twine(first->m) + (first->m == 1 ? " row" : " rows") +
              ", no multiple of " + Twine(multiple) +
              ", which kernels of the recipe need" +
              (count > 1 ? "; so do those of " + Twine(count - 1).str() +
                               " more layers"
                         : std::string()));
}

std::vector<TrainFault> LayerFaults::find() {
  // Otherwise the step is estimated with each layer in FP8.
  std::vector<std::string> modules;
  for (const LayerReport &layer : report.layers)
    modules.push_back(layer.module);
  if (findKeptLayers(config.fp8, modules)) {
    judgeErrors();
    judgeFlushed();
  }
  judgeGrowth();
  judgeZeros();
  judgeSums();
  judgeRows();
  return std::move(faults);
}

std::vector<Finding> mpopt::findLayerFaults(const Options &options,
                                            const TrainingReport &step) {
  std::vector<Finding> findings;
  if (!step.fp8)
    return findings;
  for (const TrainFault &fault : LayerFaults(*options.train, step).find())
    if (std::optional<Finding> finding = makeFinding(options, fault)) {
      finding->certainty = Certainty::Likely;
      findings.push_back(std::move(*finding));
    }
  return findings;
}
