//===- OpKind.h - How an op acts on values ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kinds of ops that domains tell apart. OpKind.cpp derives the kind of an
// op from its roles and its row of the function table, so that a new op has one
// without an entry anywhere else.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PROPAGATE_OPKIND_H
#define MPOPT_PROPAGATE_OPKIND_H

#include "mlir/IR/Operation.h"

namespace mpopt {

enum class OpKind {
  /// No operand whose elements matter: constants, random numbers, shapes.
  Source,
  /// Each element is one of an operand, all of whose elements are kept: views,
  /// casts, concatenations.
  Copy,
  /// Elements of operand 0, some perhaps more often or not at all.
  Gather,
  /// Each element is one of an operand, or a number that the op names: limits,
  /// selections, largest and smallest elements.
  Select,
  /// A function of one number, a row of the function table.
  Elementwise,
  /// Sums and means of elements or operands, differences.
  Linear,
  /// Products of elements of two operands, or sums of such products.
  Product,
  /// Operand 0 divided by another one.
  Quotient,
  /// Rounds to whole numbers or to codes.
  Round,
  /// Softmax and its logarithm, and norms by statistics.
  Normalize,
  /// Indices or truth values by the order of elements.
  Decide,
  /// Has bodies.
  Branch,
  /// Any other op.
  Opaque
};

OpKind getOpKind(mlir::Operation *op);

/// True for ops that round floats to whole numbers; false for null.
bool roundsToWhole(mlir::Operation *op);

} // namespace mpopt

#endif // MPOPT_PROPAGATE_OPKIND_H
