//===- Types.h - ONNX types and mp types
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_IMPORT_ONNX_TYPES_H
#define MPOPT_LIB_IMPORT_ONNX_TYPES_H

#include "mpopt/Import/ErrorSink.h"

#include "mlir/IR/BuiltinTypes.h"

#include "onnx/onnx_pb.h"

#include <set>

namespace mpopt::onnx_import {

/// The element type of TensorProto.DataType `dtype`; `!mp.unknown` for
/// UNDEFINED, null for a number that ONNX does not have.
mlir::Type elementTypeOf(mlir::MLIRContext *context, int64_t dtype);

/// The way back; UNDEFINED if there is none.
int32_t dataTypeOf(mlir::Type elementType);

/// Bits that an element takes in raw data (a bool takes 8); 0 for strings.
unsigned bitsInFile(mlir::Type elementType);

/// TypeProto to mp types. Symbolic dims become dynamic, or the size they are
/// given.
class TypeReader {
public:
  TypeReader(mlir::MLIRContext *context,
             const std::map<std::string, int64_t> &dims, ErrorSink &sink)
      : context(context), dims(dims), sink(sink) {}

  /// `name` is what has the type, for errors. The unknown tensor if the type is
  /// not there or wrong.
  mlir::Type read(const onnx::TypeProto &type, llvm::StringRef name);

  /// The symbolic names of a tensor type's dims, "" where a dim has none; empty
  /// if none has.
  static std::vector<std::string> dimNames(const onnx::TypeProto &type);

  /// Every symbolic dim that was read.
  const std::set<std::string> &seenDims() const { return seen; }

private:
  mlir::Type readTensor(int64_t dtype, const onnx::TensorShapeProto *shape,
                        llvm::StringRef name);

  mlir::MLIRContext *context;
  const std::map<std::string, int64_t> &dims;
  ErrorSink &sink;
  std::set<std::string> seen;
};

/// False, with an error, if a dim is negative or absurd, or if the tensor's
/// size in bits overflows.
bool checkShape(llvm::ArrayRef<int64_t> shape, unsigned bits,
                llvm::StringRef name, ErrorSink &sink);

/// An ONNX type for what is known of a value; no variant set if nothing is.
onnx::TypeProto toOnnxType(mlir::Type type);

} // namespace mpopt::onnx_import

#endif // MPOPT_LIB_IMPORT_ONNX_TYPES_H
