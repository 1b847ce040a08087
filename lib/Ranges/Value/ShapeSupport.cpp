//===- ShapeSupport.cpp - Abstract values under changes of shape
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Ranges/Value/ShapeSupport.h"
#include "mpopt/Dialect/CheckedDim.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"
#include "mpopt/Numerics/Infinity.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <limits>

using namespace mpopt;
using namespace mlir;

AbstractValue mpopt::smeared(const AbstractValue &value, size_t rank) {
  AbstractValue result(AbstractValue::Dims(rank, 1), value.hull());
  result.copyFlags(value);
  return result;
}

std::optional<SmallVector<int64_t>>
mpopt::getNumbers(std::optional<ArrayRef<int64_t>> attribute, Value operand,
                  TransferContext &ctx) {
  if (attribute)
    return SmallVector<int64_t>(*attribute);
  if (!operand)
    return std::nullopt;
  return ctx.shapes().constants(operand);
}

static SmallVector<AxisSlice> wholeParts(ArrayRef<int64_t> shape) {
  SmallVector<AxisSlice> parts;
  for (int64_t dim : shape)
    parts.push_back({0, 1, dim, dim});
  return parts;
}

std::optional<SmallVector<AxisSlice>>
mpopt::partsOf(mp::SliceOp op, ArrayRef<int64_t> shape, TransferContext &ctx) {
  auto starts = getNumbers(op.getStarts(), op.getDynamicStarts(), ctx),
       axes = getNumbers(op.getAxes(), op.getDynamicAxes(), ctx),
       steps = getNumbers(op.getSteps(), op.getDynamicSteps(), ctx);
  bool hasAxes = op.getAxes() || op.getDynamicAxes(),
       hasSteps = op.getSteps() || op.getDynamicSteps();
  if (!starts || (hasAxes && (!axes || axes->size() < starts->size())) ||
      (hasSteps && (!steps || steps->size() < starts->size())))
    return std::nullopt;
  SmallVector<AxisSlice> parts = wholeParts(shape);
  for (size_t i = 0; i < starts->size(); ++i) {
    std::optional<int64_t> axis =
        normalizeAxis(hasAxes ? (*axes)[i] : int64_t(i), int64_t(shape.size()));
    if (!axis)
      return std::nullopt;
    AxisSlice &part = parts[*axis];
    part.stride = hasSteps ? (*steps)[i] : 1;
    part.count = TransferContext::dimOf(op.getResult(), *axis).value_or(0);
    int64_t start = (*starts)[i] < 0 ? (*starts)[i] + part.size : (*starts)[i];
    part.offset = std::clamp<int64_t>(
        start, 0, part.stride > 0 ? part.size : part.size - 1);
    int64_t last = part.of(part.count - 1);
    if (part.count < 1 || last < 0 || last >= part.size)
      return std::nullopt;
  }
  return parts;
}

std::optional<SmallVector<AxisSlice>>
mpopt::partsOf(mp::PadOp op, ArrayRef<int64_t> shape, TransferContext &ctx) {
  auto pads = getNumbers(op.getPads(), op.getDynamicPads(), ctx),
       axes = getNumbers(op.getAxes(), op.getDynamicAxes(), ctx);
  bool hasAxes = op.getAxes() || op.getDynamicAxes();
  size_t count = hasAxes && axes ? axes->size() : shape.size();
  if (!pads || (hasAxes && !axes) || pads->size() != 2 * count)
    return std::nullopt;
  SmallVector<AxisSlice> parts = wholeParts(shape);
  for (size_t i = 0; i < count; ++i) {
    std::optional<int64_t> axis =
        normalizeAxis(hasAxes ? (*axes)[i] : int64_t(i), int64_t(shape.size()));
    if (!axis)
      return std::nullopt;
    parts[*axis].offset = -(*pads)[i];
    parts[*axis].count += (*pads)[i] + (*pads)[i + count];
  }
  return parts;
}

std::optional<double> mpopt::borderOf(mp::PadOp op, TransferContext &ctx) {
  if (mp::symbolizePadMode(op.getMode()) != mp::PadMode::Constant)
    return std::nullopt;
  return op.getValue() ? ctx.of(op.getValue()).constant() : 0.0;
}

