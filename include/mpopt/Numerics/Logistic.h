//===- Logistic.h - Exponentials of many numbers at once --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops over arrays without calls, compiled for several instruction sets, all
// of which give the same bits.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_NUMERICS_LOGISTIC_H
#define MPOPT_NUMERICS_LOGISTIC_H

#include "llvm/ADT/ArrayRef.h"

#include <vector>

namespace mpopt {

/// The largest relative error of `ExponentialLoops::exp`.
inline constexpr double kExponentialError = 0x1p-50;

struct LikelyArrays {
  llvm::MutableArrayRef<double> mean, variance, lo, hi;
};

struct ExponentialLoops {
  /// e^x of each number, in place, within `kExponentialError` of itself; 0
  /// below -708, Inf where no double is as large.
  void (*exp)(double *numbers, size_t count);
  /// Estimates become those of 1 / (1 + e^(rest - x)), with one `rest` for
  /// each: moments by quadrature, as `likely::applyMonotone` has them.
  void (*logistic)(const LikelyArrays &x, const double *rest);
};

/// The fastest that this machine has.
const ExponentialLoops &exponentialLoops();
/// All that it has, portable code first.
const std::vector<ExponentialLoops> &allExponentialLoops();

} // namespace mpopt

#endif // MPOPT_NUMERICS_LOGISTIC_H
