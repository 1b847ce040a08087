//===- Cells.cpp - The numbers of a tensor's groups, in arrays
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Ranges/Value/Cells.h"

#include "CellKernels.h"
#include "mpopt/Numerics/Infinity.h"

#include "llvm/ADT/STLExtras.h"

#include <cstring>
#include <utility>
#include <vector>

using namespace mpopt;
using llvm::ArrayRef;
using llvm::MutableArrayRef;

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

void *Cells::Block::operator new(size_t header, size_t bytes) {
  return ::operator new(header + bytes);
}
// NOLINTNEXTLINE(misc-new-delete-overloads): it matches that `new`.
void Cells::Block::operator delete(void *block) { ::operator delete(block); }

Cells::Block::Block(size_t count, uint32_t uniform, bool narrow)
    : count(count), length(0), uniform(uniform), narrow(narrow) {
  for (size_t field = 0; field < kFields; ++field) {
    first[field] = length;
    length += uniform >> field & 1 ? 1 : count;
  }
}

Cell Cells::Block::readPacked(size_t group) const {
  auto at = [&](Field field) -> double {
    size_t index =
        first[size_t(field)] + (uniform >> unsigned(field) & 1 ? 0 : group);
    return narrow ? floats()[index] : numbers()[index];
  };
  return {at(Field::Lo),       at(Field::Hi),       at(Field::Mean),
          at(Field::Variance), at(Field::LikelyLo), at(Field::LikelyHi)};
}

Cells::BlockRef Cells::makeBlock(size_t count, uint32_t uniform, bool narrow) {
  size_t once = llvm::popcount(uniform);
  size_t length = once + (kFields - once) * count;
  size_t bytes = length * (narrow ? sizeof(float) : sizeof(double));
  return new (bytes) Block(count, uniform, narrow);
}

// A bit for each field.
static constexpr uint32_t kAllFields = (1 << kFields) - 1;

Cells::Cells(size_t count, const Cell &cell)
    : block(makeBlock(count, count > 1 ? kAllFields : 0)) {
  if (count > 0)
    CellRef(block->numbers(), 1) = cell;
}

Cells::Cells(size_t count) : block(makeBlock(count, 0)) {}

Cells::Cells(ArrayRef<Cell> cells) : Cells(cells.size()) {
  for (auto [group, cell] : llvm::enumerate(cells))
    CellRef(block->numbers() + group, cells.size()) = cell;
}

MutableCells Cells::mutate() {
  if (block->uniform) {
    Cells dense(size());
    for (size_t index = 0; index < kFields; ++index) {
      Field field = Field(index);
      double *to = dense.own(field).data();
      if (isUniform(field))
        std::fill_n(to, size(), get(field, 0));
      else
        llvm::copy(std::as_const(*this)[field], to);
    }
    *this = std::move(dense);
  }
  unshare();
  return {block->numbers(), size()};
}

void Cells::unshare() {
  if (block->UseCount() == 1 && !isNarrow())
    return;
  BlockRef copy = makeBlock(block->count, block->uniform);
  if (isNarrow())
    std::copy_n(block->floats(), block->length, copy->numbers());
  else
    std::copy_n(block->numbers(), block->length, copy->numbers());
  block = std::move(copy);
}

MutableArrayRef<double> Cells::mutate(Field field) {
  unshare();
  return own(field);
}

bool Cells::isIdentical(const Cells &other) const {
  return block == other.block ||
         (size() == other.size() && block->uniform == other.block->uniform &&
          isNarrow() == other.isNarrow() &&
          std::memcmp(block->numbers(), other.block->numbers(),
                      block->length *
                          (isNarrow() ? sizeof(float) : sizeof(double))) == 0);
}

