//===- AbstractValue.cpp - What is known of a tensor's values
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Cells, flags, the lattice and rounding. Groups are in Grouping.cpp.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Ranges/Value/AbstractValue.h"

#include "mpopt/Numerics/FloatRange.h"
#include "mpopt/Numerics/Infinity.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace mpopt;
using llvm::ArrayRef;

llvm::StringRef mpopt::toString(LikelySource source) {
  switch (source) {
  case LikelySource::Weight:
    return "weight";
  case LikelySource::Declared:
    return "declared";
  case LikelySource::Gain:
    return "gain";
  case LikelySource::Embedding:
    return "embedding";
  case LikelySource::Assumption:
    return "assumption";
  case LikelySource::Propagated:
    return "propagated";
  case LikelySource::Unknown:
    return "unknown";
  }
  llvm_unreachable("unknown source");
}

double Cell::absMax() const {
  return empty() ? 0 : std::max(std::fabs(lo), std::fabs(hi));
}

//===----------------------------------------------------------------------===//
// Making
//===----------------------------------------------------------------------===//

AbstractValue::AbstractValue()
    : AbstractValue(Dims(), Cell{-kInfinity, kInfinity}) {
  nan = posInf = negInf = true;
}

AbstractValue::AbstractValue(Dims dims, Cell cell)
    : AbstractValue(std::move(dims), std::vector<Cell>{cell}) {}

AbstractValue::AbstractValue(Dims dims, std::vector<Cell> cells)
    : groupDims(std::move(dims)),
      cells_(std::make_shared<std::vector<Cell>>(std::move(cells))) {
  assert(countGroups(groupDims) == groups() && "one cell a group");
}

AbstractValue AbstractValue::top(size_t rank) {
  AbstractValue value(Dims(rank, 1), Cell{-kInfinity, kInfinity});
  value.nan = value.posInf = value.negInf = true;
  return value;
}

AbstractValue AbstractValue::within(double lo, double hi, size_t rank) {
  return AbstractValue(Dims(rank, 1), Cell{lo, hi});
}

llvm::MutableArrayRef<Cell> AbstractValue::mutableCells() {
  if (cells_.use_count() > 1)
    cells_ = std::make_shared<std::vector<Cell>>(*cells_);
  return *cells_;
}

//===----------------------------------------------------------------------===//
// The whole tensor
//===----------------------------------------------------------------------===//

std::optional<double> AbstractValue::constant() const {
  double first = cell(0).lo;
  if (mayBeNonFinite() || !llvm::all_of(cells(), [&](const Cell &cell) {
        return cell.lo == first && cell.hi == first;
      }))
    return std::nullopt;
  return first;
}

void CellMixture::add(const Cell &cell) {
  sum.lo = std::min(sum.lo, cell.lo);
  sum.hi = std::max(sum.hi, cell.hi);
  sum.likelyLo = std::min(sum.likelyLo, cell.likelyLo);
  sum.likelyHi = std::max(sum.likelyHi, cell.likelyHi);
  // Moments are taken relative to the first mean, as means may be large and
  // close.
  if (count++ == 0)
    origin = cell.mean;
  double offset = cell.mean - origin;
  sum.mean += offset;
  sum.variance += cell.variance + offset * offset;
}

Cell CellMixture::get() const {
  Cell cell = sum;
  double offset = sum.mean / double(count);
  cell.mean = origin + offset;
  cell.variance = std::max(0.0, sum.variance / double(count) - offset * offset);
  return cell;
}

Cell mpopt::mergeCells(ArrayRef<Cell> cells) {
  if (cells.size() == 1)
    return cells.front();
  CellMixture mixture;
  for (const Cell &cell : cells)
    mixture.add(cell);
  return mixture.get();
}

Cell AbstractValue::hull() const { return mergeCells(cells()); }

FloatRange AbstractValue::range(size_t group) const {
  FloatRange range;
  const Cell &cell = this->cell(group);
  range.finite = cell.empty() ? Interval::empty() : Interval{cell.lo, cell.hi};
  range.nan = nan;
  range.posInf = posInf;
  range.negInf = negInf;
  range.minNonZero = minNonZero;
  range.integral = integral;
  return range;
}

