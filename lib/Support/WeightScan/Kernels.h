//===- Kernels.h - The inner loops of the weight scan -----------*- C++ -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Works on bit patterns: for every IEEE-like format the patterns without their
// sign bit are ordered as the magnitudes are. No LLVM headers in the kernels'
// unit, which is compiled with optimisation in every build.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_SUPPORT_WEIGHTSCAN_KERNELS_H
#define MPOPT_LIB_SUPPORT_WEIGHTSCAN_KERNELS_H

#include <cstdint>

namespace mpopt::scan {

/// The target's thresholds as bit patterns of magnitudes in the source format.
struct Edges {
  uint64_t infinity;     // of the source format; above it NaN
  uint64_t overflowFrom; // the first that overflows; `infinity` if none does
  uint64_t flushAt;      // the last that flushes; 0 if none does
  uint64_t minNormal;    // the first that is normal in the target
};

struct Tally {
  uint64_t zeros = 0, nans = 0, infinities = 0;
  uint64_t overflows = 0, flushes = 0, subnormals = 0;
  /// Magnitudes' patterns of the finite values, by sign; the largest are 0 and
  /// the smallest all ones where there is no value (zeros count as values of
  /// their sign for the largest, not for the smallest).
  uint64_t maxPositive = 0, maxNegative = 0;
  uint64_t minPositive = ~0ull, minNegative = ~0ull;
};

/// The most elements a call may cover: the counters of a 16-bit lane.
inline constexpr uint64_t kBlock = 32768;

/// Adds `count` elements of `bits` = 16, 32 or 64 bits each to `tally`.
void tallyBlock(const void *data, uint64_t count, unsigned bits,
                const Edges &edges, Tally &tally);

/// Adds to `histogram[256]` how often each byte occurs.
void countBytes(const void *data, uint64_t count, uint64_t *histogram);

} // namespace mpopt::scan

#endif // MPOPT_LIB_SUPPORT_WEIGHTSCAN_KERNELS_H
