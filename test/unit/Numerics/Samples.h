//===- Samples.h - Random ranges and values of a format ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_TEST_UNIT_NUMERICS_SAMPLES_H
#define MPOPT_TEST_UNIT_NUMERICS_SAMPLES_H

#include "mpopt/Numerics/FloatRange.h"

#include <cmath>
#include <ostream>
#include <random>

namespace mpopt {

inline std::ostream &operator<<(std::ostream &os, const FloatRange &range) {
  os.precision(17);
  return os << '[' << range.finite.lo << ", " << range.finite.hi << "]"
            << (range.nan ? " nan" : "") << (range.posInf ? " +inf" : "")
            << (range.negInf ? " -inf" : "") << (range.integral ? " int" : "")
            << " smallest " << range.minNonZero;
}

/// Seeded: the same boxes and values in every run.
class Samples {
public:
  explicit Samples(const FloatFormat &format, unsigned seed = 7)
      : format(format), generator(seed) {}

  /// A finite value: edges, subnormals, small integers, every magnitude.
  double value() {
    double value = 0;
    switch (generator() % 6) {
    case 0: {
      double edges[] = {
          0, format.maxFinite,    format.minNormal, format.minSubnormal,
          1, format.minNormal / 2};
      value = edges[generator() % std::size(edges)];
      break;
    }
    case 1:
      value = double(generator() % 13);
      break;
    case 2: // All exponents.
      value = std::ldexp(1 + unit(),
                         int(unit() * (std::ilogb(format.maxFinite) * 2)) -
                             std::ilogb(format.maxFinite));
      break;
    case 3:
      value = unit();
      break;
    default: // Where the functions bend.
      value = 12 * unit();
    }
    value = format.round(std::min(value, format.maxFinite));
    return generator() % 2 ? value : -value;
  }

  FloatRange box() {
    double a = value();
    // Narrow boxes as well as wide ones.
    double b = generator() % 3 ? value() : format.round(a + (unit() - 0.5) * 4);
    if (!std::isfinite(b))
      b = a;
    FloatRange range;
    range.finite = {std::min(a, b) + 0.0, std::max(a, b) + 0.0};
    range.nan = generator() % 8 == 0;
    range.posInf = generator() % 6 == 0;
    range.negInf = generator() % 6 == 0;
    if (generator() % 2)
      range.minNonZero =
          generator() % 2 ? format.minSubnormal : format.minNormal;
    range.tighten();
    if (range.finite.isEmpty() || !(range.contains(range.finite.lo)))
      range.finite = Interval::point(0);
    return range;
  }

  /// A value of the format that the range holds.
  double in(const FloatRange &range) {
    for (int attempt = 0; attempt < 20; ++attempt) {
      double value = candidate(range);
      if (range.contains(value))
        return value;
    }
    return range.finite.lo;
  }

private:
  double unit() { return double(generator() >> 11) * 0x1p-53; }

  double candidate(const FloatRange &range) {
    const Interval &x = range.finite;
    switch (generator() % 9) {
    case 0:
      return x.lo;
    case 1:
      return x.hi;
    case 2:
      return generator() % 2 ? 0.0 : -0.0;
    case 3:
      return generator() % 2 ? range.minNonZero : -range.minNonZero;
    case 4:
      return generator() % 2 ? HUGE_VAL : generator() % 2 ? -HUGE_VAL : NAN;
    case 5: {
      // From either end, at every scale.
      double step = (x.hi - x.lo) * std::exp2(-30 * unit());
      return format.round(generator() % 2 ? x.lo + step : x.hi - step);
    }
    case 6:
      return value();
    default: {
      double part = unit();
      return format.round(x.lo * (1 - part) + x.hi * part);
    }
    }
  }

  const FloatFormat &format;
  std::mt19937_64 generator;
};

/// A number that rounds to its format after every step, as a kernel without
/// wider intermediates does.
struct Soft {
  const FloatFormat *format;
  double value;

  Soft with(double result) const { return {format, format->round(result)}; }
  Soft operator-() const { return with(-value); }
  Soft operator+(Soft other) const { return with(value + other.value); }
  Soft operator-(Soft other) const { return with(value - other.value); }
  Soft operator*(Soft other) const { return with(value * other.value); }
  Soft operator/(Soft other) const { return with(value / other.value); }
};

} // namespace mpopt

#endif // MPOPT_TEST_UNIT_NUMERICS_SAMPLES_H
