//===- ChangedModule.h - A copy in which some ops differ --------*- C++ -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Trials of fixes change a copy of a module whose ranges are known. Ranges are
// the expensive part of an analysis, so those that the changes do not reach are
// read from the original. Whoever asks for the ranges of the copy sees no
// difference.
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
  /// Values of the copy, and what each is a copy of.
  llvm::DenseMap<mlir::Value, mlir::Value> originals;
  /// Ops that the original does not have, or not like this.
  llvm::DenseSet<mlir::Operation *> changed;
};

enum class Recompute {
  /// What the changes reach.
  Reached,
  /// Everything: the reference for tests of the former.
  All
};

/// Has the RangeAnalysis of `copy`, which nobody has asked for yet, read from
/// `base`, the ranges of the original, what it need not compute. `base` and
/// `change` must outlive it.
void reuseRanges(mlir::AnalysisManager copy, const RangeAnalysis &base,
                 const ChangedModule &change, Recompute what);

} // namespace mpopt

#endif // MPOPT_RANGES_ANALYSIS_CHANGEDMODULE_H
