//===- ModelFile.h - An ONNX model in memory, its weights in their file
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_IMPORT_ONNX_MODELFILE_H
#define MPOPT_LIB_IMPORT_ONNX_MODELFILE_H

#include "OnnxWire.h"

#include "google/protobuf/arena.h"
#include "onnx/onnx_pb.h"

namespace mpopt::onnx_import {

struct ModelFile {
  /// The many small messages of a graph are made and destroyed at once.
  google::protobuf::Arena arena;
  onnx::ModelProto &model =
      *google::protobuf::Arena::CreateMessage<onnx::ModelProto>(&arena);
  /// All of the file, and where it is; an empty path is no file (standard
  /// input, text), in which nothing is cut.
  llvm::StringRef bytes;
  std::string path;
  std::vector<CutBytes> cuts;
};

/// Parses `bytes` of one of the three ONNX formats into `file`. False after an
/// error.
bool parseModel(llvm::StringRef bytes, llvm::StringRef path, ModelFormat format,
                ModelFile &file, ErrorSink &sink);

} // namespace mpopt::onnx_import

#endif // MPOPT_LIB_IMPORT_ONNX_MODELFILE_H
