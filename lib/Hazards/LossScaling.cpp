//===- LossScaling.cpp - The loss scale that a step uses
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Hazards/LossScaling.h"

#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Origin.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/Settings.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Numerics/FloatFormat.h"
#include "mpopt/Propagate/NonFinite.h"
#include "mpopt/Report/Fold.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallPtrSet.h"

#include <cmath>
#include <map>

using namespace mlir;
using namespace mpopt;

/// Messages list so many names.
static constexpr size_t kMostNames = 6;

/// The first overflow of the forward pass whose Inf, or the NaN that it
/// becomes, is expected in a result of the function: in the loss or beside it.
static const OverflowSite *findForwardOverflow(Operation *module,
                                               const OverflowSites &sites) {
  const RangeAnalysis &ranges = sites.ranges();
  auto isForward = [](const OverflowSite &site) {
    Operation *op = site.op();
    return op && !op->hasAttr(kBackwardAttr) && !op->hasAttr(kLossPartAttr) &&
           site.certainty != Certainty::Possible &&
           site.form != OverflowForm::Mask &&
           isLowPrecision(getElementType(site.value));
  };
  if (llvm::none_of(sites.sites, isForward))
    return nullptr;
  NonFinite infinities(ranges, [&](Value value) {
    NonFiniteFlags flags;
    const OverflowSite *site = sites.find(value);
    if (!site || !isForward(*site))
      return flags;
    flags.negInf = isPastEdge(value, /*positive=*/false, ranges);
    flags.posInf =
        !flags.negInf || isPastEdge(value, /*positive=*/true, ranges);
    return flags;
  });
  const OverflowSite *first = nullptr;
  module->walk([&](func::FuncOp function) {
    Block &body = function.getBody().front();
    infinities.run(body);
    for (Value result : body.getTerminator()->getOperands()) {
      Operation *op = result.getDefiningOp();
      if (op && op->hasAttr(kBackwardAttr))
        continue;
      for (unsigned origin : infinities.originsOf(result)) {
        const OverflowSite *site = sites.find(infinities.origins()[origin]);
        first = first ? std::min(first, site) : site;
      }
    }
  });
  return first;
}

/// BF16 and TF32 have the exponents of FP32.
static bool needsScale(Type type) {
  const FloatFormat *format = getFloatFormat(type);
  return format && format->minNormal > FloatFormat::f32().minNormal;
}

LossScaling::LossScaling(Operation *module, AnalysisManager &manager)
    : step(&manager.getAnalysis<TrainingEstimate>()),
      declared(TrainingFacts::of(module)) {
  bool inF16 = false;
  module->walk<WalkOrder::PreOrder>([&](Operation *op) {
    bool backward = op->hasAttr(kBackwardAttr);
    if (op->hasAttr(kSeedAttr) && op->getNumResults() > 0)
      seed = op->getResult(0);
    for (Value result : op->getResults()) {
      if (Type type = getElementType(result);
          backward && needsScale(type) &&
          step->gradients().isGradient(result)) {
        inF16 |= type.isF16();
        if (!narrow ||
            type.getIntOrFloatBitWidth() < narrow.getIntOrFloatBitWidth())
          narrow = type;
      }
      if (StringRef name = getValueName(result); !backward && !name.empty())
        named.try_emplace(name, result);
    }
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (BlockArgument argument : block.getArguments())
          if (StringRef name = getValueName(argument); !name.empty())
            named.try_emplace(name, argument);
  });
  for (const ParameterGradient &parameter : step->parameters())
    if (const GradientEstimate &estimate = parameter.estimate; estimate.known)
      plausible &= estimate.rms <= FloatFormat::f32().maxFinite;
  inForce = declared.getScaler(inF16);
  used = inForce.initial > 0 ? std::ilogb(inForce.initial) : 0;
  if (inForce.mode == ScalerMode::Dynamic)
    used = std::min(used, std::max(top(), LostShare::kFirst));
  overflow = findForwardOverflow(module, manager.getAnalysis<OverflowSites>());
}

double LossScaling::lost(const ParameterGradient &parameter, int exponent) {
  const LostShare &shares = parameter.estimate.lost;
  return std::max(0.0, shares.at(exponent) - shares.at(LostShare::kLast));
}

double LossScaling::lost(int exponent) const {
  return std::max(0.0, step->lostAt(exponent) - step->lostAt(LostShare::kLast));
}

