//===- RuleTable.h - The rules' metadata
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
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

/// The trouble that findings report. What several rules report in more or less
/// specific forms is one hazard; `Own` is a trouble of the rule's own.
enum class Hazard { Own, Overflow, Underflow };

/// As Rules.td has it: `overflow`.
std::string_view toString(Hazard hazard);

/// The values that are at fault: what the op computes, or what it is given,
/// because that was rounded.
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
  /// The trouble of errors, and that of warnings and notes.
  Hazard hazard, mildHazard;
  Subject about;
  /// A list says of the op that it must not compute in the dtype, whatever its
  /// values are.
  bool byList;
  /// Values leave the range of the dtype, or come close. Other findings can
  /// follow from these, and to keep the op in FP32 helps.
  bool byRange;
  /// Of f16, bf16 and f32, those in which it can fire.
  std::span<const std::string_view> dtypes;
  /// A safe fix comes with every finding (`safe`), with those where a trial
  /// shows that it helps (`sometimes`), or there is no fix to try (`none`).
  std::string_view fix;
  /// False: its findings come from the record of a run alone.
  bool isPass;
};

/// By id.
std::span<const RuleInfo> getRules();

/// Its page, from the root of the source: `docs/rules/MP103.md`.
std::string getPagePath(std::string_view id);

/// By id (in any case) or name; null if there is none.
const RuleInfo *findRule(std::string_view idOrName);

/// `RuleInfo::byList` and `byRange` of a rule; false if there is no such rule,
/// as in a ledger of another version.
bool isByList(std::string_view id);
bool isByRange(std::string_view id);

/// The hazard of a finding, as a word: the rule's id if it is one of its own.
/// The rule has to be in the table.
std::string_view getHazard(const Finding &finding);

/// By key, whichever rule it belongs to; null if there is none.
const ThresholdInfo *findThreshold(std::string_view key);

} // namespace mpopt

#endif // MPOPT_REPORT_RULETABLE_H
