//===- OutputFormat.h - The forms of a report -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_REPORT_OUTPUTFORMAT_H
#define MPOPT_REPORT_OUTPUTFORMAT_H

#include "mpopt/Report/Report.h"

namespace mpopt {

/// A row of the table in OutputFormat.cpp, which is all that `--format` knows.
struct OutputFormat {
  llvm::StringLiteral name;

  // A writer is null if the format lacks that form.
  void (*writeReports)(llvm::raw_ostream &, llvm::ArrayRef<ModelReport>,
                       const WriteOptions &) = nullptr;
  void (*writeRules)(llvm::raw_ostream &, llvm::ArrayRef<const RuleInfo *>,
                     const WriteOptions &) = nullptr;
  void (*writeRule)(llvm::raw_ostream &, const RuleInfo &,
                    const WriteOptions &) = nullptr;
  /// Reports are to hold a ModelMap.
  bool wantsMap = false;
  /// How the names of its files end; empty if none shows it.
  llvm::StringLiteral ending = "";

  /// False for a format that comes in a later release.
  bool isWritten() const { return writeReports; }
};

/// All formats, the default one first.
llvm::ArrayRef<OutputFormat> getOutputFormats();

/// The format called `name`; null if there is none, present or later.
const OutputFormat *findOutputFormat(llvm::StringRef name);

/// The format of the file `path` by its ending, text if none has it.
const OutputFormat &getFormatOfFile(llvm::StringRef path);

} // namespace mpopt

#endif // MPOPT_REPORT_OUTPUTFORMAT_H
