//===- GitHub.cpp - Reports as annotations of a pull request --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Workflow commands of GitHub Actions, one a line. Only ten annotations of a
// kind are shown of a step: findings of repeated layers share one.
//
//===----------------------------------------------------------------------===//

#include "FindingText.h"
#include "ReportWriters.h"
#include "TextReport.h"

#include "llvm/ADT/STLExtras.h"

using namespace mpopt;
using llvm::StringRef;

// Characters of a path or a message that an annotation shows.
static constexpr size_t kMostPath = 1000;

/// `text` as a property of a command: `,` and `:` would end it.
static std::string property(StringRef text) {
  std::string escaped;
  for (char c : text)
    switch (c) {
    case '%':
      escaped += "%25";
      break;
    case ':':
      escaped += "%3A";
      break;
    case ',':
      escaped += "%2C";
      break;
    default:
      escaped += c;
    }
  return escaped;
}

static std::string line(StringRef text) {
  std::string escaped;
  for (char c : text)
    escaped += c == '%' ? "%25" : std::string(1, c);
  return escaped;
}

static StringRef getCommand(Severity severity) {
  return severity == Severity::Note ? "notice" : toString(severity);
}

static void writeFold(llvm::raw_ostream &os, const ModelReport &report,
                      const FoldedFinding &fold) {
  const Finding &finding = fold.first();
  SourceLine at = getReviewedLine(report, finding.location);
  os << "::" << getCommand(finding.severity)
     << " file=" << property(clip(at.file, kMostPath)) << ",line=" << at.line;
  os << ",title=" << property(describeRule(finding)) << "::";
  std::vector<std::string> lines;
  std::string place = describePlace(finding);
  if (finding.location)
    place = clip(report.path) + ": " + place + " at " +
            clip(finding.location->file) + ":" +
            std::to_string(finding.location->line);
  if (size_t others = fold.members.size() - 1)
    place += " and " + plural(others, fold.layers ? "other layer" : "other op");
  lines.push_back(place);
  lines.push_back(clip(finding.message, kMostPath));
  if (std::string ranges = describeRanges(finding); !ranges.empty())
    lines.push_back(ranges);
  if (std::string more = describeFollowers(fold.followers); !more.empty())
    lines.push_back(more);
  for (const std::string &fix : listSafeFixes(finding))
    lines.push_back("safe fix: " + fix);
  lines.push_back("more: mpopt --explain " + finding.rule);
  // A line break inside of a command.
  StringRef separator;
  for (const std::string &text : lines) {
    os << separator << line(text);
    separator = "%0A";
  }
  os << '\n';
}

void mpopt::writeGitHub(llvm::raw_ostream &os,
                        llvm::ArrayRef<ModelReport> reports,
                        const WriteOptions &options) {
  for (const ModelReport &report : reports) {
    for (const FindingGroup &group : groupFindings(report.findings))
      for (const FoldedFinding &fold : group.folded)
        writeFold(os, report, fold);
    // The log says what was judged even where nothing was found.
    bool isMissing = options.requireVerdict && !report.isVerdictKnown();
    os << (isMissing ? "::error title=mpopt (no verdict)::"
                     : "::notice title=mpopt::")
       << line(clip(report.path, kMostPath)) << ": "
       << describeCounts(countShown(report.findings)) << "; judged as "
       << line(report.precision);
    for (const auto &lines : {quoteEffects(report), quoteLossScale(report)})
      for (const std::string &text : lines)
        os << "%0A" << line(clip(text, kMostPath));
    os << '\n';
  }
}
