//===- TorchScriptImport.h - A TorchScript graph to mp IR -------*- C++ -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_IMPORT_TORCHSCRIPT_TORCHSCRIPTIMPORT_H
#define MPOPT_IMPORT_TORCHSCRIPT_TORCHSCRIPTIMPORT_H

#include "mpopt/Import/Aten/Graph.h"
#include "mpopt/Import/ErrorSink.h"

namespace mpopt::torchscript {

/// Lowers `graph`, read from the archive `path`, to `result.module`. What goes
/// wrong is in `sink`.
void importGraph(const Graph &graph, llvm::StringRef path,
                 const ImportOptions &options, mlir::MLIRContext &context,
                 ErrorSink &sink, ImportResult &result);

} // namespace mpopt::torchscript

#endif // MPOPT_IMPORT_TORCHSCRIPT_TORCHSCRIPTIMPORT_H
