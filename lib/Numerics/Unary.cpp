//===- Unary.cpp - Images under functions of one number
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The image of an interval is the hull of the values at its ends and at the
// stationary points and jumps inside; piecewise linear and algebraic functions
// use interval arithmetic, which keeps exact results exact.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Numerics/FunctionTable.h"
#include "mpopt/Numerics/Rounding.h"
#include "mpopt/Numerics/UnaryKernel.h"

#include <cmath>

using namespace mpopt;

//===----------------------------------------------------------------------===//
// Real images
//===----------------------------------------------------------------------===//

/// Adds the values inside `x` that the ends do not show.
void UnaryImage::addInterior(const Interval &x,
                             llvm::SmallVectorImpl<double> &values) const {
  if (auto *interior = unary.function.row().interior)
    return interior(unary, x, values);
  // A function is flat where it is least: 1e-15 beside the point is far closer
  // in value than the margin.
  for (double at : breaks)
    if (x.contains(at))
      values.push_back(evaluate(unary, at));
}

Interval UnaryImage::ofDomain(const Interval &x) const {
  if (auto *exactImage = unary.function.row().exactImage)
    return exactImage(unary, x);
  llvm::SmallVector<double, 4> values = {evaluate(unary, x.lo),
                                         evaluate(unary, x.hi)};
  addInterior(x, values);
  Interval result = Interval::empty();
  for (double value : values) {
    if (std::isnan(value))
      return facts.range;
    result = hull(result, value);
  }
  // The end of overflowing values is the largest double, not Inf.
  if (result.lo == kInfinity)
    result.lo = std::numeric_limits<double>::max();
  if (result.hi == -kInfinity)
    result.hi = -std::numeric_limits<double>::max();
  // A result that underflows to 0 is off by less than 16 of the smallest
  // doubles.
  auto absolute = [](double end) {
    return end != 0 && std::fabs(end) > 0x1p-1000 ? 0 : 0x1p-1070;
  };
  Interval wide = result.widened({facts.margin, absolute(result.lo)},
                                 {facts.margin, absolute(result.hi)});
  // Each function here is 0 at 0 exactly or has one sign on each side.
  if (facts.kernel.keepsSign || facts.growsFromZero) {
    if (result.lo >= 0)
      wide.lo = std::max(wide.lo, 0.0);
    if (result.hi <= 0)
      wide.hi = std::min(wide.hi, 0.0);
  }
  return intersect(wide, facts.range);
}

Interval UnaryImage::operator()(const Interval &x) const {
  Interval inside = intersect(x, facts.domain);
  return inside.isEmpty() ? inside : ofDomain(inside);
}

Interval mpopt::image(const Unary &unary, const Interval &x) {
  return UnaryImage(unary)(x);
}

//===----------------------------------------------------------------------===//
// Results of kernels
//===----------------------------------------------------------------------===//

/// The function with the numbers of its formula as the kernel's format has
/// them; nothing if it has all of them.
static std::optional<Unary> roundNumbers(const Unary &unary,
                                         const FloatFormat &format) {
  auto round = [&](double value) {
    double rounded = format.round(value);
    return std::isfinite(rounded) && rounded != 0 ? rounded : value;
  };
  Unary rounded = unary;
  rounded.alpha = round(unary.alpha);
  rounded.beta = round(unary.beta);
  rounded.threshold = round(unary.threshold);
  if (rounded.alpha == unary.alpha && rounded.beta == unary.beta &&
      rounded.threshold == unary.threshold)
    return std::nullopt;
  return rounded;
}

/// The function's range as a kernel keeps it. An approximation may pass the
/// ends by its error; zero is not passed, whatever the sign of the error.
static Interval getComputedRange(const FunctionFacts &facts,
                                 const ComputeError &error) {
  double beyond = error.absolute;
  if (facts.rangeUlps != 0)
    beyond = facts.rangeUlps * error.scale * error.format->epsilon();
  Interval range = facts.range;
  if (std::isfinite(range.lo) && range.lo < 0)
    range.lo = addDown(range.lo, mulDown(range.lo, beyond));
  if (std::isfinite(range.hi) && range.hi > 0)
    range.hi = addUp(range.hi, mulUp(range.hi, beyond));
  return range;
}

UnaryKernel::UnaryKernel(const Unary &unary, const ComputeError &error)
    : exact(unary), error(error), kernel(exact.facts.kernel) {
  if (error.scale != 0)
    if (std::optional<Unary> numbers = roundNumbers(unary, *error.format))
      rounded.emplace(*numbers, exact.facts);
  if (exact.facts.divides)
    kernel.ulps += error.divisionUlps;
}

