//===- Markdown.cpp - Reports for the summary of a job --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// GitHub's Markdown: a table of the findings, rule by rule, with layers folded.
// Summaries of jobs are at most a megabyte long, so places past a number are
// counted; every rule of a listed finding is named.
//
//===----------------------------------------------------------------------===//

#include "FindingText.h"
#include "ReportWriters.h"
#include "TextReport.h"

#include "mpopt/Report/MarkdownText.h"

#include "mpopt/Report/RuleTable.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>

using namespace mpopt;
using llvm::StringRef;

// The sizes that a comment shows: places of a rule, names of a place,
// characters of a text, inputs; `mpopt --format json` has all.
static constexpr size_t kMostPlaces = 8, kMostNames = 3, kMostText = 400,
                        kMostAssumptions = 50;

std::string mpopt::markdownText(StringRef raw) {
  std::string escaped;
  for (char c : clip(raw, kMostText)) {
    if (StringRef("\\`*_[]<>|~#!&@").contains(c))
      escaped += '\\';
    // Addresses become links without any markup.
    else if (c == '/' && StringRef(escaped).ends_with(":"))
      escaped += '\\';
    else if (c == '.' && StringRef(escaped).ends_with_insensitive("www"))
      escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string mpopt::markdownProse(StringRef raw) {
  llvm::SmallVector<StringRef> parts;
  raw.split(parts, '`');
  // A name may have a backtick of its own.
  if (parts.size() % 2 == 0)
    return markdownText(raw);
  std::string text;
  for (auto [index, part] : llvm::enumerate(parts))
    text += index % 2      ? markdownCode(part)
            : part.empty() ? std::string()
                           : markdownText(part);
  return text;
}

std::string mpopt::markdownCode(StringRef raw) {
  std::string name = clip(raw);
  size_t longest = 0, run = 0;
  std::string inner;
  for (char c : name) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
    // Tables are cut into cells before code is looked for.
    if (c == '|')
      inner += '\\';
    inner += c;
  }
  std::string fence(longest + 1, '`');
  bool pad = name.empty() || StringRef(name).starts_with("`") ||
             StringRef(name).ends_with("`") || name.front() == ' ';
  return fence + (pad ? " " : "") + inner + (pad ? " " : "") + fence;
}

static StringRef getMark(Severity severity) {
  switch (severity) {
  case Severity::Error:
    return ":x: error";
  case Severity::Warning:
    return ":warning: warning";
  case Severity::Note:
    return ":information_source: note";
  }
  return {};
}

static std::string describePlaces(const FoldedFinding &fold) {
  std::string list = markdownCode(fold.first().op.name);
  if (size_t others = fold.members.size() - 1) {
    llvm::ArrayRef<const Finding *> members(fold.members);
    for (const Finding *member : members.drop_front().take_front(kMostNames))
      list += ", " + markdownCode(member->op.name);
    if (others > kMostNames)
      list += " and " + std::to_string(others - kMostNames) +
              (fold.layers ? " more layers" : " more");
  }
  if (const auto &line = fold.first().location)
    list +=
        " at " + markdownCode(line->file + ":" + std::to_string(line->line));
  return list;
}

static void writeGroup(llvm::raw_ostream &os, const FindingGroup &group) {
  llvm::ArrayRef<FoldedFinding> places = group.folded;
  for (const FoldedFinding &fold : places.take_front(kMostPlaces)) {
    const Finding &finding = fold.first();
    os << "| " << getMark(group.severity) << " | "
       << markdownText(describeRule(finding)) << " | " << describePlaces(fold)
       << " | " << markdownText(finding.message);
    if (std::string effect = describeOwnEffect(fold); !effect.empty())
      os << "<br>" << markdownProse(effect);
    if (std::string more = describeFollowers(fold.followers); !more.empty())
      os << "<br>" << markdownText(more);
    for (const std::string &fix : listSafeFixes(finding))
      os << "<br>safe fix: " << markdownText(fix);
    os << " |\n";
  }
  if (places.size() <= kMostPlaces)
    return;
  unsigned rest = 0;
  std::map<std::string, unsigned> followers;
  for (const FoldedFinding &fold : places.drop_front(kMostPlaces)) {
    rest += fold.members.size();
    for (const auto &[rule, count] : fold.followers)
      followers[rule] += count;
  }
  os << "| " << getMark(group.severity) << " | "
     << markdownText(describeRule(places.front().first())) << " | and " << rest
     << " more | " << markdownText(describeFollowers(followers)) << " |\n";
}

static void writeTable(llvm::raw_ostream &os,
                       llvm::ArrayRef<FindingGroup> groups) {
  os << "| severity | rule | where | what |\n|---|---|---|---|\n";
  for (const FindingGroup &group : groups)
    writeGroup(os, group);
  os << '\n';
}

/// Findings that do not count, by rule and reason.
static void writeBorne(llvm::raw_ostream &os, const ModelReport &report) {
  std::map<std::pair<std::string, std::string>, unsigned> borne;
  for (const Finding &finding : report.findings)
    if (!finding.counts())
      ++borne[{finding.rule, describeStanding(finding)}];
  if (borne.empty())
    return;
  os << "<details><summary>Not counted</summary>\n\n";
  for (const auto &[key, count] : borne)
    os << "- " << markdownText(key.first) << " x " << count << ": "
       << markdownText(key.second) << '\n';
  os << "\n</details>\n\n";
}

static void writeFixed(llvm::raw_ostream &os, const ModelReport &report) {
  if (!report.baseline || report.baseline->fixed.empty())
    return;
  llvm::ArrayRef<BaselineEntry> fixed = report.baseline->fixed;
  os << "Fixed since the baseline: " << fixed.size() << ".\n\n";
  for (const BaselineEntry &entry : fixed.take_front(kMostPlaces))
    os << "- " << markdownText(entry.rule) << " at " << markdownCode(entry.op)
       << '\n';
  if (fixed.size() > kMostPlaces)
    os << "- and " << fixed.size() - kMostPlaces << " more\n";
  os << '\n';
}

static std::string describeError(double error) {
  if (std::isnan(error))
    return "not known";
  if (std::isinf(error))
    return "Inf or NaN";
  return getNumber(100 * error) + " %";
}

static void writeEffects(llvm::raw_ostream &os, const ModelReport &report) {
  if (report.effects.empty() && report.decisions.empty())
    return;
  os << "| output | expected error |\n|---|---|\n";
  llvm::ArrayRef<EffectReport> effects = report.effects;
  for (const EffectReport &effect : effects.take_front(kMostPlaces))
    os << "| " << markdownCode(effect.output) << " | "
       << describeError(effect.error)
       << (effect.unknown.empty() ? "" : ": " + markdownProse(effect.unknown))
       << " |\n";
  if (effects.size() > kMostPlaces)
    os << "| and " << effects.size() - kMostPlaces << " more | |\n";
  for (const DecisionReport &decision :
       llvm::ArrayRef(report.decisions).take_front(kMostPlaces))
    os << "| " << markdownCode(decision.output) << " | "
       << describeError(decision.share) << " of the " << decision.elements
       << " |\n";
  os << '\n';
}

/// The window of loss scales, and the rest of the training step as it is in the
/// text.
static void writeTraining(llvm::raw_ostream &os, const ModelReport &report) {
  if (!report.training)
    return;
  for (const std::string &line : quoteLossScale(report))
    os << "- " << markdownProse(StringRef(line).trim()) << '\n';
  std::vector<std::string> lines = quoteTraining(report);
  // Longer than every run of backticks inside of it.
  std::string fence = "```";
  while (
      llvm::any_of(lines, [&](StringRef line) { return line.contains(fence); }))
    fence += '`';
  os << "\n<details><summary>Training step</summary>\n\n" << fence << "text\n";
  for (const std::string &line : lines)
    os << line << '\n';
  os << fence << "\n\n</details>\n\n";
}

static void writeReport(llvm::raw_ostream &os, const ModelReport &report) {
  SeverityCounts counts = countShown(report.findings);
  os << "## mpopt: " << markdownText(describeCounts(counts)) << "\n\n"
     << markdownCode(report.path) << ", judged as "
     << markdownCode(report.precision) << ": " << report.modelled << " of "
     << plural(report.ops, "op") << " modelled";
  if (report.tensors)
    os << "; " << report.proved << " of "
       << plural(report.tensors, "float tensor")
       << " proved to stay in range for all inputs as assumed";
  os << ".\n\n";
  writeEffects(os, report);
  writeTraining(os, report);

  std::vector<FindingGroup> groups = groupFindings(report.findings);
  auto notes = llvm::find_if(groups, [](const FindingGroup &group) {
    return group.severity == Severity::Note;
  });
  llvm::ArrayRef<FindingGroup> all = groups;
  size_t grave = notes - groups.begin();
  if (grave)
    writeTable(os, all.take_front(grave));
  if (grave < all.size()) {
    os << "<details><summary>" << plural(counts.note, "note")
       << "</summary>\n\n";
    writeTable(os, all.drop_front(grave));
    os << "</details>\n\n";
  }
  writeBorne(os, report);
  writeFixed(os, report);
  for (const std::string &warning : report.warnings)
    os << "- warning: " << markdownText(warning) << '\n';
  if (!report.warnings.empty())
    os << '\n';
  if (report.assumptions.empty())
    return;
  os << "<details><summary>Assumptions</summary>\n\n";
  llvm::ArrayRef<Assumption> assumptions = report.assumptions;
  for (const Assumption &assumption : assumptions.take_front(kMostAssumptions))
    os << "- " << markdownCode(assumption.input) << " in "
       << markdownText(getInterval(assumption.bound)) << " ("
       << markdownText(assumption.source) << ")\n";
  if (assumptions.size() > kMostAssumptions)
    os << "- and " << assumptions.size() - kMostAssumptions << " more\n";
  os << "\n</details>\n\n";
}

void mpopt::writeMarkdown(llvm::raw_ostream &os,
                          llvm::ArrayRef<ModelReport> reports,
                          const WriteOptions &) {
  for (const ModelReport &report : reports)
    writeReport(os, report);
}
