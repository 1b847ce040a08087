//===- CentralMoment.h - Covariances as differences of means ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_DIALECT_CENTRALMOMENT_H
#define MPOPT_DIALECT_CENTRALMOMENT_H

#include "mpopt/Dialect/Match.h"

namespace mpopt {

/// mean(x y) - mean(x) mean(y): a covariance, or with x = y a variance.
struct CentralMoment {
  /// The reduction, pooling or filter that takes the mean of the products.
  mlir::Operation *mean;
  mlir::Value lhs, rhs;
};

/// Nothing if the difference is none. `getMean` gives what takes a mean of its
/// operand 0, null for other values; the means are to be taken alike.
std::optional<CentralMoment>
findCentralMoment(mlir::Operation *difference, Strictness strictness,
                  llvm::function_ref<mlir::Operation *(mlir::Value)> getMean);

} // namespace mpopt

#endif // MPOPT_DIALECT_CENTRALMOMENT_H
