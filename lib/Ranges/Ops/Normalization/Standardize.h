//===- Standardize.h - Bounds of (x - mean) / deviation ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of n numbers x with u_i = x_i - mean(x) (or x_i itself) become
// y_i = u_i / sqrt(mean(u^2) + eps), so that |y_i| <= sqrt(n - 1) (sqrt(n)) and
// ‖y‖ <= sqrt(n), whatever x is. In floating point the computed mean may be off
// by e; then sum((u_i + e)^2) = sum(u_i^2) + n e^2 and Cauchy-Schwarz give
//
//   |y_i|^2 <= n - 1 + e^2 / (e^2 + eps).
//
// Assumed of kernels: the variance is computed from the deviations (two passes,
// or Welford's), not as E[x^2] - E[x]^2, for which no bound exists once
// eps < n u max(x)^2.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_RANGES_OPS_NORMALIZATION_STANDARDIZE_H
#define MPOPT_LIB_RANGES_OPS_NORMALIZATION_STANDARDIZE_H

#include "mpopt/Ranges/Value/TransferContext.h"

namespace mpopt::cells {

struct Standardization {
  /// Axes whose elements make a row, sorted.
  llvm::SmallVector<int64_t> axes;
  bool centred = true;
  double epsilon = 0;
  /// The format of the sums and of the computations that follow.
  const FloatFormat *format = nullptr;
};

struct Standardized {
  /// The standardised value, with the groups of the input, flags and the likely
  /// tier.
  AbstractValue value;
  /// An upper bound of ‖row‖; infinite if the row's length is unknown.
  double norm;
  /// mean and 1 / deviation by row; the normalised axes are merged.
  AbstractValue mean, inverse;
};

/// `shape` is that of the tensor whose abstract value is `x`.
Standardized standardize(const MaybeShape &shape, const AbstractValue &x,
                         const Standardization &how);

/// y scale + bias, computed in `format`; both may be null. Broadcast at the
/// right.
AbstractValue scaleAndShift(const AbstractValue &y, const AbstractValue *scale,
                            const AbstractValue *bias,
                            const FloatFormat &format, TransferContext &ctx);

} // namespace mpopt::cells

#endif // MPOPT_LIB_RANGES_OPS_NORMALIZATION_STANDARDIZE_H
