//===- Partial.cpp - From a worker's tables to the record
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Partial.h"

#include <algorithm>
#include <cstring>

using namespace mpopt::kernels;

static double toDouble(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

static void foldCode(Partial &partial, uint32_t bits, uint64_t times) {
  uint32_t magnitude = bits & 0x7FFFFFFFu;
  if (magnitude > kInf32) {
    partial.nan += times;
    return;
  }
  if (magnitude == kInf32) {
    (bits >> 31 ? partial.negInf : partial.posInf) += times;
    return;
  }
  double value = toDouble(bits);
  partial.widen(value, value);
  if (!magnitude) {
    partial.zero += times;
    return;
  }
  partial.widenNonzero(toDouble(magnitude));
  partial.countMagnitude(magnitude, times);
  // At most 8 significant bits times fewer than 2^32: exact.
  mpopt_exact_sum_add(&partial.sum, value * double(times));
  mpopt_exact_sum_add(&partial.sumSquares, value * value * double(times));
}

/// Each code of integers has a bin, the least one the first.
static void foldInteger(Partial &partial, double value, double least,
                        uint64_t times) {
  partial.widen(value, value);
  partial.zero += value == 0 ? times : 0;
  partial.histogram[int(value - least)] += times;
}

void Partial::fold(const DtypeKernel &kernel) {
  if (kernel.decodeCode && unfolded) {
    // The bit that is the sign of signed integers, alone.
    double least = std::min(toDouble(kernel.decodeCode(0x80)), 0.0);
    for (int code = 0; code < 256; ++code) {
      uint64_t times = 0;
      for (auto &copy : codes)
        times += copy[code];
      if (!times)
        continue;
      uint32_t bits = kernel.decodeCode(uint8_t(code));
      if (kernel.isFloat)
        foldCode(*this, bits, times);
      else
        foldInteger(*this, toDouble(bits), least, times);
    }
    std::memset(codes, 0, sizeof(codes));
  } else if (unfolded) {
    // Field 0 has subnormals and zeros, which are taken off where they are
    // counted; 2047 does not occur.
    for (int field = 0; field < 2047; ++field)
      histogram[binOf(uint64_t(field) << 52)] +=
          uint64_t(wideFields[0][field]) + wideFields[1][field];
    std::memset(wideFields, 0, sizeof(wideFields));
  }
  unfolded = 0;
  for (int field = 1; field < 255; ++field)
    histogram[MPOPT_BIN_OF_EXPONENT(field - 127)] += fields[field];
  std::memset(fields, 0, sizeof(fields));
}

void Partial::reset() {
  nan = posInf = negInf = zero = 0;
  min = minNonzero = __builtin_inf();
  max = -__builtin_inf();
  std::memset(histogram, 0, sizeof(histogram));
  std::memset(edge, 0, sizeof(edge));
  sum = sumSquares = {};
  special = false;
}

void Partial::addTo(mpopt_record &record) const {
  record.nan += nan;
  record.pos_inf += posInf;
  record.neg_inf += negInf;
  record.zero += zero;
  // Adding +0 turns -0 into +0.
  record.min = std::min(record.min, min + 0.0);
  record.max = std::max(record.max, max + 0.0);
  record.min_nonzero = std::min(record.min_nonzero, minNonzero);
  for (int i = 0; i < MPOPT_BINS; ++i)
    record.histogram[i] += histogram[i];
  for (int i = 0; i < MPOPT_FORMATS; ++i) {
    record.edge[i].beyond_max += edge[i].beyond_max;
    record.edge[i].not_finite += edge[i].not_finite;
    record.edge[i].rounds_to_zero += edge[i].rounds_to_zero;
  }
  mpopt_exact_sum_merge(&record.sum, &sum);
  mpopt_exact_sum_merge(&record.sum_squares, &sumSquares);
}
