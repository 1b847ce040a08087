//===- Import.cpp - Models to mp IR
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Import/Import.h"

#include "ExportedProgram/ExportedProgram.h"
#include "MlirReader.h"
#include "NameLengths.h"
#include "Onnx/OnnxImport.h"
#include "TorchScript/Helper.h"

#include "mpopt/Dialect/MPDialect.h"
#include "mpopt/Support/InputFile.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/FileSystem.h"

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
  case ModelFormat::TorchScript:
    importTorchScript(bytes, path, options, context, sink, result);
    break;
  case ModelFormat::ExportedProgram:
    importExportedProgram(bytes, path, options, context, sink, result);
    break;
  default:
    sink.error(ImportCode::NotAModel, "",
               "the file is " + explainFormat(result.format));
  }
  if (result.module && result.errors.empty())
    checkNameLengths(*result.module, sink);
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
  llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> buffer =
      readInputFile(path);
  if (!buffer)
    return unreadable(llvm::toString(buffer.takeError()));
  bool isStream = path == "-" || !llvm::sys::fs::is_regular_file(path);
  return importBytes((*buffer)->getBuffer(), isStream ? StringRef() : path,
                     options, context);
}
