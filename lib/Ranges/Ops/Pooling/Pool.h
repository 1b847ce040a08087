//===- Pool.h - What lies in the windows of a pool --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Windows lie within channels: groups of leading axes stay, and those of
// spatial axes become windows where all is known (PoolWindows.h).
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_RANGES_OPS_POOLING_POOL_H
#define MPOPT_LIB_RANGES_OPS_POOLING_POOL_H

#include "PoolWindows.h"

#include "mpopt/Dialect/WindowSupport.h"
#include "mpopt/Ranges/Value/TransferContext.h"

namespace mpopt {

struct Pool {
  /// Spatial axes are the last ones.
  size_t spatial = 0;
  /// Elements of a window; nothing if unknown.
  std::optional<uint64_t> count;
  /// `padded`: part of a window may lie in padding; `empty`: all of it may.
  bool padded = false, empty = false;
  /// The spatial axes, if everything is known of them.
  llvm::SmallVector<PoolAxis, 3> axes;
};

/// The windows over `input` that give `result`.
Pool getPool(const Window &window, mlir::Value input, mlir::Value result);
template <typename OpT> Pool getPool(OpT op) {
  return getPool(Window::get(op.getKernelShape(), op.getStrides(),
                             op.getDilations(), op.getPads(), op.getAutoPad(),
                             op.getCeilMode()),
                 op.getInput(), op->getResult(0));
}
Pool getGlobalPool(mlir::Value input);
/// Windows differ in size by at most one element an axis.
Pool getAdaptivePool(mlir::Value input, llvm::ArrayRef<int64_t> outputs);

/// Leading axes keep their groups.
AbstractValue leadingGroups(const AbstractValue &input, mlir::Value result,
                            size_t spatial);
/// Groups of leading axes, and windows where they are known.
AbstractValue windowGroups(const AbstractValue &input, mlir::Value result,
                           const Pool &pool, PoolBound bound);

/// Flags of a sum of magnitude `positive` and `negative` at most.
void flagSum(AbstractValue &value, double positive, double negative,
             const FloatFormat &format);

} // namespace mpopt

#endif // MPOPT_LIB_RANGES_OPS_POOLING_POOL_H
