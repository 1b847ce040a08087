//===- Power.cpp - Images under pow and atan2
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The special cases are those of C (ISO C, F.10.4.4 and F.10.1.4), which NumPy,
// PyTorch and ONNX Runtime follow: x^0 and 1^y are 1 also for NaN.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Numerics/Binary.h"
#include "mpopt/Numerics/Infinity.h"

#include <cmath>
#include <numbers>

using namespace mpopt;
using namespace mpopt::range;

/// Kernels that compute exp(y log x) lose as many units as the result's
/// logarithm has; 16 covers them up to e^+-8, correctly built ones everywhere.
static constexpr double kPowUlps = 16;

/// True if every finite value is an integer.
static bool isInteger(const FloatRange &x) {
  return x.integral ||
         (x.finite.isPoint() && std::floor(x.finite.lo) == x.finite.lo);
}

static bool mayBeOdd(const Interval &x) {
  double low = std::ceil(x.lo), high = std::floor(x.hi);
  return low < high || (low == high && std::fmod(low, 2) != 0);
}

/// The results that infinite and NaN operands contribute.
static FloatRange powSpecial(const FloatRange &base,
                             const FloatRange &exponent) {
  FloatRange result;
  bool zeroExponent = exponent.mayBeZero();
  bool up = exponent.mayBePositive(), down = exponent.mayBeNegative();
  auto add = [&](double value) { result.finite = hull(result.finite, value); };
  if (base.nan || exponent.nan) {
    result.nan = true;
    if ((base.nan && zeroExponent) ||
        (exponent.nan && base.finite.contains(1.0)))
      add(1);
  }
  if (base.mayBeInf()) {
    if (zeroExponent)
      add(1);
    if (down)
      add(0);
    result.posInf |= up;
    result.negInf |= up && base.negInf;
    // Kernels that take the square root instead (PyTorch) give NaN.
    result.nan |= base.negInf && exponent.finite.contains(0.5);
  }
  if (exponent.mayBeInf() && !base.isEmpty()) {
    double largest = base.mayBeInf() ? kInfinity : base.finite.maxAbs();
    double least = base.finite.isEmpty() ? kInfinity : base.finite.minAbs();
    bool above = largest > 1, below = least < 1;
    if (least <= 1 && largest >= 1)
      add(1);
    if ((exponent.posInf && above) || (exponent.negInf && below))
      result.posInf = true;
    if ((exponent.posInf && below) || (exponent.negInf && above))
      add(0);
  }
  return result;
}

FloatRange range::pow(const FloatRange &base, const FloatRange &exponent,
                      const ComputeError &error) {
  if (base.isEmpty() || exponent.isEmpty())
    return {};
  FloatRange result = powSpecial(base, exponent);
  if (base.finite.isEmpty() || exponent.finite.isEmpty())
    return result;
  const Interval &y = exponent.finite;
  // Parts, so that the smallest magnitude bounds negative powers.
  Interval positive = mpopt::pow(base.positivePart(), y);
  Interval negative = mpopt::pow(base.negativePart(), y);
  Interval finite = hull(positive, negative);
  if (base.mayBeZero()) {
    if (y.hi > 0)
      finite = hull(finite, 0.0);
    if (y.contains(0.0))
      finite = hull(finite, 1.0);
    if (y.lo < 0) {
      result.posInf = true;
      result.negInf |= mayBeOdd({y.lo, std::min(y.hi, 0.0)});
    }
  }
  result.nan |= base.finite.lo < 0 && !isInteger(exponent);

  bool exact = y.isPoint() && (y.lo == 0 || y.lo == 1 || y.lo == 2);
  bool nearly = y.isPoint() && (y.lo == 0.5 || y.lo == -1);
  double ulps = exact ? 0 : nearly ? 2 : kPowUlps;
  finite = error.widen(finite, ulps);
  if (positive.lo >= 0 && base.finite.lo >= 0)
    finite = intersect(finite, {0, kInfinity});
  result.finite = hull(result.finite, finite);
  result.integral = base.integral && isInteger(exponent) && y.lo >= 0 &&
                    error.widen(finite, 0).maxAbs() < 0x1p53 && exact;
  if (y.isPoint() && y.lo > 0 && base.minNonZero > 0)
    result.minNonZero =
        error.widen(mpopt::pow(Interval::point(base.minNonZero), y), ulps).lo;
  result.tighten();
  return result;
}

FloatRange range::atan2(const FloatRange &y, const FloatRange &x,
                        const ComputeError &error) {
  if (y.isEmpty() || x.isEmpty())
    return {};
  constexpr double pi = std::numbers::pi;
  // Infinities only widen the box: the angle keeps its limit.
  auto reach = [](const FloatRange &range) -> Interval {
    return {range.negInf             ? -kInfinity
            : range.finite.isEmpty() ? kInfinity
                                     : range.finite.lo,
            range.posInf             ? kInfinity
            : range.finite.isEmpty() ? -kInfinity
                                     : range.finite.hi};
  };
  FloatRange result;
  result.nan = y.nan || x.nan;
  Interval rows = reach(y), columns = reach(x);
  if (rows.isEmpty() || columns.isEmpty())
    return result;
  Interval angles = Interval::empty();
  // The cut: on the negative axis (a zero may have either sign), and at the
  // origin, the angle jumps.
  bool cut = rows.contains(0.0) && columns.lo <= 0;
  if (cut) {
    angles = {rows.lo < 0 || rows.contains(0.0) ? -pi : 0, pi};
  } else {
    // Without the cut the box's angles lie between those of its corners.
    for (double row : {rows.lo, rows.hi})
      for (double column : {columns.lo, columns.hi})
        angles = hull(angles, std::atan2(row, column));
  }
  // glibc's atan2 is within 0.55 ulp.
  angles = angles.widened(0x1p-48);
  KernelError kernel;
  kernel.ulps = 4;
  result.finite = error.widen(angles, kernel, 0);
  result.tighten();
  return result;
}
