//===- LossForm.cpp - MP414: a loss that has a stable form and is not in it
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Logarithms of probabilities that the loss is made of. Sums with an epsilon
// and clips in front of the logarithm are left out: they keep the loss finite.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Dialect/Composite.h"
#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/ActivationOps.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/LossOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/Settings.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Hazards/ConstantText.h"
#include "passes/rules/Rules.h"

namespace mpopt {
#define GEN_PASS_DEF_LOSSFORM
#include "passes/rules/Rules.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

namespace {
struct LossForm : mpopt::impl::LossFormBase<LossForm> {
  void check(ModuleOp module) override;

private:
  void judgeLog(Operation *log);
  void judgeBinary(mp::BinaryCrossEntropyOp loss);
  FindingBuilder add(Operation *op, Operation *probability,
                     const Twine &message);
};
} // namespace

/// Ops between a logarithm and the loss.
static constexpr unsigned kMostSteps = 16;

/// True if the loss is made of the value: an op of the loss, or one that leads
/// there by sums, signs, weights and moves alone.
static bool isReadByLoss(Value value, unsigned steps = kMostSteps) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    if (user->hasAttr(kBackwardAttr))
      return false;
    if (user->hasAttr(kLossPartAttr) || hasRole(user, Role::Loss))
      return true;
    bool passes =
        isa<mp::CastOp>(user) || isViewLike(user) ||
        hasRole(user, Role::Negation | Role::CopiesElements | Role::Arithmetic);
    return steps && passes && user->getNumResults() == 1 &&
           isReadByLoss(user->getResult(0), steps - 1);
  });
}

static bool isForward(Operation *op) { return !op->hasAttr(kBackwardAttr); }

FindingBuilder LossForm::add(Operation *op, Operation *probability,
                             const Twine &message) {
  FindingBuilder finding = report(op, op->getResult(0));
  finding.dtype(getElementType(probability->getResult(0))).message(message);
  finding.cause(probability, "makes the probabilities");
  return finding;
}

/// An x from which sigmoid(x) rounds to 1: e^-x is half the gap below 1.
static double saturatesFrom(const FloatFormat &format) {
  return -std::log(format.unitRoundoff() / 2);
}
/// The greatest x with e^x = 0.
static double vanishesFrom(const FloatFormat &format) {
  return std::log(format.flushAt);
}

void LossForm::judgeLog(Operation *log) {
  if (log->getNumResults() != 1 || getIdiom(log) ||
      (!log->hasAttr(kLossPartAttr) && !isReadByLoss(log->getResult(0))))
    return;
  Operation *maker = getMaker(log->getOperand(0), Peel::CastsAndViews);
  if (!maker)
    return;
  bool complement = hasRole(maker, Role::Subtraction) &&
                    getSplatConstant(maker->getOperand(0)) == 1.0;
  Operation *probability =
      complement ? getMaker(maker->getOperand(1), Peel::CastsAndViews) : maker;
  if (!probability || getIdiom(probability))
    return;
  const FloatFormat *format =
      getFloatFormat(getElementType(probability->getResult(0)));
  if (!format)
    return;
  std::string dtype = getDtypeName(getElementType(probability->getResult(0)));
  FixAction action(FixAction::Kind::LogOfOperand, {probability, log});
  action.upper = complement;
  if (isa<mp::SigmoidOp>(probability) && complement)
    add(log, probability,
        "the loss is log(1 - sigmoid(x)), which is -Inf in " + dtype +
            " from x = " + formatNumber(saturatesFrom(*format)) +
            " on, and its gradient NaN; -softplus(x) is the same, or "
            "binary_cross_entropy_with_logits of x")
        .fix("change-op", "compute -softplus(x)", action);
  else if (isa<mp::SigmoidOp>(probability))
    add(log, probability,
        "the loss is log(sigmoid(x)), which is -Inf in " + dtype +
            " below x = " + formatNumber(vanishesFrom(*format)) +
            ", and its gradient NaN; log_sigmoid(x) is the same, or "
            "binary_cross_entropy_with_logits of x")
        .fix("change-op", "compute log_sigmoid(x)", action);
  else if (hasRole(probability, Role::Softmax) && !complement)
    add(log, probability,
        "the loss is log(softmax(x)), which is -Inf in " + dtype +
            " for scores that are " + formatNumber(-vanishesFrom(*format)) +
            " below the largest, and its gradient NaN; log_softmax(x) is the "
            "same, or cross_entropy of the scores")
        .fix("change-op", "compute log_softmax(x)", action);
}

void LossForm::judgeBinary(mp::BinaryCrossEntropyOp loss) {
  Operation *probability = getMaker(loss->getOperand(0), Peel::CastsAndViews);
  const FloatFormat *format =
      probability ? getFloatFormat(getElementType(probability->getResult(0)))
                  : nullptr;
  if (!format || !isa<mp::SigmoidOp>(probability))
    return;
  add(loss, probability,
      "the loss is binary_cross_entropy(sigmoid(x)): from x = " +
          formatNumber(saturatesFrom(*format)) +
          " on the probability is 1 in " +
          getDtypeName(getElementType(probability->getResult(0))) +
          ", the loss is cut off and no gradient is left; "
          "binary_cross_entropy_with_logits(x) is the same")
      .fix("change-op", "compute binary_cross_entropy_with_logits(x)",
           {FixAction::Kind::LossOfLogits, {loss, probability}});
}

void LossForm::check(ModuleOp module) {
  module.walk([&](Operation *op) {
    if (!isForward(op))
      return;
    if (auto loss = dyn_cast<mp::BinaryCrossEntropyOp>(op))
      judgeBinary(loss);
    else if (hasRole(op, Role::Logarithm) && hasRole(op, Role::PoleAtZero))
      judgeLog(op);
  });
}
