//===- Baseline.h - Findings that a project bears ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A baseline is a file of findings by fingerprint (`mpopt-baseline/1`,
// docs/ci.md); a suppression is a pattern with a reason. Findings of either
// stay in the report and do not count.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_REPORT_BASELINE_H
#define MPOPT_REPORT_BASELINE_H

#include "mpopt/Report/Report.h"
#include "mpopt/Report/RuleTable.h"

#include "llvm/Support/Error.h"

namespace mpopt {

struct Baseline {
  struct Model {
    std::string path, precision;
    std::vector<BaselineEntry> findings;
  };
  std::string file;
  std::vector<Model> models;
};

/// Reads `text`, the content of `file`. The error is one line without the
/// file's name.
llvm::Expected<Baseline> parseBaseline(llvm::StringRef text,
                                       llvm::StringRef file);

/// Writes the listed findings that no suppression bears.
void writeBaseline(llvm::raw_ostream &os, llvm::ArrayRef<ModelReport> reports,
                   llvm::StringRef version);

/// Marks the findings that the baseline has as known, and lists those of
/// `rules` that it has and the report has not, at any certainty. The baseline's
/// model is the one of that file name, else its only one where `only` says
/// that one model is judged; without any nothing is known and the report gets
/// a warning.
void applyBaseline(const Baseline &baseline,
                   llvm::ArrayRef<const RuleInfo *> rules, bool only,
                   ModelReport &report);

/// A pattern of findings that are borne. Each part that is given has to fit.
struct Suppression {
  std::string rule; ///< Id, prefix or name; empty: any.
  std::string op;   ///< A glob on the op's name; empty: any.
  std::string fingerprint;
  std::string reason;
  /// `2027-01-31`, the last day on which it holds; empty: always.
  std::string expires;
  std::string place; ///< `mpopt.toml:12`.
};

/// Fails if the parts of the suppression are no patterns. The error is one line
/// without the place.
llvm::Error checkSuppression(const Suppression &suppression);

/// Marks what the suppressions bear; `today` is a date as in
/// `Suppression::expires`. A suppression that is over, or fits nothing in the
/// report, listed or not, gives a warning.
void applySuppressions(llvm::ArrayRef<Suppression> suppressions,
                       llvm::StringRef today, ModelReport &report);

} // namespace mpopt

#endif // MPOPT_REPORT_BASELINE_H
