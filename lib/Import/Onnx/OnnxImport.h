//===- OnnxImport.h - ONNX bytes to mp IR
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_IMPORT_ONNX_ONNXIMPORT_H
#define MPOPT_LIB_IMPORT_ONNX_ONNXIMPORT_H

#include "mpopt/Import/ErrorSink.h"

namespace mpopt::onnx_import {

/// `result.format` is one of the ONNX formats.
void importOnnx(llvm::StringRef bytes, llvm::StringRef path,
                const ImportOptions &options, mlir::MLIRContext &context,
                ErrorSink &sink, ImportResult &result);

} // namespace mpopt::onnx_import

#endif // MPOPT_LIB_IMPORT_ONNX_ONNXIMPORT_H