std::pair<Value, Window> mpopt::withBorder(Value input, Window window,
                                           TransferContext &ctx) {
  std::pair<Value, Window> asIs(input, window);
  auto pad = input.getDefiningOp<mp::PadOp>();
  MaybeShape shape = pad ? getShape(pad.getInput()) : std::nullopt;
  if (!shape || shape->size() != window.dims.size() + 2 ||
      borderOf(pad, ctx) != 0.0 ||
      (window.autoPad != "NOTSET" && window.autoPad != "VALID"))
    return asIs;
  auto parts = partsOf(pad, *shape, ctx);
  if (!parts)
    return asIs;
  for (auto [axis, part] : llvm::enumerate(*parts)) {
    if (part.isWhole())
      continue;
    if (axis < 2 || ShapedType::isDynamic(part.size) || part.before() < 0 ||
        part.after() < 0)
      return asIs;
    window.dims[axis - 2].padBegin += part.before();
    window.dims[axis - 2].padEnd += part.after();
  }
  window.autoPad = "NOTSET";
  return {pad.getInput(), std::move(window)};
}

AbstractValue mpopt::constantValue(double number, size_t rank) {
  Cell cell{number, number, number, 0, number, number};
  if (!std::isfinite(number))
    cell = Cell{kInfinity, -kInfinity};
  AbstractValue value(AbstractValue::Dims(rank, 1), cell);
  value.nan = std::isnan(number);
  value.posInf = number == kInfinity;
  value.negInf = number == -kInfinity;
  value.integral = std::isfinite(number) && number == std::trunc(number);
  value.minNonZero = number == 0 || !std::isfinite(number)
                         ? std::numeric_limits<double>::max()
                         : std::fabs(number);
  value.source = LikelySource::Weight;
  return value;
}

AbstractValue mpopt::withoutAxis(const AbstractValue &value, int64_t axis) {
  AbstractValue merged = value.merging(axis);
  AbstractValue::Dims dims(merged.dims());
  dims.erase(dims.begin() + axis);
  AbstractValue result = merged.withDims(std::move(dims));
  auto follow = [&](const auto &fact, auto &out) {
    if (!fact || fact->axis == axis)
      return;
    out = fact;
    out->axis -= fact->axis > axis;
  };
  follow(value.norm, result.norm);
  follow(value.rowSum, result.rowSum);
  return result;
}

AbstractValue mpopt::withAxis(const AbstractValue &value, int64_t axis) {
  AbstractValue::Dims dims(value.dims());
  dims.insert(dims.begin() + axis, 1);
  AbstractValue result = value.withDims(std::move(dims));
  auto follow = [&](const auto &fact, auto &out) {
    if (!fact)
      return;
    out = fact;
    out->axis += fact->axis >= axis;
  };
  follow(value.norm, result.norm);
  follow(value.rowSum, result.rowSum);
  return result;
}

/// Facts about rows of which only a part is left: the rest of a sum of numbers
/// that are not negative is between 0 and the whole.
static void restoreFacts(AbstractValue &part, const AbstractValue &whole,
                         int64_t axis) {
  part.norm = whole.norm;
  part.rowSum = whole.rowSum;
  if (part.rowSum && part.rowSum->axis == axis)
    part.rowSum->lo = 0;
}

AbstractValue mpopt::sliced(const AbstractValue &value, int64_t axis,
                            int64_t first, int64_t step, int64_t count) {
  SmallVector<int64_t> indices;
  if (value.dims()[axis] != 1)
    for (int64_t i = 0; i < count; ++i)
      indices.push_back(first + i * step);
  if (count == 0)
    return someOf(value, axis);
  AbstractValue result = value.selected(axis, indices);
  restoreFacts(result, value, axis);
  return result;
}

AbstractValue mpopt::someOf(const AbstractValue &value, int64_t axis) {
  AbstractValue result = value.merging(axis);
  restoreFacts(result, value, axis);
  return result;
}

