//===- Reference.h - Statistics by definition, slowly
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values are decoded by arithmetic and rounded to a format by scaling and
// rounding to an integer: nothing here knows a bit pattern of an edge.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_KERNELS_TEST_REFERENCE_H
#define MPOPT_KERNELS_TEST_REFERENCE_H

#include "mpopt/Kernels/Statistics.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace mpopt::kernels::test {

constexpr double kInf = std::numeric_limits<double>::infinity();

/// Sign, exponent and mantissa bits with that bias.
struct Layout {
  int exponentBits, mantissaBits, bias;
  enum { Ieee, Fn, Fnuz } specials;
};

inline double decode(uint64_t code, Layout layout) {
  int bits = layout.exponentBits + layout.mantissaBits;
  uint64_t mantissa = code & ((1ull << layout.mantissaBits) - 1);
  int field =
      int(code >> layout.mantissaBits) & ((1 << layout.exponentBits) - 1);
  bool negative = code >> bits & 1;
  bool top = field == (1 << layout.exponentBits) - 1;
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  if (layout.specials == Layout::Ieee && top)
    return mantissa ? nan : negative ? -kInf : kInf;
  if (layout.specials == Layout::Fn && top &&
      mantissa == (1ull << layout.mantissaBits) - 1)
    return nan;
  if (layout.specials == Layout::Fnuz && negative && !field && !mantissa)
    return nan;
  double value =
      field
          ? std::ldexp(1 + std::ldexp(double(mantissa), -layout.mantissaBits),
                       field - layout.bias)
          : std::ldexp(double(mantissa), 1 - layout.bias - layout.mantissaBits);
  return negative ? -value : value;
}

inline Layout layoutOf(uint32_t dtype) {
  switch (dtype) {
  case MPOPT_F16:
    return {5, 10, 15, Layout::Ieee};
  case MPOPT_BF16:
    return {8, 7, 127, Layout::Ieee};
  case MPOPT_F32:
    return {8, 23, 127, Layout::Ieee};
  case MPOPT_F64:
    return {11, 52, 1023, Layout::Ieee};
  case MPOPT_F8E4M3FN:
    return {4, 3, 7, Layout::Fn};
  case MPOPT_F8E5M2:
    return {5, 2, 15, Layout::Ieee};
  case MPOPT_F8E4M3FNUZ:
    return {4, 3, 8, Layout::Fnuz};
  default:
    return {5, 2, 16, Layout::Fnuz};
  }
}

inline unsigned bytesOf(uint32_t dtype) {
  Layout layout = layoutOf(dtype);
  return unsigned(1 + layout.exponentBits + layout.mantissaBits) / 8;
}

inline const std::vector<uint32_t> &floatDtypes() {
  static const std::vector<uint32_t> all = {
      MPOPT_F32,      MPOPT_F16,        MPOPT_BF16,   MPOPT_F64,
      MPOPT_F8E4M3FN, MPOPT_F8E4M3FNUZ, MPOPT_F8E5M2, MPOPT_F8E5M2FNUZ};
  return all;
}

/// Digits with the implicit one, exponent of the smallest normal, largest
/// finite value.
struct Target {
  int digits, minExponent;
  double max;
};

inline Target targetOf(int format) {
  switch (format) {
  case MPOPT_TO_F16:
    return {11, -14, 65504};
  case MPOPT_TO_BF16:
    return {8, -126, std::ldexp(255.0, 120)};
  case MPOPT_TO_E4M3:
    return {4, -6, 448};
  case MPOPT_TO_E5M2:
    return {3, -14, 57344};
  default:
    return {24, -126, std::ldexp(double((1 << 24) - 1), 104)};
  }
}

/// A finite magnitude rounded to nearest even, without an upper end.
inline double roundTo(double magnitude, Target target) {
  int exponent = std::max(std::ilogb(magnitude), target.minExponent);
  int scale = target.digits - 1 - exponent;
  return std::ldexp(std::nearbyint(std::ldexp(magnitude, scale)), -scale);
}

