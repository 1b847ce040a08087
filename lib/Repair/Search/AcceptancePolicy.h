//===- AcceptancePolicy.h - When a list of casts is enough ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_REPAIR_SEARCH_ACCEPTANCEPOLICY_H
#define MPOPT_LIB_REPAIR_SEARCH_ACCEPTANCEPOLICY_H

#include "Trials.h"

namespace mpopt {

/// Compares results of trials by their findings above a note and, where errors
/// count, by the errors of the outputs.
class AcceptancePolicy {
public:
  /// Findings alone count.
  explicit AcceptancePolicy(Certainty least) : least(least) {}
  /// Errors count, too: each output has a limit, by what it is `before`.
  AcceptancePolicy(Certainty least, mlir::ModuleOp module,
                   const TrialResult &before);

  /// True for findings that count.
  bool counts(const FindingList::Entry &entry) const {
    return entry.finding.certainty >= least &&
           entry.judged.value_or(entry.finding.severity) > Severity::Note;
  }
  bool counts(const Violation &violation) const {
    return violation.certainty >= least && violation.severity > Severity::Note;
  }

  /// Findings of less certainty do not count.
  Certainty least;

  bool byErrors() const { return !limits.empty(); }
  /// The largest error that each output may have.
  double limit(size_t output) const { return limits[output]; }

  bool isMet(const TrialResult &result) const;
  /// True if nothing is worse than in `held`.
  bool isAsGood(const TrialResult &result, const TrialResult &held) const;
  /// Findings that stay, or else outputs whose error is a finding.
  unsigned countLeft(const TrialResult &result) const;

private:
  bool isOver(size_t output, double error, double limit) const;

  /// By output: the error that is a finding, the one that is allowed, and the
  /// one that it is without a list.
  std::vector<double> warnings, limits, before;
};

} // namespace mpopt

#endif // MPOPT_LIB_REPAIR_SEARCH_ACCEPTANCEPOLICY_H
