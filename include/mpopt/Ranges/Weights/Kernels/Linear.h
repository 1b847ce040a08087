//===- Linear.h - Ranges of a product with known weights --------*- C++ -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// y_n = sum_k x_k w_kn for every x in a box |x_k - c_k| <= r_k, and for random
// independent x_k. One streaming pass over the weights gives every sum that
// either tier needs. Bias, alpha, beta and the rounding of the result are the
// caller's.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_RANGES_WEIGHTS_KERNELS_LINEAR_H
#define MPOPT_RANGES_WEIGHTS_KERNELS_LINEAR_H

#include "mpopt/Numerics/Interval.h"
#include "mpopt/Ranges/Weights/Kernels/Weights.h"

#include <vector>

namespace mpopt {

/// Each list has one entry for all k, or K, or matrices * K; or none: zeros.
/// All of these have the same length or are 1 or 0 long.
struct LinearInputs {
  llvm::ArrayRef<double> centre;
  /// Rounded up; Inf where nothing bounds the (finite) value.
  llvm::ArrayRef<double> radius;
  llvm::ArrayRef<double> mean, variance;
  /// Half the distance between the extremes expected of x_k.
  llvm::ArrayRef<double> halfRange;
};

struct LinearRequest {
  WeightTensor weights;
  /// `matrices` times [K, N], or [N, K] if `transposed`.
  uint64_t matrices = 1, k = 0, n = 0;
  bool transposed = false;
  LinearInputs inputs;
  /// Also bound each matrix' operator norm by sqrt(|W|_1 |W|_inf), and by its
  /// Gram matrix where that takes no more than so many multiplications.
  bool wantNorm = false;
  uint64_t gramBudget = 1 << 24;
};

/// Lists have matrices * N entries but for `operatorNorm`.
struct LinearSums {
  /// Sound: y_n in [centre - radius, centre + radius] in real arithmetic, for
  /// the weights as stored. All rounding errors of the pass are in `radius`.
  std::vector<double> centre, radius;
  /// At least sum |w|(|c| + r): what accumulation errors are proportional to.
  std::vector<double> terms;
  /// At least the channel's Euclidean norm: |y_n| <= ‖x‖ norm.
  std::vector<double> norm;
  /// Estimates: sum w mean, sum w^2 variance, and the 6-norm of
  /// |w| halfRange, which is close to the largest single contribution.
  std::vector<double> mean, variance, tail;
  /// `WeightFlag`s; empty if every weight is finite.
  std::vector<uint8_t> flags;
  /// Per matrix, at least its largest singular value (finite weights).
  std::vector<double> operatorNorm;

  size_t size() const { return centre.size(); }
  Interval bound(size_t channel) const;
};

/// `jobs` threads at most; 0 for as many as there are cores.
LinearSums linearSums(const LinearRequest &request, unsigned jobs = 0);

} // namespace mpopt

#endif // MPOPT_RANGES_WEIGHTS_KERNELS_LINEAR_H
