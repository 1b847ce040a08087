//===- ViewSteps.h - Views that can be written back -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A view is made of steps from its base, each with a way back.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_IMPORT_ATEN_LOWERING_VIEWSTEPS_H
#define MPOPT_LIB_IMPORT_ATEN_LOWERING_VIEWSTEPS_H

#include "mpopt/Import/Aten/Lowering.h"

#include <climits>

namespace mpopt::aten {

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
/// The position that an int input gives; `otherwise` if it is absent.
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

} // namespace mpopt::aten

#endif // MPOPT_LIB_IMPORT_ATEN_LOWERING_VIEWSTEPS_H
