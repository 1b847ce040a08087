//===- AbstractValue.cpp - What is known of a tensor's values
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cells, flags, the lattice and rounding. Groups are in Grouping.cpp.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Ranges/Value/AbstractValue.h"

#include "CellKernels.h"
#include "mpopt/Ranges/Value/CellSupport.h"

#include "mpopt/Numerics/FloatRange.h"
#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Numerics/StorageFormat.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>

using namespace mpopt;
using namespace mpopt::cells;
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

//===----------------------------------------------------------------------===//
// Making
//===----------------------------------------------------------------------===//

AbstractValue::AbstractValue()
    : AbstractValue(Dims(), Cell{-kInfinity, kInfinity}) {
  nan = posInf = negInf = true;
}

AbstractValue::AbstractValue(Dims dims, const Cell &cell)
    : groupDims(std::move(dims)), cells_(countGroups(groupDims), cell) {}

AbstractValue::AbstractValue(Dims dims, Cells cells)
    : groupDims(std::move(dims)), cells_(std::move(cells)) {
  assert(countGroups(groupDims) == groups() && "one cell a group");
}

AbstractValue::AbstractValue(Dims dims, ArrayRef<Cell> cells)
    : AbstractValue(std::move(dims), Cells(cells)) {}

AbstractValue AbstractValue::top(size_t rank) {
  AbstractValue value(Dims(rank, 1), Cell{-kInfinity, kInfinity});
  value.nan = value.posInf = value.negInf = true;
  return value;
}

