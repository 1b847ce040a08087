//===- Support.h - What TorchScript lowerings share -------------*- C++ -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shapes as values, common rearrangements, and views made of steps that can be
// written back.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_IMPORT_ATEN_LOWERING_SUPPORT_H
#define MPOPT_LIB_IMPORT_ATEN_LOWERING_SUPPORT_H

#include "mpopt/Import/Aten/Lowering.h"

#include <climits>

namespace mpopt::torchscript {

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

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

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

/// A way from a base to a view and back.
struct ViewStep {
  std::function<mlir::Value(NodeContext &, mlir::Value base)> derive;
  /// Null where a write has no counterpart; gives null where this one has none.
  std::function<mlir::Value(NodeContext &, mlir::Value base,
                            mlir::Value updated)>
      writeBack;
};

/// A place along an axis: known now, or a rank-0 i64 tensor.
struct Position {
  std::optional<int64_t> known;
  mlir::Value computed;
};
/// Of an input that is an int; `otherwise` where it is absent.
Position findPosition(NodeContext &context, llvm::StringRef input,
                      int64_t otherwise);

/// First one, then the other.
ViewStep compose(ViewStep first, ViewStep second);
/// The base itself.
ViewStep sameView();
/// Another shape: `derive` gives it, the base's is restored when writing.
ViewStep
shapeStep(std::function<mlir::Value(NodeContext &, mlir::Value)> derive);
ViewStep transposeStep(llvm::SmallVector<int64_t> perm);
/// [start, end) along an axis, every `step`-th.
ViewStep sliceStep(int64_t axis, Position start, Position end,
                   int64_t step = 1);
/// One position of an axis, which goes away.
ViewStep selectStep(int64_t axis, Position index);

/// Output 0 is that view of the input `of`.
llvm::LogicalResult giveView(NodeContext &context, llvm::StringRef of,
                             ViewStep step);
/// Output 0 is a list of views; `values` are what the steps derive now.
llvm::LogicalResult giveViews(NodeContext &context, llvm::StringRef of,
                              llvm::ArrayRef<ViewStep> steps,
                              llvm::ArrayRef<mlir::Value> values);

// Parts of families, one a file.
void registerParts(LoweringRegistry &registry);
void registerLayout(LoweringRegistry &registry);
void registerJoining(LoweringRegistry &registry);
void registerWindows(LoweringRegistry &registry);
void registerIndexWrites(LoweringRegistry &registry);
void registerEmbedding(LoweringRegistry &registry);
void registerSearch(LoweringRegistry &registry);

} // namespace mpopt::torchscript

#endif // MPOPT_LIB_IMPORT_ATEN_LOWERING_SUPPORT_H
