//===- PostDominators.h - Tensors behind a value ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_EFFECTS_POSTDOMINATORS_H
#define MPOPT_LIB_EFFECTS_POSTDOMINATORS_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"

namespace mpopt {

/// The tensors through which every path from `value` leads, the nearest first:
/// its post-dominators within some hundred ops.
llvm::SmallVector<mlir::Value> findPostDominators(mlir::Value value);

} // namespace mpopt

#endif // MPOPT_LIB_EFFECTS_POSTDOMINATORS_H