FloatRange AbstractValue::range() const {
  if (groups() == 1)
    return range(0);
  AbstractValue whole = merged();
  return whole.range(0);
}

void AbstractValue::setFlags(const FloatRange &range) {
  nan = range.nan;
  posInf = range.posInf;
  negInf = range.negInf;
  minNonZero = range.minNonZero;
  integral = range.integral;
}

void AbstractValue::copyFlags(const AbstractValue &other) {
  nan = other.nan;
  posInf = other.posInf;
  negInf = other.negInf;
  minNonZero = other.minNonZero;
  integral = other.integral;
  source = other.source;
}

//===----------------------------------------------------------------------===//
// Lattice
//===----------------------------------------------------------------------===//

/// More groups than this are not worth it where branches meet.
static constexpr size_t kJoinGroups = 8192;

/// Groups that both values can be given.
static AbstractValue::Dims joinDims(const AbstractValue &lhs,
                                    const AbstractValue &rhs) {
  AbstractValue::Dims dims;
  for (auto [left, right] : llvm::zip(lhs.dims(), rhs.dims()))
    dims.push_back(left == right ? left
                   : left == 1   ? right
                   : right == 1  ? left
                                 : 1);
  if (countGroups(dims) > kJoinGroups)
    dims.assign(dims.size(), 1);
  return dims;
}

AbstractValue AbstractValue::join(const AbstractValue &other) const {
  AbstractValue result, rhs;
  if (rank() == other.rank()) {
    Dims dims = joinDims(*this, other);
    result = regrouped(dims);
    rhs = other.regrouped(dims);
  } else {
    // Ranks that differ per branch: no axis to speak of.
    result = AbstractValue(Dims(), hull());
    result.copyFlags(*this);
    rhs = AbstractValue(Dims(), other.hull());
    rhs.copyFlags(other);
  }
  for (auto [cell, with] : llvm::zip(result.mutableCells(), rhs.cells()))
    cell = mergeCells({cell, with});
  result.nan |= rhs.nan;
  result.posInf |= rhs.posInf;
  result.negInf |= rhs.negInf;
  result.integral &= rhs.integral;
  result.minNonZero = std::min(result.minNonZero, rhs.minNonZero);
  result.source = std::max(result.source, rhs.source);
  result.norm.reset();
  result.rowSum.reset();
  if (norm && other.norm && norm->axis == other.norm->axis &&
      rank() == other.rank())
    result.norm = NormFact{norm->axis, std::max(norm->bound, other.norm->bound),
                           std::max(norm->count, other.norm->count)};
  if (rowSum && other.rowSum && rowSum->axis == other.rowSum->axis &&
      rank() == other.rank())
    result.rowSum =
        RowSumFact{rowSum->axis, std::min(rowSum->lo, other.rowSum->lo),
                   std::max(rowSum->hi, other.rowSum->hi),
                   std::max(rowSum->count, other.rowSum->count)};
  return result;
}

/// Where growing bounds rest: what small counters stay under, and the largest
/// finite values of f16, bf16 and f32.
static double nextStep(double magnitude) {
  for (double step : {0.0, 1.0, 256.0, 65504.0, FloatFormat::bf16().maxFinite,
                      FloatFormat::f32().maxFinite})
    if (magnitude <= step)
      return step;
  return kInfinity;
}

AbstractValue AbstractValue::widened(const AbstractValue &before) const {
  if (rank() != before.rank())
    return top();
  Dims dims = joinDims(*this, before);
  AbstractValue result = regrouped(dims);
  AbstractValue old = before.regrouped(dims);
  for (auto [cell, was] : llvm::zip(result.mutableCells(), old.cells())) {
    if (cell.empty())
      continue;
    if (was.empty() || cell.lo < was.lo)
      cell.lo = cell.lo < 0 ? -nextStep(-cell.lo) : 0;
    if (was.empty() || cell.hi > was.hi)
      cell.hi = cell.hi > 0 ? nextStep(cell.hi) : 0;
  }
  if (result.minNonZero < before.minNonZero)
    result.minNonZero = 0;
  // A norm that grows has no steps to rest on.
  if (result.norm && (!before.norm || result.norm->bound > before.norm->bound))
    result.norm.reset();
  if (result.rowSum &&
      (!before.rowSum || result.rowSum->hi > before.rowSum->hi ||
       result.rowSum->lo < before.rowSum->lo))
    result.rowSum.reset();
  return result;
}

