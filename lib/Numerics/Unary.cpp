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

#include "UnaryShape.h"

#include "mpopt/Numerics/Rounding.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace mpopt;
using F = UnaryFunction;

static constexpr llvm::StringLiteral kMnemonics[] = {
#define MPOPT_UNARY(name, mnemonic) mnemonic,
#include "mpopt/Numerics/UnaryFunctions.def"
};

static constexpr F kFunctions[] = {
#define MPOPT_UNARY(name, mnemonic) F::name,
#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Numerics/UnaryFunctions.def"
};

llvm::StringRef mpopt::toString(UnaryFunction function) {
  return kMnemonics[unsigned(function)];
}

llvm::ArrayRef<UnaryFunction> mpopt::getUnaryFunctions() { return kFunctions; }

std::optional<UnaryFunction>
mpopt::parseUnaryFunction(llvm::StringRef mnemonic) {
  const auto *it = llvm::find(kMnemonics, mnemonic);
  if (it == std::end(kMnemonics))
    return std::nullopt;
  return kFunctions[it - kMnemonics];
}

//===----------------------------------------------------------------------===//
// Real images
//===----------------------------------------------------------------------===//

static Interval clampTo(const Interval &x, double low, double high) {
  return min(max(x, Interval::point(low)), Interval::point(high));
}

static Interval hardSwishAt(double x) {
  Interval point = Interval::point(x);
  return point * clampTo(point / Interval::point(6) + 0.5, 0, 1);
}

/// Of functions that interval arithmetic gives exactly; nothing for the others.
static std::optional<Interval> algebraicImage(const Unary &unary,
                                              const Interval &x) {
  double alpha = unary.alpha, beta = unary.beta;
  switch (unary.function) {
  case F::Abs:
    return abs(x);
  case F::Neg:
    return -x;
  case F::Square:
    return square(x);
  case F::Sqrt:
    return sqrt(x);
  case F::Rsqrt:
    return reciprocal(sqrt(x));
  case F::Reciprocal:
    return reciprocal(x);
  case F::Sign:
  case F::Floor:
  case F::Ceil:
  case F::Round:
  case F::Trunc:
    return Interval{evaluate(unary, x.lo) + 0.0, evaluate(unary, x.hi) + 0.0};
  case F::Relu:
    return max(x, Interval::point(0));
  case F::Relu6:
    return clampTo(x, 0, 6);
  case F::HardTanh:
    return clampTo(x, alpha, beta);
  case F::LeakyRelu:
    return hull(intersect(x, {0, kInfinity}),
                intersect(x, {-kInfinity, 0}) * alpha);
  case F::ThresholdedRelu: {
    Interval kept = intersect(x, {nextUp(alpha), kInfinity});
    return x.lo <= alpha ? hull(kept, 0.0) : kept;
  }
  case F::HardSigmoid:
    return clampTo(x * alpha + beta, 0, 1);
  case F::HardSwish: {
    Interval ends = hull(hardSwishAt(x.lo), hardSwishAt(x.hi));
    return x.contains(-1.5) ? hull(ends, -0.375) : ends;
  }
  case F::Shrink: {
    Interval rest = intersect(x, {-alpha, kInfinity});
    Interval moved = hull(intersect(x, {-kInfinity, nextDown(-alpha)}) + beta,
                          intersect(rest, {nextUp(alpha), kInfinity}) + -beta);
    bool inside = !intersect(rest, {-kInfinity, alpha}).isEmpty();
    return inside ? hull(moved, 0.0) : moved;
  }
  default:
    return std::nullopt;
  }
}

/// `x` lies in the domain and is not empty.
static Interval imageInDomain(const Unary &unary, const UnaryShape &shape,
                              const Interval &x) {
  if (std::optional<Interval> exact = algebraicImage(unary, x))
    return *exact;
  llvm::SmallVector<double, 4> values = {evaluate(unary, x.lo),
                                         evaluate(unary, x.hi)};
  getInteriorValues(unary, x, values);
  Interval result = Interval::empty();
  for (double value : values) {
    if (std::isnan(value))
      return shape.range;
    result = hull(result, value);
  }
  // The end of overflowing values is the largest double, not Inf.
  if (result.lo == kInfinity)
    result.lo = std::numeric_limits<double>::max();
  if (result.hi == -kInfinity)
    result.hi = -std::numeric_limits<double>::max();
  // What underflows to 0 is off by less than 16 of the smallest doubles.
  auto absolute = [](double end) {
    return end != 0 && std::fabs(end) > 0x1p-1000 ? 0 : 0x1p-1070;
  };
  Interval wide = {result.widened(shape.margin, absolute(result.lo)).lo,
                   result.widened(shape.margin, absolute(result.hi)).hi};
  // Each function here is 0 at 0 exactly or has one sign on each side.
  if (shape.kernel.keepsSign || shape.growsFromZero) {
    if (result.lo >= 0)
      wide.lo = std::max(wide.lo, 0.0);
    if (result.hi <= 0)
      wide.hi = std::min(wide.hi, 0.0);
  }
  return intersect(wide, shape.range);
}

