//===- Summary.h - One pass over a weight -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The elements of a weight, whatever they are multiplied with: range and
// moments of its rows or columns, and how many of them a narrower format loses.
// One pass over the bytes gives both, for the range analysis and for the rules
// on constants (SharedSums.h keeps it). Counts are exact.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_RANGES_WEIGHTS_KERNELS_SUMMARY_H
#define MPOPT_RANGES_WEIGHTS_KERNELS_SUMMARY_H

#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Numerics/Interval.h"
#include "mpopt/Ranges/Weights/Kernels/Weights.h"

#include <vector>

namespace mpopt {

/// A weight of `rows` times `columns` elements.
struct SummaryRequest {
  /// The elements, with at most one zero point.
  WeightTensor weights;
  uint64_t rows = 1, columns = 0;
  /// Statistics are those of each column, or of each row.
  bool byColumn = false;
  /// The format whose losses are counted; null for none, and for integers.
  const FloatFormat *target = nullptr;
  /// Elements of a channel (what one step along axis 0 spans); 0 or all if
  /// channels are not asked for.
  uint64_t channel = 0;

  uint64_t size() const { return rows * columns; }
};

/// How many elements of a weight a format loses.
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
  /// one flushes; the first of them, or -1. Formats of at most 8 bits have
  /// none.
  uint64_t lostChannels = 0;
  int64_t firstLostChannel = -1;

  static constexpr uint64_t kMinLostChannel = 8; // by chance: 2^-8

  /// Finite values other than zero.
  uint64_t nonZero() const { return elements - zeros - nans - infinities; }
};

struct GroupStats {
  /// The exact range. Values that are not finite count as 0; empty without
  /// values.
  Interval range = Interval::empty();
  double mean = 0, variance = 0;
};

struct WeightSummary {
  /// By column or by row.
  std::vector<GroupStats> groups;
  /// `WeightFlag`s of all values together.
  uint8_t flags = 0;
  /// The least magnitude other than 0; infinite if there is none.
  double minNonZero = kInfinity;
  /// Every value is a whole number.
  bool integral = true;
  /// If the request has a target.
  WeightStats losses;
};

/// Elements of a channel of a weight of that shape; 0 if there is one channel.
uint64_t channelOf(llvm::ArrayRef<int64_t> shape);

WeightSummary summarizeWeight(const SummaryRequest &request);

} // namespace mpopt

#endif // MPOPT_RANGES_WEIGHTS_KERNELS_SUMMARY_H
