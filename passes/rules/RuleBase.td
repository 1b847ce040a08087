//===- RuleBase.td - What a rule's record says ------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

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
  // Folder below passes/rules; `run` and `source` have no passes. A family has
  // a class below, with what its rules have in common.
  string family = ?;
  // The worst it reports: error (NaN, Inf, zeros), warning (lost accuracy, a
  // hidden fault), note (worth knowing).
  string severity = ?;
  // The release that brings it.
  string since = ?;
  // Facts that the fix search and the join with a run ask for: see the fields of
  // RuleInfo in include/mpopt/Report/RuleTable.h.
  string hazard = "own";         // own, overflow or underflow
  string mildHazard = "";        // of warnings and notes, if it is another one
  string about = "results";      // results or arguments
  bit byList = 0;
  bit byRange = 0;
  bit nonFinite = 0;
  bit byEffect = 0;
  bit ownSeverity = 0;
  bit ofLosses = 0;
  // Nothing but a training that mpopt.monitor watches tells of it.
  bit byMonitor = 0;
  // The dtypes among f16, bf16 and f32 in which it can fire.
  list<string> dtypes = ["f16", "bf16"];
  // How often findings come with a safe fix: safe (always), sometimes or none.
  string fix = "sometimes";
  // How a run decides a finding: the test that is made on what a probe saw, by
  // the words of include/mpopt/Report/Decision.def. The pass says
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

// A rule about dtypes and autocast: the policy's lists and the graph judge.
class DtypeRule<string ruleId, string ruleName> : Rule<ruleId, ruleName> {
  let family = "dtype";
  let byList = 1;
}

// A rule about values that a dtype's range does not hold.
class RangeRule<string ruleId, string ruleName> : Rule<ruleId, ruleName> {
  let family = "range";
  let byRange = 1;
}

// A rule about digits that are lost.
class PrecisionRule<string ruleId, string ruleName> : Rule<ruleId, ruleName> {
  let family = "precision";
}

// A rule about a fact of a quantised file, which no range changes.
class QuantizationRule<string ruleId, string ruleName> : Rule<ruleId, ruleName> {
  let family = "quantization";
  let severity = "error";
  let since = "0.3";
  let dtypes = ["f32", "f16", "bf16"];
  let ownSeverity = 1;
  let fix = "none";
}

// A rule about codes and the numbers that are expected, as bad as its effect is.
class CodeRule<string ruleId, string ruleName> : QuantizationRule<ruleId, ruleName> {
  let severity = "warning";
  let ownSeverity = 0;
  let fix = "sometimes"; // lib/Repair/Search/CodeFixes.cpp
}

// A rule about files of weights without a graph (lib/Checkpoint): no pass.
class CheckpointRule<string ruleId, string ruleName>
    : RuleRecord<ruleId, ruleName> {
  string summary = ?;
  let family = "quantization";
  let severity = "error";
  let since = "0.3";
  let dtypes = ["f32", "f16", "bf16"];
  let ownSeverity = 1;
  let fix = "none";
}

// A rule about gradients, loss scales and updates: it judges a module that holds
// the backward graph of its loss.
class TrainingRule<string ruleId, string ruleName> : Rule<ruleId, ruleName> {
  let family = "training";
}

// A rule about the settings of a training (lib/Train): no pass.
class ConfigRule<string ruleId, string ruleName> : RuleRecord<ruleId, ruleName> {
  string summary = ?;
  let family = "training";
  let severity = "warning";
  let since = "0.3";
  let dtypes = ["f32", "f16", "bf16"];
  let ownSeverity = 1;
  let fix = "none";
}

// A rule about what comes of everything in the outputs: lib/Effects reports it.
class EffectRule<string ruleId, string ruleName> : RuleRecord<ruleId, ruleName> {
  string summary = ?;
  let family = "range";
  let byEffect = 1;
  let fix = "none";
}

// A rule whose findings come from the record of a run alone
// (lib/Instrument/Confirm/RunRules.cpp).
class RunRule<string ruleId, string ruleName> : RuleRecord<ruleId, ruleName> {
  string summary = ?;
  let family = "run";
  let fix = "none";
  let dtypes = ["f16", "bf16", "f32"];
}

// A rule about the source code of a training script: no pass, but a function of its
// name in python/mpopt/lint/rules, which reads the record from a JSON file that
// scripts/generate-docs writes.
class SourceRule<string ruleId, string ruleName, string ruleGroup>
    : RuleRecord<ruleId, ruleName> {
  string summary = ?;
  let family = "source";
  // The subject of the rule: casts, regions, scaler, step, numbers, settings or fp8.
  string group = ruleGroup;
  let since = "0.2";
  let fix = "none"; // of the changes that `mpopt lint --fix` makes
}

// About the scaler and the order of a training step. Scales are for FP16.
class StepRule<string ruleId, string ruleName, string ruleGroup>
    : SourceRule<ruleId, ruleName, ruleGroup> {
  let dtypes = ["f16"];
}

// About numbers that FP16 does not hold.
class NumberRule<string ruleId, string ruleName>
    : SourceRule<ruleId, ruleName, "numbers"> {
  let dtypes = ["f16"];
}

// About flags and frameworks' arguments.
class SettingRule<string ruleId, string ruleName>
    : SourceRule<ruleId, ruleName, "settings">;

// A rule about a training while it runs (python/mpopt/monitor).
class MonitorRule<string ruleId, string ruleName> : RunRule<ruleId, ruleName> {
  let byMonitor = 1;
}

#endif // MPOPT_PASSES_RULES_RULEBASE_TD
