//===- Trial.h - What the analysis finds with a fix applied -----*- C++ -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_FIX_TRIAL_H
#define MPOPT_FIX_TRIAL_H

#include "mpopt/Fix/Fix.h"
#include "mpopt/Fix/Places.h"

#include "mpopt/Ranges/Analysis/ChangedModule.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"

namespace mpopt {

/// Everything that all rules find, without fingerprints: in a changed copy of
/// the module, or (null) in the module as it is. The search has the caller do
/// this, who knows how rules are run.
using FindAll = llvm::function_ref<std::vector<FindingList::Entry>(
    mlir::ModuleOp, const ChangedModule *)>;

/// A hazard and the value of the original module that it is about; null if it
/// is at an op that a fix brought.
using Place = std::pair<llvm::StringRef, mlir::Value>;

/// A finding of a trial that the module as it is does not have, or not as sure.
struct Fresh {
  mlir::Value value;
  Severity severity;
  Certainty certainty, before;
  bool wasThere;

  /// True if it counts against a fix of a finding of that severity, given how
  /// sure a finding must be to count.
  bool counts(Severity least, Certainty bar) const {
    return severity >= least && certainty >= bar && (!wasThere || before < bar);
  }
};

/// What a trial found.
struct Outcome {
  /// The surest finding of each place.
  llvm::DenseMap<Place, Certainty> present;
  /// Worst first.
  std::vector<Fresh> fresh;
  /// Range findings that are likely, for what has to be kept, too.
  std::vector<std::pair<mlir::Value, Severity>> ranges;
  /// What the analysis looks at: see Trial::size.
  size_t cost = 0;

  bool has(const FindingList::Entry &entry, Certainty bar) const;
};

/// Where an entry's finding is.
Place getPlaceOf(const FindingList::Entry &entry);

class Trial {
public:
  /// The module as it is, and what is found there.
  Trial(mlir::ModuleOp module, llvm::ArrayRef<FindingList::Entry> entries,
        FindAll findAll);

  /// The module's ops, and its weights in pieces that take as long.
  size_t size() const { return moduleSize; }

  /// Learns what rules that are not selected say of the module as it is.
  void learnAll();

  /// Changes the copy, in which each op of the module has its counterpart.
  /// False: it cannot be changed so.
  using Change = llvm::function_ref<bool(
      mlir::ModuleOp, const mlir::IRMapping &, RetiredOps &)>;
  /// Nothing if the change cannot be made.
  std::optional<Outcome> run(Change change);

private:
  void learn(const FindingList::Entry &entry);
  ChangedModule compare(mlir::ModuleOp copy,
                        const mlir::IRMapping &mapping) const;

  mlir::ModuleOp module;
  size_t moduleSize = 0;
  FindAll findAll;
  /// Of the module as it is: the surest finding of each hazard and value.
  llvm::DenseMap<Place, Certainty> known;
};

} // namespace mpopt

#endif // MPOPT_FIX_TRIAL_H