AbstractValue AbstractValue::within(double lo, double hi, size_t rank) {
  return AbstractValue(Dims(rank, 1), Cell{lo, hi});
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

Cell AbstractValue::hull() const { return cells().merged(); }

Magnitudes AbstractValue::magnitudes() const {
  auto largest = [](const FieldNumbers &a, const FieldNumbers &b) {
    return loops().magnitude(a.data(), b.data(), a.size());
  };
  FieldNumbers lo = cells()[Field::Lo], hi = cells()[Field::Hi];
  Magnitudes result;
  if (hasLikely())
    result.likely = 0;
  // Most values have no empty bound.
  if (lo.size() == hi.size() && llvm::all_of(llvm::zip(lo, hi), [](auto ends) {
        return std::get<0>(ends) <= std::get<1>(ends);
      })) {
    result.bound = largest(lo, hi);
    if (!hasLikely())
      return result;
    FieldNumbers likelyLo = cells()[Field::LikelyLo];
    FieldNumbers likelyHi = cells()[Field::LikelyHi];
    result.likely =
        std::max(largest(likelyLo, likelyLo), largest(likelyHi, likelyHi));
    return result;
  }
  for (const Cell &cell : cells()) {
    if (cell.empty())
      continue;
    result.bound = std::max(result.bound, cell.absMax());
    if (result.likely)
      result.likely = std::max(
          {*result.likely, std::fabs(cell.likelyLo), std::fabs(cell.likelyHi)});
  }
  return result;
}

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

/// Rounds the numbers of a field that are at least `least` in magnitude. Cells
/// that are shared stay so if nothing changes.
static void roundField(Cells &cells, Field field,
                       const NumberRounding &rounding, double least) {
  {
    FieldNumbers known = std::as_const(cells)[field];
    if (loops().isRounded(rounding, least, known.data(), known.size()))
      return;
  }
  llvm::MutableArrayRef<double> numbers = cells.mutate(field);
  loops().round(rounding, least, numbers.data(), numbers.size());
}

/// Means of values that do not vary.
static void roundMeans(Cells &cells, const NumberRounding &rounding) {
  FieldNumbers variances = std::as_const(cells)[Field::Variance];
  auto isZero = [](double variance) { return variance == 0; };
  if (llvm::all_of(variances, isZero))
    return roundField(cells, Field::Mean, rounding, rounding.minNormal);
  if (llvm::any_of(variances, isZero))
    for (CellRef cell : cells.mutate())
      if (cell.variance == 0)
        loops().round(rounding, rounding.minNormal, &cell.mean, 1);
}

/// Ends that overflow stay. An estimate is not flushed, either: what is small
/// says by how much, and what is made of it says whether it was lost.
static void roundCells(Cells &cells, const FloatFormat &format) {
  NumberRounding rounding(format);
  for (Field field : {Field::Lo, Field::Hi})
    roundField(cells, field, rounding, 0);
  for (Field field : {Field::LikelyLo, Field::LikelyHi})
    roundField(cells, field, rounding, rounding.minNormal);
  roundMeans(cells, rounding);
}

void AbstractValue::fit(const FloatFormat *format, bool seenUnrounded) {
  double limit = norm ? norm->bound : kInfinity;
  CellLimits limits{-limit, limit, format ? format->flushAt : 0, hasLikely()};
  if (rowSum) {
    limits.lo = std::max(limits.lo, 0.0);
    limits.hi = std::min(limits.hi, rowSum->hi);
  }
  Cells before = cells_;
  MutableCells all = mutableCells();
  CellFit fit = loops().fit(limits, all);
  if (fit.losesLikely)
    source = LikelySource::Unknown;
  minNonZero = std::max(minNonZero, fit.smallest);
  if (integral)
    minNonZero = std::max(minNonZero, 1.0);
  const FloatFormat &f32 = FloatFormat::f32();
  if (format && format->digits <= f32.digits) {
    // An estimate that ends where the bound does goes on doing so.
    if (format != &f32 || seenUnrounded) {
      loops().widen(all[Field::Lo].data(), all[Field::Hi].data(), groups());
      loops().widen(all[Field::LikelyLo].data(), all[Field::LikelyHi].data(),
                    groups());
    }
    NumberRounding rounding(f32);
    for (size_t field = 0; field < kFields; ++field)
      loops().round(rounding, rounding.minNormal, all[Field(field)].data(),
                    groups());
  }
  cells_.pack();
  // Nothing changes in most values that an op passes on.
  if (cells_.isIdentical(before))
    cells_ = before;
}

void AbstractValue::saturate(const Interval &ends) {
  auto clip = [&](double end) { return std::clamp(end, ends.lo, ends.hi); };
  for (CellRef cell : mutableCells()) {
    Interval its = bound(cell);
    if (!its.isEmpty())
      its = {clip(its.lo), clip(its.hi)};
    if (posInf)
      its = mpopt::hull(its, ends.hi);
    if (negInf)
      its = mpopt::hull(its, ends.lo);
    setBound(cell, its);
  }
  posInf = negInf = false;
  rowSum.reset();
}

AbstractValue AbstractValue::stored(const FloatFormat *format) const {
  if (!format)
    return *this;
  AbstractValue result = *this;
  bool up = llvm::any_of(cells()[Field::Hi],
                         [&](double hi) { return hi >= format->overflowFrom; });
  bool down = llvm::any_of(cells()[Field::Lo], [&](double lo) {
    return lo <= -format->overflowFrom;
  });
  // Numbers that are held as floats are rounded already.
  bool isHeld = format == &FloatFormat::f32() && cells_.isNarrow();
  if (format != &FloatFormat::f64() && !isHeld)
    roundCells(result.cells_, *format);
  StorageFormat storage = *format;
  if (storage.saturates) {
    // The result of storing a NaN is not defined.
    result.posInf |= nan;
    result.negInf |= nan;
    result.saturate(storage.ends());
  } else if (format->hasInf) {
    result.posInf |= up;
    result.negInf |= down;
  } else {
    // Overflow becomes NaN in formats that have one but no Inf.
    result.nan |= up || down || posInf || negInf;
    result.posInf = result.negInf = false;
  }
  // A format without a zero (E8M0) holds a power of two in its place.
  result.integral &= format->hasZero;
  // Bounds past an edge that becomes Inf stay.
  double least = storage.round(minNonZero);
  result.minNonZero =
      std::max(std::isfinite(least) ? least : minNonZero,
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

void AbstractValue::admitUnrounded(const AbstractValue &before) {
  for (auto [cell, old] : llvm::zip_equal(mutableCells(), before.cells()))
    if (!old.empty())
      setBound(cell, mpopt::hull(bound(cell), bound(old)));
  minNonZero = std::min(minNonZero, before.minNonZero);
}
