//===- LikelyGroups.h - Estimates of many groups ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The estimates of Likely.h where an op has many groups: quadrature asks for a
// function of all its points at once, so that loops over them are vector code,
// and what depends on an operand that repeats is kept.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_NUMERICS_LIKELYGROUPS_H
#define MPOPT_NUMERICS_LIKELYGROUPS_H

#include "mpopt/Numerics/Likely.h"

#include "llvm/ADT/ArrayRef.h"

#include <optional>

namespace mpopt::likely {

/// `apply` for a function of many points, which writes its values at `points`
/// into an array as long.
Likely applyToAll(llvm::function_ref<void(llvm::ArrayRef<double> points,
                                          llvm::MutableArrayRef<double>)>
                      function,
                  const Likely &x);

/// True if both have the same numbers; no NaN is the same as any number.
inline bool areSame(const Likely &a, const Likely &b) {
  return a.mean == b.mean && a.variance == b.variance && a.lo == b.lo &&
         a.hi == b.hi;
}

/// `div` by groups of a divisor that repeat, as those of rows divided by one
/// number do: the moments of 1 / b are kept for the next call.
class Quotient {
public:
  /// `k` as in expectedExtreme.
  explicit Quotient(double k) : k(k) {}
  Likely operator()(const Likely &a, const Likely &b) {
    if (!divisor || !areSame(*divisor, b)) {
      divisor = b;
      inverse = reciprocal(b, k);
    }
    return mul(a, inverse, k);
  }

private:
  double k;
  std::optional<Likely> divisor;
  Likely inverse;
};

} // namespace mpopt::likely

#endif // MPOPT_NUMERICS_LIKELYGROUPS_H
