//===- ChangedModule.h - A copy in which some ops differ --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Trials of fixes change a copy of a module whose ranges are known. Ranges are
// the expensive part of an analysis, so those that the changes do not reach are
// read from the original. The users of RangeAnalysis see no difference.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_RANGES_ANALYSIS_CHANGEDMODULE_H
#define MPOPT_RANGES_ANALYSIS_CHANGEDMODULE_H

#include "mlir/IR/Operation.h"
#include "mlir/IR/Value.h"
#include "mlir/Pass/AnalysisManager.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace mpopt {

class RangeAnalysis;

/// How a copy of a module differs from it.
struct ChangedModule {
  /// For each value of the copy the original value.
  llvm::DenseMap<mlir::Value, mlir::Value> originals;
  /// Ops that the original does not have, or that differ from the original's.
  llvm::DenseSet<mlir::Operation *> changed;
};

/// The ops of a changed copy whose ranges are computed.
enum class Recompute {
  /// The ops that the changes reach.
  Reached,
  /// The ops that differ and no others: nobody asks for what depends on them.
  Changed,
  /// All ops: the reference for tests of `Reached`.
  All
};

/// Makes the RangeAnalysis of `copy`, which must not have been computed yet,
/// read the ranges that it need not compute from `base`, the ranges of the
/// original. `base` and `change` must outlive it.
void reuseRanges(mlir::AnalysisManager copy, const RangeAnalysis &base,
                 const ChangedModule &change, Recompute what);

} // namespace mpopt

#endif // MPOPT_RANGES_ANALYSIS_CHANGEDMODULE_H
