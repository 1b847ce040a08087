//===- Length.h - Lengths of rows that models write out ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The root of a sum or mean of powers, a generalised mean among them, is a norm
// of rows; rows over their sum or over their length are normalised by one.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_DIALECT_LENGTH_H
#define MPOPT_DIALECT_LENGTH_H

#include "mlir/IR/Operation.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace mpopt {

/// A norm of rows, or rows over one.
struct Length {
  /// From the result to what reads the rows.
  llvm::SmallVector<mlir::Operation *, 4> members;
  /// The rows.
  mlir::Value input;
  llvm::SmallVector<int64_t, 4> axes;
  double order = 0;
  /// True if it is a norm only of rows without elements below 0: it adds
  /// elements, or powers that are not even.
  bool positive = false;
  /// True for rows over the norm.
  bool divided = false;
  /// True for a mean of powers.
  bool averaged = false;
  /// The ops' results that add elements or powers up, and the powers.
  llvm::SmallVector<mlir::Value, 2> sums;
  /// The numbers that are added to the sum, or that hold it up.
  double epsilon = 0;
};

/// The norm or normalised rows that an op is the last of; nothing for other
/// ops. All of its values have one reader.
std::optional<Length> matchLength(mlir::Operation *op);

} // namespace mpopt

#endif // MPOPT_DIALECT_LENGTH_H
