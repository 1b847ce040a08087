//===- Pipeline.h - From an imported module to findings
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_DRIVER_PIPELINE_H
#define MPOPT_DRIVER_PIPELINE_H

#include "mpopt/Driver/Options.h"

#include "mpopt/Ranges/Analysis/RangeAnalysis.h"
#include "mpopt/Report/Keep.h"
#include "mpopt/Report/Report.h"

#include "mlir/IR/BuiltinOps.h"

namespace mpopt {

/// What the stages leave behind.
struct PipelineResult {
  /// Of all certainties.
  std::vector<Finding> findings;
  /// What to keep in FP32 against the listed warnings and errors, in the
  /// model's order.
  std::vector<KeptOpRef> keep;
  /// With `--safe-input`.
  std::vector<SafeScale> safeScales;

  // If any rule asked for ranges.
  unsigned proved = 0, tensors = 0;
  std::map<std::string, unsigned> unknownRanges;
  std::string target, targetSummary;
};

using RangeObserver = llvm::function_ref<void(const RangeAnalysis &)>;

/// Recognises idioms, applies the precision, runs the selected rules, and tries
/// the fixes of the findings that are listed. `observe`, unless it is null, is
/// called with the ranges that the rules saw. The error is one line.
llvm::Expected<PipelineResult> runPipeline(const Options &options,
                                           mlir::ModuleOp module,
                                           RangeObserver observe);

} // namespace mpopt

#endif // MPOPT_DRIVER_PIPELINE_H
