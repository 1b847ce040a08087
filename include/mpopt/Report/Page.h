//===- Page.h - Reports as one HTML file ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A page is the template that the build assembled of lib/Report/Page, with a
// JSON document in it, `mpopt-page/1`, compressed and as base64: no text of the
// model is part of the HTML. Scripts of the template draw the document.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_REPORT_PAGE_H
#define MPOPT_REPORT_PAGE_H

#include "mpopt/Report/Report.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/JSON.h"

namespace mpopt {

/// Writes a page. `fill` writes the attributes of its `reports`, of each
/// `mpopt-report/1` with `map`, where there is one.
void writePage(llvm::raw_ostream &os, llvm::StringRef kind,
               llvm::StringRef version,
               llvm::function_ref<void(llvm::json::OStream &)> writeReports);

/// Writes the attributes of a report of a check.
void writePageReport(llvm::json::OStream &json, const ModelReport &report,
                     llvm::StringRef version);

/// Writes the attribute `map` of a report.
void writeMap(llvm::json::OStream &json, const ModelMap &map);

} // namespace mpopt

#endif // MPOPT_REPORT_PAGE_H
