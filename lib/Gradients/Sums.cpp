//===- Sums.cpp - Sums of numbers that vary together
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Sums.h"

#include "mpopt/Numerics/Likely.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

//===----------------------------------------------------------------------===//
// Moments
//===----------------------------------------------------------------------===//

Moments mpopt::sumOf(const Moments &term, const TermCount &count) {
  // One sample: its positions are alike.
  double positions = count.positions, mean = positions * term.mean;
  double square =
      positions * (positions - 1) * term.common + positions * term.square;
  double common = positions * positions * term.common;
  // Samples and channels are independent, given the mean.
  double many = count.channels * count.samples;
  double whole = count.all() * term.mean;
  // But for what all of a channel's samples have in common.
  double steady = count.channels * positions * positions * term.steady;
  double rest = whole * whole + count.samples * (count.samples - 1) * steady;
  return {whole, many * (common - mean * mean) + rest,
          many * (square - mean * mean) + rest,
          count.samples * count.samples * steady};
}

//===----------------------------------------------------------------------===//
// Sums of one tensor
//===----------------------------------------------------------------------===//

static uint32_t dropAxes(uint32_t positions, ArrayRef<int64_t> axes,
                         size_t rank, bool keepDims) {
  uint32_t result = 0;
  unsigned to = 0;
  for (size_t axis = 0; axis < std::min<size_t>(rank, 32); ++axis) {
    bool dropped = llvm::is_contained(axes, int64_t(axis));
    if (!dropped)
      result |= (positions >> axis & 1) << to;
    to += !dropped || keepDims;
  }
  return result;
}

static int dropAxis(int batch, ArrayRef<int64_t> axes, bool keepDims) {
  if (batch < 0 || llvm::is_contained(axes, batch))
    return -1;
  return keepDims ? batch : batch - int(llvm::count_if(axes, [&](int64_t axis) {
                              return axis < batch;
                            }));
}

/// The spread of a sum but for what its moments say.
static Spread spreadOfSum(const Spread &spread, ArrayRef<int64_t> axes,
                          size_t rank, bool keepDims) {
  Spread its = spread;
  its.axes.positions = dropAxes(spread.axes.positions, axes, rank, keepDims);
  its.axes.batch = dropAxis(spread.axes.batch, axes, keepDims);
  its.unitSum = its.zeroSum = -1;
  its.alikeInRow = -1;
  its.response = its.steady = its.zeroRows = 0;
  its.balanced = its.bounded = false;
  return its;
}

namespace {
/// The sum of one tensor along axes, group by group.
class AxisSum {
public:
  AxisSum(SpreadContext &ctx, unsigned index, Value of,
          const AbstractValue &whole, const Spread &spread,
          ArrayRef<int64_t> axes, bool keepDims, double factor);

  AbstractValue sum();
  /// The spread of the terms that `sum` has added.
  Spread spreadOfAll() const;
  void giveLosses(BackwardSpreadContext &backward) const;

private:
  Moments termOf(const Cell &cell) const;
  /// Facts about the terms of a sum.
  struct TermEnds {
    /// The largest likely magnitude of one, and the sum of the least of each.
    double most = 0, leastSum = 0;
    bool positive = true;
  };
  void sumGroups(std::vector<Moments> &sums, std::vector<TermEnds> &ends) const;
  Cell cellOf(const Moments &sum, const TermEnds &ends, double draws) const;
  Hits sumHits(const Hits &hits) const;
  AbstractValue withoutAxes(AbstractValue summed) const;

  SpreadContext &ctx;
  unsigned index;
  Value of;
  const Spread &spread;
  ArrayRef<int64_t> axes;
  bool keepDims;
  double factor;
  /// Positions whose means differ are one group here: the terms of a sum.
  AbstractValue value;
  /// The groups of the result with the summed axes, of size 1.
  AbstractValue::Dims target;
  /// The terms of each group of `value`, and all of a sum.
  TermCount count;
  double terms;
  Moments all;
};
} // namespace

AxisSum::AxisSum(SpreadContext &ctx, unsigned index, Value of,
                 const AbstractValue &whole, const Spread &spread,
                 ArrayRef<int64_t> axes, bool keepDims, double factor)
    : ctx(ctx), index(index), of(of), spread(spread), axes(axes),
      keepDims(keepDims), factor(factor), value(whole),
      terms(ctx.countTerms(of, axes).all()) {
  SmallVector<int64_t> merged;
  for (int64_t axis : axes) {
    if (axis == spread.axes.batch || spread.axes.isPosition(axis))
      value = value.merging(axis);
    if (value.dims()[axis] == 1)
      merged.push_back(axis);
  }
  target.assign(value.dims().begin(), value.dims().end());
  for (int64_t axis : axes)
    target[axis] = 1;
  count = ctx.countTerms(of, spread.axes, merged);
}

Moments AxisSum::termOf(const Cell &cell) const {
  Moments term = Moments::of(cell, spread);
  if (!spread.balanced || spread.axes.batch < 0 ||
      !llvm::is_contained(axes, spread.axes.batch))
    return term;
  double square = term.mean * term.mean;
  return {term.mean, square, term.square - term.common + square, 0};
}

