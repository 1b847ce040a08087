//===- Html.cpp - A comparison as an HTML file ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Sides.h"

#include "mpopt/Report/JsonSupport.h"
#include "mpopt/Report/Page.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Path.h"

using namespace mpopt;
using namespace mpopt::diffing;
using llvm::json::OStream;

/// The last name of the path, of a folder too.
static std::string getTitle(const DiffSide &side) {
  llvm::SmallString<128> path(side.path);
  llvm::sys::path::remove_dots(path, /*remove_dot_dot=*/true);
  llvm::StringRef name = llvm::sys::path::filename(path);
  return diffing::getLabel(side, name.empty() ? side.path : name);
}

static void writeSide(OStream &json, const DiffSide &side,
                      llvm::StringRef version) {
  // Runs of one model are told apart by their records.
  if (side.run) {
    json.attribute("title", jsonText(getTitle(side)));
    writeConfirmPage(json, side.run->run.ledger, side.run->run.records,
                     side.run->confirmation, version);
  } else {
    writePageReport(json, side.report, version);
  }
}

void diffing::writeDiffHtml(llvm::raw_ostream &os, const DiffReport &diff,
                            const WriteOptions &options) {
  llvm::StringRef kind = diff.a.kind == DiffKind::Record ? "confirm" : "check";
  writePage(os, kind, options.version, [&](OStream &json) {
    json.object([&] { writeSide(json, diff.a, options.version); });
    json.object([&] {
      writeSide(json, diff.b, options.version);
      json.attributeObject(
          "compare", [&] { writeDiffFields(json, diff, options.version); });
    });
  });
}
