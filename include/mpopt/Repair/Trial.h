//===- Trial.h - Findings of a model with a fix applied ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_REPAIR_TRIAL_H
#define MPOPT_REPAIR_TRIAL_H

#include "mpopt/Repair/Fix.h"
#include "mpopt/Repair/Places.h"

#include "mpopt/Ranges/Analysis/ChangedModule.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"

namespace mpopt {

/// Everything that all rules find, without fingerprints: in a changed copy of
/// the module, or (null) in the module as it is and is declared to be trained.
/// The caller provides it, since the search does not run rules itself.
using FindAll = llvm::function_ref<std::vector<FindingList::Entry>(
    mlir::ModuleOp, const ChangedModule *)>;

/// A hazard and the value of the original module that it is about; the value is
/// null at an op that a fix inserted.
using Place = std::pair<llvm::StringRef, mlir::Value>;

/// A finding of a trial that the unchanged module lacks, or has with less
/// certainty.
struct Fresh {
  mlir::Value value;
  Severity severity;
  Certainty certainty, before;
  bool wasThere;

  /// True if it counts against a fix: it is at least of severity `least`, and
  /// reaches the certainty `bar` only with the fix.
  bool counts(Severity least, Certainty bar) const {
    return severity >= least && certainty >= bar && (!wasThere || before < bar);
  }
};

/// The result of a trial.
struct Outcome {
  /// Highest certainty of the findings at each place.
  llvm::DenseMap<Place, Certainty> present;
  /// New findings, the most severe first.
  std::vector<Fresh> fresh;
  /// Likely range findings: candidates for further ops to keep in FP32.
  std::vector<std::pair<mlir::Value, Severity>> ranges;
  /// Size of the ops that the change reaches, in the unit of Trial::size.
  size_t cost = 0;

  bool has(const FindingList::Entry &entry, Certainty bar) const;
};

/// The place of an entry's finding.
Place getPlaceOf(const FindingList::Entry &entry);

/// How a changed copy of a module differs from it. `mapping` is that of the
/// clone.
ChangedModule compareWithCopy(mlir::ModuleOp copy,
                              const mlir::IRMapping &mapping);

class Trial {
public:
  /// The unchanged module, and its findings.
  Trial(mlir::ModuleOp module, llvm::ArrayRef<FindingList::Entry> entries,
        FindAll findAll);

  /// Size of the module: its ops, and its weights in pieces that take as long
  /// to analyse as an op.
  size_t size() const { return moduleSize; }

  /// Runs all rules on the unchanged module, for the findings of rules that are
  /// not selected.
  void learnAll();

  /// Changes the copy, in which each op of the module has its counterpart.
  /// False: it cannot be changed so.
  using Change = llvm::function_ref<bool(
      mlir::ModuleOp, const mlir::IRMapping &, RetiredOps &)>;
  /// Applies the change to a copy and analyses it; nothing if it cannot be
  /// made.
  std::optional<Outcome> run(Change change);
  /// Analyses the module as it is under another declaration of its training
  /// step (kTrainingStepAttr), which is taken back. Nothing if the module has
  /// no function.
  std::optional<Outcome> runDeclared(mlir::DictionaryAttr step);

private:
  void learn(const FindingList::Entry &entry);
  void add(const FindingList::Entry &entry, mlir::Value value,
           Outcome &outcome) const;

  mlir::ModuleOp module;
  size_t moduleSize = 0;
  FindAll findAll;
  /// Highest certainty of each hazard and value in the unchanged module.
  llvm::DenseMap<Place, Certainty> known;
};

} // namespace mpopt

#endif // MPOPT_REPAIR_TRIAL_H
