//===- JUnit.cpp - Reports as results of tests ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A suite a model, a case a finding: it fails if the finding does, is skipped
// if a baseline or a suppression bears it, and passes with its text otherwise.
// The first case is the verdict, and skipped where it is not known, unless it
// was asked for.
//
//===----------------------------------------------------------------------===//

#include "FindingText.h"
#include "ReportWriters.h"
#include "TextReport.h"

#include "mpopt/Support/Printable.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"

using namespace mpopt;
using llvm::StringRef;

/// Text that is part of XML 1.0, in an attribute or between tags.
static std::string xml(StringRef text) {
  std::string escaped;
  std::string valid = printable(text);
  for (size_t index = 0; index < valid.size(); ++index) {
    StringRef rest = StringRef(valid).drop_front(index);
    // U+FFFE and U+FFFF are no characters of XML.
    if (rest.starts_with("\xef\xbf\xbe") || rest.starts_with("\xef\xbf\xbf")) {
      escaped += "\xef\xbf\xbd";
      index += 2;
      continue;
    }
    switch (char c = valid[index]) {
    case '&':
      escaped += "&amp;";
      break;
    case '<':
      escaped += "&lt;";
      break;
    case '>':
      escaped += "&gt;";
      break;
    case '"':
      escaped += "&quot;";
      break;
    default:
      escaped += c;
    }
  }
  return escaped;
}

static bool fails(const ShownFinding &shown, const WriteOptions &options) {
  return shown.finding->counts() && options.failOn &&
         shown.worst >= *options.failOn;
}

static void writeBody(llvm::raw_ostream &os, const ShownFinding &shown) {
  const Finding &finding = *shown.finding;
  os << xml(describePlace(finding)) << '\n';
  if (finding.location)
    os << "at " << xml(clip(finding.location->file)) << ':'
       << finding.location->line << '\n';
  os << xml(clip(finding.message, 1000)) << '\n';
  if (std::string ranges = describeRanges(finding); !ranges.empty())
    os << xml(ranges) << '\n';
  for (const Cause &cause : finding.causes)
    os << "- " << xml(clip(cause.tensor.empty() ? cause.op : cause.tensor))
       << ": " << xml(clip(cause.why, 1000)) << '\n';
  if (std::string more = describeFollowers(shown.followers); !more.empty())
    os << xml(more) << '\n';
  for (const std::string &fix : listSafeFixes(finding))
    os << "safe fix: " << xml(fix) << '\n';
  os << "more: mpopt --explain " << xml(finding.rule) << '\n';
}

static void writeCase(llvm::raw_ostream &os, const ModelReport &report,
                      const ShownFinding &shown, const WriteOptions &options) {
  const Finding &finding = *shown.finding;
  std::string title = describeRule(finding) + ": " + clip(finding.op.name) +
                      " [" + finding.fingerprint + "]";
  os << "    <testcase classname=\"" << xml(clip(report.path, 1000))
     << "\" name=\"" << xml(title) << "\" time=\"0\">\n";
  if (!finding.counts()) {
    os << "      <skipped message=\"" << xml(describeStanding(finding))
       << "\"/>\n      <system-out>";
    writeBody(os, shown);
    os << "</system-out>\n";
  } else if (fails(shown, options)) {
    os << "      <failure type=\"" << xml(finding.rule) << "\" message=\""
       << xml(clip(finding.message)) << "\">";
    writeBody(os, shown);
    os << "</failure>\n";
  } else {
    os << "      <system-out>" << StringRef(toString(finding.severity)) << ": ";
    writeBody(os, shown);
    os << "</system-out>\n";
  }
  os << "    </testcase>\n";
}

static void writeVerdict(llvm::raw_ostream &os, const ModelReport &report,
                         const WriteOptions &options) {
  os << "    <testcase classname=\"" << xml(clip(report.path, 1000))
     << "\" name=\"verdict as " << xml(report.precision) << "\" time=\"0\">\n";
  StringRef word = getVerdictWord(report);
  if (!report.isVerdictKnown())
    os << (options.requireVerdict
               ? "      <failure type=\"no-verdict\" message=\""
               : "      <skipped message=\"")
       << word << "\"/>\n";
  os << "      <system-out>" << word << '\n';
  for (const auto &lines : {quoteEffects(report), quoteTraining(report)})
    for (const std::string &line : lines)
      os << xml(clip(line, 1000)) << '\n';
  os << "</system-out>\n    </testcase>\n";
}

namespace {
struct Totals {
  size_t tests = 0, failures = 0, skipped = 0;
  double seconds = 0;
};
} // namespace

static void writeTotals(llvm::raw_ostream &os, const Totals &totals) {
  os << "tests=\"" << totals.tests << "\" failures=\"" << totals.failures
     << "\" errors=\"0\" skipped=\"" << totals.skipped << "\" time=\""
     << llvm::format("%.3f", totals.seconds) << '"';
}

static Totals count(const ModelReport &report, const WriteOptions &options) {
  Totals totals;
  totals.seconds = report.seconds;
  for (const ShownFinding &shown : listShown(report.findings)) {
    ++totals.tests;
    totals.failures += fails(shown, options);
    totals.skipped += !shown.finding->counts();
  }
  ++totals.tests;
  if (!report.isVerdictKnown())
    ++(options.requireVerdict ? totals.failures : totals.skipped);
  return totals;
}

void mpopt::writeJUnit(llvm::raw_ostream &os,
                       llvm::ArrayRef<ModelReport> reports,
                       const WriteOptions &options) {
  Totals all;
  for (const ModelReport &report : reports) {
    Totals totals = count(report, options);
    all.tests += totals.tests;
    all.failures += totals.failures;
    all.skipped += totals.skipped;
    all.seconds += totals.seconds;
  }
  os << "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<testsuites name=\"mpopt\" ";
  writeTotals(os, all);
  os << ">\n";
  for (const ModelReport &report : reports) {
    os << "  <testsuite name=\"" << xml(clip(report.path, 1000)) << "\" ";
    writeTotals(os, count(report, options));
    os << ">\n";
    writeVerdict(os, report, options);
    for (const ShownFinding &finding : listShown(report.findings))
      writeCase(os, report, finding, options);
    if (!report.warnings.empty()) {
      os << "    <system-err>";
      for (const std::string &warning : report.warnings)
        os << xml(clip(warning, 1000)) << '\n';
      os << "</system-err>\n";
    }
    os << "  </testsuite>\n";
  }
  os << "</testsuites>\n";
}
