//===- RowScale.h - Divisors that are a norm of rows ------------*- C++ -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_RANGES_RELATIONS_ROWSCALE_H
#define MPOPT_LIB_RANGES_RELATIONS_ROWSCALE_H

#include "mpopt/Ranges/Relations/RelationSupport.h"

namespace mpopt::relations {

/// What a divisor is known to be.
struct RowScale {
  /// Its rows' elements, as they are read where they are squared or summed.
  mlir::Value of;
  Axes axes;
  /// |of_i| <= bound * (the divisor), for each element and, of sums of
  /// squares, for the row's norm.
  double bound = 0;
  bool squares = false;
  /// A plain sum of values that are not negative.
  bool sum = false;
  /// What the variance op's deviations lack to be `of`: an error of the mean.
  bool deviations = false;
};

/// What `op` divides, and by what.
std::optional<std::pair<mlir::Value, RowScale>>
matchQuotient(mlir::Operation *op, TransferContext &ctx);

/// The least magnitude of a value that is not 0.
double least(mlir::Value value, TransferContext &ctx);
/// True if no bound of it is below 0.
bool isNotNegative(mlir::Value value, TransferContext &ctx);

} // namespace mpopt::relations

#endif // MPOPT_LIB_RANGES_RELATIONS_ROWSCALE_H
