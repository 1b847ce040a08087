//===- WeightScan.h - What a format does to a weight's values ---*- C++ -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One streaming pass over the bytes of weights, as they lie in their files:
// range, special values, and how many values a narrower format loses. Exact:
// the format's thresholds are turned into bit patterns of the source format,
// and bit patterns are compared. Little-endian hosts only, as the files are.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_SUPPORT_WEIGHTSCAN_H
#define MPOPT_SUPPORT_WEIGHTSCAN_H

#include "mpopt/Numerics/FloatFormat.h"

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <vector>

namespace mpopt {

struct WeightRequest {
  /// `count` elements; two to a byte, low half first, if they have four bits.
  llvm::ArrayRef<char> bytes;
  uint64_t count = 0;
  const FloatFormat *source = nullptr;
  const FloatFormat *target = nullptr;
  /// Elements of a channel (what one step along axis 0 spans); 0 or `count` if
  /// channels are not asked for.
  uint64_t channel = 0;
};

struct WeightStats {
  uint64_t elements = 0, zeros = 0, nans = 0, infinities = 0;
  /// Extremes of the finite values; min > max if there are none.
  double min = 1, max = 0, absMax = 0;
  /// Smallest finite non-zero magnitude, 0 if there is none.
  double minNonZero = 0;
  /// Finite values past the target's overflow threshold, non-zero values that
  /// round to zero in it, and values that are subnormal in it.
  uint64_t overflows = 0, flushes = 0, subnormals = 0;
  /// Index of the first of them, -1 if there is none.
  int64_t firstOverflow = -1, firstFlush = -1;
  /// Channels with at least `kMinLostChannel` non-zero values of which every
  /// one flushes; the first of them, or -1.
  uint64_t lostChannels = 0;
  int64_t firstLostChannel = -1;

  static constexpr uint64_t kMinLostChannel = 8;

  /// Finite values other than zero.
  uint64_t nonZero() const { return elements - zeros - nans - infinities; }
};

/// One result a request. `jobs` threads, 0 for as many as there are cores;
/// little work is done on the calling thread alone.
std::vector<WeightStats> scanWeights(llvm::ArrayRef<WeightRequest> requests,
                                     unsigned jobs = 0);

inline WeightStats scanWeight(const WeightRequest &request) {
  return scanWeights(request, /*jobs=*/1).front();
}

} // namespace mpopt

#endif // MPOPT_SUPPORT_WEIGHTSCAN_H
