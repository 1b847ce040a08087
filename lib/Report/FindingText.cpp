//===- FindingText.cpp - A finding in words -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "FindingText.h"

#include "TextReport.h"
#include "mpopt/Report/RuleTable.h"
#include "mpopt/Support/Printable.h"
#include "mpopt/Support/SourceFrames.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Path.h"

#include <algorithm>
#include <cmath>

using namespace mpopt;
using llvm::StringRef;

/// Characters of a text that a line shows, a cut in the middle marked by dots.
static constexpr size_t kMostMessage = 1000;
/// Less of an output than the last digit of FP32 is no movement.
static constexpr double kNothing = 1e-7;

/// True for a byte that continues a character of UTF-8.
static bool continues(char c) { return (c & 0xc0) == 0x80; }

std::string mpopt::clip(StringRef text, size_t most) {
  // Stands for what is cut out.
  constexpr StringRef kGap = "...";
  // Only the ends of a text of megabytes are looked at: an escape is at most
  // six times as long as its character.
  std::string line =
      text.size() > 2 * most
          ? printable((text.take_front(most) + text.take_back(most)).str())
          : printable(text);
  if (line.size() <= most && text.size() <= 2 * most)
    return line;
  size_t head = (most - kGap.size()) * 2 / 3;
  size_t tail = line.size() - (most - kGap.size() - head);
  while (head && continues(line[head]))
    --head;
  while (tail < line.size() && continues(line[tail]))
    ++tail;
  return line.substr(0, head) + kGap.str() + line.substr(tail);
}

std::string mpopt::describeRule(const Finding &finding) {
  std::string text = finding.rule;
  if (const RuleInfo *rule = findRule(finding.rule))
    text += " " + std::string(rule->name);
  if (finding.certainty != Certainty::Certain)
    text += " (" + std::string(toString(finding.certainty)) + ")";
  return text;
}

/// Relative to the working directory, where the file is below it.
static StringRef makeRelative(StringRef file) {
  llvm::SmallString<128> folder;
  if (llvm::sys::fs::current_path(folder))
    return file;
  StringRef rest = file;
  if (rest.consume_front(folder) && rest.consume_front("/"))
    return rest;
  return file;
}

SourceLine mpopt::getReviewedLine(const ModelReport &report,
                                  const std::optional<SourceLine> &line) {
  if (line) {
    StringRef file = makeRelative(line->file);
    if (!isInstalledFile(file) && !llvm::sys::path::is_absolute(file))
      return {file.str(), std::max(line->line, 1u)};
  }
  return {makeRelative(report.path).str(), 1};
}

std::string mpopt::describePlace(const Finding &finding) {
  std::string text = clip(finding.op.name) + " (" + clip(finding.op.type);
  if (!finding.dtype.empty())
    text += ", " + clip(finding.dtype);
  text += ")";
  if (!finding.op.scope.empty())
    text += " in " + clip(finding.op.scope);
  return text;
}

std::string mpopt::describeRanges(const Finding &finding) {
  if (finding.tensor.empty() || (!finding.bound && !finding.likely))
    return {};
  std::string text = clip(finding.tensor) + ":";
  if (finding.likely)
    text += " likely " + getInterval(*finding.likely);
  if (finding.bound)
    text += (finding.likely ? ", at most " : " at most ") +
            getInterval(*finding.bound);
  return text;
}

std::string mpopt::describeCauses(const ByCause &byCause) {
  // Squares add up: what is less changes no digit that an estimate has.
  constexpr double kLeast = 0.1;
  std::vector<std::pair<double, StringRef>> causes;
  double most = *llvm::max_element(byCause);
  for (auto [cause, error] : llvm::zip(kQuantizationCauses, byCause))
    if (error > kLeast * most)
      causes.emplace_back(error, cause);
  llvm::stable_sort(causes, [](const auto &lhs, const auto &rhs) {
    return lhs.first > rhs.first;
  });
  return llvm::join(llvm::map_range(causes,
                                    [](const auto &cause) {
                                      return (cause.second + " " +
                                              (cause.first > 1
                                                   ? "over 100 %"
                                                   : getPercent(cause.first)))
                                          .str();
                                    }),
                    ", ");
}

std::string mpopt::getPercent(double share) {
  std::string text;
  // Two digits, but no exponent for what rounds to 100.
  llvm::raw_string_ostream(text)
      << llvm::format(share < 0.995 ? "%.2g %%" : "%.0f %%", share * 100);
  return text;
}

std::string mpopt::describeOwnEffect(const FoldedFinding &fold) {
  // It is about the output itself, and its message says how far that moves.
  const RuleInfo *rule = findRule(fold.first().rule);
  if (rule && rule->byEffect)
    return {};
  const FindingEffect *worst = nullptr;
  for (const Finding *finding : fold.members)
    if (finding->effect && (!worst || finding->effect->error > worst->error))
      worst = &*finding->effect;
  if (!worst)
    return {};
  std::string output = "`" + clip(worst->output) + "`";
  if (std::isinf(worst->error))
    return "makes Inf or NaN of " + output;
  if (worst->error < kNothing)
    return "does not change " + output;
  std::string text = fold.members.size() > 1 ? "each changes " : "changes ";
  if (worst->error >= 1)
    return text + output + " by more than its largest value";
  text += output + " by " + getPercent(worst->error);
  return fold.members.size() > 1 ? text + " at most" : text;
}

std::string
mpopt::describeFollowers(const std::map<std::string, unsigned> &followers) {
  unsigned total = 0;
  std::string list;
  for (const auto &[rule, count] : followers) {
    total += count;
    list += (list.empty() ? "" : ", ") + rule;
    if (count > 1)
      list += " x " + std::to_string(count);
  }
  if (total == 0)
    return {};
  return plural(total, "other finding") +
         (total == 1 ? " follows" : " follow") + " from it: " + list;
}

std::vector<std::string> mpopt::listSafeFixes(const Finding &finding) {
  std::vector<std::string> texts;
  for (const Fix &fix : finding.fixes)
    if (fix.safe)
      texts.push_back(clip(fix.text, kMostMessage));
  return texts;
}

std::string mpopt::describeStanding(const Finding &finding) {
  switch (finding.standing) {
  case Standing::Counts:
    return {};
  case Standing::Known:
    return "known: the baseline has it";
  case Standing::Suppressed:
    return "suppressed: " + clip(finding.reason, kMostMessage);
  }
  return {};
}

std::string mpopt::describeCounts(SeverityCounts counts) {
  std::vector<std::string> parts;
  auto part = [&](unsigned count, StringRef noun) {
    if (count)
      parts.push_back(plural(count, noun));
  };
  part(counts.error, "error");
  part(counts.warning, "warning");
  part(counts.note, "note");
  return parts.empty() ? "no findings" : llvm::join(parts, ", ");
}

SeverityCounts mpopt::countShown(llvm::ArrayRef<Finding> findings) {
  SeverityCounts counts;
  for (const ShownFinding &shown : listShown(findings)) {
    const Finding &finding = *shown.finding;
    if (!finding.counts())
      continue;
    counts.error += finding.severity == Severity::Error;
    counts.warning += finding.severity == Severity::Warning;
    counts.note += finding.severity == Severity::Note;
  }
  return counts;
}
