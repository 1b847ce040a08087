//===- CheckModule.h - From an imported module to findings ------*- C++ -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_DRIVER_CHECKMODULE_H
#define MPOPT_DRIVER_CHECKMODULE_H

#include "mpopt/Driver/Options.h"

#include "mpopt/Ranges/Analysis/RangeAnalysis.h"
#include "mpopt/Report/Keep.h"
#include "mpopt/Report/Report.h"

#include "mlir/IR/BuiltinOps.h"

namespace mpopt {

/// Where a finding is in the module's text: its op, and each of its causes.
struct FindingPlace {
  mlir::Location op;
  std::vector<mlir::Location> causes;
};

/// Everything that a check of a module gives.
struct CheckedModule {
  /// Those of all certainties, in the order of the rules.
  std::vector<Finding> findings;
  /// One for each of `findings`.
  std::vector<FindingPlace> places;
  /// Ops to keep in FP32 against the listed warnings and errors, in the
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

/// Recognises idioms, applies the precision, has the selected rules look at the
/// module, and tries the fixes of the findings that are listed. `observe`,
/// unless it is null, is called with the ranges that the rules saw. The error
/// is one line.
llvm::Expected<CheckedModule> checkModule(const Options &options,
                                          mlir::ModuleOp module,
                                          RangeObserver observe = nullptr);

} // namespace mpopt

#endif // MPOPT_DRIVER_CHECKMODULE_H
