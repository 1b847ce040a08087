//===- DynamicOutlier.cpp - MP612: outliers set a scale at run time
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/rules/Rules.h"

#include "mpopt/Dialect/Ops/QuantizationOps.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Hazards/ConstantText.h"
#include "mpopt/Hazards/QuantizationScale.h"

#include <cmath>

namespace mpopt {
#define GEN_PASS_DEF_DYNAMICOUTLIER
#include "passes/rules/Rules.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

namespace {
struct DynamicOutlier
    : RangeRule<DynamicOutlier, mpopt::impl::DynamicOutlierBase> {
  void judge(Operation *op, const RangeAnalysis &ranges);
  void judgeRows(mp::DynamicQuantizeOp op, const Cell &hull, double bits);
};
} // namespace

/// True unless the tensor is one row for every input.
static bool hasRows(Value value) {
  MaybeShape shape = getShape(value);
  return shape && shape->size() > 1 &&
         llvm::any_of(ArrayRef(*shape).drop_back(),
                      [](int64_t dim) { return dim != 1; });
}

/// Nothing in the file says how unlike rows are: a fact to know, no fault.
void DynamicOutlier::judgeRows(mp::DynamicQuantizeOp op, const Cell &hull,
                               double bits) {
  double least = threshold("dynamic-bits"),
         factor = std::round(10 * std::exp2(bits - least)) / 10;
  // Behind a norm no row can be so large.
  if (std::max(-hull.lo, hull.hi) <
      factor * std::max(-hull.likelyLo, hull.likelyHi))
    return;
  report(op, op.getValues(), Certainty::Likely)
      .tensor(op.getInput())
      .severity(Severity::Note)
      .message("all rows share one scale: the result of one depends on the "
               "rest of its batch and on padding, and a row " +
               formatNumber(factor) +
               " times as large as expected leaves the others fewer than " +
               formatNumber(least) + " bits")
      .likely(hull.likelyLo, hull.likelyHi);
}

/// The scale of a run is its range over 255 steps. Twice the size of a typical
/// element spans so many bits of codes.
void DynamicOutlier::judge(Operation *op, const RangeAnalysis &ranges) {
  auto quantize = dyn_cast<mp::DynamicQuantizeOp>(op);
  if (!quantize)
    return;
  const AbstractValue &x = ranges.preRounding(quantize.getInput());
  if (!x.hasLikely())
    return;
  Cell hull = x.hull();
  double range = std::max(hull.likelyHi, 0.0) - std::min(hull.likelyLo, 0.0);
  double size = sizeOfMiddle(x);
  if (!(range > 0) || !(size > 0))
    return;
  double bits = std::log2(2 * size / (range / 255));
  if (!(bits < threshold("dynamic-bits"))) {
    if (hasRows(quantize.getInput()))
      judgeRows(quantize, hull, bits);
    return;
  }
  report(op, quantize.getValues(), Certainty::Likely)
      .tensor(quantize.getInput())
      .message("a range of " + formatNumber(range) +
               " is expected, in steps of " + formatNumber(range / 255) +
               ", where the middle one of " + std::to_string(x.groups()) +
               " channels has a root mean square of " + formatNumber(size) +
               ": " + formatNumber(std::max(0.0, std::round(bits * 10) / 10)) +
               " bits are left for it")
      .likely(hull.likelyLo, hull.likelyHi);
}
