//===- SensitiveOp.cpp - MP611: codes where an op needs more than they have
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Not covered: positions, and decoders of boxes.
//
//===----------------------------------------------------------------------===//

#include "passes/rules/Rules.h"

#include "mpopt/Dialect/Composite.h"
#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/QuantizationOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/StorageTypes.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Hazards/ConstantText.h"
#include "mpopt/Hazards/QuantizationScale.h"
#include "mpopt/Ranges/Analysis/ExpectedCodes.h"

#include <cmath>

namespace mpopt {
#define GEN_PASS_DEF_SENSITIVEOP
#include "passes/rules/Rules.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

namespace {
struct SensitiveOp : RangeRule<SensitiveOp, mpopt::impl::SensitiveOpBase> {
  void check(ModuleOp module) override {
    composites.emplace(module);
    RangeRule::check(module);
  }
  void judge(Operation *op, const RangeAnalysis &ranges);

private:
  bool feedsNorm(mp::QuantizeOp op) const;
  bool judgeProbabilities(mp::QuantizeOp op, const StorageFormat &scaled,
                          const RangeAnalysis &ranges);
  void judgeOutliers(mp::QuantizeOp op, const StorageFormat &scaled,
                     const RangeAnalysis &ranges);

  std::optional<Composites> composites;
};
} // namespace

/// Probabilities have known ends: codes that end at 1 fit whatever was seen.
bool SensitiveOp::judgeProbabilities(mp::QuantizeOp op,
                                     const StorageFormat &scaled,
                                     const RangeAnalysis &ranges) {
  Operation *maker = getMaker(op.getInput(), Peel::Identities | Peel::Views);
  const OpMeaning *meaning = maker ? getResultMeaning(maker) : nullptr;
  if (!meaning || !bool(meaning->roles & Role::Probability))
    return false;
  // Twice as far as they reach, a bit is lost.
  constexpr double kWide = 2;
  double end = scaled.ends().hi;
  double largest = ranges.preRounding(op.getInput()).hull().likelyHi;
  if (largest > end * getTrust(op.getInput(), op.getScale())) {
    report(op, op.getResult(), Certainty::Likely)
        .tensor(op.getInput())
        .message("probabilities are clipped at " + formatNumber(end) +
                 ", the last code: " + formatNumber(largest) +
                 " is expected, and a scale of 1 / " +
                 formatNumber(scaled.codes.hi - scaled.zeroPoint) +
                 " holds all of them")
        .cause(op.getScale(), "is the scale");
    return true;
  }
  if (end < kWide)
    return false;
  report(op, op.getResult(), Certainty::Likely)
      .tensor(op.getInput())
      .message("probabilities are quantised in steps of " +
               formatNumber(scaled.step()) + ", of which the last code is " +
               formatNumber(end) + ": 1 / " +
               formatNumber(scaled.codes.hi - scaled.codes.lo + 1) +
               " holds all of them")
      .cause(op.getScale(), "is the scale");
  return true;
}

/// True if a norm or a smooth activation reads the numbers for which codes
/// stand.
bool SensitiveOp::feedsNorm(mp::QuantizeOp op) const {
  auto isSensitive = [&](Operation *user) {
    if (const Composite *composite = composites->get(user))
      return !bool(composite->meaning->roles & Role::Softmax);
    return hasRole(user, Role::RowNorm);
  };
  return llvm::any_of(op.getResult().getUsers(), [&](Operation *reader) {
    auto numbers = dyn_cast<mp::DequantizeOp>(reader);
    return numbers && llvm::any_of(numbers.getResult().getUsers(), isSensitive);
  });
}

/// A norm makes the typical element as large as it was small beside outliers.
void SensitiveOp::judgeOutliers(mp::QuantizeOp op, const StorageFormat &scaled,
                                const RangeAnalysis &ranges) {
  const AbstractValue &x = ranges.preRounding(op.getInput());
  if (!x.hasLikely() || isConstant(op.getInput()) || !feedsNorm(op))
    return;
  Cell hull = x.hull();
  double largest = std::max(hull.likelyHi, -hull.likelyLo),
         middle = sizeOfMiddle(x);
  if (!(largest > threshold("outliers") * middle))
    return;
  report(op, op.getResult(), Certainty::Likely)
      .tensor(op.getInput())
      .message("the input of a norm or activation is quantised with outliers "
               "of " +
               formatNumber(largest) + ": a step is " +
               formatNumber(scaled.step()) + ", where the middle one of " +
               std::to_string(x.groups()) +
               " channels has a root mean square of " + formatNumber(middle))
      .cause(op.getScale(), "is the scale");
}

void SensitiveOp::judge(Operation *op, const RangeAnalysis &ranges) {
  auto quantize = dyn_cast<mp::QuantizeOp>(op);
  auto format = quantize ? storageFormatOf(quantize) : std::nullopt;
  if (!format || format->floats)
    return;
  double scale = std::fabs(ranges.of(quantize.getScale()).hull().mean);
  double zero = quantize.getZeroPoint()
                    ? ranges.of(quantize.getZeroPoint()).hull().mean
                    : 0;
  if (!(scale > 0))
    return;
  StorageFormat scaled = format->scaled(scale, zero);
  if (!judgeProbabilities(quantize, scaled, ranges))
    judgeOutliers(quantize, scaled, ranges);
}
