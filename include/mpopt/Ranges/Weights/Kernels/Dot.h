//===- Dot.h - Ranges of a product of two unknown rows ----------*- C++ -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// sum_k a_k b_k, as in attention, where neither side is a constant.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_RANGES_WEIGHTS_KERNELS_DOT_H
#define MPOPT_RANGES_WEIGHTS_KERNELS_DOT_H

#include "mpopt/Numerics/Interval.h"

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <optional>

namespace mpopt {

/// One side. Each list has one entry for all k, or one per k; the likely ones
/// may have none: zeros.
struct DotOperand {
  llvm::ArrayRef<Interval> range;
  /// At least the row's Euclidean norm, if known.
  std::optional<double> norm;
  /// What the row's elements sum to, if they are not negative.
  std::optional<Interval> sum;
  llvm::ArrayRef<double> mean, variance;
  /// Half the distance between the expected extremes.
  llvm::ArrayRef<double> halfRange;
};

struct DotRange {
  /// In real arithmetic: intersection of the interval sum, of
  /// |a b| <= ‖a‖‖b‖, and of the hull of convex combinations.
  Interval bound;
  /// At least sum |a_k||b_k|, for `dotError`.
  double terms = 0;
  /// For independent elements; `tail` as in `LinearSums`.
  double mean = 0, variance = 0, tail = 0;
};

DotRange dotOfBoxes(const DotOperand &a, const DotOperand &b, uint64_t count);

} // namespace mpopt

#endif // MPOPT_RANGES_WEIGHTS_KERNELS_DOT_H
