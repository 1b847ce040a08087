//===- FixTrial.h - Trying the fixes of findings ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A fix is judged by the analysis of the model that has it: it is applied to a
// copy, the rules are run again, and it is safe if its finding is gone and
// there is no new one as severe.
//
// All fixes of one kind are tried in one run: ops to keep in FP32 work only
// together with the ops that read what they compute. Those that the common run
// does not settle are tried alone, as long as they are few.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_REPAIR_FIXTRIAL_H
#define MPOPT_REPAIR_FIXTRIAL_H

#include "mpopt/Repair/Trial.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/Support/Error.h"

namespace mpopt {

/// Ops to keep in FP32, and the findings (by index) that each is kept for.
using KeepPlan = llvm::MapVector<mlir::Operation *, llvm::SetVector<size_t>>;

/// Tries the fixes of the findings of `least` certainty or more, found on
/// `module`, which stays as it is, by all rules or (not `complete`) some:
/// leaves the fixes that could be tried, with `safe` set and the safe ones
/// first. The plan has the ops whose keeping removes warnings and errors. An
/// error if a rule's analysis fails.
llvm::Expected<KeepPlan> tryFixes(mlir::ModuleOp module,
                                  std::vector<FindingList::Entry> &entries,
                                  Certainty least, bool complete,
                                  FindAll findAll);

} // namespace mpopt

#endif // MPOPT_REPAIR_FIXTRIAL_H
