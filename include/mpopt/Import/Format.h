//===- Format.h - File formats of models ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_IMPORT_FORMAT_H
#define MPOPT_IMPORT_FORMAT_H

#include "llvm/ADT/StringRef.h"

namespace mpopt {

enum class ModelFormat {
  // Formats that are read.
  Onnx,
  OnnxTextProto,
  OnnxText,
  Mlir,
  MlirBytecode,
  TorchScript,
  ExportedProgram,
  // Formats that are recognised only to give advice.
  TorchMobile,
  TorchPackage,
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

/// The format of a file with these bytes, by content only: its name is not
/// used. `Unknown` if none matches.
ModelFormat detectFormat(llvm::StringRef bytes);

/// The format's name in reports (`onnx`, `torchscript`,
/// `exported-program`, `mlir`); empty for
/// formats that are not read.
llvm::StringRef getFormatName(ModelFormat format);

/// Description of a file in a format that is not read, with advice; empty
/// for formats that are read.
llvm::StringRef explainFormat(ModelFormat format);

} // namespace mpopt

#endif // MPOPT_IMPORT_FORMAT_H
