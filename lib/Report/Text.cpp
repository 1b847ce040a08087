//===- Text.cpp - Reports for people
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "TextReport.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

#include <limits>

using namespace mpopt;

std::string mpopt::getNumber(double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.4g", value);
  return text;
}

std::string mpopt::getInterval(const Interval &interval) {
  return "[" + getNumber(interval.lo) + ", " + getNumber(interval.hi) + "]";
}

// 1234567 as 1,234,567.
static std::string withCommas(uint64_t number) {
  std::string text = std::to_string(number);
  for (int position = int(text.size()) - 3; position > 0; position -= 3)
    text.insert(position, ",");
  return text;
}

void TextReport::write(const ModelReport &report) {
  writeHead(report);
  writeEffects(report);
  std::vector<FindingGroup> groups = groupFindings(report.findings);
  for (const FindingGroup &group : groups) {
    os << '\n';
    writeGroup(group);
  }
  os << '\n';
  if (report.training)
    writeTraining(*report.training);
  if (report.safeInputs)
    writeSafeInputs(report);
  writeSummary(report);
}

static std::vector<std::string>
quote(llvm::function_ref<void(TextReport &)> write) {
  std::string text;
  llvm::raw_string_ostream os(text);
  WriteOptions options;
  options.width = std::numeric_limits<int>::max();
  TextReport report(os, options);
  write(report);
  llvm::SmallVector<llvm::StringRef> lines;
  llvm::SplitString(text, lines, "\n");
  return {lines.begin(), lines.end()};
}

std::vector<std::string> mpopt::quoteEffects(const ModelReport &report) {
  return quote([&](TextReport &text) { text.writeEffects(report); });
}

std::vector<std::string> mpopt::quoteTraining(const ModelReport &report) {
  return quote([&](TextReport &text) {
    if (report.training)
      text.writeTraining(*report.training);
  });
}

std::vector<std::string> mpopt::quoteLossScale(const ModelReport &report) {
  return quote([&](TextReport &text) {
    if (report.training)
      text.writeLossScale(*report.training);
  });
}

void TextReport::writeHead(const ModelReport &report) {
  style.bold(report.path);
  os << ": " << report.format << ", "
     << plural(report.nodes, report.isOfGraph() ? "node" : "tensor") << ", "
     << withCommas(report.parameters)
     << (report.parameters == 1 ? " parameter" : " parameters")
     << "; judged as " << report.precision;
  if (!report.policy.empty())
    style.plain(" (" + report.policy + ")");
  os << '\n';
}

void mpopt::writeText(llvm::raw_ostream &os,
                      llvm::ArrayRef<ModelReport> reports,
                      const WriteOptions &options) {
  TextReport text(os, options);
  for (const ModelReport &report : reports) {
    if (&report != reports.begin())
      os << '\n';
    text.write(report);
  }
  if (reports.size() > 1)
    text.writeTotal(reports);
}
