//===- RuleSequence.h - Rules that are called one after another -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_PASSES_RULES_RULESEQUENCE_H
#define MPOPT_PASSES_RULES_RULESEQUENCE_H

#include "mpopt/Report/RuleTable.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/AnalysisManager.h"
#include "mlir/Pass/PassManager.h"

namespace mpopt {

/// Rules by their records. They keep nothing from one module to the next.
class RuleSequence {
public:
  /// Rules of a run have nothing to say of a module and are left out.
  explicit RuleSequence(llvm::ArrayRef<const RuleInfo *> rules);

  /// Adds what the rules find in `module`, whose precision was applied, to the
  /// FindingList of `analyses`, which are the module's.
  void addFindings(mlir::ModuleOp module, mlir::AnalysisManager analyses);

private:
  /// Owns the rules. It is never run: they are called.
  mlir::OpPassManager passes;
};

} // namespace mpopt

#endif // MPOPT_PASSES_RULES_RULESEQUENCE_H
