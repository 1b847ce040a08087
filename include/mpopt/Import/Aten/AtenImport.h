//===- AtenImport.h - A graph of aten ops to mp IR --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_IMPORT_ATEN_ATENIMPORT_H
#define MPOPT_IMPORT_ATEN_ATENIMPORT_H

#include "mpopt/Import/Aten/Graph.h"
#include "mpopt/Import/ErrorSink.h"

namespace mpopt::aten {

/// Lowers `graph` to `result.module`, which says `result.format`; its weights
/// refer to the file `path`. Errors and warnings go to `sink`.
void importGraph(const Graph &graph, llvm::StringRef path,
                 const ImportOptions &options, mlir::MLIRContext &context,
                 ErrorSink &sink, ImportResult &result);

} // namespace mpopt::aten

#endif // MPOPT_IMPORT_ATEN_ATENIMPORT_H
