//===- Samples.h - Random weights and boxes for kernel tests ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_TEST_UNIT_RANGES_KERNELS_SAMPLES_H
#define MPOPT_TEST_UNIT_RANGES_KERNELS_SAMPLES_H

#include "mpopt/Numerics/Interval.h"
#include "mpopt/Ranges/Weights/Kernels/Weights.h"

#include "llvm/ADT/APFloat.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace mpopt::test {

using Random = std::mt19937_64;

inline double uniform(Random &random, double lo, double hi) {
  return std::uniform_real_distribution<double>(lo, hi)(random);
}

/// Weights encoded as a dtype, and what they mean.
struct Weights {
  std::vector<char> bytes;
  std::vector<double> values;
  WeightTensor tensor;

  /// `type`: a float format's name, or i4, u4, i8, u8, i16, i32.
  Weights(const std::string &type, const std::vector<double> &wanted) {
    tensor.format = FloatFormat::byName(type);
    if (!tensor.format) {
      tensor.isSigned = type[0] == 'i';
      tensor.integerBits = std::stoi(type.substr(1));
    }
    unsigned bits = tensor.bits();
    bytes.assign((wanted.size() * bits + 7) / 8, 0);
    for (size_t index = 0; index < wanted.size(); ++index)
      values.push_back(put(index, bits, wanted[index]));
    tensor.bytes = bytes;
  }
  Weights(const Weights &) = delete;

private:
  double put(size_t index, unsigned bits, double value) {
    uint64_t pattern;
    if (tensor.format) {
      llvm::APFloat number(value);
      bool inexact;
      number.convert(*tensor.format->semantics,
                     llvm::APFloat::rmNearestTiesToEven, &inexact);
      pattern = number.bitcastToAPInt().getZExtValue();
      number.convert(llvm::APFloat::IEEEdouble(),
                     llvm::APFloat::rmNearestTiesToEven, &inexact);
      value = number.convertToDouble();
    } else {
      double half = std::ldexp(1.0, bits - 1);
      value = std::nearbyint(value);
      value = tensor.isSigned ? std::clamp(value, -half, half - 1)
                              : std::clamp(value, 0.0, 2 * half - 1);
      pattern = uint64_t(int64_t(value));
    }
    if (bits == 4)
      bytes[index / 2] |= char((pattern & 15) << (index % 2 * 4));
    else
      std::memcpy(bytes.data() + index * (bits / 8), &pattern, bits / 8);
    return value;
  }
};

inline std::vector<double> randomList(Random &random, size_t count, double lo,
                                      double hi) {
  std::vector<double> list(count);
  for (double &value : list)
    value = uniform(random, lo, hi);
  return list;
}

/// One member of [c - r, c + r], often an end.
inline double member(Random &random, double centre, double radius) {
  switch (random() % 4) {
  case 0:
    return centre - radius;
  case 1:
    return centre + radius;
  default:
    return centre + radius * uniform(random, -1, 1);
  }
}

} // namespace mpopt::test

#endif // MPOPT_TEST_UNIT_RANGES_KERNELS_SAMPLES_H
