//===- ExpectedCodes.cpp - The codes that a tensor is to take -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each group of numbers is normal. Where a rectifier made them they are those
// of its operand, of which all below 0 have the code of 0.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Ranges/Analysis/ExpectedCodes.h"

#include "mpopt/Dialect/Composite.h"
#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/StorageTypes.h"
#include "mpopt/Numerics/Normal.h"
#include "mpopt/Ranges/Analysis/RangeAnalysis.h"
#include "mpopt/Ranges/Value/ElementwiseSupport.h"
#include "mpopt/Ranges/Value/QuantizationSupport.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

/// A scale was taken from numbers that were observed, and estimates within a
/// network are off by a factor of 2 to 3 at times (bench/grammar.py); what is
/// declared of inputs is only not what a run draws at the most.
/// Probabilities in steps of a power of two have the scale that a tool gives
/// all of them, which says nothing of what was observed.
double mpopt::getTrust(Value x, Value scale) {
  constexpr double kOfEstimates = 3, kOfInputs = 1.25;
  Operation *maker = getMaker(x, Peel::CastsAndViews);
  if (!maker)
    return kOfInputs;
  std::optional<double> step = scale ? getSplatConstant(scale) : std::nullopt;
  const OpMeaning *meaning = getResultMeaning(maker);
  int exponent;
  bool isDefault = step && std::frexp(*step, &exponent) == 0.5 && meaning &&
                   bool(meaning->roles & Role::Probability);
  return isDefault ? kOfInputs : kOfEstimates;
}

/// The factor on numbers that brings those which are expected past the ends to
/// them, unless it is believed that they pass them.
static double fitToEnds(const Cell &hull, const Interval &ends, double trust) {
  double past = std::max(ends.hi > 0 ? hull.likelyHi / ends.hi : 0,
                         ends.lo < 0 ? hull.likelyLo / ends.lo : 0);
  return past > 1 && past <= trust ? 1 / past : 1;
}

static double shareBelow(double number, const Likely &x) {
  double deviation = x.deviation();
  return deviation > 0 ? normalShareBelow((number - x.mean) / deviation)
                       : double(x.mean < number);
}

/// The shares of a group added to `sum`.
static void addGroup(const Likely &x, const StorageFormat &scaled,
                     bool isRectified, CodeShares &sum) {
  double half = scaled.scale / 2;
  Interval ends = scaled.ends();
  bool noneBelow = isRectified || scaled.zeroPoint == scaled.codes.lo;
  sum.atZero += shareBelow(half, x) - (noneBelow ? 0 : shareBelow(-half, x));
  // An end that no number is expected at has none of the tail.
  if (!noneBelow && x.lo < ends.lo + half)
    sum.atEnds += shareBelow(ends.lo + half, x);
  if (scaled.zeroPoint != scaled.codes.hi && x.hi > ends.hi - half)
    sum.atEnds += 1 - shareBelow(ends.hi - half, x);
}

std::optional<CodeShares> mpopt::expectCodes(mp::QuantizeOp op,
                                             const RangeAnalysis &ranges) {
  std::optional<StorageFormat> format = storageFormatOf(op);
  const AbstractValue &stored = ranges.preRounding(op.getInput());
  double scale = std::fabs(ranges.of(op.getScale()).hull().mean);
  double zero =
      op.getZeroPoint() ? ranges.of(op.getZeroPoint()).hull().mean : 0;
  // Records count no others.
  constexpr double kMost = 256;
  if (!format || format->floats ||
      format->codes.hi - format->codes.lo >= kMost || !stored.hasLikely() ||
      !(scale > 0))
    return std::nullopt;
  StorageFormat whole = format->scaled(scale, zero);
  Cell hull = stored.hull();
  double fit =
      fitToEnds(hull, whole.ends(), getTrust(op.getInput(), op.getScale()));
  auto codeOf = [&](double number) {
    return std::clamp(std::nearbyint(fit * number / scale) + zero,
                      whole.codes.lo, whole.codes.hi);
  };
  CodeShares expected = {whole.codes, zero};
  expected.used = codeOf(hull.likelyHi) - codeOf(hull.likelyLo) + 1;

  Operation *maker = getMaker(op.getInput(), Peel::CastsAndViews);
  bool isRectified = hasRole(maker, Role::Rectifier);
  AbstractValue x = stored;
  if (isRectified && maker->getResult(0) == op.getInput())
    x = ranges.preRounding(maker->getOperand(0));
  TransferContext &ctx = ranges.context();
  double groups = 0;
  mapGroups(
      ctx, alignQuantization(x, op.getScale(), op.getZeroPoint(), *format, ctx),
      [](ArrayRef<FloatRange>) { return FloatRange::point(0); },
      [&](ArrayRef<Likely> in) {
        ++groups;
        Likely fitted = {fit * in[0].mean, fit * fit * in[0].variance,
                         fit * in[0].lo, fit * in[0].hi};
        addGroup(fitted, format->scaled(std::fabs(in[1].mean), in[2].mean),
                 isRectified, expected);
        return Likely::point(0);
      });
  if (!(groups > 0))
    return std::nullopt;
  expected.atEnds /= groups;
  expected.atZero /= groups;
  return expected;
}
