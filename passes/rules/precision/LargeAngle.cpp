//===- LargeAngle.cpp - MP307: an angle too large for its dtype
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Hazards/RangeSupport.h"
#include "passes/rules/Rules.h"

#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"

#include <cmath>

namespace mpopt {
#define GEN_PASS_DEF_LARGEANGLE
#include "passes/rules/Rules.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

namespace {
struct LargeAngle : RangeRule<LargeAngle, mpopt::impl::LargeAngleBase> {
  void judge(Operation *op, const RangeAnalysis &ranges);
};
} // namespace

/// Distance of neighbours of the format at `magnitude`.
static double getUlp(const FloatFormat &format, double magnitude) {
  if (!std::isfinite(magnitude))
    return magnitude;
  return format.ulp(magnitude);
}

void LargeAngle::judge(Operation *op, const RangeAnalysis &ranges) {
  if (!hasRole(op, Role::Periodic))
    return;
  Value angle = op->getOperand(0);
  const FloatFormat *format = getFloatFormat(getElementType(angle));
  if (!format || isConstant(angle))
    return;
  double least = threshold("large-angle-ulp");
  const auto &[bound, expected] = ranges.magnitudes(angle);
  // A bound that says nothing is no angle.
  if (!std::isfinite(bound) && !expected)
    return;
  bool likely = expected && *expected > 0 && getUlp(*format, *expected) > least;
  double size = likely ? *expected : bound;
  if (!std::isfinite(size) || size <= 0 || getUlp(*format, size) <= least)
    return;
  double ulp = getUlp(*format, size);
  FindingBuilder finding = report(op, angle);
  // At a radian positions are no longer distinguished; before, they are
  // blurred.
  finding.severity(ulp >= 100 * least ? Severity::Warning : Severity::Note)
      .certainty(likely ? Certainty::Likely : Certainty::Possible)
      .message("angles up to " + formatNumber(size) + " are " +
               formatNumber(ulp) + " apart in " + format->name);
  addRange(finding, angle, ranges);
  addGrowth(finding, angle, ranges, likely);
  fixByKeeping(finding, getElementType(angle),
               "the angle and its sine and cosine");
}
