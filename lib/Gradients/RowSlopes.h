//===- RowSlopes.h - Slopes of norms and products of rows -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expected derivatives of a row's norm, and of products of its elements, with
// respect to one of them. Elements are independent and normal.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_GRADIENTS_ROWSLOPES_H
#define MPOPT_LIB_GRADIENTS_ROWSLOPES_H

#include "mpopt/Ranges/Spread/Spread.h"

#include <optional>

namespace mpopt {

/// The norm (sum of |x|^p)^(1/p) of rows of `count` elements whose groups are
/// equally large.
class RowNorm {
public:
  /// Nothing for orders between 0 and 1, whose slopes have a pole at 0, for
  /// negative ones, and for rows of zeros.
  static std::optional<RowNorm> make(const AbstractValue &x, double p,
                                     double count);

  /// The norm itself, as (count E |x|^p)^(1/p).
  double size() const { return norm; }
  /// The slope x |x|^(p - 2) norm^(1 - p) by an element of a group. No slope is
  /// steeper than 1. Of the largest magnitude the slope is that of the sign at
  /// one element of the row.
  Moments slope(const Cell &x) const;
  /// The largest magnitude of it.
  double steepest(const Cell &x) const;

private:
  double p, count, norm;
};

/// The sum over j from i to `count` of dy_j times the product of the first j
/// elements without the i-th, over all i:
///
///   count E = sum over j of j dy m^(j - 1)
///   count E^2 = sum over j and k of min(j, k) dy_j dy_k s^(min(j, k) - 1)
///                                                    m^|j - k|
///
/// with m the mean and s the mean square of elements.
Moments cumulativeProductSlope(const Moments &dy, const Moments &x,
                               int64_t count);

/// The product of dy and a cofactor of a square matrix of `size` = k + 1 rows.
/// With m the mean and v the variance of elements, the determinant of k rows
/// has the mean 0 from k = 2 on and the mean square k! v^(k - 1) (v + k m^2):
/// what all elements share is a matrix of rank 1.
Moments cofactorSlope(const Moments &dy, const Moments &x, int64_t size);

} // namespace mpopt

#endif // MPOPT_LIB_GRADIENTS_ROWSLOPES_H
