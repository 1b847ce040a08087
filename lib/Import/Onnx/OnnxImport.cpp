//===- OnnxImport.cpp - ONNX bytes to mp IR
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "OnnxImport.h"

#include "ModelImporter.h"
#include "Validate.h"

using namespace mpopt;
using namespace mpopt::onnx_import;

void onnx_import::importOnnx(llvm::StringRef bytes, llvm::StringRef path,
                             const ImportOptions &options,
                             mlir::MLIRContext &context, ErrorSink &sink,
                             ImportResult &result) {
  ModelFile file;
  if (!parseModel(bytes, path, result.format, file, sink))
    return;
  NodeOrders orders;
  bool valid = validateModel(file.model, sink, orders);
  FunctionTable functions;
  valid &= functions.build(file.model, sink);
  ModelImporter(&context, file, options, sink, result)
      .run(functions, orders, valid);
}
