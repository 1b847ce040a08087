//===- TextSummary.cpp - What a report says besides its findings
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Safe input scales, counts, coverage and what was assumed.
//
//===----------------------------------------------------------------------===//

#include "FindingText.h"
#include "TextReport.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

#include <cmath>

using namespace mpopt;
using llvm::StringRef;

// Types of ops that are named: one line.
static constexpr size_t kMaxUnmodelled = 6;

// `Foo x 2, Bar`, the most frequent first: they are what is worth knowing.
static std::string
listTypes(const std::map<std::string, unsigned> &countByType) {
  std::vector<std::pair<unsigned, StringRef>> types;
  for (const auto &[type, count] : countByType)
    types.push_back({count, type});
  llvm::stable_sort(
      types, [](const auto &a, const auto &b) { return a.first > b.first; });
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::ArrayRef<std::pair<unsigned, StringRef>> list(types);
  llvm::interleaveComma(list.take_front(kMaxUnmodelled), os, [&](auto &item) {
    os << item.second;
    if (item.first > 1)
      os << " x " << item.first;
  });
  if (list.size() > kMaxUnmodelled)
    os << " and " << list.size() - kMaxUnmodelled << " more";
  return text;
}

// `proved: no overflow up to a scale of 2.55: in [-25.5, 25.5]`. `none` is the
// text for an input of which no scale is small enough.
static std::string describeScale(StringRef how, double scale, StringRef none,
                                 const std::string &input) {
  if (scale == 0)
    return (how + ": " + none).str();
  std::string text = (how + ": no overflow").str();
  if (scale == SafeScale::kMost)
    return text + " at any scale (searched up to " + getNumber(scale) + ")";
  return text + " up to a scale of " + getNumber(scale) + ": " + input;
}

void TextReport::writeSafeInputs(const ModelReport &report) {
  style.bold("safe input scales");
  os << ": the factor by which an input's assumed range may grow, the "
        "other inputs as assumed\n";
  if (report.safeInputs->empty())
    os << "  there is no float input\n";
  // The tightest first: they are what breaks.
  std::vector<const SafeScale *> scales;
  for (const SafeScale &scale : *report.safeInputs)
    scales.push_back(&scale);
  llvm::stable_sort(scales, [](const SafeScale *lhs, const SafeScale *rhs) {
    return std::pair(lhs->likely, lhs->proved) <
           std::pair(rhs->likely, rhs->proved);
  });
  for (const SafeScale *scale : llvm::ArrayRef(scales).take_front(kMaxPlaces)) {
    auto assumed = llvm::find_if(report.assumptions, [&](const auto &known) {
      return known.input == scale->input;
    });
    style.dim("  --> ");
    style.bold(scale->input);
    os << '\n';
    double likely = scale->likely, proved = scale->proved;
    const Interval &bound = assumed->bound;
    os.indent(6) << describeScale(
                        "estimated", likely, "an overflow at every scale",
                        "mean " + getNumber(assumed->mean * likely) + ", std " +
                            getNumber(assumed->std * likely))
                 << '\n';
    os.indent(6) << describeScale("proved", proved,
                                  "nothing: bounds overflow at every scale",
                                  "in " + getInterval({bound.lo * proved,
                                                       bound.hi * proved}))
                 << '\n';
  }
  if (scales.size() > kMaxPlaces) {
    style.dim("  --> ");
    os << "and " << scales.size() - kMaxPlaces
       << " more (--format json lists all)\n";
  }
  os << '\n';
}

void TextReport::writeCounts(SeverityCounts counts) {
  if (counts.error + counts.warning + counts.note == 0) {
    style.bold("no findings");
    return;
  }
  StringRef separator;
  auto part = [&](unsigned count, Severity severity, StringRef noun) {
    if (!count)
      return;
    os << separator;
    style.severity(severity, plural(count, noun));
    separator = ", ";
  };
  part(counts.error, Severity::Error, "error");
  part(counts.warning, Severity::Warning, "warning");
  part(counts.note, Severity::Note, "note");
}