/// The norm of concatenated rows, or the larger one where rows stay.
static std::optional<NormFact> joinNorms(ArrayRef<AbstractValue> parts,
                                         int64_t axis) {
  std::optional<NormFact> result;
  double squares = 0, largest = 0;
  uint64_t count = 0;
  for (const AbstractValue &part : parts) {
    if (!part.norm || (result && part.norm->axis != result->axis))
      return std::nullopt;
    result = part.norm;
    squares += part.norm->bound * part.norm->bound;
    largest = std::max(largest, part.norm->bound);
    count = llvm::SaturatingAdd(count, uint64_t(part.norm->count));
  }
  if (!result)
    return std::nullopt;
  if (result->axis == axis) {
    result->bound = std::sqrt(squares) * (1 + 1e-14);
    result->count = int64_t(std::min<uint64_t>(count, INT64_MAX));
  } else {
    result->bound = largest;
  }
  return result;
}

/// The same share of every part's elements, as one group.
static Cell mixParts(ArrayRef<Cell> cells, ArrayRef<int64_t> sizes) {
  double total = 0, mean = 0, square = 0;
  for (auto [cell, size] : llvm::zip(cells, sizes)) {
    double weight = size > 0 ? double(size) : 1;
    total += weight;
    mean += weight * cell.mean;
    square += weight * (cell.variance + cell.mean * cell.mean);
  }
  Cell mixed = mergeCells(cells);
  mixed.mean = mean / total;
  mixed.variance = std::max(0.0, square / total - mixed.mean * mixed.mean);
  return mixed;
}

/// Groups of the other axes, the same for every part.
static AbstractValue::Dims commonGroups(ArrayRef<AbstractValue> parts,
                                        int64_t axis) {
  size_t rank = parts.front().rank();
  AbstractValue::Dims dims(rank, 1);
  for (size_t other = 0; other < rank; ++other) {
    if (int64_t(other) == axis)
      continue;
    bool fits = true;
    for (const AbstractValue &part : parts) {
      int64_t dim = part.dims()[other];
      fits &= dim == 1 || dims[other] == 1 || dims[other] == dim;
      dims[other] = std::max(dims[other], dim);
    }
    if (!fits)
      dims[other] = 1;
  }
  return dims;
}

AbstractValue mpopt::concatenated(ArrayRef<AbstractValue> parts, int64_t axis,
                                  ArrayRef<int64_t> sizes, size_t limit) {
  size_t rank = parts.front().rank();
  AbstractValue::Dims dims = commonGroups(parts, axis);
  CheckedDim all = 0;
  for (int64_t size : sizes)
    all = all + (size < 0 ? kDynamic : size);
  size_t outside = countGroups(dims);
  int64_t total = all.get();
  bool keep = total > 0 && uint64_t(total) <= limit / outside;
  if (!keep && outside > limit) {
    dims.assign(rank, 1);
    outside = 1;
  }

  SmallVector<AbstractValue> regrouped;
  for (auto [part, size] : llvm::zip(parts, sizes)) {
    dims[axis] = keep ? std::max<int64_t>(size, 1) : 1;
    regrouped.push_back(part.regrouped(dims));
  }
  dims[axis] = keep ? total : 1;
  std::vector<Cell> cells;
  cells.reserve(countGroups(dims));
  size_t inner = countGroups(ArrayRef(dims).drop_front(axis + 1));
  size_t outer = countGroups(ArrayRef(dims).take_front(axis));
  if (keep)
    for (size_t i = 0; i < outer; ++i)
      for (auto [part, size] : llvm::zip(regrouped, sizes)) {
        auto run = part.cells().begin() + i * size * inner;
        cells.insert(cells.end(), run, run + size * inner);
      }
  else
    for (size_t i = 0; i < outside; ++i) {
      SmallVector<Cell> column;
      for (const AbstractValue &part : regrouped)
        column.push_back(part.cell(i));
      cells.push_back(mixParts(column, sizes));
    }
  AbstractValue result(dims, cells);
  result.copyFlags(parts.front());
  for (const AbstractValue &part : parts.drop_front()) {
    result.nan |= part.nan;
    result.posInf |= part.posInf;
    result.negInf |= part.negInf;
    result.integral &= part.integral;
    result.minNonZero = std::min(result.minNonZero, part.minNonZero);
    result.source = std::max(result.source, part.source);
  }
  result.norm = joinNorms(parts, axis);
  return result;
}
