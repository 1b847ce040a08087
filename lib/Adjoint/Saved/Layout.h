//===- Layout.h - Which tensors share their memory --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where PyTorch gives a view, and where it has to copy: reshapes, transposes
// and parts of a tensor are views of its storage, under strides of their own; a
// reshape that these do not allow is a copy (ATen/native/TensorShape.cpp,
// `computeStride` of ATen/TensorUtils.cpp). Files do not say `contiguous`,
// which the copies of reshapes make up for.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_ADJOINT_SAVED_LAYOUT_H
#define MPOPT_LIB_ADJOINT_SAVED_LAYOUT_H

#include "mpopt/Dialect/TypeSupport.h"

#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"

namespace mpopt {

using Strides = llvm::SmallVector<int64_t, 4>;

struct Layout {
  /// The value that the memory was made for.
  mlir::Value storage;
  /// In elements; nothing where a dim is not known.
  std::optional<Strides> strides;
};

Strides getContiguousStrides(llvm::ArrayRef<int64_t> shape);

/// The strides of the same elements under another shape; nothing if that takes
/// a copy.
std::optional<Strides> reshapeStrides(llvm::ArrayRef<int64_t> shape,
                                      llvm::ArrayRef<int64_t> strides,
                                      llvm::ArrayRef<int64_t> to);

/// The layouts of values, each computed once.
class Layouts {
public:
  const Layout &get(mlir::Value value);
  /// Says that a kernel for attention makes the value: [batch, heads, steps,
  /// features], with the heads of a step side by side in memory.
  void setAttention(mlir::Value value);

  /// True for constants and what is a view of one, as a file or a precision
  /// stores it: parameters, and tables of the model.
  bool isStored(mlir::Value value);
  /// True for what is computed from constants and shapes alone.
  bool isFixed(mlir::Value value);

private:
  Layout find(mlir::Value value);

  llvm::DenseMap<mlir::Value, Layout> layouts;
  llvm::DenseMap<mlir::Value, bool> fixed;
};

} // namespace mpopt

#endif // MPOPT_LIB_ADJOINT_SAVED_LAYOUT_H
