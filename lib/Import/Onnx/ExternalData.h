//===- ExternalData.h - Where weights outside the model file lie
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_IMPORT_ONNX_EXTERNALDATA_H
#define MPOPT_LIB_IMPORT_ONNX_EXTERNALDATA_H

#include "mpopt/Import/ErrorSink.h"

#include "llvm/ADT/StringMap.h"

#include "onnx/onnx_pb.h"

#include <optional>

namespace mpopt::onnx_import {

struct ExternalRange {
  std::string file;
  uint64_t offset;
  bool missing; ///< the file is not there
};

/// Resolves external_data entries of one model. Only files below the model's
/// folder are accepted, as in the ONNX library: a model must not make its
/// reader open /etc/passwd.
class ExternalData {
public:
  ExternalData(llvm::StringRef modelPath, ErrorSink &sink);

  /// Where the `length` bytes of `tensor` are; nothing after an error.
  std::optional<ExternalRange> find(const onnx::TensorProto &tensor,
                                    llvm::StringRef name, uint64_t length);

  /// Files that are not there, with the number of tensors in them.
  const std::map<std::string, unsigned> &missing() const { return absent; }

  /// All that were named and not refused, in any order.
  std::vector<std::string> listFiles() const;

private:
  struct File {
    bool refused = false, missing = false;
    std::string path;
    uint64_t size = 0;
  };
  const File &open(llvm::StringRef location, llvm::StringRef tensor);

  std::string folder;
  ErrorSink &sink;
  llvm::StringMap<File> files;
  std::map<std::string, unsigned> absent;
};

} // namespace mpopt::onnx_import

#endif // MPOPT_LIB_IMPORT_ONNX_EXTERNALDATA_H
