//===- Casts.h - Casts that a precision brings ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_DIALECT_CASTS_H
#define MPOPT_DIALECT_CASTS_H

#include "mpopt/Dialect/Ops/CoreOps.h"

namespace mpopt {

/// `type` with another element type, inside sequences and optionals too.
mlir::Type withElementType(mlir::Type type, mlir::Type elementType);

/// Inserts casts, one for each value, element type and origin.
class CastInserter {
public:
  /// `value` as `elementType`: itself if it is that already, else a cast right
  /// behind its definition, where it serves every later use.
  mlir::Value get(mlir::Value value, mlir::Type elementType,
                  mp::CastOrigin origin);

  void castOperand(mlir::OpOperand &operand, mlir::Type elementType,
                   mp::CastOrigin origin);

  /// True if the cast was inserted by this call.
  bool owns(mp::CastOp cast) const { return keys.contains(cast); }

  /// Removes the casts below `root`: their uses read the inputs again.
  void undo(mlir::Operation *root);

  /// Erases the casts of this inserter that have no use.
  void eraseUnused();

private:
  using Key = std::tuple<mlir::Value, mlir::Type, unsigned>;

  void forget(mp::CastOp cast);

  llvm::DenseMap<Key, mp::CastOp> casts;
  llvm::DenseMap<mlir::Operation *, Key> keys;
};

} // namespace mpopt

#endif // MPOPT_DIALECT_CASTS_H
