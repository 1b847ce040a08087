//===- OutputFormat.cpp - The forms of a report ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Report/OutputFormat.h"

#include "ReportWriters.h"

#include "llvm/ADT/STLExtras.h"

using namespace mpopt;

// A new format is a row here, with writers that ReportWriters.h declares if
// nobody else calls them, and a case in lib/Instrument/Confirm/Formats.cpp if
// confirmations are written in it.
static constexpr OutputFormat kFormats[] = {
    {"text", writeText, writeRuleList, writeRulePage},
    {.name = "json",
     .writeReports = writeJson,
     .writeRules = writeRuleListJson,
     .writeRule = writeRulePageJson,
     .ending = ".json"},
    {.name = "sarif", .writeReports = writeSarif, .ending = ".sarif"},
    {"github", writeGitHub},
    {.name = "junit", .writeReports = writeJUnit, .ending = ".xml"},
    {.name = "markdown", .writeReports = writeMarkdown, .ending = ".md"},
    {.name = "html",
     .writeReports = writeHtml,
     .wantsMap = true,
     .ending = ".html"}};

llvm::ArrayRef<OutputFormat> mpopt::getOutputFormats() { return kFormats; }

const OutputFormat *mpopt::findOutputFormat(llvm::StringRef name) {
  const OutputFormat *found =
      llvm::find_if(kFormats, [&](const OutputFormat &format) {
        return format.name == name;
      });
  return found == std::end(kFormats) ? nullptr : found;
}

const OutputFormat &mpopt::getFormatOfFile(llvm::StringRef path) {
  const OutputFormat *found =
      llvm::find_if(kFormats, [&](const OutputFormat &format) {
        return !format.ending.empty() && path.ends_with(format.ending);
      });
  return found == std::end(kFormats) ? kFormats[0] : *found;
}
