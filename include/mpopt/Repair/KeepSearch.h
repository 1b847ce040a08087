//===- KeepSearch.h - The ops to keep in FP32 -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A list after which no finding above a note is left, and that is small: ops
// are added where findings are and where roundings cause most of an output's
// error, until the analysis of the model with the list is content; then those
// go without which it stays so. docs/keep.md has the method.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_REPAIR_KEEPSEARCH_H
#define MPOPT_REPAIR_KEEPSEARCH_H

#include "mpopt/Effects/OutputEffects.h"
#include "mpopt/Repair/FixTrial.h"

namespace mpopt {

/// All that the analysis says of a module.
struct Verdict {
  std::vector<FindingList::Entry> entries;
  OutputEffects effects;
};

/// Judges a changed copy of the module, by effect where `judged` of the
/// findings says so. Fingerprints and descriptions are not wanted.
using JudgeCopy =
    llvm::function_ref<Verdict(mlir::ModuleOp, const ChangedModule &)>;

struct KeepRequest {
  /// The ranges of the module.
  const RangeAnalysis &ranges;
  /// Findings of less certainty do not count.
  Certainty least;
  /// Expected errors of outputs count by themselves, not only those that a
  /// finding causes.
  bool bySums;
};

struct KeepList {
  /// The ops, and the findings (by index in the verdict) for which each is
  /// kept.
  KeepPlan plan;
  /// Findings above a note that stay with the list; outputs whose expected
  /// error stays too large, without a finding of their own, are among them.
  unsigned left = 0;
};

/// The ops of `module`, to which a precision was applied, that have to stay in
/// f32. Nothing is kept against notes. All ops that one node of the model
/// became are kept, or none.
KeepList findKeepList(mlir::ModuleOp module, const Verdict &verdict,
                      KeepRequest request, JudgeCopy judge);

} // namespace mpopt

#endif // MPOPT_REPAIR_KEEPSEARCH_H
