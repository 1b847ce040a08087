//===- PolicyRatio.cpp - MP310: ratios of policies that rounding moves
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A ratio exp(new - old) of two engines' probabilities of the same tokens is 1
// before any update. Where one computes in 16 bits, new - old is its error d.
// Errors of tokens are taken as normal and independent: the mean of |d| is
// sqrt(2 / pi) of the root mean square s, and a sum over n tokens is sqrt(n) s.
// Errors that lie in a row's logits alike are not in d: a log-softmax takes
// them off. Not covered: engines that both round, whose errors add up, and
// policies of which the ratio is not in the graph.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Hazards/RangeSupport.h"
#include "mpopt/Propagate/ErrorMoments.h"
#include "passes/rules/Rules.h"

#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/ActivationOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/LossOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Numerics/Normal.h"

#include "llvm/Support/Format.h"

#include <cmath>
#include <numbers>

namespace mpopt {
#define GEN_PASS_DEF_POLICYRATIO
#include "passes/rules/Rules.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

namespace {
struct PolicyRatio : mpopt::impl::PolicyRatioBase<PolicyRatio> {
  void check(ModuleOp module) override;

private:
  void judge(mp::ExpOp ratio, Value policy, double error,
             const FloatFormat &format);
};
} // namespace

/// True for log-probabilities, of all tokens or of those that were chosen.
static bool isLogProbability(Value value) {
  Operation *op = getMaker(value, Peel::CastsAndViews);
  if (auto negated = dyn_cast_if_present<mp::NegOp>(op))
    return isa_and_present<mp::CrossEntropyOp, mp::NllLossOp>(
        getMaker(negated.getInput(), Peel::CastsAndViews));
  if (hasRole(op, Role::Gathers))
    op = getMaker(op->getOperand(0), Peel::CastsAndViews);
  return isa_and_present<mp::LogSoftmaxOp>(op);
}

/// The log-probabilities of which `ratio` is e^(new - old), where the model
/// computes one of them; null for any other exponential.
static Value findPolicy(mp::ExpOp ratio) {
  Operation *difference = getMaker(ratio.getInput());
  if (!hasRole(difference, Role::Subtraction) ||
      difference->getNumOperands() != 2)
    return {};
  Value first = difference->getOperand(0), second = difference->getOperand(1);
  if (isLogProbability(first) != isLogProbability(second))
    return isLogProbability(first) ? first : second;
  return {};
}

/// The coarsest format that the value is made in.
static const FloatFormat *findCoarsest(ModuleOp module) {
  const FloatFormat *coarsest = nullptr;
  module.walk([&](Operation *op) {
    for (Value result : op->getResults())
      if (const FloatFormat *format = getFloatFormat(getElementType(result));
          format && (!coarsest || format->digits < coarsest->digits))
        coarsest = format;
  });
  return coarsest;
}

/// The share of |d| above `most`, of normal numbers around 0.
static double shareAbove(double most, double deviation) {
  return 2 * normalShareBelow(-most / deviation);
}

/// With two digits: an estimate has no more.
static std::string print(double number) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.2g", number);
  return text;
}

/// A share of the ratios; of fewer than one in ten thousand no run tells.
static std::string printShare(double share) {
  return share < 1e-4 ? "none" : print(100 * share) + " %";
}

/// The differences to FP32: `0.013 a token away from those of FP32 (in f16
/// 0.0016), 0.6 over 2048 tokens`.
static std::string describeError(Value ratio, double mean,
                                 const FloatFormat &format) {
  const FloatFormat &half = FloatFormat::f16();
  std::string text = print(mean) + " a token away from those of FP32";
  if (format.digits < half.digits)
    text += " (in f16 " +
            print(mean * half.unitRoundoff() / format.unitRoundoff()) + ")";
  MaybeShape shape = getShape(ratio);
  if (shape && shape->size() > 1 && (*shape)[1] > 1)
    text += ", " + print(std::sqrt(double((*shape)[1])) * mean) + " over " +
            std::to_string((*shape)[1]) + " tokens";
  return text;
}

void PolicyRatio::judge(mp::ExpOp ratio, Value policy, double error,
                        const FloatFormat &format) {
  double clip = threshold("ratio-clip"), far = threshold("ratio-off");
  double off = shareAbove(far, error);
  double clipped = (shareAbove(std::log1p(clip), error) +
                    shareAbove(-std::log1p(-clip), error)) /
                   2;
  bool isClipped = clipped > threshold("ratio-clipped-share");
  if (!isClipped && off <= threshold("ratio-off-share"))
    return;
  double mean = std::sqrt(2 / std::numbers::pi) * error;
  FindingBuilder finding = report(ratio, ratio.getResult(), Certainty::Likely);
  finding.severity(isClipped ? Severity::Error : Severity::Warning)
      .dtype(getElementType(policy))
      .message(
          "log-probabilities in " + format.name + " are " +
          describeError(ratio.getResult(), mean, format) +
          ", which grows with the root of the length: without any update " +
          printShare(off) + " of the ratios are off by over " + print(far) +
          ", " + printShare(clipped) + " outside of 1 +- " + print(clip) +
          "; compute the last product and the log-softmax in FP32 in both "
          "engines, all else in the same format, FP16 rather than BF16")
      .cause(policy, "are the log-probabilities");
}

void PolicyRatio::check(ModuleOp module) {
  SmallVector<std::pair<mp::ExpOp, Value>> ratios;
  module.walk([&](mp::ExpOp op) {
    if (Value policy = findPolicy(op))
      ratios.push_back({op, policy});
  });
  const FloatFormat *format = ratios.empty() ? nullptr : findCoarsest(module);
  if (!format || format->digits >= FloatFormat::f32().digits)
    return;
  const auto &ranges = getAnalysis<RangeAnalysis>();
  ErrorMoments moments(ranges);
  moments.run(*ratios.front().first->getBlock());
  for (auto [op, policy] : ratios)
    if (moments.isKnown(policy) && moments.of(policy).error > 0)
      judge(op, policy, std::sqrt(moments.of(policy).error), *format);
}
