//===- Unary.cpp - Images under functions of one number
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The image of an interval is the hull of the values at its ends and at the
// stationary points and jumps inside; piecewise linear and algebraic functions
// use interval arithmetic, which keeps exact results exact.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Numerics/FunctionTable.h"
#include "mpopt/Numerics/Rounding.h"

#include <cmath>

using namespace mpopt;

//===----------------------------------------------------------------------===//
// Real images
//===----------------------------------------------------------------------===//

/// Values inside `x` that the ends do not show.
static void addInterior(const Unary &unary, const Interval &x,
                        llvm::SmallVectorImpl<double> &values) {
  if (auto *interior = unary.function.row().interior)
    return interior(unary, x, values);
  // A function is flat where it is least: 1e-15 beside the point is far closer
  // in value than the margin.
  for (double at : getBreaks(unary))
    if (x.contains(at))
      values.push_back(evaluate(unary, at));
}

/// `x` lies in the domain and is not empty.
static Interval imageInDomain(const Unary &unary, const FunctionFacts &facts,
                              const Interval &x) {
  if (auto *exactImage = unary.function.row().exactImage)
    return exactImage(unary, x);
  llvm::SmallVector<double, 4> values = {evaluate(unary, x.lo),
                                         evaluate(unary, x.hi)};
  addInterior(unary, x, values);
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
  Interval wide = {result.widened(facts.margin, absolute(result.lo)).lo,
                   result.widened(facts.margin, absolute(result.hi)).hi};
  // Each function here is 0 at 0 exactly or has one sign on each side.
  if (facts.kernel.keepsSign || facts.growsFromZero) {
    if (result.lo >= 0)
      wide.lo = std::max(wide.lo, 0.0);
    if (result.hi <= 0)
      wide.hi = std::min(wide.hi, 0.0);
  }
  return intersect(wide, facts.range);
}

Interval mpopt::image(const Unary &unary, const Interval &x) {
  FunctionFacts facts = getFacts(unary);
  Interval inside = intersect(x, facts.domain);
  return inside.isEmpty() ? inside : imageInDomain(unary, facts, inside);
}

//===----------------------------------------------------------------------===//
// Results of kernels
//===----------------------------------------------------------------------===//

/// The kernel's constants may be rounded to its format.
static Unary roundConstants(const Unary &unary, const FloatFormat &format) {
  auto round = [&](double value) {
    double rounded = format.round(value);
    return std::isfinite(rounded) && rounded != 0 ? rounded : value;
  };
  Unary rounded = unary;
  rounded.alpha = round(unary.alpha);
  rounded.beta = round(unary.beta);
  rounded.threshold = round(unary.threshold);
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

/// The results of a kernel for the finite operands in the domain.
static Interval computeFinite(const Unary &unary, const FunctionFacts &facts,
                              const FloatRange &x, const ComputeError &error) {
  // Around a pole at zero, the smallest magnitude bounds the result.
  llvm::SmallVector<Interval, 2> parts = {x.finite};
  if (!facts.poles.empty() && facts.poles.front().at == 0)
    parts = {x.negativePart(), x.positivePart()};
  Unary rounded = roundConstants(unary, *error.format);
  KernelError kernel = facts.kernel;
  if (facts.divides)
    kernel.ulps += error.divisionUlps;
  // Piecewise linear kernels have nothing to approximate.
  ComputeError applied = error;
  if (facts.margin == 0)
    applied.absolute = 0;
  Interval result = Interval::empty();
  for (const Interval &part : parts) {
    Interval inside = intersect(part, facts.domain);
    if (inside.isEmpty())
      continue;
    if (facts.timesApproximated)
      applied.absolute =
          error.absolute == 0 ? 0 : mulUp(error.absolute, inside.maxAbs());
    Interval range = getComputedRange(facts, applied);
    Interval real = imageInDomain(unary, facts, inside);
    if (error.scale != 0)
      real = hull(real, imageInDomain(rounded, facts, inside));
    result = hull(
        result, intersect(applied.widen(real, kernel, inside.maxAbs()), range));
  }
  return result;
}

/// The smallest non-zero magnitude of the result, 0 if it is not known.
static double getSmallest(const Unary &unary, const FunctionFacts &facts,
                          const FloatRange &x, const ComputeError &error) {
  if (!facts.growsFromZero || x.minNonZero == 0 || error.absolute != 0 ||
      !x.finite.contains(0.0))
    return 0;
  double smallest = kInfinity;
  for (double end : {x.minNonZero, -x.minNonZero}) {
    Interval value = image(unary, Interval::point(end));
    if (value.isEmpty() || value == Interval::point(0))
      continue; // Outside the domain, or on the flat side of a ramp.
    value = error.widen(value, facts.kernel, x.minNonZero);
    smallest = std::min(smallest, value.minAbs());
  }
  return std::isfinite(smallest) ? smallest : 0;
}

/// The result of a kernel for an infinity.
static FloatRange atInfinity(const Unary &unary, double infinity, bool nan) {
  FloatRange result = FloatRange::point(evaluate(unary, infinity));
  result.nan |= nan;
  return result;
}

FloatRange mpopt::apply(const Unary &unary, const FloatRange &x,
                        const ComputeError &error) {
  FunctionFacts facts = getFacts(unary);
  FloatRange result;
  result.nan = x.nan;
  result.finite = computeFinite(unary, facts, x, error);
  result.integral = facts.integral || (facts.keepsIntegers && x.integral);
  result.minNonZero = getSmallest(unary, facts, x, error);

  Interval closed = facts.domain;
  for (const Pole &pole : facts.poles) {
    closed = hull(closed, pole.at);
    if (!x.finite.contains(pole.at))
      continue;
    result.posInf |= pole.posInf;
    result.negInf |= pole.negInf;
  }
  result.nan |= !closed.contains(x.finite);

  FloatRange special;
  if (x.nan)
    special.finite = facts.ofNaN;
  if (x.posInf)
    special = join(special, atInfinity(unary, kInfinity, facts.nanAtPosInf));
  if (x.negInf)
    special = join(special, atInfinity(unary, -kInfinity, facts.nanAtNegInf));
  if (!special.finite.isEmpty()) {
    // Limits such as pi/2 are rounded by the kernel as well.
    special.finite =
        intersect(error.widen(special.finite, facts.kernel.ulps), facts.range);
    special.integral = special.finite.isPoint() &&
                       std::floor(special.finite.lo) == special.finite.lo;
    special.minNonZero = 0;
    special.tighten();
  }
  result.tighten();
  return join(result, special);
}
