//===- Format.h - What kind of file this is
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_IMPORT_FORMAT_H
#define MPOPT_IMPORT_FORMAT_H

#include "llvm/ADT/StringRef.h"

namespace mpopt {

enum class ModelFormat {
  // Read here.
  Onnx,
  OnnxTextProto,
  OnnxText,
  Mlir,
  MlirBytecode,
  // Recognised, to say what to do instead.
  TorchScript,
  TorchMobile,
  ExportedProgram,
  TorchState,
  TorchLegacy,
  Pickle,
  SafeTensors,
  Hdf5,
  Keras,
  NumPy,
  TfLite,
  OrtModel,
  Gguf,
  Zip,
  Gzip,
  GitLfsPointer,
  Html,
  Xml,
  Json,
  Empty,
  Unknown
};

/// By content only; the name of a file says nothing.
ModelFormat detectFormat(llvm::StringRef bytes);

/// `onnx`, `torchscript`, `mlir`, as reports name it; empty for the others.
llvm::StringRef getFormatName(ModelFormat format);

/// Description of a file in a format that is not read, with advice; empty
/// for formats that are read.
llvm::StringRef explainFormat(ModelFormat format);

} // namespace mpopt

#endif // MPOPT_IMPORT_FORMAT_H
