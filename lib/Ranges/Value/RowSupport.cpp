//===- RowSupport.cpp - Cells of ops that work on whole rows
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Ranges/Value/RowSupport.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::cells;

std::optional<int64_t> cells::findAxis(TransferContext &ctx, Value input,
                                       std::optional<int64_t> attribute,
                                       Value operand) {
  std::optional<int64_t> axis = attribute;
  if (operand)
    if (auto known = ctx.shapes().constants(operand);
        known && known->size() == 1)
      axis = known->front();
  MaybeShape shape = getShape(input);
  return axis && shape ? normalizeAxis(*axis, shape->size()) : std::nullopt;
}

std::optional<int64_t> cells::countAlong(ArrayRef<int64_t> shape,
                                         ArrayRef<int64_t> axes) {
  int64_t count = 1;
  for (int64_t axis : axes)
    if (shape[axis] < 0 || llvm::MulOverflow(count, shape[axis], count))
      return std::nullopt;
  return count;
}

std::optional<AbstractValue> cells::byPlace(TransferContext &ctx, Value value,
                                            int64_t axis) {
  const AbstractValue &x = ctx.of(value);
  std::optional<int64_t> count = ctx.dimOf(value, axis);
  if (!count || *count < 1 || *count > int64_t(ctx.maxGroups()) ||
      x.rank() != ctx.rankOf(value))
    return std::nullopt;
  AbstractValue::Dims dims(x.dims());
  dims[axis] = *count;
  if (countGroups(dims) > std::max(x.groups(), ctx.maxGroups()))
    return std::nullopt;
  return x.regrouped(dims);
}

AbstractValue cells::alongAxis(const AbstractValue &vector, int64_t axis,
                               size_t rank) {
  if (vector.rank() != 1 || size_t(axis) >= rank) {
    AbstractValue merged(AbstractValue::Dims(rank, 1), vector.hull());
    merged.copyFlags(vector);
    return merged;
  }
  AbstractValue::Dims dims(rank, 1);
  dims[axis] = vector.dims()[0];
  return vector.withDims(std::move(dims));
}

void cells::forEachLine(const AbstractValue &value, int64_t axis, bool reverse,
                        llvm::function_ref<void(ArrayRef<size_t>)> visit) {
  size_t count = value.dims()[axis];
  size_t inner = countGroups(ArrayRef(value.dims()).drop_front(axis + 1));
  SmallVector<size_t> line(count);
  for (size_t first = 0; first < value.groups(); ++first) {
    if (first / inner % count != 0)
      continue;
    for (auto [step, group] : llvm::enumerate(line))
      group = first + (reverse ? count - 1 - step : step) * inner;
    visit(line);
  }
}

double cells::normByCells(const AbstractValue &value, int64_t axis,
                          int64_t count) {
  AbstractValue row = value.keeping({axis});
  double squares = 0;
  for (const Cell &cell : row.cells())
    squares += cell.absMax() * cell.absMax();
  squares *= double(count) / double(row.groups());
  // The factor covers this arithmetic.
  return std::sqrt(squares) * (1 + 1e-12) + 1e-300;
}

Cell cells::likelyProduct(const Cell &lhs, const Cell &rhs, double count) {
  Cell cell;
  cell.mean = lhs.mean * rhs.mean;
  cell.variance = lhs.variance * rhs.variance +
                  lhs.variance * rhs.mean * rhs.mean +
                  rhs.variance * lhs.mean * lhs.mean;
  double corners[] = {lhs.likelyLo * rhs.likelyLo, lhs.likelyLo * rhs.likelyHi,
                      lhs.likelyHi * rhs.likelyLo, lhs.likelyHi * rhs.likelyHi};
  cell.likelyLo = *std::min_element(corners, corners + 4);
  cell.likelyHi = *std::max_element(corners, corners + 4);
  // Both at their extremes at once is not to be expected, and a product of two
  // random numbers has a heavier tail than either.
  if (lhs.variance > 0 && rhs.variance > 0) {
    double reach = 1.3 * expectedExtreme(count) * std::sqrt(cell.variance);
    cell.likelyLo = std::max(cell.likelyLo, cell.mean - reach);
    cell.likelyHi = std::min(cell.likelyHi, cell.mean + reach);
  }
  return cell;
}

Cell cells::likelySum(const Cell &lhs, const Cell &rhs) {
  Cell cell;
  setLikely(cell, likely::add(getLikely(lhs), getLikely(rhs)));
  return cell;
}
