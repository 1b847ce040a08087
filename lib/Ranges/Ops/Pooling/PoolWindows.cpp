//===- PoolWindows.cpp - A pool's windows over kept axes
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "PoolWindows.h"

#include "mpopt/Numerics/Rounding.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace mpopt;

/// Windows for each position of the input.
static constexpr int64_t kMostWindows = 4;

/// First and last (exclusive) tap of a window inside the input.
static std::pair<int64_t, int64_t> tapsInside(const PoolAxis &axis,
                                              int64_t output) {
  int64_t start = output * axis.stride - axis.padBegin;
  int64_t first = 0, last = axis.kernel;
  if (start < 0)
    first = (-start + axis.dilation - 1) / axis.dilation;
  if (start + (last - 1) * axis.dilation >= axis.inputs)
    last = (axis.inputs - start + axis.dilation - 1) / axis.dilation;
  return {first, std::max(first, last)};
}

static Cell combine(llvm::ArrayRef<Cell> cells, PoolBound bound, bool whole) {
  Cell result = mergeCells(cells);
  bool finite = llvm::none_of(cells, [](const Cell &c) { return c.empty(); });
  switch (bound) {
  case PoolBound::Hull:
    break;
  case PoolBound::Maximum:
    for (const Cell &cell : cells)
      if (!cell.empty())
        result.lo = std::max(result.lo, cell.lo);
    break;
  case PoolBound::Mean: {
    if (!whole || !finite)
      break;
    double low = 0, high = 0;
    for (const Cell &cell : cells) {
      low = addDown(low, cell.lo);
      high = addUp(high, cell.hi);
    }
    double count = double(cells.size());
    result.lo = std::max(result.lo, 0.0 - divUp(-low, count));
    result.hi = std::min(result.hi, divUp(high, count));
    break;
  }
  case PoolBound::Magnitude: {
    double sum = 0;
    for (const Cell &cell : cells)
      sum = addUp(sum, cell.empty() ? 0 : cell.absMax());
    result.hi = result.lo = divUp(sum, double(cells.size()));
    break;
  }
  }
  return result;
}

static std::optional<AbstractValue> slide(const AbstractValue &value, size_t at,
                                          const PoolAxis &axis,
                                          PoolBound bound) {
  // The input's positions are there, as many windows as padding makes are not.
  // Frameworks pad by half a kernel at most.
  if (axis.outputs > kMostWindows * axis.inputs)
    return std::nullopt;
  size_t inner = countGroups(value.dims().drop_front(at + 1));
  size_t outer = countGroups(value.dims().take_front(at));
  AbstractValue::Dims dims(value.dims());
  dims[at] = axis.outputs;
  std::vector<Cell> cells;
  cells.reserve(outer * axis.outputs * inner);
  llvm::SmallVector<Cell> window;
  for (size_t before = 0; before < outer; ++before)
    for (int64_t output = 0; output < axis.outputs; ++output) {
      auto [first, last] = tapsInside(axis, output);
      if (first == last)
        return std::nullopt;
      for (size_t behind = 0; behind < inner; ++behind) {
        window.clear();
        for (int64_t tap = first; tap < last; ++tap) {
          int64_t input =
              output * axis.stride - axis.padBegin + tap * axis.dilation;
          window.push_back(
              value.cell((before * axis.inputs + input) * inner + behind));
        }
        cells.push_back(combine(window, bound, last - first == axis.kernel));
      }
    }
  AbstractValue result(std::move(dims), cells);
  result.copyFlags(value);
  return result;
}

std::optional<AbstractValue> mpopt::slideWindows(const AbstractValue &value,
                                                 llvm::ArrayRef<PoolAxis> axes,
                                                 PoolBound bound) {
  if (axes.size() > value.rank())
    return std::nullopt;
  bool picks = bound == PoolBound::Hull || bound == PoolBound::Maximum;
  AbstractValue result = picks ? AbstractValue::pickedFrom(value)
                               : AbstractValue::boundedLike(value);
  if (bound == PoolBound::Magnitude)
    for (CellRef cell : result.mutableCells())
      if (!cell.empty())
        cell.lo = cell.hi = cell.absMax();
  size_t leading = value.rank() - axes.size();
  for (auto [index, axis] : llvm::enumerate(axes)) {
    size_t at = leading + index;
    if (result.dims()[at] == 1)
      continue;
    if (result.dims()[at] != axis.inputs)
      return std::nullopt;
    std::optional<AbstractValue> next = slide(result, at, axis, bound);
    if (!next)
      return std::nullopt;
    result = std::move(*next);
  }
  return result;
}

bool mpopt::anyWindowLeaves(llvm::ArrayRef<PoolAxis> axes) {
  // The first window reaches farthest before the input, the last one behind it.
  return llvm::any_of(axes, [](const PoolAxis &axis) {
    auto leaves = [&](int64_t output) {
      auto [first, last] = tapsInside(axis, output);
      return last - first != axis.kernel;
    };
    return axis.outputs > 0 && (leaves(0) || leaves(axis.outputs - 1));
  });
}
