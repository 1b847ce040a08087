//===- Kernel.h - Coefficients times weights --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_RANGES_LINEAR_KERNEL_H
#define MPOPT_LIB_RANGES_LINEAR_KERNEL_H

#include <cstddef>

namespace mpopt::linear {

/// Rows of coefficients are padded to a multiple of this.
inline constexpr size_t kRowUnit = 8;

/// Adds to the coefficients of each of `terms` operands those of `results`
/// results, times a weight. Lists of coefficients are `rows` long, a multiple
/// of `kRowUnit`.
struct WeightedSum {
  const double *from;
  size_t results, fromStride;
  double *to;
  size_t terms, toStride;
  const double *weights;
  /// From one result's, or term's, weight to the next one's.
  size_t weightOfResult, weightOfTerm;
  size_t rows;

  /// The same numbers on every machine.
  void add() const;
};

} // namespace mpopt::linear

#endif // MPOPT_LIB_RANGES_LINEAR_KERNEL_H
