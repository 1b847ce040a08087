//===- Import.cpp - Models to mp IR
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpopt/Import/Import.h"

#include "MlirReader.h"
#include "Onnx/OnnxImport.h"

#include "mpopt/Dialect/MPDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace mpopt;

ImportResult mpopt::importBytes(StringRef bytes, StringRef path,
                                const ImportOptions &options,
                                MLIRContext &context) {
  context.loadDialect<mp::MPDialect, func::FuncDialect>();
  ImportResult result;
  ErrorSink sink(result);
  result.format = detectFormat(bytes);
  switch (result.format) {
  case ModelFormat::Onnx:
  case ModelFormat::OnnxTextProto:
  case ModelFormat::OnnxText:
    onnx_import::importOnnx(bytes, path, options, context, sink, result);
    break;
  case ModelFormat::Mlir:
  case ModelFormat::MlirBytecode:
    importMlir(bytes, path, options, context, sink, result);
    break;
  default:
    sink.error(ImportCode::NotAModel, "",
               "the file is " + explainFormat(result.format));
  }
  sink.finish();
  if (!result.errors.empty())
    result.module = nullptr;
  return result;
}

ImportResult mpopt::importModel(StringRef path, const ImportOptions &options,
                                MLIRContext &context) {
  auto unreadable = [](const Twine &why) {
    ImportResult result;
    ErrorSink(result).error(ImportCode::Unreadable, "", why);
    return result;
  };
  bool isStream = path == "-";
  if (!isStream && llvm::sys::fs::is_directory(path))
    return unreadable("is a directory: name the model file in it");
  // A mapping: no null terminator, or the file would be copied.
  auto buffer =
      isStream ? llvm::MemoryBuffer::getSTDIN()
               : llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                             /*RequiresNullTerminator=*/false);
  if (std::error_code error = buffer.getError())
    return unreadable("cannot be read: " + error.message());
  return importBytes((*buffer)->getBuffer(), isStream ? StringRef() : path,
                     options, context);
}
