//===- RuleBase.td - What a rule's record says ------------------*- tablegen -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PASSES_RULES_RULEBASE_TD
#define MPOPT_PASSES_RULES_RULEBASE_TD

include "mlir/Pass/PassBase.td"

// A number that `--set KEY=VALUE` changes. The value is a string because
// TableGen has no floating point.
class Threshold<string thresholdKey, string defaultValue, string text> {
  string key = thresholdKey;
  string value = defaultValue;
  string meaning = text;
}

// A rule: a pass that finds and changes nothing. `--explain`, `--list-rules`,
// the reports' metadata and docs/rules.md come from these fields. Texts are
// Markdown, at most 76 columns without their indentation.
class Rule<string ruleId, string ruleName>
    : Pass<"rule-" # ruleName, "::mlir::ModuleOp"> {
  let baseClass = "::mpopt::RulePass";
  string id = ruleId;
  string name = ruleName;
  // Folder below passes/rules.
  string family = ?;
  // The worst it reports: error (NaN, Inf, zeros), warning (lost accuracy, a
  // hidden fault), note (worth knowing).
  string severity = ?;
  // The release that brings it.
  string since = ?;
  // The statistic of a probe and the predicate on it that decide the finding at
  // run time.
  string observable = "not observable";
  list<Threshold> thresholds = [];
  string what = ?;
  string why = ?;
  string example = ?;
  string instead = ?;
  let description = !strconcat(
    what, "\n\n**Why**: ", why, "\n\n**Example**:\n", example,
    "\n\n**Instead**: ", instead);
}

#endif // MPOPT_PASSES_RULES_RULEBASE_TD