Interval mpopt::image(const Unary &unary, const Interval &x) {
  UnaryShape shape = getShape(unary);
  Interval inside = intersect(x, shape.domain);
  return inside.isEmpty() ? inside : imageInDomain(unary, shape, inside);
}

//===----------------------------------------------------------------------===//
// What a kernel computes
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
static Interval getComputedRange(const Unary &unary, const UnaryShape &shape,
                                 const ComputeError &error) {
  double beyond = error.absolute;
  // x / (1 + |x|) by way of 1 / (1 + |x|): two roundings.
  if (unary.function == F::Softsign)
    beyond = 2 * error.scale * error.format->epsilon();
  Interval range = shape.range;
  if (std::isfinite(range.lo) && range.lo < 0)
    range.lo = addDown(range.lo, mulDown(range.lo, beyond));
  if (std::isfinite(range.hi) && range.hi > 0)
    range.hi = addUp(range.hi, mulUp(range.hi, beyond));
  return range;
}

/// Of the finite operands, what a kernel makes of those in the domain.
static Interval computeFinite(const Unary &unary, const UnaryShape &shape,
                              const FloatRange &x, const ComputeError &error) {
  // Around a pole at zero, the smallest magnitude bounds the result.
  llvm::SmallVector<Interval, 2> parts = {x.finite};
  if (!shape.poles.empty() && shape.poles.front().at == 0)
    parts = {x.negativePart(), x.positivePart()};
  Unary rounded = roundConstants(unary, *error.format);
  KernelError kernel = shape.kernel;
  if (unary.function == F::Reciprocal || unary.function == F::Sqrt)
    kernel.ulps += error.divisionUlps;
  // Piecewise linear kernels have nothing to approximate.
  ComputeError applied = error;
  if (shape.margin == 0)
    applied.absolute = 0;
  Interval result = Interval::empty();
  for (const Interval &part : parts) {
    Interval inside = intersect(part, shape.domain);
    if (inside.isEmpty())
      continue;
    // x times an approximated sigmoid.
    if (unary.function == F::Silu || unary.function == F::QuickGelu)
      applied.absolute =
          error.absolute == 0 ? 0 : mulUp(error.absolute, inside.maxAbs());
    Interval range = getComputedRange(unary, shape, applied);
    Interval real = imageInDomain(unary, shape, inside);
    if (error.scale != 0)
      real = hull(real, imageInDomain(rounded, shape, inside));
    result = hull(
        result, intersect(applied.widen(real, kernel, inside.maxAbs()), range));
  }
  return result;
}

/// The smallest non-zero magnitude of the result, 0 if it is not known.
static double getSmallest(const Unary &unary, const UnaryShape &shape,
                          const FloatRange &x, const ComputeError &error) {
  if (!shape.growsFromZero || x.minNonZero == 0 || error.absolute != 0 ||
      !x.finite.contains(0.0))
    return 0;
  double smallest = kInfinity;
  for (double end : {x.minNonZero, -x.minNonZero}) {
    Interval value = image(unary, Interval::point(end));
    if (value.isEmpty() || value == Interval::point(0))
      continue; // Outside the domain, or on the flat side of a ramp.
    value = error.widen(value, shape.kernel, x.minNonZero);
    smallest = std::min(smallest, value.minAbs());
  }
  return std::isfinite(smallest) ? smallest : 0;
}

FloatRange mpopt::apply(const Unary &unary, const FloatRange &x,
                        const ComputeError &error) {
  UnaryShape shape = getShape(unary);
  FloatRange result;
  result.nan = x.nan;
  result.finite = computeFinite(unary, shape, x, error);
  result.integral = shape.integral || (shape.keepsIntegers && x.integral);
  result.minNonZero = getSmallest(unary, shape, x, error);

  Interval closed = shape.domain;
  for (const UnaryShape::Pole &pole : shape.poles) {
    closed = hull(closed, pole.at);
    if (!x.finite.contains(pole.at))
      continue;
    result.posInf |= pole.posInf;
    result.negInf |= pole.negInf;
  }
  result.nan |= !closed.contains(x.finite);

  FloatRange special;
  if (x.nan)
    special.finite = getValuesOfNaN(unary);
  if (x.posInf)
    special = join(special, applyToInfinity(unary, /*negative=*/false));
  if (x.negInf)
    special = join(special, applyToInfinity(unary, /*negative=*/true));
  if (!special.finite.isEmpty()) {
    // Limits such as pi/2 are rounded by the kernel as well.
    special.finite =
        intersect(error.widen(special.finite, shape.kernel.ulps), shape.range);
    special.integral = special.finite.isPoint() &&
                       std::floor(special.finite.lo) == special.finite.lo;
    special.minNonZero = 0;
    special.tighten();
  }
  result.tighten();
  return join(result, special);
}
