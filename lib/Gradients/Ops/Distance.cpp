//===- Distance.cpp - Spreads of gradients of norms and distances
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An element's slope is that of the norm of its row, or of the row of
// differences that it is in (lib/Gradients/RowSlopes.h). Rows of two operands
// are independent.
//
//===----------------------------------------------------------------------===//

#include "Families.h"

#include "lib/Gradients/RowSlopes.h"
#include "mpopt/Dialect/Ops/GradientOps.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Ranges/Spread/SpreadInterface.h"
#include "mpopt/Ranges/Value/CellSupport.h"
#include "mpopt/Ranges/Value/GradientSupport.h"
#include "mpopt/Ranges/Value/RowSupport.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace mpopt;

static std::optional<double> elementsOf(Value value) {
  std::optional<int64_t> count = getNumElements(getShape(value));
  return count && *count > 0 ? std::optional(double(*count)) : std::nullopt;
}

/// The size of an axis, which may be counted from the end.
static std::optional<int64_t> sizeOf(Value value, int64_t axis) {
  std::optional<int64_t> normal =
      normalizeAxis(axis, TransferContext::rankOf(value));
  std::optional<int64_t> size =
      normal ? TransferContext::dimOf(value, *normal) : std::nullopt;
  return size && *size > 0 ? size : std::nullopt;
}

/// Result `index`, the gradient by `input`: in each group of `slopes` the
/// gradient of the whole result times the slope, summed over `terms` places.
static void giveSlopes(BackwardSpreadContext &ctx, unsigned index, Value grad,
                       Value input, const AbstractValue &groups,
                       llvm::function_ref<Moments(const Cell &)> slope,
                       llvm::function_ref<double(const Cell &)> steepest,
                       double terms = 1) {
  Moments dy = ctx.moments(grad);
  double size = cells::getLikely(ctx.of(grad).hull()).absMax();
  AbstractValue value(AbstractValue::Dims(groups.dims()), groups.cells());
  double draws = ctx.elementsPerGroup(input, value.groups());
  Moments all;
  for (CellRef cell : value.mutableCells()) {
    Moments sum = sumOf(dy * slope(cell), {1, 1, std::max(terms, 1.0)});
    double peak = size * steepest(cell);
    Cell own = SpreadContext::normalCell(sum, draws);
    if (terms <= 1)
      own = Cell{-peak, peak, sum.mean, sum.variance(), -peak, peak};
    cell = own;
    all = all + sum;
  }
  value.source = LikelySource::Propagated;
  Spread spread = ctx.spread(input);
  spread.unitSum = spread.zeroSum = -1;
  spread.factors = ctx.spread(grad).factors + 1;
  spread.zero = ctx.spread(grad).zero;
  if (terms > 1)
    spread.alike = all.alike();
  ctx.give(index, std::move(value), spread);
}

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

static void spreadNorm(mp::NormGradOp op, BackwardSpreadContext &ctx) {
  const AbstractValue &x = ctx.of(op.getInput());
  auto all = elementsOf(op.getInput()), rows = elementsOf(op.getGrad());
  if (!all || !rows || op.getWanted().size() != 1 ||
      x.rank() != TransferContext::rankOf(op.getInput()))
    return;
  double p = std::fabs(op.getOrd().convertToDouble());
  if (auto norm = RowNorm::make(x, p, *all / *rows))
    giveSlopes(
        ctx, 0, op.getGrad(), op.getInput(), x,
        [&](const Cell &cell) { return norm->slope(cell); },
        [&](const Cell &cell) { return norm->steepest(cell); });
}

/// dY times `factor`: what a row's own norm takes off is 1 of as many parts as
/// the row has elements.
static void giveScaled(BackwardSpreadContext &ctx, Value grad, double factor,
                       double count) {
  AbstractValue value = ctx.of(grad);
  double left = std::sqrt(std::max(0.0, 1 - 1 / count));
  for (CellRef cell : value.mutableCells()) {
    cell.mean *= factor;
    cell.variance *= factor * factor * left * left;
    cell.likelyLo *= factor;
    cell.likelyHi *= factor;
    cell.lo = cell.likelyLo;
    cell.hi = cell.likelyHi;
  }
  value.source = LikelySource::Propagated;
  ctx.give(0, std::move(value), ctx.spread(grad));
}

static void spreadLpNormalize(mp::LpNormalizeGradOp op,
                              BackwardSpreadContext &ctx) {
  std::optional<int64_t> count = sizeOf(op.getInput(), op.getAxis());
  if (!count)
    return;
  double least = op.getEpsilon().convertToDouble();
  if (auto norm = RowNorm::make(ctx.of(op.getInput()),
                                op.getP().convertToDouble(), double(*count)))
    giveScaled(ctx, op.getGrad(), 1 / std::max(norm->size(), least),
               double(*count));
}

