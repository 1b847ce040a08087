//===- Dot.h - Ranges of a product of two unknown rows ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Dot products sum_k a_k b_k of which neither side is a constant, as in
// attention.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_RANGES_WEIGHTS_KERNELS_DOT_H
#define MPOPT_RANGES_WEIGHTS_KERNELS_DOT_H

#include "mpopt/Numerics/Interval.h"

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <optional>

namespace mpopt {

/// One side of a dot product. Each list has one entry for all k, or one per k;
/// those of the likely tier may be empty, which means zeros.
struct DotOperand {
  llvm::ArrayRef<Interval> range;
  /// An upper bound of the row's Euclidean norm, if known.
  std::optional<double> norm;
  /// The sum of the row's elements, if it is known and they are not negative.
  std::optional<Interval> sum;
  llvm::ArrayRef<double> mean, variance;
  /// Half the distance between the expected extremes.
  llvm::ArrayRef<double> halfRange;
};

struct DotRange {
  /// The sum in real arithmetic: the intersection of the interval sum, of |a b|
  /// <= ‖a‖‖b‖, and of the hull of convex combinations.
  Interval bound;
  /// An upper bound of sum |a_k||b_k|, for `dotError`.
  double terms = 0;
  /// The estimate for independent elements; `tail` as in `LinearSums`.
  double mean = 0, variance = 0, tail = 0;
};

/// Bound and estimate of a dot product of `count` terms.
DotRange dotOfBoxes(const DotOperand &a, const DotOperand &b, uint64_t count);

} // namespace mpopt

#endif // MPOPT_RANGES_WEIGHTS_KERNELS_DOT_H
