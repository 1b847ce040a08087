//===- Reshape.cpp - Groups of a tensor through a reshape
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Ranges/Value/AbstractValue.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace mpopt;
using llvm::ArrayRef;
using llvm::SmallVector;

namespace {
/// Axes [fromBegin, fromEnd) that become [toBegin, toEnd).
struct Block {
  size_t fromBegin, fromEnd, toBegin, toEnd;
};
} // namespace

/// Splits a reshape into the smallest runs of axes with equal products, from
/// both ends inward; what is left around unknown dims is one block. Empty if
/// the shapes cannot be matched.
static SmallVector<Block> splitReshape(ArrayRef<int64_t> from,
                                       ArrayRef<int64_t> to) {
  auto known = [](int64_t dim) { return dim > 0; };
  SmallVector<Block> front, back;
  size_t i = 0, j = 0;
  // One run: grow the side with the smaller product until they are equal.
  auto grow = [&](size_t fromLeft, size_t toLeft, auto fromDim, auto toDim,
                  size_t &fromTaken, size_t &toTaken) {
    __int128 left = 1, right = 1;
    fromTaken = toTaken = 0;
    do {
      bool growFrom = left <= right && fromTaken < fromLeft;
      if (!growFrom && toTaken == toLeft)
        return false;
      int64_t dim = growFrom ? fromDim(fromTaken++) : toDim(toTaken++);
      if (!known(dim))
        return false;
      (growFrom ? left : right) *= dim;
      if (left > INT64_MAX || right > INT64_MAX)
        return false;
    } while (left != right || toTaken == 0 || fromTaken == 0);
    return true;
  };
  size_t fromEnd = from.size(), toEnd = to.size(), a, b;
  while (fromEnd > 0 && toEnd > 0 &&
         grow(
             fromEnd, toEnd, [&](size_t k) { return from[fromEnd - 1 - k]; },
             [&](size_t k) { return to[toEnd - 1 - k]; }, a, b)) {
    back.push_back({fromEnd - a, fromEnd, toEnd - b, toEnd});
    fromEnd -= a;
    toEnd -= b;
  }
  while (i < fromEnd && j < toEnd &&
         grow(
             fromEnd - i, toEnd - j, [&](size_t k) { return from[i + k]; },
             [&](size_t k) { return to[j + k]; }, a, b)) {
    front.push_back({i, i + a, j, j + b});
    i += a;
    j += b;
  }
  if (i < fromEnd || j < toEnd)
    front.push_back({i, fromEnd, j, toEnd});
  front.append(back.rbegin(), back.rend());
  return front;
}

/// The bound of the rows that a block of other dims has instead.
static std::optional<NormFact> reshapeNorm(const NormFact &norm,
                                           const Block &block,
                                           ArrayRef<int64_t> from,
                                           ArrayRef<int64_t> to) {
  // A row in parts: none is longer than the whole.
  if (from.size() == 1 && !to.empty())
    return NormFact{int64_t(block.toEnd) - 1, norm.bound, to.back()};
  if (to.size() != 1 || size_t(norm.axis) + 1 != block.fromEnd)
    return std::nullopt;
  // Rows one after another: their squares add up.
  double rows = double(to[0]) / double(from.back());
  return NormFact{int64_t(block.toBegin),
                  norm.bound * std::sqrt(rows) * (1 + 1e-15), to[0]};
}

AbstractValue AbstractValue::reshaped(ArrayRef<int64_t> from,
                                      ArrayRef<int64_t> to,
                                      size_t limit) const {
  assert(from.size() == rank() && "the shape before");
  Dims dims(to.size(), 1);
  if (llvm::is_contained(from, 0) || llvm::is_contained(to, 0)) {
    AbstractValue none(dims, hull());
    none.copyFlags(*this);
    return none;
  }
  Dims target = groupDims; // of this, with the blocks all merged or all kept
  std::optional<NormFact> newNorm;
  std::optional<RowSumFact> newSum;
  for (const Block &block : splitReshape(from, to)) {
    auto own =
        ArrayRef(from).slice(block.fromBegin, block.fromEnd - block.fromBegin);
    auto next = ArrayRef(to).slice(block.toBegin, block.toEnd - block.toBegin);
    bool one = own.size() == 1 && next.size() == 1;
    if (one && own[0] < 0 && next[0] < 0)
      one = true;
    bool countable = llvm::all_of(own, [](int64_t dim) { return dim > 0; }) &&
                     llvm::all_of(next, [](int64_t dim) { return dim > 0; });
    bool kept = false;
    for (size_t axis = block.fromBegin; axis < block.fromEnd; ++axis)
      kept |= groupDims[axis] != 1;
    // All of the block's axes, then fewer if that is too many.
    for (size_t axis = block.fromBegin; axis < block.fromEnd; ++axis)
      target[axis] = kept && countable ? from[axis] : 1;
    if (kept && countable && countGroups(target) > limit) {
      kept = false;
      for (size_t axis = block.fromBegin; axis < block.fromEnd; ++axis)
        target[axis] = 1;
    }
    if (kept && countable)
      for (size_t axis = block.toBegin; axis < block.toEnd; ++axis)
        dims[axis] = to[axis];

    auto inside = [&](int64_t axis) {
      return size_t(axis) >= block.fromBegin && size_t(axis) < block.fromEnd;
    };
    if (rowSum && inside(rowSum->axis) && one) {
      newSum = rowSum;
      newSum->axis = block.toBegin;
    }
    if (norm && inside(norm->axis)) {
      if (one)
        newNorm = NormFact{int64_t(block.toBegin), norm->bound, norm->count};
      else if (countable)
        if (auto moved = reshapeNorm(*norm, block, own, next))
          newNorm = moved;
    }
  }
  AbstractValue result = regrouped(target).withDims(std::move(dims));
  result.norm = newNorm;
  result.rowSum = newSum;
  return result;
}