/// The error as it counts for operands in `x`.
ComputeError UnaryKernel::appliedOn(const Interval &x) const {
  ComputeError applied = error;
  // Piecewise linear kernels have nothing to approximate.
  if (exact.facts.margin == 0)
    applied.absolute = 0;
  if (exact.facts.timesApproximated)
    applied.absolute =
        error.absolute == 0 ? 0 : mulUp(error.absolute, x.maxAbs());
  return applied;
}

double UnaryKernel::errorOn(const Interval &x, double most) const {
  KernelError anySign = kernel;
  anySign.keepsSign = false;
  double wide =
      appliedOn(x).widen(Interval::symmetric(most), anySign, x.maxAbs()).hi;
  // Small results are off by units of the smallest number.
  double small =
      mulUp(kernel.ulps * error.scale, error.format->minSubnormal) * 2;
  return wide == most && small == 0 ? 0 : addUp(subUp(wide, most), small);
}

/// The results for the operands in `part` and the domain.
Interval UnaryKernel::computePart(const Interval &part) const {
  const FunctionFacts &facts = exact.facts;
  Interval inside = intersect(part, facts.domain);
  if (inside.isEmpty())
    return inside;
  ComputeError applied = appliedOn(inside);
  Interval real = exact.ofDomain(inside);
  if (rounded)
    real = hull(real, rounded->ofDomain(inside));
  return intersect(applied.widen(real, kernel, inside.maxAbs()),
                   getComputedRange(facts, applied));
}

Interval UnaryKernel::computeFinite(const FloatRange &x) const {
  // Around a pole at zero, the smallest magnitude bounds the result.
  if (!exact.facts.poles.empty() && exact.facts.poles.front().at == 0)
    return hull(computePart(x.negativePart()), computePart(x.positivePart()));
  return computePart(x.finite);
}

/// The smallest non-zero magnitude of the result, 0 if it is not known.
double UnaryKernel::getSmallest(const FloatRange &x) const {
  if (!exact.facts.growsFromZero || x.minNonZero == 0 || error.absolute != 0 ||
      !x.finite.contains(0.0))
    return 0;
  double smallest = kInfinity;
  for (double end : {x.minNonZero, -x.minNonZero}) {
    Interval value = exact(Interval::point(end));
    if (value.isEmpty() || value == Interval::point(0))
      continue; // Outside the domain, or on the flat side of a ramp.
    value = error.widen(value, exact.facts.kernel, x.minNonZero);
    smallest = std::min(smallest, value.minAbs());
  }
  return std::isfinite(smallest) ? smallest : 0;
}

/// The result of a kernel for an infinity.
FloatRange UnaryKernel::atInfinity(double infinity, bool nan) const {
  FloatRange result = FloatRange::point(evaluate(exact.unary, infinity));
  result.nan |= nan;
  return result;
}

/// The results for NaN and the infinities among the operands.
FloatRange UnaryKernel::atSpecials(const FloatRange &x) const {
  const FunctionFacts &facts = exact.facts;
  FloatRange special;
  if (x.nan)
    special.finite = facts.ofNaN;
  if (x.posInf)
    special = join(special, atInfinity(kInfinity, facts.nanAtPosInf));
  if (x.negInf)
    special = join(special, atInfinity(-kInfinity, facts.nanAtNegInf));
  if (!special.finite.isEmpty()) {
    // Limits such as pi/2 are rounded by the kernel as well.
    special.finite =
        intersect(error.widen(special.finite, facts.kernel.ulps), facts.range);
    special.integral = special.finite.isPoint() &&
                       std::floor(special.finite.lo) == special.finite.lo;
    special.minNonZero = 0;
    special.tighten();
  }
  return special;
}

FloatRange UnaryKernel::operator()(const FloatRange &x) const {
  const FunctionFacts &facts = exact.facts;
  FloatRange result;
  result.nan = x.nan;
  result.finite = computeFinite(x);
  result.integral = facts.integral || (facts.keepsIntegers && x.integral);
  result.minNonZero = getSmallest(x);

  Interval closed = facts.domain;
  for (const Pole &pole : facts.poles) {
    closed = hull(closed, pole.at);
    if (!x.finite.contains(pole.at))
      continue;
    result.posInf |= pole.posInf;
    result.negInf |= pole.negInf;
  }
  result.nan |= !closed.contains(x.finite);
  result.tighten();
  return join(result, atSpecials(x));
}

FloatRange mpopt::apply(const Unary &unary, const FloatRange &x,
                        const ComputeError &error) {
  return UnaryKernel(unary, error)(x);
}