/// Slices that are shorter than the limit stay as they are.
static void spreadRenorm(mp::RenormGradOp op, BackwardSpreadContext &ctx) {
  auto all = elementsOf(op.getInput());
  std::optional<int64_t> slices = sizeOf(op.getInput(), op.getAxis());
  if (!all || !slices)
    return;
  double count = *all / double(*slices);
  auto norm =
      RowNorm::make(ctx.of(op.getInput()), op.getP().convertToDouble(), count);
  if (!norm)
    return;
  double factor = op.getMaxNorm().convertToDouble() / norm->size();
  if (factor < 1)
    giveScaled(ctx, op.getGrad(), factor, count);
  else
    giveScaled(ctx, op.getGrad(), 1, kInfinity);
}

//===----------------------------------------------------------------------===//
// Distances
//===----------------------------------------------------------------------===//

/// The estimate of independent elements of both, by group where both are
/// grouped along the last axis alone.
static AbstractValue differenceOf(const AbstractValue &lhs,
                                  const AbstractValue &rhs) {
  auto last = [](const AbstractValue &value) {
    if (value.rank() == 0)
      return AbstractValue(AbstractValue::Dims(1, 1), value.hull());
    AbstractValue kept = value.keeping({int64_t(value.rank()) - 1});
    return AbstractValue(AbstractValue::Dims(1, value.dims().back()),
                         kept.cells());
  };
  AbstractValue a = last(lhs), b = last(rhs);
  AbstractValue::Dims dims(1, std::max(a.dims()[0], b.dims()[0]));
  if (a.dims()[0] != b.dims()[0] && a.dims()[0] != 1 && b.dims()[0] != 1)
    dims[0] = 1;
  AbstractValue difference = a.regrouped(dims);
  AbstractValue other = b.regrouped(dims);
  size_t group = 0;
  for (CellRef cell : difference.mutableCells()) {
    Cell x = cell, z = other.cell(group++);
    double least = x.likelyLo - z.likelyHi, most = x.likelyHi - z.likelyLo;
    cell = Cell{least, most, x.mean - z.mean, x.variance + z.variance,
                least, most};
  }
  difference.source = LikelySource::Propagated;
  return difference;
}

/// The slope of a distance by an element of `own`. Distances from one row have
/// its elements in common.
static Moments slopeOf(const RowNorm &norm, const Cell &difference,
                       double own) {
  Moments slope = norm.slope(difference);
  double part =
      difference.variance > 0 ? std::min(1.0, own / difference.variance) : 0;
  slope.common =
      slope.mean * slope.mean + part * (slope.square - slope.mean * slope.mean);
  return slope;
}

/// The gradient by `input` of distances of rows of `count` elements, each row
/// of which is in `terms`.
static void giveDistance(BackwardSpreadContext &ctx, unsigned index, Value grad,
                         Value input, const AbstractValue &other, double p,
                         double count, double terms, bool squared = false) {
  const AbstractValue &x = ctx.of(input);
  if (!x.hasLikely() || !other.hasLikely())
    return;
  AbstractValue difference = differenceOf(x, other);
  auto norm = RowNorm::make(difference, p, count);
  if (!norm)
    return;
  double factor = squared ? 2 * norm->size() : 1;
  int64_t rank = TransferContext::rankOf(input);
  AbstractValue groups = difference;
  groups = rank > 0 ? groups.withRank(rank)
                    : AbstractValue(AbstractValue::Dims(), groups.hull());
  double own = x.hull().variance;
  giveSlopes(
      ctx, index, grad, input, groups,
      [&](const Cell &cell) {
        return slopeOf(*norm, cell, own).scaled(factor);
      },
      [&](const Cell &cell) { return norm->steepest(cell) * factor; }, terms);
}

static void spreadCdist(mp::CdistGradOp op, BackwardSpreadContext &ctx) {
  Value sides[] = {op.getFirst(), op.getSecond()};
  std::optional<int64_t> count = sizeOf(sides[0], -1);
  auto distances = elementsOf(op.getGrad());
  if (!count || !distances)
    return;
  for (auto [index, number] : llvm::enumerate(op.getWanted())) {
    unsigned side = gradients::slotOf(op, number) - 1;
    if (auto all = elementsOf(sides[side]))
      giveDistance(ctx, unsigned(index), op.getGrad(), sides[side],
                   ctx.of(sides[1 - side]), op.getP().convertToDouble(),
                   double(*count), *distances *double(*count) / *all,
                   op.getSquared());
  }
}

static void spreadDist(mp::DistGradOp op, BackwardSpreadContext &ctx) {
  Value sides[] = {op.getFirst(), op.getSecond()};
  auto first = elementsOf(sides[0]), second = elementsOf(sides[1]);
  if (!first || !second)
    return;
  double count = std::max(*first, *second);
  for (auto [index, number] : llvm::enumerate(op.getWanted())) {
    unsigned side = gradients::slotOf(op, number) - 1;
    giveDistance(ctx, unsigned(index), op.getGrad(), sides[side],
                 ctx.of(sides[1 - side]), op.getP().convertToDouble(), count,
                 count / *elementsOf(sides[side]));
  }
}