/// A tensor's elements as they lie in memory.
struct Data {
  uint32_t dtype;
  std::vector<char> bytes;

  size_t size() const { return bytes.size() / bytesOf(dtype); }
  uint64_t code(size_t i) const {
    uint64_t code = 0;
    std::memcpy(&code, bytes.data() + i * bytesOf(dtype), bytesOf(dtype));
    return code;
  }
  double value(size_t i) const { return decode(code(i), layoutOf(dtype)); }
  void push(uint64_t code) {
    const char *from = reinterpret_cast<const char *>(&code);
    bytes.insert(bytes.end(), from, from + bytesOf(dtype));
  }
};

/// All counts and extremes of a record, as of one call at step 0.
struct Expected {
  uint64_t nan = 0, posInf = 0, negInf = 0, zero = 0;
  double min = kInf, max = -kInf, absmax = 0, minNonzero = kInf;
  std::vector<uint64_t> histogram = std::vector<uint64_t>(MPOPT_BINS);
  mpopt_format_counts formats[MPOPT_FORMATS] = {};
  long double sum = 0, magnitudes = 0, squares = 0;

  void add(double value);
};

inline void Expected::add(double value) {
  if (std::isnan(value)) {
    ++nan;
    return;
  }
  if (std::isinf(value)) {
    ++(value > 0 ? posInf : negInf);
    return;
  }
  double magnitude = std::fabs(value);
  min = std::min(min, value);
  max = std::max(max, value);
  absmax = std::max(absmax, magnitude);
  sum += value;
  magnitudes += magnitude;
  squares += static_cast<long double>(value) * value;
  if (value == 0) {
    ++zero;
    return;
  }
  minNonzero = std::min(minNonzero, magnitude);
  int bin = std::ilogb(magnitude) + 151;
  ++histogram[size_t(std::clamp(bin, 0, MPOPT_BINS - 1))];
  for (int format = 0; format < MPOPT_FORMATS; ++format) {
    Target target = targetOf(format);
    double rounded = roundTo(magnitude, target);
    mpopt_format_counts &counts = formats[format];
    counts.beyond_max += magnitude > target.max;
    counts.not_finite += rounded > target.max;
    counts.rounds_to_zero += rounded == 0;
    counts.subnormal +=
        rounded != 0 && magnitude < std::ldexp(1, target.minExponent);
  }
}

inline Expected expect(const Data &data) {
  Expected expected;
  for (size_t i = 0; i < data.size(); ++i)
    expected.add(data.value(i));
  return expected;
}

/// Values as tensors have them, with everything rare now and then.
inline Data randomData(uint32_t dtype, size_t size, double scale,
                       uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal(0, scale);
  Data data{dtype, {}};
  Layout layout = layoutOf(dtype);
  for (size_t i = 0; i < size; ++i) {
    uint64_t bits = random();
    if (bits % 64 == 0) { // any pattern
      data.push(bits >> 8);
      continue;
    }
    // Cut off where the format ends, rounded down to its digits.
    double value = normal(random), magnitude = std::fabs(value);
    int exponent = magnitude ? std::ilogb(magnitude) : -2000;
    int field = exponent + layout.bias;
    uint64_t code = 0;
    if (bits % 16 != 1 && field > 0)
      code = uint64_t(std::min(field, (1 << layout.exponentBits) - 2))
                 << layout.mantissaBits |
             uint64_t(std::ldexp(magnitude, layout.mantissaBits - exponent)) %
                 (1ull << layout.mantissaBits);
    data.push(code | uint64_t(std::signbit(value))
                         << (layout.exponentBits + layout.mantissaBits));
  }
  return data;
}

} // namespace mpopt::kernels::test

#endif // MPOPT_KERNELS_TEST_REFERENCE_H
