//===- TensorData.h - TensorProto to constants
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_IMPORT_ONNX_TENSORDATA_H
#define MPOPT_LIB_IMPORT_ONNX_TENSORDATA_H

#include "ExternalData.h"
#include "ModelFile.h"

#include "mpopt/Import/UnpackBudget.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

namespace mpopt::onnx_import {

/// The value of an `mp.constant`: elements, or a reference to bytes in a file.
/// Null after an error.
struct TensorValue {
  mlir::Attribute value;
  mlir::RankedTensorType type;
  explicit operator bool() const { return bool(value); }
};

/// Reads the tensors of one model. Payloads that stayed in a file (cut from the
/// model, or external) become references; what the parser had to decode, and
/// tensors so small that somebody will look at them, become elements.
class TensorReader {
public:
  TensorReader(mlir::MLIRContext *context, const ModelFile &file,
               ErrorSink &sink)
      : context(context), file(file), sink(sink), external(file.path, sink),
        budget(file.bytes.size()) {}

  TensorValue read(const onnx::TensorProto &tensor, llvm::StringRef name);
  /// Filled in, with zeros between.
  TensorValue read(const onnx::SparseTensorProto &sparse, llvm::StringRef name);

  const std::map<std::string, unsigned> &missing() const {
    return external.missing();
  }
  std::vector<std::string> listExternalFiles() const {
    return external.listFiles();
  }

private:
  /// A tensor's packed bytes: a view of the file, the message, or `storage`.
  struct Bytes {
    llvm::ArrayRef<char> data;
    std::string storage;
    /// Where they lie, if they lie in a file; `data` is empty if that file is
    /// missing.
    std::string path;
    uint64_t offset = 0, length = 0;
    bool missing = false;
  };
  mlir::RankedTensorType readType(const onnx::TensorProto &tensor,
                                  llvm::StringRef name);
  bool readBytes(const onnx::TensorProto &tensor, llvm::StringRef name,
                 mlir::RankedTensorType type, Bytes &bytes);
  bool readCut(const onnx::TensorProto &tensor, const CutBytes &cut,
               llvm::StringRef name, Bytes &bytes);
  bool readTyped(const onnx::TensorProto &tensor, llvm::StringRef name,
                 mlir::Type element, std::string &out);
  bool mapExternal(Bytes &bytes);
  mlir::Attribute readStrings(const onnx::TensorProto &tensor,
                              llvm::StringRef name,
                              mlir::RankedTensorType type);
  const CutBytes *findCut(const onnx::TensorProto &tensor) const;
  bool error(ImportCode code, llvm::StringRef name, const llvm::Twine &reason) {
    sink.error(code, name, reason);
    return false;
  }

  mlir::MLIRContext *context;
  const ModelFile &file;
  ErrorSink &sink;
  ExternalData external;
  UnpackBudget budget;
};

} // namespace mpopt::onnx_import

#endif // MPOPT_LIB_IMPORT_ONNX_TENSORDATA_H