/// The sums of the groups that go into each of the result's.
void AxisSum::sumGroups(std::vector<Moments> &sums,
                        std::vector<TermEnds> &ends) const {
  SmallVector<size_t> strides(value.rank());
  size_t stride = 1;
  for (size_t axis = value.rank(); axis-- > 0; stride *= target[axis])
    strides[axis] = target[axis] == 1 ? 0 : stride;
  for (size_t group = 0; group < value.groups(); ++group) {
    size_t rest = group, into = 0;
    for (size_t axis = value.rank(); axis-- > 0;) {
      into += rest % value.dims()[axis] * strides[axis];
      rest /= value.dims()[axis];
    }
    Cell cell = value.cell(group);
    sums[into] = sums[into] + sumOf(termOf(cell), count);
    TermEnds &of = ends[into];
    of.most =
        std::max({of.most, std::fabs(cell.likelyLo), std::fabs(cell.likelyHi)});
    of.positive &= cell.likelyLo >= 0;
    of.leastSum += cell.likelyLo * count.all();
  }
}

Cell AxisSum::cellOf(const Moments &sum, const TermEnds &ends,
                     double draws) const {
  Cell cell = SpreadContext::normalCell(sum, draws);
  // Gradients whose estimate happens to be positive are no such terms.
  if (ends.positive && factor > 0 && cell.mean > 0 && cell.variance > 0 &&
      !ctx.computesGradient())
    cell.likelyLo = std::min(
        cell.mean, std::max(ends.leastSum * factor,
                            leastOfPositive(cell.mean, cell.variance, draws)));
  // A single huge term decides.
  double least = ends.most * std::fabs(factor);
  if (cell.likelyHi < least && -cell.likelyLo < least)
    (cell.mean < 0 ? cell.likelyLo : cell.likelyHi) =
        cell.mean < 0 ? -least : least;
  return cell;
}

AbstractValue AxisSum::withoutAxes(AbstractValue summed) const {
  if (keepDims)
    return summed;
  AbstractValue::Dims dims;
  for (size_t axis = 0; axis < target.size(); ++axis)
    if (!llvm::is_contained(axes, int64_t(axis)))
      dims.push_back(target[axis]);
  return summed.withDims(std::move(dims));
}

AbstractValue AxisSum::sum() {
  size_t groups = AbstractValue(target, Cell{0, 0}).groups();
  std::vector<Moments> sums(groups);
  std::vector<TermEnds> ends(groups);
  sumGroups(sums, ends);
  double draws = ctx.elementsPerGroup(ctx.op()->getResult(index), groups);
  std::vector<Cell> cells;
  for (auto [sum, its] : llvm::zip(sums, ends)) {
    Moments scaled = sum.scaled(factor);
    cells.push_back(cellOf(scaled, its, draws));
    all = all + scaled;
  }
  AbstractValue summed = withoutAxes(AbstractValue(target, cells));
  summed.source = LikelySource::Propagated;
  return summed;
}

Spread AxisSum::spreadOfAll() const {
  Spread its = spreadOfSum(spread, axes, value.rank(), keepDims);
  its.alike = all.alike();
  its.steady = all.steadyPart();
  its.zero = std::pow(spread.zero, terms);
  if (terms >= kFewTerms)
    its.factors = 1;
  return its;
}

Hits AxisSum::sumHits(const Hits &hits) const {
  AbstractValue share = hits.share.regrouped(target);
  AbstractValue rest = hits.rest.regrouped(target);
  for (CellRef cell : share.mutableCells())
    cell.mean = -std::expm1(terms * std::log1p(-std::min(cell.mean, 1.0)));
  // Those that are not hit have one sign.
  for (CellRef cell : rest.mutableCells())
    cell.mean *= terms * terms * factor * factor;
  return {withoutAxes(std::move(share)), withoutAxes(std::move(rest))};
}

void AxisSum::giveLosses(BackwardSpreadContext &backward) const {
  Losses losses = backward.losses(of);
  if (const Hits *hits = backward.hits(of)) {
    backward.giveHits(index, sumHits(*hits));
    losses.rest = losses.rest.ofSums(terms);
  } else {
    losses.hit = losses.hit.ofSums(terms);
  }
  backward.giveLosses(index, losses);
}

void mpopt::giveSum(SpreadContext &ctx, unsigned index, Value of,
                    const AbstractValue &whole, const Spread &spread,
                    ArrayRef<int64_t> axes, bool keepDims, double factor) {
  // The range analysis has the sum of uncorrelated elements.
  if (double positions = ctx.countTerms(of, spread.axes, axes).positions;
      !ctx.computesGradient() && !changesSum(spread.alike, positions)) {
    Spread its = spreadOfSum(spread, axes, whole.rank(), keepDims);
    its.alike = sumOf({0, spread.alike, 1}, {1, 1, positions}).alike();
    return ctx.giveSpread(index, its);
  }
  AxisSum sum(ctx, index, of, whole, spread, axes, keepDims, factor);
  AbstractValue summed = sum.sum();
  if (ctx.isGradient(of))
    sum.giveLosses(cast<BackwardSpreadContext>(ctx));
  ctx.give(index, std::move(summed), sum.spreadOfAll());
}

void mpopt::giveSum(SpreadContext &ctx, unsigned index, Value value,
                    ArrayRef<int64_t> axes, bool keepDims, double factor) {
  giveSum(ctx, index, value, ctx.of(value), ctx.spread(value), axes, keepDims,
          factor);
}
