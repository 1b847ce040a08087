//===- Trials.h - The analysis of changed copies of a module ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A result is in terms of the unchanged module, so that the results of several
// copies can be compared after the copies are gone.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_REPAIR_SEARCH_TRIALS_H
#define MPOPT_LIB_REPAIR_SEARCH_TRIALS_H

#include "mpopt/Repair/Fix.h"
#include "mpopt/Repair/Places.h"
#include "mpopt/Repair/Repair.h"

#include "mlir/IR/IRMapping.h"

#include <cmath>

namespace mpopt {

/// A hazard and the value of the unchanged module that it is about; the value
/// is null at an op that a fix inserted.
using Place = std::pair<llvm::StringRef, mlir::Value>;
Place getPlaceOf(const FindingList::Entry &entry);

/// A finding of an analysis.
struct Violation {
  Place place;
  llvm::StringRef rule;
  /// The op of the unchanged module, if it has it.
  mlir::Operation *op = nullptr;
  /// By its effect, where that is known.
  Severity severity = Severity::Note;
  Certainty certainty = Certainty::Possible;
  /// The highest certainty at the same place in the unchanged module.
  std::optional<Certainty> before;
  /// Its effect on the outputs, infinite if it is not known.
  double effect = 0;

  mlir::Value value() const { return place.second; }
  /// True if it is about the values, not about the op.
  bool isAboutRange() const { return place.first != rule; }
  bool isPartial() const { return std::isfinite(effect); }
  /// True if it reaches the certainty only in this analysis.
  bool isNew(Certainty bar) const {
    return certainty >= bar && (!before || *before < bar);
  }
};

/// The error of one output, and its causes.
struct OutputState {
  /// Infinite if Inf or NaN is expected, NaN if it is not known.
  double error = 0;
  /// Values at which Inf or NaN begins that reaches the output.
  llvm::SmallVector<mlir::Value> origins;
  /// As OutputEffect has them.
  llvm::MapVector<mlir::Value, double> squares;
  std::vector<OutputEffect::Sum> sums;
  /// The error is the share of its integers or truth values that change.
  bool isDecision = false;
};

struct TrialResult {
  /// The most severe first.
  std::vector<Violation> violations;
  /// The float outputs, then the others that floats decide about. Empty if
  /// effects were not estimated.
  std::vector<OutputState> outputs;
  /// Highest certainty of the findings at each place.
  llvm::DenseMap<Place, Certainty> present;
  /// Size of the ops that the change reaches, in the unit of Trials::size.
  size_t cost = 0;

  bool has(const FindingList::Entry &entry, Certainty bar) const;
};

class Trials {
public:
  /// The unchanged module, and its findings.
  Trials(mlir::ModuleOp module, llvm::ArrayRef<FindingList::Entry> entries,
         Analyze analyze);

  /// Size of the module: its ops, and its weights in pieces that take as long
  /// to analyse as an op.
  size_t size() const { return moduleSize; }

  /// Analyses the unchanged module, for the findings of rules that are not
  /// selected.
  void learnAll();

  /// The result for a verdict on the unchanged module.
  TrialResult describe(const Verdict &verdict) const;

  /// Changes the copy, in which each op of the module has its counterpart.
  /// False: it cannot be changed so.
  using Change = llvm::function_ref<bool(
      mlir::ModuleOp, const mlir::IRMapping &, RetiredOps &)>;
  /// Applies the change to a copy and analyses it; nothing if it cannot be
  /// made.
  std::optional<TrialResult> run(Change change);
  std::optional<TrialResult> run(const CastPlan &plan);
  /// Analyses the module under another declaration of its training step
  /// (kTrainingStepAttr), which is taken back. Nothing if the module has no
  /// function.
  std::optional<TrialResult> runDeclared(mlir::DictionaryAttr step);

private:
  /// The value and the op of the unchanged module for those of a copy; null for
  /// those that it does not have.
  struct Origins {
    llvm::function_ref<mlir::Value(mlir::Value)> value;
    llvm::function_ref<mlir::Operation *(mlir::Operation *)> op;
  };

  void learn(const FindingList::Entry &entry);
  TrialResult translate(const Verdict &verdict, Origins origins) const;
  void add(const FindingList::Entry &entry, Origins origins,
           TrialResult &result) const;

  mlir::ModuleOp module;
  size_t moduleSize = 0;
  Analyze analyze;
  /// Highest certainty of each hazard and value in the unchanged module.
  llvm::DenseMap<Place, Certainty> known;
};

} // namespace mpopt

#endif // MPOPT_LIB_REPAIR_SEARCH_TRIALS_H
