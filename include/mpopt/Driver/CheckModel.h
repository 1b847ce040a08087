//===- CheckModel.h - One model, from file to report ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The steps that `--check` and `--instrument` share.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_DRIVER_CHECKMODEL_H
#define MPOPT_DRIVER_CHECKMODEL_H

#include "mpopt/Driver/Options.h"

#include "mpopt/Effects/QuantizedTensors.h"
#include "mpopt/Import/Import.h"
#include "mpopt/Ranges/Analysis/RangeAnalysis.h"
#include "mpopt/Repair/ConversionPlan.h"
#include "mpopt/Repair/Fix.h"
#include "mpopt/Report/Keep.h"
#include "mpopt/Report/ProductReport.h"
#include "mpopt/Report/Report.h"

namespace mpopt {

/// Callbacks during a check; null ones are not called.
struct CheckHooks {
  /// Called before the precision is applied.
  llvm::function_ref<void(const ImportResult &)> imported;
  /// Called with the ranges of the model that the rules saw, under `--train`
  /// before anything is appended to it.
  llvm::function_ref<void(const ImportResult &, const RangeAnalysis &)> checked;
  /// Called with the ops to keep in FP32, and with the number of findings above
  /// a note that stay with them.
  llvm::function_ref<void(llvm::ArrayRef<KeptOpRef>, unsigned stay)> kept;
  /// Called with the module that was judged, and the fixes that were tried.
  llvm::function_ref<void(mlir::ModuleOp, llvm::ArrayRef<TriedFix>)> fixed;
  /// Called with the scales of operands.
  llvm::function_ref<void(llvm::ArrayRef<TensorScale>)> scaled;
  /// Called with the same as a conversion reads it.
  llvm::function_ref<void(ConversionPlan)> planned;
  /// Called with the codes of the model; `--diff` alone asks for them.
  llvm::function_ref<void(std::vector<QuantizedTensor>)> quantized;
};

/// Imports and checks a model, and writes the files that options ask for beside
/// the report. Nothing if the model is invalid or a file cannot be written; the
/// error is printed.
std::optional<ModelReport> checkModel(const Options &options,
                                      llvm::StringRef path, CheckHooks hooks);

/// The same of a file of weights, whose files it adds to `files`.
std::optional<ModelReport> checkCheckpoint(const Options &options,
                                           llvm::StringRef path,
                                           std::vector<std::string> &files);

/// Puts what is listed into the report, and the counts of everything.
void listFindings(std::vector<Finding> findings, Certainty least,
                  ModelReport &report);

/// Prints the errors of an import, one line each.
void printImportErrors(llvm::StringRef path, const ImportResult &result);

/// Prints the warnings of a report to standard error, one line each.
void printWarnings(const ModelReport &report);

} // namespace mpopt

#endif // MPOPT_DRIVER_CHECKMODEL_H
