//===- TypeJoin.h - Types of values that meet -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_DIALECT_TYPEJOIN_H
#define MPOPT_DIALECT_TYPEJOIN_H

#include "mlir/IR/Types.h"

namespace mpopt {

/// The least type that covers both, for values that meet (branches, loops):
/// dims that differ are dynamic, ranks that differ unranked, floats the wider
/// one, other element types that differ unknown; sequences and optionals by
/// their elements. An unknown tensor joins to a sequence that it meets; values
/// of different kinds to an unknown tensor.
mlir::Type joinTypes(mlir::Type lhs, mlir::Type rhs);

/// The type without its dims: tensors unranked, containers by their elements.
mlir::Type forgetShape(mlir::Type type);

} // namespace mpopt

#endif // MPOPT_DIALECT_TYPEJOIN_H
