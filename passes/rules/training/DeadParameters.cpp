//===- DeadParameters.cpp - MP406: gradients that are exactly 0
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A gradient is followed back to the op at which it becomes 0, and from there
// its factor to what makes that 0. Sums that cancel are known by their axes:
// nothing is computed.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/LinearOps.h"
#include "mpopt/Dialect/Ops/NormalizationOps.h"
#include "mpopt/Dialect/Ops/TrainingOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/Settings.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Gradients/Verdicts.h"
#include "mpopt/Hazards/LossScaling.h"
#include "passes/rules/Rules.h"

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/MapVector.h"

#include <cmath>

namespace mpopt {
#define GEN_PASS_DEF_DEADPARAMETERS
#include "passes/rules/Rules.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

namespace {
enum class Why { Unknown, ZeroConstant, Rectifier, Cancels };

/// The origin of zero gradients: the constant, the rectifier's result, or the
/// sum.
struct Origin {
  Why why = Why::Unknown;
  Value where;

  friend bool operator<(const Origin &lhs, const Origin &rhs) {
    return std::make_pair(lhs.why, lhs.where.getAsOpaquePointer()) <
           std::make_pair(rhs.why, rhs.where.getAsOpaquePointer());
  }
};

struct DeadParameters : mpopt::impl::DeadParametersBase<DeadParameters> {
  void check(ModuleOp module) override;

private:
  using Parameters = SmallVector<const ParameterGradient *>;

  bool isZero(Value value) const;
  Origin findCause(Value gradient) const;
  Origin findZero(Value factor) const;
  bool hasZeroSums(Value scores, int axis) const;
  bool addUpToZero(Value gradient) const;
  bool cancels(const ParameterGradient &parameter) const;
  void explainZero(FindingBuilder &finding, Value zero,
                   const std::string &which);
  void reportDead(const Origin &cause, const Parameters &parameters);
  void watchDead(FindingBuilder &finding, const Origin &cause,
                 const ParameterGradient &parameter, Value value) const;
  void reportDetached(FunctionOpInterface function);
  void judgeUnits(Operation *op, double least);

