//===- ReductionRows.cpp - The rows that a reduction runs over
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Numerics/Infinity.h"

#include "ReductionRows.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

Interval Row::hull() const {
  Interval all = Interval::empty();
  for (const RowTerm &term : terms)
    all = mpopt::hull(all, cells::bound(term.cell));
  return all;
}

Cell Row::mixture() const {
  SmallVector<Cell> cells;
  for (const RowTerm &term : terms)
    cells.push_back(term.cell);
  return mergeCells(cells);
}

llvm::SmallBitVector mpopt::reducedAxes(ArrayRef<int64_t> axes, size_t rank) {
  llvm::SmallBitVector reduced(rank, axes.empty());
  for (int64_t axis : axes)
    if (std::optional<int64_t> known = normalizeAxis(axis, rank))
      reduced.set(*known);
  return reduced;
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

namespace {
/// How many elements the merged ones of some axes make up.
struct Extent {
  Interval count = Interval::point(1);
  double expected = 1;

  void add(int64_t dim) {
    if (dim < 0) {
      count.hi = kInfinity;
      return;
    }
    count = {count.lo * double(dim),
             count.hi == kInfinity && dim == 0 ? 0 : count.hi * double(dim)};
    expected *= double(std::max<int64_t>(dim, 1));
  }
};
} // namespace

/// The result when neither rank nor axes are known: one row of anything between
/// one element and all.
static AbstractValue reduceUnknown(Value input, const AbstractValue &x,
                                   Value result, Reducing &state,
                                   RowFunction function) {
  Extent all;
  MaybeShape shape = getShape(input);
  if (!shape)
    all.add(kDynamic);
  else
    for (int64_t dim : *shape)
      all.add(dim);
  RowTerm term{x.hull(), {std::min(1.0, all.count.hi), all.count.hi}};
  Row row;
  row.terms = term;
  row.count = term.count;
  row.expected = all.expected;
  AbstractValue value(AbstractValue::Dims(TransferContext::rankOf(result), 1),
                      function(row, state));
  return value;
}

/// The index among `to`, row-major, of the element of `from` at `index`; axes
/// of one in `to` are left out.
static size_t project(size_t index, ArrayRef<int64_t> from,
                      ArrayRef<int64_t> to) {
  size_t result = 0, stride = 1;
  for (size_t axis = from.size(); axis-- > 0;) {
    size_t dim = from[axis];
    result += to[axis] == 1 ? 0 : index % dim * stride;
    stride *= to[axis];
    index /= dim;
  }
  return result;
}

/// The least and the largest sum of squares of the rows of each group of
/// `outer`; empty unless the elements are constants.
static std::vector<Interval>
squaresOfConstants(TransferContext &ctx, Value input,
                   const llvm::SmallBitVector &reduced,
                   ArrayRef<int64_t> outer) {
  std::optional<WeightView> view = ctx.weights(input);
  if (!view || view->size() == 0)
    return {};
  AbstractValue::Dims rows(view->shape.begin(), view->shape.end());
  for (unsigned axis : reduced.set_bits())
    rows[axis] = 1;
  std::vector<double> sums(countGroups(rows));
  std::vector<double> held(view->shape.empty() ? 1 : view->shape.back());
  for (int64_t first = 0; first < view->size(); first += held.size()) {
    view->read(first, held);
    double *sum = &sums[project(first, view->shape, rows)];
    for (double element : held) {
      *sum += element * element;
      sum += !rows.empty() && rows.back() > 1;
    }
  }
  std::vector<Interval> squares(countGroups(outer), Interval::empty());
  for (auto [row, sum] : llvm::enumerate(sums)) {
    Interval &group = squares[project(row, rows, outer)];
    group = hull(group, std::isnan(sum) ? Interval{0, kInfinity}
                                        : Interval::point(sum));
  }
  return squares;
}

/// The facts that all rows have in common, with the facts about rows of `x`.
static Row makeRow(const AbstractValue &x, const llvm::SmallBitVector &axes,
                   const Extent &whole, double draws) {
  Row row;
  row.count = whole.count;
  row.expected = whole.expected;
  row.draws = draws;
  double count = whole.count.hi;
  if (x.norm && axes.test(x.norm->axis) && std::isfinite(count) &&
      x.norm->count > 0)
    row.euclid =
        x.norm->bound * std::sqrt(count / double(x.norm->count)) * (1 + 1e-12);
  if (x.rowSum && axes.test(x.rowSum->axis) && x.rowSum->count > 0 &&
      std::isfinite(count))
    row.sum = Interval{x.rowSum->lo, x.rowSum->hi} *
              (count / double(x.rowSum->count));
  return row;
}

AbstractValue mpopt::reduceRows(TransferContext &ctx, Value input,
                                std::optional<llvm::SmallBitVector> axes,
                                bool keepDims, Value result, Reducing &state,
                                RowFunction function) {
  const AbstractValue &x = state.input;
  MaybeShape shape = getShape(input);
  auto finish = [&](AbstractValue value) {
    value.nan |= state.nan;
    value.posInf |= state.posInf;
    value.negInf |= state.negInf;
    value.source =
        x.hasLikely() ? LikelySource::Propagated : LikelySource::Unknown;
    return value;
  };
  if (!shape || !axes || shape->size() != x.rank() || axes->size() != x.rank())
    return finish(reduceUnknown(input, x, result, state, function));

  AbstractValue::Dims outer, dims;
  Extent part, whole;
  double rows = 1;
  for (size_t axis = 0; axis < shape->size(); ++axis) {
    bool reduced = axes->test(axis);
    int64_t groups = x.dims()[axis], dim = (*shape)[axis];
    outer.push_back(reduced ? 1 : groups);
    if (!reduced || keepDims)
      dims.push_back(outer.back());
    if (!reduced) {
      rows *= groups == 1 && dim > 0 ? double(dim) : 1;
      continue;
    }
    whole.add(dim);
    if (groups == 1)
      part.add(dim);
  }

  Row row = makeRow(x, *axes, whole, rows);
  size_t count = countGroups(outer);
  std::vector<std::vector<RowTerm>> terms(count);
  AbstractValue target(outer, std::vector<Cell>(count));
  AbstractValue pair[] = {x, target};
  forEachGroup(x.dims(), pair, [&](size_t, ArrayRef<size_t> at) {
    terms[at[1]].push_back({x.cell(at[0]), part.count});
  });
  std::vector<Cell> cells;
  cells.reserve(count);
  std::vector<Interval> squares = squaresOfConstants(ctx, input, *axes, outer);
  for (auto [group, of] : llvm::enumerate(terms)) {
    row.terms = of;
    if (!squares.empty())
      row.squares = squares[group];
    cells.push_back(function(row, state));
  }
  return finish(AbstractValue(std::move(dims), cells));
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// The least of so many sums of positive terms that is not 0. Terms that vary
/// more than squares of normal numbers, as behind a rectifier, are taken for
/// such squares among zeros: a share p of them has mean^2 / variance p / (3 -
/// p), and where none is left the sum is 0.
static double leastOfSums(double mean, double variance, double count,
                          double draws) {
  double shape = mean * mean / (variance * count);
  double share = std::min(3 * shape / (1 + shape), 1.0);
  double some = share < 1 ? -std::expm1(count * std::log1p(-share)) : 1;
  double square = (mean * mean + variance) / some;
  mean /= some;
  return leastOfPositive(mean, square - mean * mean, draws * some);
}

Cell mpopt::addTerms(ArrayRef<RowTerm> terms, double expected, double draws,
                     Reducing &state) {
  Interval sum = Interval::point(0), reach = sum, all = Interval::empty();
  double magnitude = 0, count = 0, mean = 0, variance = 0;
  // Tails: in quadrature, and the heaviest ones alone (6-norm).
  double squaresUp = 0, squaresDown = 0, sixthUp = 0, sixthDown = 0;
  double each = expected / double(terms.size());
  bool positive = true;
  double leastSum = 0;
  for (const RowTerm &term : terms) {
    Interval x = cells::bound(term.cell);
    sum = sum + cells::repeat(x, term.count);
    all = hull(all, x);
    Interval partial = hull(x, 0.0) * Interval{0, term.count.hi};
    reach = reach + partial;
    magnitude += term.count.hi == 0 ? 0 : (x * term.count.hi).maxAbs();
    if (x.maxAbs() > 0)
      count += term.count.hi;
    mean += each * term.cell.mean;
    variance += each * term.cell.variance;
    positive &= term.cell.likelyLo >= 0;
    leastSum += each * term.cell.likelyLo;
    double up = term.cell.likelyHi - term.cell.mean;
    double down = term.cell.mean - term.cell.likelyLo;
    squaresUp += each * up * up;
    squaresDown += each * down * down;
    sixthUp += each * std::pow(up, 6);
    sixthDown += each * std::pow(down, 6);
  }
  state.passes(reach);
  double gauss = expectedExtreme(draws) * std::sqrt(variance);
  auto tail = [&](double squares, double sixth) {
    return std::min(std::sqrt(squares),
                    std::max(gauss, std::pow(sixth, 1.0 / 6)));
  };
  Interval likely = {mean - tail(squaresDown, sixthDown),
                     mean + tail(squaresUp, sixthUp)};
  if (positive && mean > 0 && variance > 0)
    likely.lo = std::min(
        likely.lo,
        std::max(leastSum, leastSum > 0
                               ? leastOfPositive(mean, variance, draws)
                               : leastOfSums(mean, variance, expected, draws)));
  double error = sumError({&state.accumulator}, count, magnitude);
  if (std::isnan(error))
    error = kInfinity;
  if (all.isEmpty())
    all = Interval::point(0);
  return cells::make(cells::computedSum(sum, all, error), mean, variance,
                     likely);
}
