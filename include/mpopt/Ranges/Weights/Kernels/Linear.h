//===- Linear.h - Ranges of a product with known weights --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// y_n = sum_k x_k w_kn for every x in a box |x_k - c_k| <= r_k, and for random
// independent x_k. One streaming pass over the weights gives every sum that
// either tier needs. The caller adds bias, alpha, beta and the rounding of the
// result.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_RANGES_WEIGHTS_KERNELS_LINEAR_H
#define MPOPT_RANGES_WEIGHTS_KERNELS_LINEAR_H

#include "mpopt/Numerics/Interval.h"
#include "mpopt/Ranges/Weights/Kernels/Weights.h"

#include <vector>

namespace mpopt {

/// The inputs x_k. Each list has one entry for all k, or K, or matrices * K, or
/// none, which means zeros. Lists of more than one entry have the same length.
struct LinearInputs {
  llvm::ArrayRef<double> centre;
  /// Half the width of the bound, rounded up; Inf where nothing bounds the
  /// (finite) value.
  llvm::ArrayRef<double> radius;
  llvm::ArrayRef<double> mean, variance;
  /// Half the distance between the extremes expected of x_k.
  llvm::ArrayRef<double> halfRange;
};

struct LinearRequest {
  WeightTensor weights;
  /// The shape of the weights: `matrices` times [K, N], or [N, K] if
  /// `transposed`.
  uint64_t matrices = 1, k = 0, n = 0;
  bool transposed = false;
  LinearInputs inputs;
  /// Requests bounds of each matrix' operator norm by sqrt(|W|_1 |W|_inf), and
  /// by its Gram matrix where that takes at most `gramBudget` multiplications.
  bool wantNorm = false;
  uint64_t gramBudget = 1 << 24;
};

/// Lists have matrices * N entries but for `operatorNorm`.
struct LinearSums {
  /// Sound: y_n in [centre - radius, centre + radius] in real arithmetic, for
  /// the weights as stored. All rounding errors of the pass are in `radius`.
  std::vector<double> centre, radius;
  /// Upper bounds of sum |w|(|c| + r), to which accumulation errors are
  /// proportional.
  std::vector<double> terms;
  /// Upper bounds of the Euclidean norms of the channels' weights: |y_n| <= ‖x‖
  /// norm.
  std::vector<double> norm;
  /// Estimates: sum w mean, sum w^2 variance, and the 6-norm of
  /// |w| halfRange, which is close to the largest single contribution.
  std::vector<double> mean, variance, tail;
  /// `WeightFlag`s; empty if every weight is finite.
  std::vector<uint8_t> flags;
  /// For each matrix an upper bound of its largest singular value (finite
  /// weights).
  std::vector<double> operatorNorm;

  size_t size() const { return centre.size(); }
  Interval bound(size_t channel) const;
};

LinearSums linearSums(const LinearRequest &request);

} // namespace mpopt

#endif // MPOPT_RANGES_WEIGHTS_KERNELS_LINEAR_H
