//===- Import.h - Models to mp IR -------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The interface of tools. It shows no protobuf and no importer internals.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_IMPORT_IMPORT_H
#define MPOPT_IMPORT_IMPORT_H

#include "mpopt/Import/ImportResult.h"

namespace mpopt {

/// Reads the file `path` (`-`: standard input); its format is detected by
/// content. On failure `module` is null and `errors` is not empty. The mp and
/// func dialects are loaded into `context`.
ImportResult importModel(llvm::StringRef path, const ImportOptions &options,
                         mlir::MLIRContext &context);

/// The same from bytes. `path` is where they came from, empty if from no file:
/// external data is looked up beside it, and weights refer to it.
ImportResult importBytes(llvm::StringRef bytes, llvm::StringRef path,
                         const ImportOptions &options,
                         mlir::MLIRContext &context);

} // namespace mpopt

#endif // MPOPT_IMPORT_IMPORT_H
