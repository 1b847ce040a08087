//===- ShapeValues.h - Shapes as values, rearrangements ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Dims and shapes as tensors, and the ops that move elements about.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_IMPORT_ATEN_LOWERING_SHAPEVALUES_H
#define MPOPT_LIB_IMPORT_ATEN_LOWERING_SHAPEVALUES_H

#include "mpopt/Import/Aten/Lowering.h"

namespace mpopt::aten {

/// A rank-0 i64 constant.
mlir::Value makeInt(NodeContext &context, int64_t value);
/// The tensor's shape as a rank-1 i64 tensor; a constant if it is static.
mlir::Value shapeValue(NodeContext &context, mlir::Value value);
/// One dim as a rank-0 i64 tensor; a constant if it is static.
mlir::Value dimValue(NodeContext &context, mlir::Value value, int64_t axis);
/// The dim if it is static.
std::optional<int64_t> staticDim(mlir::Value value, int64_t axis);

mlir::Value reshape(NodeContext &context, mlir::Value value, mlir::Value shape);
mlir::Value reshape(NodeContext &context, mlir::Value value,
                    llvm::ArrayRef<int64_t> shape);
mlir::Value reshapeLike(NodeContext &context, mlir::Value value,
                        mlir::Value like);
mlir::Value expand(NodeContext &context, mlir::Value value, mlir::Value shape);
/// Itself if the shapes are the same.
mlir::Value expandLike(NodeContext &context, mlir::Value value,
                       mlir::Value like);
mlir::Value transpose(NodeContext &context, mlir::Value value,
                      llvm::ArrayRef<int64_t> perm);
mlir::Value unsqueeze(NodeContext &context, mlir::Value value, int64_t axis);
mlir::Value squeeze(NodeContext &context, mlir::Value value, int64_t axis);
mlir::Value slice(NodeContext &context, mlir::Value value, int64_t axis,
                  int64_t start, int64_t end, int64_t step = 1);
/// The operand itself if there is one only.
mlir::Value concat(NodeContext &context, llvm::ArrayRef<mlir::Value> values,
                   int64_t axis);
mlir::Value gather(NodeContext &context, mlir::Value value, mlir::Value indices,
                   int64_t axis);
/// A shape filled with a number; null if the element type holds no number.
mlir::Value fill(NodeContext &context, mlir::Value shape, double number,
                 mlir::Type elementType);
/// 0, 1, ... as many as the rank-0 `count` says.
mlir::Value iota(NodeContext &context, mlir::Value count);
/// Dims in the order that brings dim `from` to `to`, the others in order.
llvm::SmallVector<int64_t> moveDim(int64_t rank, int64_t from, int64_t to);
llvm::SmallVector<int64_t> invert(llvm::ArrayRef<int64_t> perm);

} // namespace mpopt::aten

#endif // MPOPT_LIB_IMPORT_ATEN_LOWERING_SHAPEVALUES_H
