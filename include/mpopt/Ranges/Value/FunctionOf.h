//===- FunctionOf.h - The function of one number that an op is --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_RANGES_VALUE_FUNCTIONOF_H
#define MPOPT_RANGES_VALUE_FUNCTIONOF_H

#include "mpopt/Numerics/Unary.h"

#include "mlir/IR/Operation.h"

#include <optional>

namespace mpopt {

/// The op's function and the numbers in its formula, which have defaults.
/// Nothing for an op that the table has no row for.
std::optional<Unary> getFunction(mlir::Operation *op);
/// The function whose gradient the op is, with the numbers of its attributes.
std::optional<Unary> getFunctionOfGradient(mlir::Operation *op);

} // namespace mpopt

#endif // MPOPT_RANGES_VALUE_FUNCTIONOF_H
