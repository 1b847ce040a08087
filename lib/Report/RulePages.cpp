//===- RulePages.cpp - --list-rules and --explain
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Report/TextStyle.h"

#include "mpopt/Report/Report.h"
#include "mpopt/Report/RuleTable.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

using namespace mpopt;
using llvm::StringRef;
using llvm::json::OStream;

static std::string getThresholdText(const ThresholdInfo &threshold) {
  std::string text;
  llvm::raw_string_ostream(text)
      << StringRef(threshold.key) << '=' << llvm::format("%g", threshold.value);
  return text;
}

void mpopt::writeRuleList(llvm::raw_ostream &os,
                          llvm::ArrayRef<const RuleInfo *> rules,
                          const WriteOptions &options) {
  TextStyle style(os, options);
  StringRef family;
  // A list of some rules has a line for each.
  bool isBrief = rules.size() < getRules().size();
  for (const RuleInfo *each : rules) {
    const RuleInfo &rule = *each;
    if (family != StringRef(rule.family)) {
      if (!family.empty())
        os << '\n';
      family = rule.family;
      style.bold(family);
      os << '\n';
    }
    os << "  ";
    style.severity(rule.severity, rule.id);
    os << "  " << llvm::left_justify(rule.name, 26) << ' '
       << llvm::left_justify(StringRef(toString(rule.severity)), 8);
    if (isBrief) {
      os << StringRef(rule.summary) << '\n';
      continue;
    }
    style.wrap(rule.summary, 45);
    for (const ThresholdInfo &threshold : rule.thresholds) {
      os.indent(9) << "--set ";
      style.wrap(getThresholdText(threshold) + ": " +
                     std::string(threshold.meaning),
                 15);
    }
  }
  os << "\n`mpopt --explain RULE` prints the definition, the reason and the "
        "fixes of a rule.\n";
}

static void writeRule(OStream &json, const RuleInfo &rule) {
  json.attribute("id", StringRef(rule.id));
  json.attribute("name", StringRef(rule.name));
  json.attribute("family", StringRef(rule.family));
  json.attribute("severity", StringRef(toString(rule.severity)));
  json.attribute("since", StringRef(rule.since));
  json.attribute("observable", StringRef(rule.observable));
  json.attribute("decision", StringRef(toString(rule.decision)));
  json.attribute("summary", StringRef(rule.summary));
  json.attributeArray("thresholds", [&] {
    for (const ThresholdInfo &threshold : rule.thresholds)
      json.object([&] {
        json.attribute("key", StringRef(threshold.key));
        json.attribute("default", threshold.value);
        json.attribute("meaning", StringRef(threshold.meaning));
      });
  });
  json.attributeArray("dtypes", [&] {
    for (std::string_view dtype : rule.dtypes)
      json.value(StringRef(dtype));
  });
  json.attribute("fix", StringRef(rule.fix));
}

void mpopt::writeRuleListJson(llvm::raw_ostream &os,
                              llvm::ArrayRef<const RuleInfo *> rules,
                              const WriteOptions &) {
  OStream json(os, /*IndentSize=*/2);
  json.object([&] {
    json.attribute("schema", "mpopt-rules/1");
    json.attributeArray("rules", [&] {
      for (const RuleInfo *rule : rules)
        json.object([&] { writeRule(json, *rule); });
    });
  });
  json.flush();
  os << '\n';
}

// A fenced block without its fences, indented.
static void writeBlock(llvm::raw_ostream &os, StringRef text) {
  llvm::SmallVector<StringRef> lines;
  text.split(lines, '\n');
  for (StringRef line : lines) {
    if (line.starts_with("```"))
      continue;
    if (!line.empty())
      os.indent(2) << line;
    os << '\n';
  }
}

/// How the severity of a finding comes about (docs/effect.md).
static StringRef describeSeverity(const RuleInfo &rule) {
  if (rule.family == "training" || !(rule.isPass || rule.byEffect) ||
      rule.ownSeverity)
    return "The rule decides; the effect on outputs does not count.";
  return "An error if it is expected to make an output Inf or NaN, or to "
         "change "
         "it by\n"
         "more than effect-error of its largest value, a warning if by more\n"
         "than effect-warning, else a note. Where that is not known, and for "
         "a\n"
         "finding that is only possible, the rule decides.";
}

void mpopt::writeRulePage(llvm::raw_ostream &os, const RuleInfo &rule,
                          const WriteOptions &options) {
  TextStyle style(os, options);
  style.severity(rule.severity, rule.id);
  os << ' ';
  style.bold(rule.name);
  os << "  (" << StringRef(toString(rule.severity)) << ", "
     << StringRef(rule.family) << ", since " << StringRef(rule.since) << ")\n";
  os << StringRef(rule.summary) << '\n';
  auto section = [&](StringRef title, StringRef text) {
    os << '\n';
    style.bold(title);
    os << '\n';
    writeBlock(os, text);
  };
  section("Definition", rule.what);
  section("Why it matters", rule.why);
  section("Example", rule.example);
  section("Do instead", rule.instead);
  section("How bad it is", describeSeverity(rule));
  os << '\n';
  style.bold("Seen at run time");
  os << '\n';
  os.indent(2);
  style.wrap(rule.observable, 2);
  if (rule.decision != Decision::None)
    os << "  Test: " << StringRef(toString(rule.decision)) << '\n';
  if (!rule.thresholds.empty()) {
    os << '\n';
    style.bold("Settings");
    os << '\n';
  }
  for (const ThresholdInfo &threshold : rule.thresholds) {
    os << "  --set " << getThresholdText(threshold) << "\n      ";
    style.wrap(threshold.meaning, 6);
  }
  os << "\nPage: " << getPagePath(rule.id) << '\n';
}

void mpopt::writeRulePageJson(llvm::raw_ostream &os, const RuleInfo &rule,
                              const WriteOptions &) {
  OStream json(os, /*IndentSize=*/2);
  json.object([&] {
    json.attribute("schema", "mpopt-rule/1");
    writeRule(json, rule);
    json.attribute("what", StringRef(rule.what));
    json.attribute("why", StringRef(rule.why));
    json.attribute("example", StringRef(rule.example));
    json.attribute("instead", StringRef(rule.instead));
  });
  json.flush();
  os << '\n';
}
