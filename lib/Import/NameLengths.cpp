//===- NameLengths.cpp - Names that would multiply a model ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "NameLengths.h"

#include "mpopt/Dialect/Origin.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace mpopt;

/// As long as a path of Linux may be; names of real models stay below 1 KiB.
static constexpr size_t kMaxLength = 4096;

/// How much of a long one tells which it is.
static constexpr size_t kShown = 40;

static bool check(StringRef what, StringRef name, ErrorSink &sink) {
  if (name.size() <= kMaxLength)
    return true;
  sink.error(ImportCode::NameTooLong, (name.take_front(kShown) + "...").str(),
             what + " has " + Twine(name.size()) +
                 " bytes; names of more than " + Twine(kMaxLength) +
                 " are refused");
  return false;
}

static bool checkValues(ValueRange values, ErrorSink &sink) {
  return llvm::all_of(values, [&](Value value) {
    return check("the name of a value", getValueName(value), sink);
  });
}

static bool checkLocation(Operation *op, ErrorSink &sink) {
  FileLineColLoc line = getSourceLine(op->getLoc());
  return check("the name of a node", getNodeName(op), sink) &&
         check("the type of a node", getNodeType(op), sink) &&
         check("the path of a body", getScopeText(op), sink) &&
         check("the name of a source file",
               line ? line.getFilename().getValue() : StringRef(), sink);
}

void mpopt::checkNameLengths(ModuleOp module, ErrorSink &sink) {
  // Many ops may share one.
  llvm::DenseSet<Location> seen;
  module.walk([&](Operation *op) {
    bool good = !seen.insert(op->getLoc()).second || checkLocation(op, sink);
    good = good && checkValues(op->getResults(), sink);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        good = good && checkValues(block.getArguments(), sink);
    return good ? WalkResult::advance() : WalkResult::interrupt();
  });
}
