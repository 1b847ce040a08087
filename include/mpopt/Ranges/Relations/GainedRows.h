//===- GainedRows.h - Products of rows behind a norm's gain -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows behind a normalisation are x = g y + b with ‖y‖ <= R. A product with
// weights is then at most |w b| + ‖w g‖ R, feature by feature; by the norm of x
// alone it would be ‖w‖ (max|g| R + ‖b‖), as if every feature had the largest
// gain.
//
// The stored x is off by a rounding of the product, of the sum and of each
// cast: |e_k| <= relative (|g_k y_k| + |b_k|) + absolute.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_RANGES_RELATIONS_GAINEDROWS_H
#define MPOPT_RANGES_RELATIONS_GAINEDROWS_H

#include "mpopt/Ranges/Value/TransferContext.h"
#include "mpopt/Ranges/Weights/Kernels/Linear.h"

namespace mpopt {

struct GainedRows {
  /// R, an upper bound of ‖y‖.
  double norm = 0;
  std::vector<double> gains;
  /// b, and the absolute rounding error.
  std::vector<double> centre, radius;
  double relative = 0;

  /// The rows of `value`, of `count` elements each; nothing if they are not
  /// computed so, or their gains are not known one by one.
  static std::optional<GainedRows> match(mlir::Value value, uint64_t count,
                                         TransferContext &ctx);

  struct Products {
    std::vector<Interval> bound;
    /// Upper bounds of the sums of the products' magnitudes.
    std::vector<double> terms;
  };
  /// The products with one matrix of weights.
  Products multiply(LinearRequest request) const;
};

} // namespace mpopt

#endif // MPOPT_RANGES_RELATIONS_GAINEDROWS_H
