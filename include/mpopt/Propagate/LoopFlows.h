//===- LoopFlows.h - How values enter and leave a body ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_PROPAGATE_LOOPFLOWS_H
#define MPOPT_PROPAGATE_LOOPFLOWS_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <optional>

namespace mpopt {

/// The pairs of values of a loop of which the second has elements of the first.
struct LoopFlows {
  using Pairs = llvm::SmallVector<std::pair<mlir::Value, mlir::Value>>;
  mlir::Block *body;
  /// From operands to block arguments: initial values, slices.
  Pairs entry;
  /// From yielded values to block arguments: carried values.
  Pairs back;
  /// From yielded values to results: last values, stacked slices.
  Pairs exit;
  /// The first operand that is an initial value, and the first operand of the
  /// body's end that is carried on.
  unsigned firstInitial, firstYielded;
  /// The number of iterations; nothing if it is not known.
  std::optional<int64_t> count;
};

/// Nothing for ops that are no loop.
std::optional<LoopFlows> getLoopFlows(mlir::Operation *op);

} // namespace mpopt

#endif // MPOPT_PROPAGATE_LOOPFLOWS_H