  const LossScaling *scaling = nullptr;
  const RangeAnalysis *ranges = nullptr;
};
} // namespace

/// From this share of dead units on a rectifier is a warning.
static constexpr double kSure = 0.75;

/// Every element is 0, by its bounds or as far as one can tell.
bool DeadParameters::isZero(Value value) const {
  if (scaling->estimate().gradients().isGradient(value)) {
    GradientEstimate estimate = scaling->estimate().gradients().estimate(value);
    return estimate.known && estimate.rms == 0;
  }
  if (!isa<FloatType>(getElementType(value)))
    return false;
  const Magnitudes &sizes = ranges->magnitudes(value);
  return sizes.bound == 0 || (sizes.likely && *sizes.likely == 0);
}

/// The cause that makes a value of the forward pass 0.
Origin DeadParameters::findZero(Value factor) const {
  constexpr unsigned kMost = 256;
  for (unsigned step = 0; step < kMost; ++step) {
    factor = peel(factor, Peel::CastsAndViews);
    if (isConstant(factor))
      return {Why::ZeroConstant, factor};
    Operation *op = factor.getDefiningOp();
    if (!op)
      return {};
    auto zero = llvm::find_if(op->getOperands(),
                              [&](Value operand) { return isZero(operand); });
    if (zero == op->operand_end())
      return hasRole(op, Role::Rectifier) ? Origin{Why::Rectifier, factor}
                                          : Origin();
    factor = *zero;
  }
  return {};
}

Origin DeadParameters::findCause(Value gradient) const {
  const GradientAnalysis &gradients = scaling->estimate().gradients();
  for (Operation *op = gradient.getDefiningOp(); op;
       op = gradient.getDefiningOp()) {
    Value next, live;
    for (Value operand : op->getOperands()) {
      if (!gradients.isGradient(operand))
        continue;
      (isZero(operand) ? next : live) = operand;
    }
    if (next) {
      gradient = next;
      continue;
    }
    if (!live)
      return {};
    for (Value operand : op->getOperands())
      if (operand != live && !gradients.isGradient(operand) && isZero(operand))
        return findZero(operand);
    if (gradients.spread(live).zeroSum >= 0 &&
        hasRole(op, Role::Sum | Role::Contraction))
      return {Why::Cancels, live};
    // Gradients of rectifiers read their arguments or results.
    const OpMeaning *forward = getMeaning(gradientOf(op), op->getContext());
    if (hasRole(forward, Role::Rectifier))
      for (Value operand : op->getOperands()) {
        if (gradients.isGradient(operand))
          continue;
        if (hasRole(operand.getDefiningOp(), Role::Rectifier))
          return {Why::Rectifier, operand};
        for (Operation *user : operand.getUsers())
          if (hasRole(user, Role::Rectifier) && !user->hasAttr(kBackwardAttr))
            return {Why::Rectifier, user->getResult(0)};
      }
    return {};
  }
  return {};
}

/// True if the sums along that axis are 0, before the mask (which is 0 where
/// the softmax is) and the scale of scores, too.
bool DeadParameters::hasZeroSums(Value scores, int axis) const {
  const GradientAnalysis &gradients = scaling->estimate().gradients();
  constexpr unsigned kMost = 8;
  for (unsigned step = 0; step < kMost; ++step) {
    if (gradients.spread(scores).zeroSum == axis)
      return true;
    Operation *op = scores.getDefiningOp();
    if (!op || !(isa<mp::CastOp, mp::WhereOp>(op) ||
                 hasRole(op, Role::Multiplication | Role::Division)))
      return false;
    Value next;
    for (Value operand : op->getOperands())
      if (gradients.isGradient(operand))
        next = operand;
      else if (isa<FloatType>(getElementType(operand)) &&
               getNumElements(getShape(operand)) != 1)
        return false;
    if (!next || getShape(next) != getShape(scores))
      return false;
    scores = next;
  }
  return false;
}

/// True if the rows of a gradient, along its last axis but one, add up to 0:
/// the keys of an attention, whose scores' gradients do so along each row.
bool DeadParameters::addUpToZero(Value gradient) const {
  const GradientAnalysis &gradients = scaling->estimate().gradients();
  Operation *op = getMaker(gradient, Peel::CastsAndViews);
  if (op &&
      hasRole(getMeaning(gradientOf(op), op->getContext()), Role::Attention))
    return op->getNumResults() > 1 &&
           peel(gradient, Peel::CastsAndViews) == op->getResult(1);
  auto product = dyn_cast_if_present<mp::MatMulOp>(op);
  if (!product)
    return false;
  // The axis of each factor that the product keeps.
  bool keepsLast[] = {product.getTransA(), !product.getTransB()};
  for (unsigned index : {0u, 1u}) {
    Value factor = product->getOperand(index);
    MaybeShape shape = getShape(factor);
    if (gradients.isGradient(factor) && shape && shape->size() > 1 &&
        hasZeroSums(factor, int(shape->size()) - (keepsLast[index] ? 1 : 2)))
      return true;
  }
  return false;
}

/// A bias in front of a norm with the statistics of its own batch, or of its
/// own sample and channel, which takes the mean off again; or one of the keys
/// of an attention, which shifts all scores of a row.
bool DeadParameters::cancels(const ParameterGradient &parameter) const {
  Operation *sum = getMaker(parameter.computed, Peel::CastsAndViews);
  if (!hasRole(sum, Role::Reduction) || !hasRole(sum, Role::Sum))
    return false;
  if (addUpToZero(sum->getOperand(0)))
    return true;
  // Batch and positions may be summed one after the other.
  Value summed = sum->getOperand(0);
  for (Operation *op = getMaker(summed);
       hasRole(op, Role::Reduction) && hasRole(op, Role::Sum);
       op = getMaker(summed))
    summed = op->getOperand(0);
  summed = peel(summed);
  auto batch = summed.getDefiningOp<mp::BatchNormGradOp>();
  Operation *norm = summed.getDefiningOp();
  const OpMeaning *forward =
      norm ? getMeaning(gradientOf(norm), norm->getContext()) : nullptr;
  bool instance =
      forward &&
      forward == getMeaning(mp::InstanceNormOp::getOperationName().drop_front(
                                sizeof("mp.") - 1),
                            norm->getContext());
  if (!(batch && !batch.getFrozen()) && !instance)
    return false;
  MaybeShape shape = getShape(summed);
  return summed == norm->getResult(0) && shape && shape->size() > 1 &&
         (*shape)[1] == int64_t(parameter.count);
}

/// `which` parameters have a gradient that is multiplied by a constant of
/// zeros.
void DeadParameters::explainZero(FindingBuilder &finding, Value zero,
                                 const std::string &which) {
  std::string name = getTensorName(zero);
  auto own = llvm::find_if(scaling->estimate().parameters(),
                           [&](const ParameterGradient &parameter) {
                             return parameter.name == name;
                           });
  bool learns = own != scaling->estimate().parameters().end() &&
                own->estimate.known && own->estimate.rms > 0;
  Operation *reader = nullptr;
  for (Operation *user : zero.getUsers())
    if (!reader && !user->hasAttr(kBackwardAttr))
      reader = user;
  // A factor in the code, as of a loss that only keeps ranks in step.
  bool isLiteral = name.empty();
  if (reader)
    finding.cause(reader, isLiteral
                              ? "multiplies by 0"
                              : "reads " + name + ", which is 0 throughout");
  if (isLiteral)
    finding.severity(Severity::Note)
        .message(which + " exactly 0, since the model multiplies by 0");
  else if (learns)
    finding.severity(Severity::Note)
        .message(which + " exactly 0, since " + name +
                 " is 0 throughout; it has a gradient itself, so that this is "
                 "so at the first step only");
  else
    finding.message(which + " exactly 0, since " + name +
                    " is 0 throughout and does not learn either");
}

void DeadParameters::reportDead(const Origin &cause,
                                const Parameters &parameters) {
  const ParameterGradient &first = *parameters.front();
  Value computed = first.computed;
  FindingBuilder finding =
      report(computed.getDefiningOp(), computed, Certainty::Likely);
  finding.tensor(first.gradient);
  std::string which =
      parameters.size() == 1
          ? "the gradient of " + first.name + " is"
          : "the gradients of " + std::to_string(parameters.size()) +
                " parameters (" + listParameters(parameters) + ") are";
  switch (cause.why) {
  case Why::Unknown:
    finding.message(which + " exactly 0, in any dtype");
    break;
  case Why::ZeroConstant:
    explainZero(finding, cause.where, which);
    break;
  case Why::Rectifier:
    finding.cause(cause.where, "never positive");
    finding.message(which + " exactly 0, since the rectifier behind passes "
                            "nothing on: its argument is never positive");
    break;
  case Why::Cancels:
    finding.severity(Severity::Note)
        .message(which + " 0 by algebra: the norm or softmax that reads the "
                         "sum subtracts the addend again, so that the "
                         "gradient cancels; a run shows rounding noise");
    break;
  }
  for (const ParameterGradient *parameter : parameters)
    if (Value value = scaling->find(parameter->name))
      watchDead(finding, cause, *parameter, value);
}

/// The share of what independent terms add up to, below which they cancel:
/// far above rounding noise (2^-8 of it in BF16), far below what a sum of
/// several channels comes to by chance.
static constexpr double kCancelled = 1.0 / 16;

/// Adds the test by which a run decides whether that gradient is 0.
void DeadParameters::watchDead(FindingBuilder &finding, const Origin &cause,
                               const ParameterGradient &parameter,
                               Value value) const {
  Type type = getElementType(parameter.computed);
  if (cause.why != Why::Cancels) {
    // It is 0 until the factor has learnt.
    Value factor = cause.why == Why::ZeroConstant ? cause.where : Value();
    finding.watchGradient(Decision::GradientZero, value, type, /*scale=*/0,
                          /*against=*/{}, factor);
    return;
  }
  // A run shows noise, which is small beside the gradients that are added.
  Operation *sum = getMaker(parameter.computed, Peel::CastsAndViews);
  while (hasRole(sum, Role::Reduction) && hasRole(sum, Role::Sum)) {
    Value terms = sum->getOperand(0);
    Value added = scaling->findForward(terms);
    if (!added)
      added = scaling->findForward(peel(terms, Peel::CastsAndViews));
    std::optional<int64_t> count = getNumElements(getShape(terms));
    if (added && count && parameter.count > 0) {
      double each = double(*count) / double(parameter.count);
      finding.watchGradientRatio(value, added, kCancelled * std::sqrt(each),
                                 kInfinity);
      return;
    }
    sum = getMaker(terms, Peel::CastsAndViews);
  }
  finding.watch(Decision::None, value);
}

void DeadParameters::reportDetached(FunctionOpInterface function) {
  auto names = function->getAttrOfType<ArrayAttr>("mp.detached");
  if (!names)
    return;
  Parameters none;
  std::vector<ParameterGradient> detached;
  Value first;
  for (auto name : names.getAsRange<StringAttr>()) {
    Value value = scaling->find(name.getValue());
    if (!value || !value.getDefiningOp())
      continue;
    if (!first)
      first = value;
    detached.emplace_back().name = name.str();
  }
  if (!first)
    return;
  Parameters list;
  for (const ParameterGradient &parameter : detached)
    list.push_back(&parameter);
  FindingBuilder finding = report(first.getDefiningOp(), first);
  finding.message("no gradient of the loss reaches " +
                  (list.size() == 1
                       ? list.front()->name
                       : std::to_string(list.size()) + " parameters (" +
                             listParameters(list) + ")") +
                  ": nothing differentiable leads from there to the loss");
  for (const ParameterGradient &parameter : detached) {
    Value value = scaling->find(parameter.name);
    finding.watchGradient(Decision::GradientZero, value, getElementType(value));
  }
}

/// The axis whose indices are the units; any one if they are not told apart.
static std::optional<int64_t> findUnitAxis(Value value,
                                           const RangeAnalysis &ranges) {
  const AbstractValue &known = ranges.preRounding(value);
  std::optional<int64_t> kept;
  for (auto [axis, groups] : llvm::enumerate(known.dims())) {
    if (groups == 1)
      continue;
    if (kept)
      return std::nullopt;
    kept = int64_t(axis);
  }
  MaybeShape shape = getShape(value);
  if (!kept && shape && !shape->empty())
    kept = int64_t(shape->size()) - 1;
  return kept;
}

/// Rectifiers of the forward pass with units, the groups of their argument,
/// that never pass anything on.
void DeadParameters::judgeUnits(Operation *op, double least) {
  if (!hasRole(op, Role::Rectifier) || !hasRole(op, Role::MakesZeros) ||
      op->hasAttr(kBackwardAttr) || op->getNumResults() != 1)
    return;
  double share = shareOfDeadUnits(op, *ranges).value_or(0);
  if (share < least)
    return;
  bool all = share == 1;
  FindingBuilder finding = report(op, op->getResult(0), Certainty::Likely);
  finding
      // Near half of them the estimate may be wrong about a few.
      .severity(share < kSure ? Severity::Note : Severity::Warning)
      .message((all ? "no unit" : describeShare(share) + " of the units") +
               std::string(all ? " of this rectifier is expected ever to be "
                                 "positive"
                               : " of this rectifier are expected never to be "
                                 "positive") +
               ": they have no gradient and do not learn");
  Value argument = op->getOperand(0);
  if (std::optional<int64_t> axis = findUnitAxis(argument, *ranges))
    finding.watchUnits(argument, *axis, all ? 1 : least);
  else
    finding.watch(Decision::None, argument);
}

void DeadParameters::check(ModuleOp module) {
  scaling = &getAnalysis<LossScaling>();
  ranges = &getAnalysis<RangeAnalysis>();
  llvm::MapVector<Origin, Parameters, std::map<Origin, unsigned>> dead;
  for (const ParameterGradient &parameter : scaling->estimate().parameters()) {
    const GradientEstimate &estimate = parameter.estimate;
    if (!estimate.known || !scaling->isPlausible())
      continue;
    if (estimate.rms > 0 && !cancels(parameter))
      continue;
    Origin cause = {Why::Cancels, {}};
    if (estimate.rms == 0)
      cause = findCause(parameter.gradient);
    if (cause.why == Why::Unknown && cancels(parameter))
      cause.why = Why::Cancels;
    if (cause.why == Why::Cancels)
      cause.where = {};
    dead[cause].push_back(&parameter);
  }
  for (auto &[cause, parameters] : dead)
    reportDead(cause, parameters);
  if (!scaling->hasGradients())
    return;
  double least = threshold("dead-units");
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto function = dyn_cast<FunctionOpInterface>(op))
      reportDetached(function);
    judgeUnits(op, least);
  });
}