void Cells::keepMoments() {
  MutableCells all = mutate();
  for (Field field : {Field::Lo, Field::LikelyLo})
    llvm::fill(all[field], -kInfinity);
  for (Field field : {Field::Hi, Field::LikelyHi})
    llvm::fill(all[field], kInfinity);
  pack();
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

Cells Cells::gathered(ArrayRef<uint32_t> groups) const {
  // One group becomes several alike.
  if (size() == 1 && groups.size() > 1)
    return Cells(groups.size(), front());
  Cells result(makeBlock(groups.size(), block->uniform, isNarrow()));
  auto gather = [&](const auto *numbers, auto *to) {
    for (size_t field = 0; field < kFields; ++field) {
      const auto *from = numbers + block->first[field];
      if (isUniform(Field(field)))
        *to++ = *from;
      else
        for (uint32_t group : groups)
          *to++ = from[group];
    }
  };
  if (isNarrow())
    gather(block->floats(), result.block->floats());
  else
    gather(block->numbers(), result.block->numbers());
  return result;
}

/// Bit for bit: zeros of either sign are kept apart, NaNs are not.
template <typename Number>
static bool isUniformArray(const Number *numbers, size_t count) {
  return std::memcmp(numbers, numbers + 1, (count - 1) * sizeof(Number)) == 0;
}

void Cells::pack() {
  if (isNarrow() || size() < 2)
    return;
  uint32_t uniform = block->uniform;
  for (size_t field = 0; field < kFields; ++field)
    if (!isUniform(Field(field)) &&
        isUniformArray(block->numbers() + block->first[field], size()))
      uniform |= 1 << field;
  bool narrow = cells::loops().areFloats(block->numbers(), block->length);
  if (uniform == block->uniform && !narrow)
    return;
  Cells packed(makeBlock(size(), uniform, narrow));
  auto copy = [&](auto *to) {
    for (size_t field = 0; field < kFields; ++field) {
      const double *from = block->numbers() + block->first[field];
      to = std::copy_n(from, uniform >> field & 1 ? 1 : size(), to);
    }
  };
  if (narrow)
    copy(packed.block->floats());
  else
    copy(packed.block->numbers());
  *this = std::move(packed);
}

//===----------------------------------------------------------------------===//
// Merging
//===----------------------------------------------------------------------===//

/// The chains of all fields side by side: each waits for its own last step.
template <typename Number> Cell Cells::Block::merge(const Number *from) const {
  auto at = [&](Field field) { return from + first[size_t(field)]; };
  auto lengthOf = [&](Field field) -> size_t {
    return uniform >> unsigned(field) & 1 ? 1 : count;
  };
  Cell sum{kInfinity, -kInfinity, 0, 0, kInfinity, -kInfinity};
  auto addEnds = [&](Field low, Field high, double &lo, double &hi) {
    const Number *lows = at(low), *highs = at(high);
    size_t ofLow = lengthOf(low), ofHigh = lengthOf(high);
    for (size_t group = 0; group < std::max(ofLow, ofHigh); ++group) {
      lo = std::min(lo, double(lows[std::min(group, ofLow - 1)]));
      hi = std::max(hi, double(highs[std::min(group, ofHigh - 1)]));
    }
  };
  addEnds(Field::Lo, Field::Hi, sum.lo, sum.hi);
  addEnds(Field::LikelyLo, Field::LikelyHi, sum.likelyLo, sum.likelyHi);
  // Moments are taken relative to the first mean, as means may be large and
  // close.
  const Number *mean = at(Field::Mean), *variance = at(Field::Variance);
  size_t means = lengthOf(Field::Mean), variances = lengthOf(Field::Variance);
  double origin = count > 0 ? mean[0] : 0, squares = 0;
  for (size_t group = 0; group < std::max(means, variances); ++group) {
    if (group < means) {
      double offset = mean[group] - origin;
      sum.mean += offset;
      squares += offset * offset;
    }
    if (group < variances)
      sum.variance += variance[group];
  }
  double offset = sum.mean / double(means);
  sum.mean = origin + offset;
  sum.variance = std::max(0.0, sum.variance / double(variances) +
                                   (squares / double(means) - offset * offset));
  return sum;
}

Cell Cells::merged() const {
  if (size() == 1)
    return front();
  return isNarrow() ? block->merge(block->floats())
                    : block->merge(block->numbers());
}

Cell mpopt::mergeCells(ArrayRef<Cell> cells) {
  return cells.size() == 1 ? cells.front() : Cells(cells).merged();
}

Cells mpopt::mergeGroups(const Cells &cells, ArrayRef<uint32_t> into,
                         size_t count) {
  Cells result(count, Cell{kInfinity, -kInfinity, 0, 0, kInfinity, -kInfinity});
  MutableCells sums = result.mutate();
  std::vector<double> origins(count), sizes(count);
  auto merge = [&](Field field, auto pick) {
    MutableArrayRef<double> to = sums[field];
    for (size_t group = 0; group < into.size(); ++group)
      to[into[group]] = pick(to[into[group]], cells.get(field, group));
  };
  auto least = [](double a, double b) { return std::min(a, b); };
  auto greatest = [](double a, double b) { return std::max(a, b); };
  merge(Field::Lo, least);
  merge(Field::Hi, greatest);
  merge(Field::LikelyLo, least);
  merge(Field::LikelyHi, greatest);
  // The last of a group's means is as good an origin as the first.
  for (size_t group = 0; group < into.size(); ++group) {
    origins[into[group]] = cells.get(Field::Mean, group);
    ++sizes[into[group]];
  }
  for (size_t group = 0; group < into.size(); ++group) {
    size_t to = into[group];
    double offset = cells.get(Field::Mean, group) - origins[to];
    sums[Field::Mean][to] += offset;
    sums[Field::Variance][to] +=
        cells.get(Field::Variance, group) + offset * offset;
  }
  for (size_t to = 0; to < count; ++to) {
    double offset = sums[Field::Mean][to] / sizes[to];
    sums[Field::Mean][to] = origins[to] + offset;
    sums[Field::Variance][to] =
        std::max(0.0, sums[Field::Variance][to] / sizes[to] - offset * offset);
  }
  return result;
}
