//===- Judgement.h - What the trials say of each fix -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_REPAIR_SEARCH_JUDGEMENT_H
#define MPOPT_LIB_REPAIR_SEARCH_JUDGEMENT_H

#include "mpopt/Repair/FixTrial.h"

#include "llvm/ADT/StringMap.h"

#include <set>

namespace mpopt {

/// Runs in which the set of ops to keep may grow, and of fixes that change the
/// same ops.
inline constexpr unsigned kMostRounds = 4;

/// A fix of a finding.
struct Candidate {
  size_t entry, fix;
  FixAction action;
  /// It could be applied, and what came of it.
  bool tried = false, gone = false, safe = false;
};

/// The findings of a module, and what becomes of them in trials.
class Judgement {
public:
  Judgement(mlir::ModuleOp module, std::vector<FindingList::Entry> &entries,
            FindAll findAll);

  using Run = llvm::function_ref<std::optional<Outcome>()>;

  bool isGone(size_t entry, const Outcome &outcome) const;
  /// By a run with others, of which `fresh` counts for this one. What is safe
  /// stays so.
  void judge(Candidate &candidate, const Outcome &outcome,
             llvm::ArrayRef<const Fresh *> fresh) const;
  /// The same, where everything new counts.
  void judgeByAll(Candidate &candidate, const Outcome &outcome) const;
  /// By a run of its own, if it is not safe and there may be one more.
  void judgeAlone(Candidate &candidate, Run run);
  /// Into the finding.
  void record(const Candidate &candidate);
  /// Leaves the fixes that were tried, the safe ones first.
  void sortFixes();

  llvm::ArrayRef<size_t> getFollowers(size_t entry) const {
    auto found = followers.find(entries[entry].finding.fingerprint);
    return found == followers.end() ? llvm::ArrayRef<size_t>() : found->second;
  }

  mlir::ModuleOp module;
  std::vector<FindingList::Entry> &entries;
  Trial trial;

private:
  /// Remaining cost allowed for trials of single fixes (Trial::size).
  size_t aloneBudget;
  /// Findings that follow from the one of a fingerprint.
  llvm::StringMap<llvm::SmallVector<size_t>> followers;
  /// Entry and number of the fixes that were tried.
  std::set<std::pair<size_t, size_t>> tried;
};

/// New findings that are looked at for each fix.
inline constexpr size_t kMostFresh = 64;

/// Tries `keep-fp32` of the findings of `least` certainty or more that are
/// notes, or are none. Adds to the plan the ops of findings that are gone.
llvm::Error tryKeeping(Judgement &judgement, Certainty least, bool notes,
                       KeepPlan &plan);

/// Tries the fixes that change ops or constants of findings of `least`
/// certainty or more.
void tryChanges(Judgement &judgement, Certainty least);

/// Tries the fixes that declare another training step.
void tryDeclarations(Judgement &judgement, Certainty least);

} // namespace mpopt

#endif // MPOPT_LIB_REPAIR_SEARCH_JUDGEMENT_H
