//===- Reverse.h - Reverse accumulation through blocks ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_ADJOINT_REVERSE_H
#define MPOPT_LIB_ADJOINT_REVERSE_H

#include "mpopt/Adjoint/Differentiate.h"
#include "mpopt/Dialect/Interfaces/ShapeFacts.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

#include <map>
#include <string>

namespace mpopt {

/// One block's gradients. The gradient of an op with bodies makes another one
/// for each body, which counts in the same place what it lacks.
class Reverse {
public:
  Reverse(mlir::OpBuilder &builder, ShapeFacts &facts,
          std::map<std::string, unsigned> &lacking)
      : builder(builder), facts(facts), lacking(lacking) {}

  bool isActive(mlir::Value value) const { return active.contains(value); }

  /// Marks the op's results if the op reads an active value.
  void activate(mlir::Operation *op);

  /// Adds to the gradient of a value.
  void add(mlir::Value value, mlir::Value gradient, mlir::Location location);

  /// The gradient of a value, which is complete; null if there is none.
  mlir::Value take(mlir::Value value);

  /// The gradients of `last` and all ops before it.
  llvm::LogicalResult run(mlir::Operation *last);

  mlir::OpBuilder &builder;
  ShapeFacts &facts;
  std::map<std::string, unsigned> &lacking;
  llvm::DenseSet<mlir::Value> active;
  llvm::DenseMap<mlir::Value, mlir::Value> sums;
  /// The ops that have their gradients, and what these read.
  std::vector<OpReads> reads;
  /// The same of the bodies of the op that is at hand.
  std::vector<std::vector<OpReads>> bodies;

private:
  llvm::LogicalResult runOp(mlir::Operation *op,
                            llvm::ArrayRef<mlir::Value> gradients);
  void noteReads(mlir::Operation *op, mlir::Operation *before);
};

/// The values that an op's regions read and that are defined above them. The op
/// may lie in a region that belongs to no op yet, whose ancestors MLIR's own
/// search would ask for.
llvm::SetVector<mlir::Value> findCaptured(mlir::Operation *op);

} // namespace mpopt

#endif // MPOPT_LIB_ADJOINT_REVERSE_H
