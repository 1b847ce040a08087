//===- Repair.h - Fixes of findings, and casts that leave none --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A change is judged by the analysis of a copy of the module that has it.
// docs/keep.md has the method.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_REPAIR_REPAIR_H
#define MPOPT_REPAIR_REPAIR_H

#include "mpopt/Effects/OutputEffects.h"
#include "mpopt/Hazards/FindingList.h"
#include "mpopt/Ranges/Analysis/ChangedModule.h"
#include "mpopt/Repair/CastPlan.h"

namespace mpopt {

/// The findings of a module, and what they do to its outputs.
struct Verdict {
  std::vector<FindingList::Entry> entries;
  std::optional<OutputEffects> effects = {};
};

/// Analyses a changed copy of the module, or (null) the module as it is and is
/// declared to be trained. The caller provides it: Repair knows no rule.
/// Fingerprints and descriptions are not wanted.
using Analyze =
    llvm::function_ref<Verdict(mlir::ModuleOp, const ChangedModule *)>;

/// Tries the fixes of the findings above a note, of `least` certainty or more,
/// of `module`, by all rules or (not `complete`) some: leaves the fixes that
/// could be tried, with `safe` set and the safe ones first. The module stays as
/// it is. The plan has the casts that remove findings.
CastPlan tryFixes(mlir::ModuleOp module,
                  std::vector<FindingList::Entry> &entries, Certainty least,
                  bool complete, Analyze analyze);

struct KeepRequest {
  /// The ranges of the module.
  const RangeAnalysis &ranges;
  /// Findings of less certainty do not count.
  Certainty least;
  /// Expected errors of outputs count by themselves, not only those that a
  /// finding causes.
  bool byErrors;
  /// Inputs and outputs of the model stay FP32.
  bool wideBorders = false;
};

struct KeepList {
  CastPlan plan;
  /// Findings above a note that stay with the list; outputs whose expected
  /// error stays too large, without a finding of their own, are among them.
  unsigned left = 0;
  /// The largest expected error of an output with the list; nothing if one is
  /// not known.
  std::optional<double> error = {};
};

/// The ops of `module`, to which a precision was applied, that have to compute
/// in f32. Nothing is kept against notes. All ops that one node of the model
/// became are kept, or none. `verdict` and what `analyze` returns have effects.
KeepList findKeepList(mlir::ModuleOp module, const Verdict &verdict,
                      const KeepRequest &request, Analyze analyze);

} // namespace mpopt

#endif // MPOPT_REPAIR_REPAIR_H
