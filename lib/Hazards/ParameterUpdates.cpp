//===- ParameterUpdates.cpp - The optimizer's step, by parameter
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Hazards/ParameterUpdates.h"

#include "mpopt/Adjoint/Differentiate.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Origin.h"
#include "mpopt/Dialect/Settings.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Hazards/DtypeSupport.h"
#include "mpopt/Hazards/LossScaling.h"
#include "mpopt/Ranges/Analysis/RangeAnalysis.h"

using namespace mlir;
using namespace mpopt;

std::optional<Optimizer> mpopt::makeOptimizer(const OptimizerFacts &facts) {
  std::optional<Optimizer> result = Optimizer::byName(facts.name);
  if (!result)
    return std::nullopt;
  result->learningRate = facts.learningRate.value_or(0);
  result->epsilon = facts.epsilon.value_or(result->epsilon);
  result->beta1 = facts.beta1.value_or(result->beta1);
  result->beta2 = facts.beta2.value_or(result->beta2);
  result->momentum = facts.momentum.value_or(0);
  result->weightDecay = facts.weightDecay.value_or(result->weightDecay);
  return result;
}

llvm::StringMap<Value> mpopt::findParameters(Operation *module) {
  llvm::StringMap<Value> result;
  // The 16-bit copy of a constant comes behind it and replaces it.
  module->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (!isa<mp::ConstantOp>(op) && !storesConstant(op))
      return;
    if (StringRef name = getValueName(op->getResult(0)); !name.empty())
      result[name] = op->getResult(0);
  });
  return result;
}

ParameterWeights::ParameterWeights(Operation *, AnalysisManager &manager)
    : context(manager.getAnalysis<RangeAnalysis>().context()) {}

const WeightSizes *ParameterWeights::of(Value value) {
  auto [entry, isNew] = known.try_emplace(value);
  if (isNew)
    if (std::optional<WeightView> view = context.weights(value))
      entry->second = std::make_unique<WeightSizes>(WeightSizes::of(*view));
  return entry->second.get();
}

bool ParameterWeights::isInvalidated(
    const AnalysisManager::PreservedAnalyses &preserved) {
  return !preserved.isPreserved<ParameterWeights>();
}

/// The factor by which clipping the norm of all gradients scales them.
static double findClip(std::optional<double> most,
                       ArrayRef<ParameterGradient> parameters) {
  double squares = 0;
  for (const ParameterGradient &parameter : parameters)
    if (const GradientEstimate &its = parameter.estimate; its.known)
      squares += parameter.count * its.rms * its.rms;
  double norm = std::sqrt(squares);
  return most && *most > 0 && norm > *most ? *most / norm : 1;
}

ParameterUpdates::ParameterUpdates(Operation *module, AnalysisManager &manager)
    : declared(TrainingFacts::of(module)),
      known(makeOptimizer(declared.optimizer)) {
  if (!known || !(known->learningRate > 0))
    return;
  auto &training = manager.getAnalysis<TrainingEstimate>();
  auto &weights = manager.getAnalysis<ParameterWeights>();
  const GradientAnalysis &gradients = training.gradients();
  llvm::StringMap<Value> values = findParameters(module);
  double clip = findClip(declared.clip, training.parameters());
  auto low = module->getAttrOfType<TypeAttr>(kLowTypeAttr);
  for (const ParameterGradient &parameter : training.parameters()) {
    const GradientEstimate &its = parameter.estimate;
    Value value = values.lookup(parameter.name);
    const WeightSizes *magnitudes = value ? weights.of(value) : nullptr;
    if (!magnitudes || !its.known || !(its.rms > 0) || !std::isfinite(its.rms))
      continue;
    Type type = getElementType(value);
    if (declared.optimizer.master == true && is16Bit(type))
      type = Float32Type::get(type.getContext());
    if (declared.optimizer.master == false && low && is16Bit(low.getValue()) &&
        isWide(type))
      type = low.getValue();
    Type state = declared.optimizer.state;
    GradientMagnitudes sizes;
    sizes.rms = its.rms * clip;
    sizes.zero = its.zero;
    sizes.matrix = parameter.rank > 1;
    sizes.below = [shares = gradients.sharesBelow(parameter.gradient),
                   clip](double limit) { return shares(limit / clip); };
    double live = std::max(1 - its.zero, 1e-9);
    list.push_back({&parameter, value, type, state ? state : type,
                    sizes.rms / std::sqrt(live),
                    UpdateEstimate(*known, *magnitudes, sizes)});
  }
}

void mpopt::fixByWideState(FindingBuilder &finding,
                           const ParameterUpdates &updates,
                           const ParameterUpdate &update) {
  Type wide = Float32Type::get(update.stored.getContext());
  TrainingFacts facts = updates.facts();
  if (update.state != wide) {
    facts.optimizer.state = wide;
    finding.fixByStep("optimizer", "keep the optimizer's state in f32", facts);
  }
  if (update.stored != wide) {
    facts.optimizer.master = true;
    finding.fixByStep(
        "optimizer",
        "keep f32 copies of the weights, with the optimizer's state in f32",
        facts);
  }
}

std::string ParameterLosses::listOthers() const {
  if (parameters.size() < 2)
    return "";
  return "; " + std::to_string(parameters.size()) + " parameters lose " +
         describeShare(least) + " or more: " + listParameters(parameters);
}

std::string ParameterLosses::listAlike() const {
  if (parameters.size() < 2)
    return "";
  return "; the same holds for " + std::to_string(parameters.size()) +
         " parameters: " + listParameters(parameters);
}

ParameterLosses ParameterUpdates::findLosses(
    double least,
    llvm::function_ref<std::optional<double>(const ParameterUpdate &)> share)
    const {
  ParameterLosses result;
  result.least = least;
  for (const ParameterUpdate &update : list) {
    std::optional<double> lost = share(update);
    if (!lost || *lost < least)
      continue;
    result.parameters.push_back(update.gradient);
    if (*lost > result.most) {
      result.most = *lost;
      result.worst = &update;
    }
  }
  return result;
}

bool ParameterUpdates::isInvalidated(
    const AnalysisManager::PreservedAnalyses &preserved) {
  return !preserved.isPreserved<ParameterUpdates>();
}
