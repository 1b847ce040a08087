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

// A rule. `--explain`, `--list-rules`, the reports' metadata and docs/rules.md
// come from these fields. Texts are Markdown, at most 76 columns without their
// indentation.
class RuleRecord<string ruleId, string ruleName> {
  string id = ruleId;
  string name = ruleName;
  // Folder below passes/rules; `run` for those that have no pass.
  string family = ?;
  // The worst it reports: error (NaN, Inf, zeros), warning (lost accuracy, a
  // hidden fault), note (worth knowing).
  string severity = ?;
  // The release that brings it.
  string since = ?;
  // How a run decides a finding: the test that is made on what a probe saw, by
  // the words of `Decision` in include/mpopt/Report/Decision.h. The pass says
  // which tensors it looks at (FindingBuilder::watch), if not at the finding's
  // own. `none`: no run decides it.
  string decision = "none";
  // The threshold of the test, one of those below or of another rule.
  string decisionThreshold = "";
  // The same in words: statistic and predicate.
  string observable = "not observable";
  list<Threshold> thresholds = [];
  string what = ?;
  string why = ?;
  string example = ?;
  string instead = ?;
}

// A rule that is judged before the model runs: a pass that finds and changes
// nothing.
class Rule<string ruleId, string ruleName>
    : Pass<"rule-" # ruleName, "::mlir::ModuleOp">,
      RuleRecord<ruleId, ruleName> {
  let baseClass = "::mpopt::RulePass";
  let description = !strconcat(
    what, "\n\n**Why**: ", why, "\n\n**Example**:\n", example,
    "\n\n**Instead**: ", instead);
}

// A rule whose findings come from the record of a run alone
// (lib/Instrument/Confirm/RunRules.cpp).
class RunRule<string ruleId, string ruleName> : RuleRecord<ruleId, ruleName> {
  string summary = ?;
  let family = "run";
}

#endif // MPOPT_PASSES_RULES_RULEBASE_TD