std::optional<int> LossScaling::bottom(double share) const {
  for (int exponent = LostShare::kFirst; exponent <= LostShare::kLast;
       ++exponent)
    if (lost(exponent) < share)
      return exponent;
  return std::nullopt;
}

Value LossScaling::findLost(Value gradient, int exponent, double share) const {
  const GradientAnalysis &gradients = step->gradients();
  llvm::SmallPtrSet<Operation *, 16> seen;
  while (Operation *op = gradient.getDefiningOp()) {
    if (!seen.insert(op).second)
      break;
    Value next;
    double most = share;
    for (Value operand : op->getOperands()) {
      if (!gradients.isGradient(operand))
        continue;
      const LostShare &shares = gradients.estimate(operand).lost;
      double lost = shares.at(exponent) - shares.at(LostShare::kLast);
      if (lost >= most) {
        most = lost;
        next = operand;
      }
    }
    if (!next)
      break;
    gradient = next;
  }
  return gradient;
}

Value LossScaling::place() const {
  return seed ? seed : step->parameters().back().computed;
}

Value LossScaling::findForward(Value gradient) const {
  StringRef name = gradient ? getValueName(gradient) : StringRef();
  if (!name.consume_front("grad(") || !name.consume_back(")"))
    return {};
  return find(name);
}

//===----------------------------------------------------------------------===//
// Fixes
//===----------------------------------------------------------------------===//

void mpopt::fixByScale(FindingBuilder &finding, const LossScaling &scaling) {
  std::optional<double> start = scaling.estimate().window().recommended;
  if (!start)
    return;
  TrainingFacts facts = scaling.facts();
  std::string scale = describeScale(std::ilogb(*start)), text;
  switch (scaling.scaler().mode) {
  case ScalerMode::None:
    text = "use a loss scaler that starts at " + scale;
    break;
  case ScalerMode::Dynamic:
    text = "start the loss scaler at " + scale;
    break;
  case ScalerMode::Fixed:
    text = "set the loss scale to " + scale;
    break;
  }
  if (scaling.scaler().mode != ScalerMode::Fixed)
    facts.scaler.mode = ScalerMode::Dynamic;
  facts.scaler.initial = start;
  finding.fixByStep("loss-scale", text, facts);
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

std::string mpopt::describeScale(int exponent) {
  if (exponent == 0)
    return "1";
  std::string power = "2^" + std::to_string(exponent);
  if (exponent < -6 || exponent > 19)
    return power;
  return power + " (" + formatNumber(std::ldexp(1.0, exponent)) + ")";
}

std::string mpopt::describeInUse(const LossScaling &scaling) {
  const LossScaler &scaler = scaling.scaler();
  if (scaler.mode == ScalerMode::None)
    return "without a loss scale";
  std::string scale = "at the loss scale " + describeScale(scaling.inUse());
  if (scaler.mode == ScalerMode::Fixed)
    return scale;
  if (std::ldexp(1.0, scaling.inUse()) < scaler.initial)
    return scale + ", to which the scaler comes down from " +
           formatNumber(scaler.initial) +
           (scaler.isDefaultInitial ? " (GradScaler's default)" : "");
  return scale + ", where the scaler starts" +
         (scaler.isDefaultInitial ? " (GradScaler's default)" : "");
}

std::string mpopt::describeShare(double share) {
  if (share < 0.01)
    return "under 1 %";
  if (share > 0.99)
    return "nearly all";
  return "about " + formatNumber(std::round(share * 100)) + " %";
}

std::string
mpopt::listParameters(ArrayRef<const ParameterGradient *> parameters) {
  struct Names {
    std::string first;
    size_t count = 0;
  };
  llvm::MapVector<std::string, Names, std::map<std::string, unsigned>> folded;
  for (const ParameterGradient *parameter : parameters) {
    Names &names = folded[foldDigits(parameter->name)];
    if (names.count++ == 0)
      names.first = parameter->name;
  }
  std::string text;
  size_t listed = 0, left = parameters.size();
  for (auto &[pattern, names] : folded) {
    if (listed++ == kMostNames) {
      text += " and " + std::to_string(left) + " others";
      break;
    }
    text += listed > 1 ? ", " : "";
    text += names.count == 1 ? names.first
                             : std::to_string(names.count) + " of " + pattern;
    left -= names.count;
  }
  return text;
}
