//===- Roles.h - The meaning of an op ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Roles.td says what each role means; the records of the ops say which they
// have. No header of an op family is needed to ask.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_DIALECT_ROLES_H
#define MPOPT_DIALECT_ROLES_H

#include "mpopt/Dialect/MPDialect.h"

#include "mlir/IR/OpDefinition.h"
#include "llvm/ADT/StringRef.h"

#include <optional>

namespace mpopt {

/// The meaning of an op, as its record states it.
struct OpMeaning {
  Role roles;
  /// The operand that the op divides by, or -1.
  int divisor;
  /// The mnemonic of the op whose gradients this op computes, or "".
  llvm::StringLiteral gradientOf;
  /// d, where scaling operand 0 by c > 0 scales the results by c^d.
  std::optional<double> degree;
  /// e, where that needs the attribute `epsilon` to be scaled by c^e as well.
  int epsilonDegree;
};

} // namespace mpopt

#include "mpopt/Dialect/Roles.h.inc"

namespace mpopt {

/// The meaning of `op`; null for ops of other dialects, and for null.
const OpMeaning *getMeaning(mlir::Operation *op);

/// The same of an op called mp.`mnemonic`; null if there is none. `context` has
/// the mp dialect loaded.
const OpMeaning *getMeaning(llvm::StringRef mnemonic,
                            mlir::MLIRContext *context);

/// True if the op has `role`, or one of several (`Role::Sum | Role::Product`).
/// False for null.
bool hasRole(mlir::Operation *op, Role role);
bool hasRole(const OpMeaning *meaning, Role role);

/// The index of the operand that the op divides by; nothing if there is none.
std::optional<unsigned> divisorOperand(mlir::Operation *op);

/// The mnemonic of the op whose gradients this op computes, or "".
llvm::StringRef gradientOf(mlir::Operation *op);

} // namespace mpopt

#endif // MPOPT_DIALECT_ROLES_H
