//===- ExportedProgram.h - .pt2 archives to mp IR ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The files of torch.export.save: a zip archive with the graph as JSON and the
// weights as plain bytes. It is read here, without LibTorch, into the graph of
// aten ops that TorchScript archives are read into, too. Source of the format:
// torch/_export/serde/schema.py and torch/csrc/export/pt2_archive_constants.h.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_IMPORT_EXPORTEDPROGRAM_EXPORTEDPROGRAM_H
#define MPOPT_LIB_IMPORT_EXPORTEDPROGRAM_EXPORTEDPROGRAM_H

#include "mpopt/Import/ErrorSink.h"

namespace mpopt {

/// Imports the archive `bytes`, which came from `path` (empty: from no file).
void importExportedProgram(llvm::StringRef bytes, llvm::StringRef path,
                           const ImportOptions &options,
                           mlir::MLIRContext &context, ErrorSink &sink,
                           ImportResult &result);

} // namespace mpopt

#endif // MPOPT_LIB_IMPORT_EXPORTEDPROGRAM_EXPORTEDPROGRAM_H
