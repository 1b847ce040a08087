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
#include <string_view>

namespace mpopt {

/// A number that `--set KEY=VALUE` changes.
struct ThresholdInfo {
  std::string_view key;
  double value;
  std::string_view meaning;
};

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
  /// False: its findings come from the record of a run alone.
  bool isPass;
};

/// By id.
std::span<const RuleInfo> getRules();

/// By id (in any case) or name; null if there is none.
const RuleInfo *findRule(std::string_view idOrName);

/// By key, whichever rule it belongs to; null if there is none.
const ThresholdInfo *findThreshold(std::string_view key);

} // namespace mpopt

#endif // MPOPT_REPORT_RULETABLE_H
