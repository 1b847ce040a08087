//===- RuleTable.h - The rules' metadata
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The records of passes/rules/Rules.td as a C++ table, made at build time.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_REPORT_RULETABLE_H
#define MPOPT_REPORT_RULETABLE_H

#include "mpopt/Report/Finding.h"

#include <span>
#include <string>
#include <string_view>

namespace mpopt {

/// A number that `--set KEY=VALUE` changes.
struct ThresholdInfo {
  std::string_view key;
  double value;
  std::string_view meaning;
};

/// The failure that findings predict. Rules that predict the same failure in
/// more or less specific forms share a hazard; `Own` is one of the rule alone.
enum class Hazard { Own, Overflow, Underflow };

/// The word of Rules.td: `overflow`.
std::string_view toString(Hazard hazard);

/// The values at fault: the op's results, or its operands, because they were
/// rounded.
enum class Subject { Results, Arguments };

struct RuleInfo {
  std::string_view id;   ///< `MP103`.
  std::string_view name; ///< `silent-upcast`; its pass is `rule-silent-upcast`.
  std::string_view family;
  Severity severity; ///< The worst it reports.
  std::string_view since;
  /// The statistic and predicate by which a probe decides it, or `not
  /// observable`.
  std::string_view observable;
  std::string_view summary;
  // Sections of the page, as Markdown.
  std::string_view what;
  std::string_view why;
  std::string_view example;
  std::string_view instead;
  std::span<const ThresholdInfo> thresholds;
  /// The test behind `observable`, and the key of its threshold, if it has one.
  Decision decision;
  std::string_view decisionThreshold;
  /// The hazard of errors, and that of warnings and notes.
  Hazard hazard, mildHazard;
  Subject about;
  /// A list forbids the op to compute in the dtype, whatever its values are.
  bool byList;
  /// Values leave the range of the dtype, or come close. Other findings can
  /// follow from these, and keeping the op in FP32 helps.
  bool byRange;
  /// Findings say that the op makes NaN or Inf of finite numbers.
  bool nonFinite;
  /// Findings are about the errors of outputs, which Effects finds.
  bool byEffect;
  /// The severity is that of the record, whatever comes of it in the outputs.
  bool ownSeverity;
  /// The loss that `--train` appends is judged, too.
  bool ofLosses;
  /// The dtypes among f16, bf16 and f32 in which the rule can fire.
  std::span<const std::string_view> dtypes;
  /// A safe fix comes with every finding (`safe`), with those where a trial
  /// shows that it helps (`sometimes`), or there is no fix to try (`none`).
  std::string_view fix;
  /// False: its findings come from the record of a run, a script or a file of
  /// weights alone.
  bool isPass;
};

/// All rules, sorted by id.
std::span<const RuleInfo> getRules();

/// Path of the rule's page, relative to the root of the source:
/// `docs/rules/MP103.md`.
std::string getPagePath(std::string_view id);

/// The rule with this id (in any case) or name; null if there is none.
const RuleInfo *findRule(std::string_view idOrName);

/// `RuleInfo::byList` and `byRange` of a rule; false if there is no such rule,
/// as in a ledger of another version.
bool isByList(std::string_view id);
bool isByRange(std::string_view id);

/// The hazard of a finding, as a word: the rule's id for `Hazard::Own`.
/// Precondition: the rule is in the table.
std::string_view getHazard(const Finding &finding);

/// The threshold with this key, of any rule; null if there is none.
const ThresholdInfo *findThreshold(std::string_view key);

} // namespace mpopt

#endif // MPOPT_REPORT_RULETABLE_H
