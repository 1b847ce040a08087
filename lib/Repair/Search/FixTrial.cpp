//===- FixTrial.cpp - Which fixes are tried, in which order
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Judgement.h"

using namespace mlir;
using namespace mpopt;
using llvm::Expected;

static bool hasFixes(ArrayRef<FindingList::Entry> entries, Certainty least) {
  return llvm::any_of(entries, [&](const FindingList::Entry &entry) {
    return entry.finding.certainty >= least && !entry.finding.fixes.empty();
  });
}

Expected<KeepPlan> mpopt::tryFixes(ModuleOp module,
                                   std::vector<FindingList::Entry> &entries,
                                   Certainty least, bool complete,
                                   FindAll findAll) {
  Judgement judgement(module, entries, findAll);
  KeepPlan plan, notes;
  if (hasFixes(entries, least)) {
    if (!complete)
      judgement.trial.learnAll();
    if (llvm::Error error = tryKeeping(judgement, least, /*notes=*/false, plan))
      return error;
    if (llvm::Error error = tryKeeping(judgement, least, /*notes=*/true, notes))
      return error;
    tryChanges(judgement, least);
    tryDeclarations(judgement, least);
  }
  judgement.sortFixes();
  return plan;
}
