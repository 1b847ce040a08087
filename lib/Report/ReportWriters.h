//===- ReportWriters.h - Writers of a single form ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writers that only the table of forms (OutputFormat.cpp) names.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_REPORT_REPORTWRITERS_H
#define MPOPT_LIB_REPORT_REPORTWRITERS_H

#include "mpopt/Report/Report.h"

namespace mpopt {

/// Writes all reports as one document.
using ReportWriter = void(llvm::raw_ostream &, llvm::ArrayRef<ModelReport>,
                          const WriteOptions &);
ReportWriter writeGitHub, writeHtml, writeJUnit, writeMarkdown, writeSarif;

} // namespace mpopt

#endif // MPOPT_LIB_REPORT_REPORTWRITERS_H