bool AbstractValue::contains(const AbstractValue &other) const {
  if ((other.nan && !nan) || (other.posInf && !posInf) ||
      (other.negInf && !negInf) || (integral && !other.integral) ||
      other.minNonZero < minNonZero)
    return false;
  if (norm && (!other.norm || other.norm->axis != norm->axis ||
               other.norm->bound > norm->bound))
    return false;
  if (rowSum &&
      (!other.rowSum || other.rowSum->axis != rowSum->axis ||
       other.rowSum->lo < rowSum->lo || other.rowSum->hi > rowSum->hi))
    return false;
  if (rank() != other.rank()) {
    Cell hull = other.hull();
    return hull.empty() || llvm::all_of(cells(), [&](const Cell &cell) {
             return cell.lo <= hull.lo && hull.hi <= cell.hi;
           });
  }
  Dims dims = joinDims(*this, other);
  if (llvm::any_of(llvm::zip(dims, this->dims()), [](auto pair) {
        auto [joined, own] = pair;
        return joined < own;
      }))
    return false; // groups that do not correspond
  AbstractValue mine = regrouped(dims), theirs = other.regrouped(dims);
  return llvm::all_of(llvm::zip(mine.cells(), theirs.cells()), [](auto pair) {
    const auto &[outer, inner] = pair;
    return inner.empty() || (outer.lo <= inner.lo && inner.hi <= outer.hi);
  });
}

//===----------------------------------------------------------------------===//
// Rounding
//===----------------------------------------------------------------------===//

static double roundFast(const FloatFormat &format, double value) {
  // The compiler's conversion is the format's rounding.
  if (&format == &FloatFormat::f32())
    return float(value);
  return format.round(value);
}

/// A value that overflows stays what it was.
static double storeEnd(const FloatFormat &format, double value) {
  return std::fabs(value) >= format.overflowFrom ? value
                                                 : roundFast(format, value);
}

/// The estimate is not flushed, either: what is small says by how much, and
/// what is made of it says whether it was lost.
static double storeExpected(const FloatFormat &format, double value) {
  return std::fabs(value) < format.minNormal ? value : storeEnd(format, value);
}

AbstractValue AbstractValue::stored(const FloatFormat *format) const {
  if (!format)
    return *this;
  AbstractValue result = *this;
  bool up = false, down = false;
  for (Cell &cell : result.mutableCells()) {
    if (!cell.empty()) {
      up |= cell.hi >= format->overflowFrom;
      down |= cell.lo <= -format->overflowFrom;
      cell.lo = storeEnd(*format, cell.lo);
      cell.hi = storeEnd(*format, cell.hi);
    }
    cell.likelyLo = storeExpected(*format, cell.likelyLo);
    cell.likelyHi = storeExpected(*format, cell.likelyHi);
    if (cell.variance == 0)
      cell.mean = storeExpected(*format, cell.mean);
  }
  if (format->hasInf) {
    result.posInf |= up;
    result.negInf |= down;
  } else {
    // Overflow becomes NaN in formats that have one but no Inf.
    result.nan |= (up || down || posInf || negInf) && format->hasNaN;
    result.posInf = result.negInf = false;
  }
  // A format without a zero (E8M0) holds a power of two in its place.
  result.integral &= format->hasZero;
  result.minNonZero =
      std::max(storeEnd(*format, minNonZero),
               format->minSubnormal > 0 ? format->minSubnormal : 0);

  // Each element moves by half a unit in its last place, or by half the
  // smallest subnormal; the factor covers this arithmetic, too.
  double unit = format->unitRoundoff() + 1e-15;
  double tiny = format->minSubnormal / 2;
  if (norm)
    result.norm->bound = norm->bound * (1 + unit) * (1 + 1e-15) +
                         std::sqrt(double(norm->count)) * tiny;
  if (rowSum) {
    result.rowSum->lo = rowSum->lo * (1 - unit) - double(rowSum->count) * tiny;
    result.rowSum->hi = rowSum->hi * (1 + unit) + double(rowSum->count) * tiny;
  }
  return result;
}
