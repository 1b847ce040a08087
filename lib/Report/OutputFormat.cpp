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
    {"json", writeJson, writeRuleListJson, writeRulePageJson},
    {"sarif", writeSarif},
    {"github", writeGitHub},
    {"junit", writeJUnit},
    {"markdown", writeMarkdown},
    {"html", writeHtml, nullptr, nullptr, /*wantsMap=*/true}};

llvm::ArrayRef<OutputFormat> mpopt::getOutputFormats() { return kFormats; }

const OutputFormat *mpopt::findOutputFormat(llvm::StringRef name) {
  const OutputFormat *found =
      llvm::find_if(kFormats, [&](const OutputFormat &format) {
        return format.name == name;
      });
  return found == std::end(kFormats) ? nullptr : found;
}
