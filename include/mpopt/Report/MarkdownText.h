//===- MarkdownText.h - Names of a model in Markdown ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_REPORT_MARKDOWNTEXT_H
#define MPOPT_REPORT_MARKDOWNTEXT_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace mpopt {

/// One line of text in which nothing is markup, a link or the end of a table's
/// cell; a long one is shortened.
std::string markdownText(llvm::StringRef raw);

/// The same of a sentence of ours, whose names in backticks are code spans.
std::string markdownProse(llvm::StringRef raw);

/// A name as a code span that fits into a cell of a table.
std::string markdownCode(llvm::StringRef raw);

} // namespace mpopt

#endif // MPOPT_REPORT_MARKDOWNTEXT_H
