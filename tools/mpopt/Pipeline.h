//===- Pipeline.h - From an imported module to findings
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TOOLS_MPOPT_PIPELINE_H
#define MPOPT_TOOLS_MPOPT_PIPELINE_H

#include "Options.h"

#include "mlir/IR/BuiltinOps.h"

namespace mpopt {

/// Recognises idioms, applies the precision, runs the selected rules. The
/// findings of all certainties are appended. The error is one line.
llvm::Error runPipeline(const Options &options, mlir::ModuleOp module,
                        std::vector<Finding> &findings);

} // namespace mpopt

#endif // MPOPT_TOOLS_MPOPT_PIPELINE_H