void TextReport::writeSummary(const ModelReport &report) {
  SeverityCounts shown = countShown(report.findings);
  bool isKnown = llvm::any_of(report.findings, [](const Finding &finding) {
    return finding.standing == Standing::Known;
  });
  if (isKnown && shown.error + shown.warning + shown.note == 0)
    style.bold("no new findings");
  else
    writeCounts(shown);
  unsigned all = report.certain + report.likely + report.possible;
  unsigned borne[3] = {};
  for (const Finding &finding : report.findings)
    ++borne[int(finding.standing)];
  unsigned hidden =
      borne[int(Standing::Counts)] - shown.error - shown.warning - shown.note;
  if (hidden)
    os << " and " << hidden << (hidden == 1 ? " that follows" : " that follow");
  if (all)
    os << " (" << report.certain << " certain, " << report.likely << " likely, "
       << report.possible << " possible";
  if (report.consequences && !hidden)
    os << ", " << report.consequences << " of them "
       << (report.consequences == 1 ? "a consequence" : "consequences");
  if (all > report.findings.size())
    os << "; " << all - report.findings.size() << " not listed";
  if (all)
    os << ')';
  if (unsigned known = borne[int(Standing::Known)])
    os << "; " << known << " known";
  if (unsigned suppressed = borne[int(Standing::Suppressed)])
    os << "; " << suppressed << " suppressed";
  if (report.isOfGraph()) {
    os << "; ";
    writeCoverage(report);
  }
  os << llvm::format("; %.2f s\n", report.seconds);
  if (report.tensors)
    os << report.proved << " of " << plural(report.tensors, "float tensor")
       << " proved to stay in range for all inputs as assumed\n";
  if (!report.unknownRanges.empty()) {
    os << "unknown ranges from: ";
    style.wrap(listTypes(report.unknownRanges), 21);
  }
  writeAssumptions(report);
  writeBaseline(report);
}

void TextReport::writeBaseline(const ModelReport &report) {
  if (report.baseline) {
    llvm::ArrayRef<BaselineEntry> fixed = report.baseline->fixed;
    std::string text = report.baseline->file + ": " +
                       std::to_string(report.baseline->known) + " known, " +
                       std::to_string(fixed.size()) + " fixed";
    StringRef separator = ": ";
    for (const BaselineEntry &entry : fixed.take_front(kMaxPlaces)) {
      text += separator.str() + entry.rule + " at " + entry.op;
      separator = ", ";
    }
    if (fixed.size() > kMaxPlaces)
      text += " and " + std::to_string(fixed.size() - kMaxPlaces) + " more";
    os << "baseline: ";
    style.wrap(text, 10);
  }
  if (!report.settings.empty()) {
    os << "settings: ";
    style.wrap(report.settings, 10);
  }
}

void TextReport::writeCoverage(const ModelReport &report) {
  os << report.modelled << " of " << plural(report.ops, "op") << " modelled";
  if (!report.unmodelled.empty())
    style.plain(" (not: " + listTypes(report.unmodelled) + ")");
}

void TextReport::writeAssumptions(const ModelReport &report) {
  if (!report.target.empty()) {
    os << "target: ";
    style.wrap(report.target + ": " + report.targetSummary, 8);
  }
  if (report.assumptions.empty())
    return;
  // Inputs by what is assumed of them: often the same of all.
  std::vector<std::pair<std::string, std::vector<StringRef>>> groups;
  for (const Assumption &assumption : report.assumptions) {
    std::string what = getInterval(assumption.bound);
    if (!assumption.why.empty())
      what += " (" + assumption.why + ")";
    else if (!std::isnan(assumption.mean))
      what += ", mean " + getNumber(assumption.mean) + ", std " +
              getNumber(assumption.std);
    if (assumption.source == "default")
      what += " (by default)";
    auto group = llvm::find_if(
        groups, [&](const auto &known) { return known.first == what; });
    if (group == groups.end())
      group = groups.insert(group, {what, {}});
    group->second.push_back(assumption.input);
  }
  std::string text;
  for (const auto &[what, inputs] : groups) {
    llvm::ArrayRef<StringRef> names(inputs);
    text += text.empty() ? "" : "; ";
    text += llvm::join(names.take_front(kMaxNames), ", ");
    if (names.size() > kMaxNames)
      text += " and " + std::to_string(names.size() - kMaxNames) + " more";
    text += " in " + what;
  }
  os << "assumed: ";
  style.wrap(text, 9);
}

void TextReport::writeTotal(llvm::ArrayRef<ModelReport> reports) {
  SeverityCounts total;
  double seconds = 0;
  for (const ModelReport &report : reports) {
    SeverityCounts counts = countShown(report.findings);
    total.error += counts.error;
    total.warning += counts.warning;
    total.note += counts.note;
    seconds += report.seconds;
  }
  os << '\n';
  for (const ModelReport &report : reports) {
    os << report.path << ": " << getVerdictWord(report) << "; ";
    writeCounts(countShown(report.findings));
    os << '\n';
  }
  style.bold(plural(reports.size(), "model"));
  os << ": ";
  writeCounts(total);
  os << llvm::format("; %.2f s\n", seconds);
}
