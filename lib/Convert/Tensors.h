//===- Tensors.h - Weights on their way into another file -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Until the model is written its weights stay where they are: in the file that
// was read, beside it, or in the message. A tensor that is to become low says
// so, and still has its FP32 data.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CONVERT_TENSORS_H
#define MPOPT_LIB_CONVERT_TENSORS_H

#include "lib/Import/Onnx/ModelFile.h"

#include "mpopt/Support/WeightStore.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

namespace mpopt::convert {

/// Gives the tensor another type, and leaves its data as they are for now.
void convertLater(onnx::TensorProto &tensor, int32_t dtype);

/// Bits of an element in raw data; 0: it has none (strings).
unsigned getBits(int32_t dtype);

/// `count` floats in `to` (FLOAT16, BFLOAT16), each rounded once, to nearest
/// even. What is finite stays finite: a mask of finfo.min becomes the lowest
/// number, as converters have it, since a row of -Inf is NaN behind a softmax.
void narrow(llvm::ArrayRef<char> floats, int32_t to, char *out);
/// The other direction, which is exact.
void widen(llvm::ArrayRef<char> halves, int32_t from, char *out);

/// The data of the tensors of one model.
class TensorSource {
public:
  explicit TensorSource(const onnx_import::ModelFile &file) : file(file) {}

  /// True if the tensor cannot be written as it is.
  static bool isPending(const onnx::TensorProto &tensor);
  /// True if its data lie in a file of their own.
  static bool isExternal(const onnx::TensorProto &tensor);
  /// Bytes of raw data in the tensor's type.
  static uint64_t getSize(const onnx::TensorProto &tensor);

  /// Replaces the tensor's data.
  static void setRaw(onnx::TensorProto &tensor, std::string raw);

  /// The raw data of a pending tensor, in its type. `storage` holds them if
  /// they are nowhere else.
  llvm::Expected<llvm::ArrayRef<char>> read(const onnx::TensorProto &tensor,
                                            std::string &storage);

private:
  llvm::Expected<llvm::ArrayRef<char>> find(const onnx::TensorProto &tensor,
                                            std::string &storage);

  const onnx_import::ModelFile &file;
  WeightStore weights;
};

/// Every dense tensor of a model: constants, attributes, functions.
void forEachTensor(onnx::ModelProto &model,
                   llvm::function_ref<void(onnx::TensorProto &)> visit);

} // namespace mpopt::convert

#endif // MPOPT_LIB_CONVERT_TENSORS_H
