//===- LoopStates.h - Numbers that a loop carries on ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A state that is stored in 16 bits is rounded in each trip, and so are the
// factors by which it decays: what a trip adds to the error stays in it.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PROPAGATE_LOOPSTATES_H
#define MPOPT_PROPAGATE_LOOPSTATES_H

#include "mlir/IR/Operation.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace mpopt {

/// A float that a loop carries from trip to trip by sums, products with
/// factors, selections and copies alone. What goes through matrix products or
/// functions that saturate is forgotten, or no estimate follows it.
struct LoopState {
  /// The ops on the way from the body's argument to what it yields.
  llvm::SmallVector<mlir::Operation *> ops;
  /// The error after the last trip, of the error that one rounding of the
  /// result makes: 1 if the state is not stored in between.
  double growth = 1;
};

/// The argument, the result and the number of calls of each state that one call
/// of a function gives to the next (`array<i64: 1, 0, 1500>`); 0 calls: not
/// known.
inline constexpr llvm::StringLiteral kCarriedAttr = "mp.carried";

/// The state of which `result`, of a loop, is the last value, or on whose way
/// through a function that is called again and again it is. Nothing for other
/// values.
std::optional<LoopState> findLoopState(mlir::Value result);

} // namespace mpopt

#endif // MPOPT_PROPAGATE_LOOPSTATES_H
