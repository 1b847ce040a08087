//===- ChangedModule.h - A copy in which some ops differ --------*- C++ -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a trial of a fix tells the analyses of the copy that it changed, so that
// they look only at what differs. A pass at the front of the pipeline makes it
// known to them; where there is none, everything is looked at.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_RANGES_ANALYSIS_CHANGEDMODULE_H
#define MPOPT_RANGES_ANALYSIS_CHANGEDMODULE_H

#include "mlir/IR/Operation.h"
#include "mlir/IR/Value.h"
#include "mlir/Pass/AnalysisManager.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <vector>

namespace mpopt {

class OverflowSites;
class RangeAnalysis;

class ChangedModule {
public:
  /// The ranges of the module that this is a copy of.
  const RangeAnalysis *base = nullptr;
  /// Its overflows, as the rules see them.
  const OverflowSites *sites = nullptr;
  /// Its values of which a rule says that they flush.
  llvm::DenseSet<mlir::Value> flushes;
  /// Values of the copy, and what each is a copy of.
  llvm::DenseMap<mlir::Value, mlir::Value> originals;
  /// Ops that the original does not have, or not like this.
  llvm::DenseSet<mlir::Operation *> changed;
  /// Ops that lost a reader: as they were, but not what is around them.
  llvm::DenseSet<mlir::Operation *> around;
  /// Look at everything all the same.
  bool wholly = false;

  /// Sets what rules look at: `visited`, ops whose operands or results have
  /// other ranges, the changed ones, and those near them, as far as a rule
  /// looks around.
  void setScope(mlir::Operation *module,
                llvm::ArrayRef<mlir::Operation *> visited);

  bool inScope(mlir::Operation *op) const {
    return wholly || members.contains(op);
  }
  /// In program order.
  llvm::ArrayRef<mlir::Operation *> scope() const { return ops; }

private:
  std::vector<mlir::Operation *> ops;
  llvm::DenseSet<mlir::Operation *> members;
};

/// An analysis of the copy.
struct KnownChange {
  explicit KnownChange(mlir::Operation *) {}
  bool isInvalidated(const mlir::AnalysisManager::PreservedAnalyses &) {
    return false;
  }
  const ChangedModule *change = nullptr;
};

/// What the analyses of `manager`'s module are told; null for a module that is
/// no changed copy.
const ChangedModule *getChange(mlir::AnalysisManager &manager);

} // namespace mpopt

#endif // MPOPT_RANGES_ANALYSIS_CHANGEDMODULE_H
