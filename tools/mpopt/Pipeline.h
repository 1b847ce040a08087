//===- Pipeline.h - From an imported module to findings
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TOOLS_MPOPT_PIPELINE_H
#define MPOPT_TOOLS_MPOPT_PIPELINE_H

#include "Options.h"

#include "mpopt/Analysis/RangeAnalysis.h"

#include "mlir/IR/BuiltinOps.h"

namespace mpopt {

/// Recognises idioms, applies the precision, runs the selected rules. The
/// findings of all certainties are appended. With `--dump-ranges`, `dump` is
/// called with the ranges that the rules saw. The error is one line.
llvm::Error runPipeline(const Options &options, mlir::ModuleOp module,
                        std::vector<Finding> &findings,
                        llvm::function_ref<void(const RangeAnalysis &)> dump);

} // namespace mpopt

#endif // MPOPT_TOOLS_MPOPT_PIPELINE_H
