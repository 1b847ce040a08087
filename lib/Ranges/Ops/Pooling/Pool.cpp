//===- Pool.cpp - What lies in the windows of a pool
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Pool.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mpopt;

/// The axes of windows over `input` that give `result`.
static SmallVector<PoolAxis, 3> getAxes(const Window &window, Value input,
                                        Value result) {
  MaybeShape in = getShape(input), out = getShape(result);
  size_t count = window.dims.size();
  if (!in || !out || in->size() != out->size() || in->size() < count)
    return {};
  SmallVector<PoolAxis, 3> axes;
  for (auto [index, dim] : llvm::enumerate(window.dims)) {
    int64_t inputs = (*in)[in->size() - count + index];
    int64_t outputs = (*out)[out->size() - count + index];
    auto pads = window.pads(index, inputs);
    if (inputs < 0 || outputs < 0 || dim.kernel < 1 || !pads)
      return {};
    axes.push_back(
        {inputs, outputs, dim.kernel, dim.stride, dim.dilation, pads->first});
  }
  return axes;
}

Pool mpopt::getPool(const Window &window, Value input, Value result) {
  Pool pool;
  pool.spatial = window.dims.size();
  uint64_t count = 1;
  for (const WindowDim &dim : window.dims) {
    count = llvm::SaturatingMultiply(
        count, uint64_t(std::max<int64_t>(dim.kernel, 1)));
    // A window that starts past the input, too, with ceil_mode.
    pool.padded |= dim.padBegin > 0 || dim.padEnd > 0 || window.ceil ||
                   window.autoPad.starts_with("SAME");
    pool.empty |= dim.padBegin >= dim.extent() || dim.padEnd >= dim.extent() ||
                  dim.dilation > 1 || window.ceil;
  }
  pool.empty &= pool.padded;
  pool.count = count;
  pool.axes = getAxes(window, input, result);
  return pool;
}

Pool mpopt::getGlobalPool(Value input) {
  Pool pool;
  MaybeShape shape = getShape(input);
  if (!shape || shape->size() < 2)
    return pool;
  pool.spatial = shape->size() - 2;
  if (std::optional<int64_t> count =
          getNumElements(Shape(ArrayRef(*shape).drop_front(2)))) {
    pool.count = uint64_t(*count);
    for (int64_t dim : ArrayRef(*shape).drop_front(2))
      pool.axes.push_back({dim, 1, dim});
  }
  return pool;
}

Pool mpopt::getAdaptivePool(Value input, ArrayRef<int64_t> outputs) {
  Pool pool;
  pool.spatial = outputs.size();
  MaybeShape shape = getShape(input);
  if (!shape || shape->size() < outputs.size())
    return pool;
  uint64_t count = 1;
  size_t leading = shape->size() - outputs.size();
  for (size_t axis = 0; axis < outputs.size(); ++axis) {
    int64_t size = (*shape)[leading + axis], wanted = outputs[axis];
    if (wanted < 0)
      continue;
    if (size < 0)
      return pool;
    count = llvm::SaturatingMultiply(
        count, uint64_t(size / std::max<int64_t>(wanted, 1)) + 2);
  }
  pool.count = count;
  return pool;
}

AbstractValue mpopt::leadingGroups(const AbstractValue &input, Value result,
                                   size_t spatial) {
  size_t rank = TransferContext::rankOf(result);
  if (input.rank() != rank || spatial > rank) {
    AbstractValue merged(AbstractValue::Dims(rank, 1), input.hull());
    merged.copyFlags(input);
    return merged;
  }
  AbstractValue::Dims target(input.dims());
  for (size_t axis = rank - spatial; axis < rank; ++axis)
    target[axis] = 1;
  return AbstractValue::pickedFrom(input.regrouped(target));
}

AbstractValue mpopt::windowGroups(const AbstractValue &input, Value result,
                                  const Pool &pool, PoolBound bound) {
  if (!pool.axes.empty() && !pool.empty &&
      input.rank() == TransferContext::rankOf(result))
    if (std::optional<AbstractValue> windows =
            slideWindows(input, pool.axes, bound))
      return *windows;
  return leadingGroups(input, result, pool.spatial);
}

void mpopt::flagSum(AbstractValue &value, double positive, double negative,
                    const FloatFormat &format) {
  bool up = !(positive < format.overflowFrom);
  bool down = !(negative < format.overflowFrom);
  value.nan |= up && down;
  value.posInf |= up;
  value.negInf |= down;
}
