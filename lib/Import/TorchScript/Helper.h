//===- Helper.h - TorchScript archives, read by another process -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_IMPORT_TORCHSCRIPT_HELPER_H
#define MPOPT_LIB_IMPORT_TORCHSCRIPT_HELPER_H

#include "mpopt/Import/ErrorSink.h"

namespace mpopt {

/// Has mpopt-import-torchscript, beside the running executable, read the
/// archive `bytes`, which came from `path` (empty: from no file).
void importTorchScript(llvm::StringRef bytes, llvm::StringRef path,
                       const ImportOptions &options, mlir::MLIRContext &context,
                       ErrorSink &sink, ImportResult &result);

} // namespace mpopt

#endif // MPOPT_LIB_IMPORT_TORCHSCRIPT_HELPER_H
