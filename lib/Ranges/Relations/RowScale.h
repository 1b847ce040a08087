//===- RowScale.h - Divisors that are a norm of rows ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_RANGES_RELATIONS_ROWSCALE_H
#define MPOPT_LIB_RANGES_RELATIONS_ROWSCALE_H

#include "mpopt/Ranges/Relations/RelationSupport.h"

namespace mpopt::relations {

/// A divisor that is computed from rows.
struct RowScale {
  /// The elements of the rows, as they are read where they are squared or
  /// summed.
  mlir::Value of;
  Axes axes;
  /// |of_i| <= bound * (the divisor), for each element and, of sums of
  /// squares, for the row's norm.
  double bound = 0;
  /// The same in real arithmetic: 1 but for means
  /// and numbers that they are multiplied by.
  double exact = 1;
  /// The factor of the inverse of a norm.
  double factor = 1;
  bool squares = false;
  /// A sum of values that are not negative: by itself, or with a guard.
  bool sum = false, guardedSum = false;
  /// The op that adds up.
  mlir::Operation *reduction = nullptr;
  /// The variance op's deviations differ from `of` by an error of the mean.
  bool deviations = false;
};

/// The dividend and the divisor of `op`, if the divisor is a row scale.
std::optional<std::pair<mlir::Value, RowScale>>
matchQuotient(mlir::Operation *op, TransferContext &ctx);

/// Past ops that make `value` no smaller: + eps, max(., c), clip from below,
/// relu. Their rounding is added up.
mlir::Value peelGuards(mlir::Value value, Rounding &error,
                       TransferContext &ctx);

/// The least magnitude of the non-zero elements of a value.
double least(mlir::Value value, TransferContext &ctx);
/// True if no bound of the value is below 0.
bool isNotNegative(mlir::Value value, TransferContext &ctx);

} // namespace mpopt::relations

#endif // MPOPT_LIB_RANGES_RELATIONS_ROWSCALE_H
