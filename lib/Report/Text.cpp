//===- Text.cpp - Reports for people
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   warning[MP103]: silent-upcast: a 32-bit operand among 16-bit ones widens
//   ...
//     --> /layers.0/Add (Add, f32)  x 12 layers
//         mixes f16 and f32 operands, so f32 spreads from here
//         - /layers.0/scale: brings f32
//     = safe: cast the f16 operand explicitly in front of the op
//
//===----------------------------------------------------------------------===//

#include "SourceText.h"
#include "mpopt/Report/TextStyle.h"

#include "mpopt/Report/Fold.h"
#include "mpopt/Report/Report.h"
#include "mpopt/Report/RuleTable.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Format.h"

#include <cmath>

using namespace mpopt;
using llvm::StringRef;
using llvm::Twine;

// What is shown of long lists; JSON has everything.
static constexpr size_t kMaxPlaces = 8, kMaxNotes = 3;
static constexpr size_t kMaxCauses = 5;
static constexpr size_t kMaxNames = 3;
static constexpr size_t kMaxUnmodelled = 6;

static std::string plural(uint64_t count, StringRef noun) {
  return (Twine(count) + " " + noun + (count == 1 ? "" : "s")).str();
}

// 1234567 as 1,234,567.
static std::string withCommas(uint64_t number) {
  std::string text = std::to_string(number);
  for (int position = int(text.size()) - 3; position > 0; position -= 3)
    text.insert(position, ",");
  return text;
}

static std::string getNumber(double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.4g", value);
  return text;
}

static std::string getInterval(const Interval &interval) {
  return "[" + getNumber(interval.lo) + ", " + getNumber(interval.hi) + "]";
}

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

static bool haveSameFixes(const Finding &lhs, const Finding &rhs) {
  return llvm::equal(lhs.fixes, rhs.fixes, [](const Fix &a, const Fix &b) {
    return a.text == b.text && a.safe == b.safe;
  });
}

namespace {
class TextReport {
public:
  TextReport(llvm::raw_ostream &os, const TextOptions &options)
      : os(os), style(os, options) {}

  void write(const ModelReport &report);
  void writeTotal(llvm::ArrayRef<ModelReport> reports);

private:
  void writeHead(const ModelReport &report);
  void writeGroup(const FindingGroup &group);
  void writePlace(const FoldedFinding &fold, bool withMessage, bool withFixes);
  void writeFixes(const Finding &finding, unsigned indent);
  void writeSafeInputs(const ModelReport &report);
  void writeSummary(const ModelReport &report);
  void writeCoverage(const ModelReport &report);
  void writeAssumptions(const ModelReport &report);
  void writeCounts(SeverityCounts counts);

  llvm::raw_ostream &os;
  TextStyle style;
};
} // namespace

void TextReport::write(const ModelReport &report) {
  writeHead(report);
  std::vector<FindingGroup> groups = groupFindings(report.findings);
  for (const FindingGroup &group : groups) {
    os << '\n';
    writeGroup(group);
  }
  os << '\n';
  if (report.safeInputs)
    writeSafeInputs(report);
  writeSummary(report);
}

void TextReport::writeHead(const ModelReport &report) {
  style.bold(report.path);
  os << ": " << report.format << ", " << plural(report.nodes, "node") << ", "
     << withCommas(report.parameters)
     << (report.parameters == 1 ? " parameter" : " parameters")
     << "; judged as " << report.precision;
  if (!report.policy.empty())
    os << " (" << report.policy << ')';
  os << '\n';
}

void TextReport::writeGroup(const FindingGroup &group) {
  const RuleInfo *rule = findRule(group.rule);
  std::string head =
      (StringRef(toString(group.severity)) + "[" + group.rule + "]").str();
  style.severity(group.severity, head);
  std::string title = ":";
  if (rule)
    title += " " + std::string(rule->name) + ": " + std::string(rule->summary);
  if (group.certainty != Certainty::Certain)
    title += " (" + std::string(toString(group.certainty)) + ")";
  os << title.front();
  os << ' ';
  style.wrap(StringRef(title).drop_front(), 4, head.size() + 2);

  const Finding &first = group.folded.front().first();
  bool sameFixes = llvm::all_of(group.folded, [&](const FoldedFinding &fold) {
    return haveSameFixes(fold.first(), first);
  });
  // What all places have in common is said once, around them.
  llvm::ArrayRef<FoldedFinding> places = group.folded;
  bool sameMessage =
      places.size() > 1 && llvm::all_of(places, [&](const FoldedFinding &fold) {
        return fold.first().message == first.message;
      });
  if (sameMessage) {
    os.indent(2);
    style.wrap(first.message, 2);
  }
  size_t most = group.severity == Severity::Note ? kMaxNotes : kMaxPlaces;
  for (const FoldedFinding &fold : places.take_front(most))
    writePlace(fold, /*withMessage=*/!sameMessage, /*withFixes=*/!sameFixes);
  if (places.size() > most) {
    unsigned rest = 0;
    for (const FoldedFinding &fold : places.drop_front(most))
      rest += fold.members.size();
    style.dim("  --> ");
    os << "and " << rest << " more (--format json lists all)\n";
  }
  if (sameFixes)
    writeFixes(first, 2);
  style.dim("  = ");
  os << "more: mpopt --explain " << group.rule << '\n';
}

