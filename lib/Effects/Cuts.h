//===- Cuts.h - Tensors that all of an output depends on --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A number that is lost whole is a part of the signal, and travels as the
// signal does: filters add up what neighbours have in common. Gradients of
// independent errors know nothing of that. But where every path from the inputs
// to an output leads through a tensor, the output has nothing else to vary by:
// of what it varies, the lost part is lost.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_EFFECTS_CUTS_H
#define MPOPT_LIB_EFFECTS_CUTS_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVector.h"

namespace mpopt {

/// The float tensors of the output's block through which every path leads that
/// floats take from the block's arguments to `output`.
llvm::DenseSet<mlir::Value> findCuts(mlir::Value output);

/// The tensors through which every path from `value` leads, the nearest first:
/// its post-dominators within some hundred ops.
llvm::SmallVector<mlir::Value> findPostDominators(mlir::Value value);

} // namespace mpopt

#endif // MPOPT_LIB_EFFECTS_CUTS_H
