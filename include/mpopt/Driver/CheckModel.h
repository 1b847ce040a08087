//===- CheckModel.h - One model, from file to report
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What `--check` and `--instrument` share.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_DRIVER_CHECKMODEL_H
#define MPOPT_DRIVER_CHECKMODEL_H

#include "mpopt/Driver/Options.h"

#include "mpopt/Import/Import.h"
#include "mpopt/Ranges/Analysis/RangeAnalysis.h"
#include "mpopt/Report/Keep.h"
#include "mpopt/Report/Report.h"

namespace mpopt {

/// What a caller may do on the way.
struct CheckHooks {
  /// Before the precision is applied.
  llvm::function_ref<void(const ImportResult &)> imported;
  /// With the ranges that the rules saw.
  llvm::function_ref<void(const ImportResult &, const RangeAnalysis &)> checked;
  /// With what was found to be worth keeping in FP32.
  llvm::function_ref<void(llvm::ArrayRef<KeptOpRef>)> kept;
};

/// Imports and checks a model, and writes the files that options ask for beside
/// the report. Nothing if the model was at fault, after saying so.
std::optional<ModelReport> checkModel(const Options &options,
                                      llvm::StringRef path, CheckHooks hooks);

/// Prints the errors of an import, one line each.
void printImportErrors(llvm::StringRef path, const ImportResult &result);

/// Warnings of a report, on standard error.
void printWarnings(const ModelReport &report);

} // namespace mpopt

#endif // MPOPT_DRIVER_CHECKMODEL_H