/// Each of n rows is in the distances from n - 1 others.
static void spreadPdist(mp::PdistGradOp op, BackwardSpreadContext &ctx) {
  Value input = op.getInput();
  std::optional<int64_t> rows = sizeOf(input, 0), count = sizeOf(input, 1);
  if (rows && count && *rows > 1)
    giveDistance(ctx, 0, op.getGrad(), input, ctx.of(input),
                 op.getP().convertToDouble(), double(*count),
                 double(*rows - 1));
}

/// By a: (b / |b| - c a / |a|) / |a|, c the cosine, of whose square the means
/// of elements tell a part.
static void spreadCosine(mp::CosineSimilarityGradOp op,
                         BackwardSpreadContext &ctx) {
  Value sides[] = {op.getFirst(), op.getSecond()};
  auto rows = elementsOf(op.getGrad()), first = elementsOf(sides[0]),
       second = elementsOf(sides[1]);
  Moments moments[] = {ctx.moments(sides[0]), ctx.moments(sides[1])};
  if (!rows || !first || !second || !ctx.of(sides[0]).hasLikely() ||
      !ctx.of(sides[1]).hasLikely() ||
      !(moments[0].square > 0 && moments[1].square > 0))
    return;
  double all = std::max(*first, *second), count = std::max(1.0, all / *rows);
  double squares = moments[0].square * moments[1].square;
  double cosine = moments[0].mean * moments[1].mean / std::sqrt(squares);
  double left = std::max(0.0, 1 - cosine * cosine) * (1 - 1 / count);
  for (auto [index, number] : llvm::enumerate(op.getWanted())) {
    unsigned side = gradients::slotOf(op, number) - 1;
    const Moments &own = moments[side];
    double size = std::sqrt(count * own.square);
    const AbstractValue &x = ctx.of(sides[side]);
    double peak = cells::getLikely(ctx.of(sides[1 - side]).hull()).absMax() /
                  std::sqrt(count * moments[1 - side].square) / size;
    giveSlopes(
        ctx, unsigned(index), op.getGrad(), sides[side], x,
        [&](const Cell &) {
          return Moments{0, 0, left / count / (size * size)};
        },
        [&](const Cell &) { return std::min(peak, 1 / size); },
        all / *elementsOf(sides[side]));
  }
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

static void giveWhole(BackwardSpreadContext &ctx, Value input,
                      const Moments &slope, double factors) {
  std::optional<double> count = elementsOf(input);
  if (!count)
    return;
  AbstractValue value(AbstractValue::Dims(TransferContext::rankOf(input), 1),
                      SpreadContext::normalCell(slope, *count));
  value.source = LikelySource::Propagated;
  Spread spread = ctx.spread(input);
  spread.unitSum = spread.zeroSum = -1;
  spread.alike = slope.alike();
  spread.factors = factors;
  ctx.give(0, std::move(value), spread);
}

static void spreadCumProd(mp::CumProdGradOp op, BackwardSpreadContext &ctx) {
  Value input = op.getInput();
  std::optional<int64_t> axis =
      cells::findAxis(ctx, input, op.getAxis(), op.getDynamicAxis());
  std::optional<int64_t> count = axis ? sizeOf(input, *axis) : std::nullopt;
  // A product of more factors is 0 or Inf, whatever they are; a bound on time.
  constexpr int64_t kMost = 1 << 14;
  if (count && *count <= kMost && ctx.of(input).hasLikely())
    giveWhole(ctx, input,
              cumulativeProductSlope(ctx.moments(op.getGrad()),
                                     ctx.moments(input), *count),
              double(*count) / 2);
}

static void spreadDet(mp::DetGradOp op, BackwardSpreadContext &ctx) {
  Value input = op.getInput();
  std::optional<int64_t> size = sizeOf(input, -1);
  if (size && ctx.of(input).hasLikely())
    giveWhole(
        ctx, input,
        cofactorSlope(ctx.moments(op.getGrad()), ctx.moments(input), *size),
        double(*size));
}

void mpopt::attachDistanceSpreads(MLIRContext *context) {
  attachSpread<spreadNorm, mp::NormGradOp>(context);
  attachSpread<spreadLpNormalize, mp::LpNormalizeGradOp>(context);
  attachSpread<spreadRenorm, mp::RenormGradOp>(context);
  attachSpread<spreadCdist, mp::CdistGradOp>(context);
  attachSpread<spreadDist, mp::DistGradOp>(context);
  attachSpread<spreadPdist, mp::PdistGradOp>(context);
  attachSpread<spreadCosine, mp::CosineSimilarityGradOp>(context);
  attachSpread<spreadCumProd, mp::CumProdGradOp>(context);
  attachSpread<spreadDet, mp::DetGradOp>(context);
}
