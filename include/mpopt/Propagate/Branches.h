//===- Branches.h - Branches of which the side is known ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Models that serve two rates or two lengths have whole networks in the bodies
// of a branch. Their ops count as those outside do.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PROPAGATE_BRANCHES_H
#define MPOPT_PROPAGATE_BRANCHES_H

#include "mpopt/Dialect/Ops/ControlFlowOps.h"
#include "mpopt/Ranges/Analysis/ChangedModule.h"
#include "mpopt/Ranges/Analysis/RangeAnalysis.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace mpopt {

/// The bodies of a branch that may run, given what is known of the condition.
llvm::SmallVector<mlir::Region *, 2> findLiveBodies(mp::IfOp op,
                                                    const RangeAnalysis &);

/// Calls `visit` for the ops of a block and for those in bodies of branches
/// that may run, each in front of its branch. References to rounded values end
/// with each call.
void forEachLiveOp(mlir::Block &block, const RangeAnalysis &ranges,
                   llvm::function_ref<void(mlir::Operation *)> visit);

/// Puts the bodies of a copied block's branches in the place of the branches,
/// and a choice behind them where both may run. Branches whose sides yield
/// different shapes stay. `replaced` is called with each result of a branch and
/// what stands for it.
void inlineBranches(
    mlir::Block &copy, ChangedModule &change, const RangeAnalysis &ranges,
    llvm::function_ref<void(mlir::Value, mlir::Value)> replaced);

} // namespace mpopt

#endif // MPOPT_PROPAGATE_BRANCHES_H