void TextReport::writePlace(const FoldedFinding &fold, bool withMessage,
                            bool withFixes) {
  const Finding &finding = fold.first();
  style.dim("  --> ");
  style.bold(finding.op.name);
  os << " (" << finding.op.type;
  if (!finding.dtype.empty())
    os << ", " << finding.dtype;
  os << ')';
  if (!finding.op.scope.empty())
    os << " in " << finding.op.scope;
  if (finding.location)
    os << " at " << finding.location->file << ':' << finding.location->line;
  if (fold.members.size() > 1) {
    os << "  ";
    style.bold(
        ("x " + Twine(fold.members.size()) + (fold.layers ? " layers" : ""))
            .str());
  }
  os << '\n';

  if (finding.location)
    if (std::optional<std::string> line = readSourceLine(*finding.location)) {
      os.indent(6);
      style.dim((Twine(finding.location->line) + " | ").str());
      os << *line << '\n';
    }
  if (withMessage) {
    os.indent(6);
    style.wrap(finding.message, 6);
  }
  if (!finding.tensor.empty() && (finding.bound || finding.likely)) {
    os.indent(6) << finding.tensor << ':';
    if (finding.likely)
      os << " likely " << getInterval(*finding.likely);
    if (finding.bound)
      os << (finding.likely ? "," : "") << " at most "
         << getInterval(*finding.bound);
    os << '\n';
  }
  llvm::ArrayRef<Cause> causes = finding.causes;
  for (const Cause &cause : causes.take_front(kMaxCauses)) {
    os << "      - ";
    std::string who = cause.tensor.empty() ? cause.op : cause.tensor;
    if (!cause.tensor.empty() && !cause.op.empty() && cause.op != cause.tensor)
      who += " (" + cause.op + ")";
    std::string text = who.empty() ? cause.why : who + ": " + cause.why;
    if (cause.location)
      text += " (" + cause.location->file + ":" +
              std::to_string(cause.location->line) + ")";
    style.wrap(text, 8);
  }
  if (causes.size() > kMaxCauses)
    os << "      - and " << causes.size() - kMaxCauses << " more\n";
  if (fold.consequences)
    os << "      " << plural(fold.consequences, "other finding")
       << (fold.consequences == 1 ? " follows" : " follow") << " from it\n";
  if (fold.members.size() > 1) {
    std::string also = "also";
    llvm::ArrayRef<const Finding *> others(fold.members);
    others = others.drop_front();
    for (const Finding *other : others.take_front(kMaxNames))
      also += (also == "also" ? " " : ", ") + other->op.name;
    if (others.size() > kMaxNames)
      also += " and " + std::to_string(others.size() - kMaxNames) + " more";
    os.indent(6);
    style.wrap(also, 11, 6);
  }
  if (withFixes)
    writeFixes(finding, 6);
}

void TextReport::writeFixes(const Finding &finding, unsigned indent) {
  bool helps = false;
  auto write = [&](StringRef label, const Fix &fix) {
    os.indent(indent);
    style.dim("= ");
    os << label;
    style.wrap(fix.text, indent + 4, indent + 2 + label.size());
  };
  for (const Fix &fix : finding.fixes)
    if (fix.safe) {
      write("safe fix: ", fix);
      helps = true;
    }
  // What does not help is no advice, unless there is nothing else.
  if (!helps && !finding.fixes.empty())
    write("tried, and no help alone: ", finding.fixes.front());
}

// `up to a scale of 2.55, [-25.5, 25.5]`.
static std::string describeScale(double scale, const std::string &input) {
  if (scale == 0)
    return "at no scale";
  if (scale == SafeScale::kMost)
    return "whatever its scale (searched up to " + getNumber(scale) + ")";
  return "up to a scale of " + getNumber(scale) + ": " + input;
}

void TextReport::writeSafeInputs(const ModelReport &report) {
  style.bold("safe input scales");
  os << ": by what an input's assumed range may be multiplied, the other "
        "inputs "
        "as assumed\n";
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
    os.indent(6) << "no overflow is likely "
                 << describeScale(
                        likely, "mean " + getNumber(assumed->mean * likely) +
                                    ", std " + getNumber(assumed->std * likely))
                 << '\n';
    os.indent(6) << "none is possible "
                 << describeScale(proved,
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

/// Of what is shown: consequences are not.
static SeverityCounts countShown(llvm::ArrayRef<Finding> findings) {
  SeverityCounts counts;
  for (const FindingGroup &group : groupFindings(findings)) {
    unsigned &count = group.severity == Severity::Error     ? counts.error
                      : group.severity == Severity::Warning ? counts.warning
                                                            : counts.note;
    count += group.size();
  }
  return counts;
}

void TextReport::writeSummary(const ModelReport &report) {
  SeverityCounts shown = countShown(report.findings);
  writeCounts(shown);
  unsigned all = report.certain + report.likely + report.possible;
  unsigned hidden =
      report.findings.size() - shown.error - shown.warning - shown.note;
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
  os << "; ";
  writeCoverage(report);
  os << llvm::format("; %.2f s\n", report.seconds);
  if (report.tensors)
    os << report.proved << " of " << plural(report.tensors, "float tensor")
       << " proved to stay in range for all inputs as assumed\n";
  if (!report.unknownRanges.empty()) {
    os << "unknown ranges from: ";
    style.wrap(listTypes(report.unknownRanges), 21);
  }
  writeAssumptions(report);
}

void TextReport::writeCoverage(const ModelReport &report) {
  os << report.modelled << " of " << plural(report.ops, "op") << " modelled";
  if (!report.unmodelled.empty())
    os << " (not: " << listTypes(report.unmodelled) << ')';
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
  style.bold(plural(reports.size(), "model"));
  os << ": ";
  writeCounts(total);
  os << llvm::format("; %.2f s\n", seconds);
}

void mpopt::writeText(llvm::raw_ostream &os,
                      llvm::ArrayRef<ModelReport> reports,
                      const TextOptions &options) {
  TextReport text(os, options);
  for (const ModelReport &report : reports) {
    if (&report != reports.begin())
      os << '\n';
    text.write(report);
  }
  if (reports.size() > 1)
    text.writeTotal(reports);
}
