//===- ComputeError.cpp - How far a kernel is off
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Numerics/ComputeError.h"

#include "mpopt/Numerics/Rounding.h"

using namespace mpopt;

/// e^-x overflows in every format from here on.
static constexpr double kExponentialCap = 800;

Interval ComputeError::widen(const Interval &real, const KernelError &kernel,
                             double inputMagnitude) const {
  if (real.isEmpty())
    return real;
  double relative = kernel.ulps * scale * format->epsilon();
  double fixed =
      (kernel.unitUlps +
       kernel.inputUlps * std::min(inputMagnitude, kernel.inputCap)) *
          scale * format->epsilon() +
      (kernel.normals +
       kernel.inputNormals * std::min(inputMagnitude, kExponentialCap)) *
          scale * format->minNormal +
      absolute;
  // Below the smallest normal number a unit is the smallest subnormal one.
  auto subnormal = [&](double end) {
    return std::fabs(end) < format->minNormal
               ? kernel.ulps * scale * format->minSubnormal
               : 0;
  };
  // The sums above are not rounded up; a relative step covers that.
  double low = nextUp((fixed + subnormal(real.lo)) * (1 + 0x1p-50));
  double high = nextUp((fixed + subnormal(real.hi)) * (1 + 0x1p-50));
  if (fixed + subnormal(real.lo) == 0)
    low = 0;
  if (fixed + subnormal(real.hi) == 0)
    high = 0;
  Interval result = real.widened({relative, low}, {relative, high});
  if (kernel.keepsSign) {
    if (real.lo >= 0)
      result.lo = std::max(result.lo, 0.0);
    if (real.hi <= 0)
      result.hi = std::min(result.hi, 0.0);
  }
  return result;
}

Interval ComputeError::widen(const Interval &real, double ulps) const {
  KernelError kernel;
  kernel.ulps = ulps;
  ComputeError plain = *this;
  plain.absolute = 0;
  return plain.widen(real, kernel, 0);
}

Interval ComputeError::constant(double value) const {
  if (scale == 0)
    return Interval::point(value);
  double rounded = format->round(value);
  return {std::min(value, rounded), std::max(value, rounded)};
}
