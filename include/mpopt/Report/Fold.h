//===- Fold.h - Many findings, few things to say
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A transformer repeats a finding once a layer, and an overflow is followed by
// everything downstream of it. Reports for people show each once.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_REPORT_FOLD_H
#define MPOPT_REPORT_FOLD_H

#include "mpopt/Report/Finding.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <map>
#include <string>
#include <vector>

namespace mpopt {

/// Equal findings at places that differ only in numbers.
struct FoldedFinding {
  /// In the model's order, never empty.
  std::vector<const Finding *> members;
  /// The names differ in one number only, as those of repeated layers do.
  bool layers = false;
  /// Findings that follow from the members, and how many of each rule.
  unsigned consequences = 0;
  std::map<std::string, unsigned> followers;

  const Finding &first() const { return *members.front(); }
};

/// One rule's findings of one severity and certainty.
struct FindingGroup {
  std::string rule;
  Severity severity;
  Certainty certainty;
  std::vector<FoldedFinding> folded;

  unsigned size() const;
};

/// Replaces numbers by `#`: `/layers.12/Add_3` becomes `/layers.#/Add_#`.
std::string foldDigits(llvm::StringRef text);

/// A finding that is shown by itself: none that is shown speaks for it.
struct ShownFinding {
  const Finding *finding;
  /// The findings that follow from it: rule and number.
  std::map<std::string, unsigned> followers;
  /// The greatest severity, its own or that of one that follows.
  Severity worst;
};

/// The findings that are no consequence of a listed one of equal standing, in
/// their order. A consequence that counts is shown by itself where its root
/// does not count.
std::vector<ShownFinding> listShown(llvm::ArrayRef<Finding> findings);

/// Groups of equal rule, severity and certainty of the findings that count,
/// sorted by severity and certainty (the highest first), then by rule.
std::vector<FindingGroup> groupFindings(llvm::ArrayRef<Finding> findings);

} // namespace mpopt

#endif // MPOPT_REPORT_FOLD_H
