//===- Reduction.cpp - Spreads of sums and means
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Families.h"

#include "lib/Gradients/Sums.h"
#include "mpopt/Dialect/Ops/GradientOps.h"
#include "mpopt/Dialect/Ops/ReductionOps.h"
#include "mpopt/Ranges/Spread/SpreadInterface.h"
#include "mpopt/Ranges/Value/RowSupport.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

template <typename OpTy> static void spreadSum(OpTy op, SpreadContext &ctx) {
  Value input = op.getInput();
  int64_t rank = TransferContext::rankOf(input);
  MaybeShape shape = getShape(input);
  SmallVector<int64_t> axes;
  if (auto given = op.getAxes()) {
    for (int64_t axis : *given)
      if (auto normal = normalizeAxis(axis, rank))
        axes.push_back(*normal);
  } else if (op->getNumOperands() > 1) {
    auto known = ctx.shapes().constants(op->getOperand(1));
    if (!known)
      return;
    for (int64_t axis : *known)
      if (auto normal = normalizeAxis(axis, rank))
        axes.push_back(*normal);
  }
  if (axes.empty())
    axes = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  if (!shape || ctx.of(input).rank() != size_t(rank))
    return;
  double factor = 1;
  if constexpr (std::is_same_v<OpTy, mp::ReduceMeanOp>)
    factor = 1 / ctx.countTerms(input, axes).all();
  giveSum(ctx, 0, input, axes, op.getKeepDims(), factor);
}

/// dY times the product of the other elements, which are independent.
static void spreadProd(mp::ReduceProdGradOp op, SpreadContext &ctx) {
  Value grad = op.getGrad(), input = op.getInput();
  auto all = getNumElements(getShape(input)),
       rows = getNumElements(getShape(grad));
  if (!all || !rows || *rows == 0 || !ctx.of(input).hasLikely())
    return;
  double others = double(*all) / double(*rows) - 1;
  Moments dy = ctx.moments(grad), x = ctx.moments(input);
  Moments slope{dy.mean * std::pow(x.mean, others),
                dy.common * std::pow(x.common, others),
                dy.square * std::pow(x.square, others)};
  AbstractValue value(AbstractValue::Dims(TransferContext::rankOf(input), 1),
                      SpreadContext::normalCell(slope, double(*all)));
  value.source = LikelySource::Propagated;
  Spread spread = ctx.spread(input);
  spread.alike = slope.alike();
  spread.factors = ctx.spread(grad).factors + others;
  ctx.give(0, std::move(value), spread);
}

/// Moments of the sums up to each place, whose terms have a part in common.
static void sumByPlace(AbstractValue &value, int64_t axis, bool reverse,
                       const Spread &own, double draws) {
  auto cells = value.mutableCells();
  cells::forEachLine(value, axis, reverse, [&](ArrayRef<size_t> line) {
    // The common parts add up as numbers, the others as variances.
    double mean = 0, shared = 0, rest = 0;
    for (size_t group : line) {
      CellRef cell = cells[group];
      Moments term = Moments::of(cell, own);
      mean += term.mean;
      shared += std::sqrt(std::max(term.common - term.mean * term.mean, 0.0));
      rest += term.square - term.common;
      Moments sum{mean, 0, mean * mean + shared * shared + rest};
      if (group != line.front())
        cells::setLikely(
            cell, cells::getLikely(SpreadContext::normalCell(sum, draws)));
    }
  });
}

/// The sum of the first i + 1 of n elements, i even among the n. With s the
/// square and c the common product of elements
///
///   E y^2 = (n + 1) / 2 (s - c) + (n + 1) (2 n + 1) / 6 c
///
/// and of two sums, of which the shorter has on average a third of the elements
/// and their product of lengths is (n + 1) (3 n + 2) / 12,
///
///   E y y' = (n + 1) / 3 (s - c) + (n + 1) (3 n + 2) / 12 c.
static void spreadCumSum(mp::CumSumOp op, SpreadContext &ctx) {
  Value input = op.getInput();
  const Spread &own = ctx.spread(input);
  std::optional<int64_t> axis =
      cells::findAxis(ctx, input, op.getAxis(), op.getDynamicAxis());
  std::optional<int64_t> count =
      axis ? TransferContext::dimOf(input, *axis) : std::nullopt;
  const AbstractValue &x = ctx.of(input);
  if (!count || !changesSum(own.alike, double(*count)) || op.getExclusive() ||
      !isa<FloatType>(getElementType(input)) ||
      x.rank() != TransferContext::rankOf(input))
    return;
  double n = double(*count);
  AbstractValue value = AbstractValue::boundedLike(x.merging(*axis));
  double draws = ctx.elementsPerGroup(op.getResult(), value.groups());
  Moments all;
  for (CellRef cell : value.mutableCells()) {
    Moments term = Moments::of(cell, own);
    double rest = term.square - term.common;
    Moments sum{(n + 1) / 2 * term.mean,
                (n + 1) / 3 * rest + (n + 1) * (3 * n + 2) / 12 * term.common,
                (n + 1) / 2 * rest + (n + 1) * (2 * n + 1) / 6 * term.common};
    all = all + sum;
    // From the first term to the longest sum.
    Moments last{n * term.mean, 0, n * rest + n * n * term.common};
    Cell longest = SpreadContext::normalCell(last, std::max(draws / n, 1.0));
    cell.likelyLo = std::min(cell.likelyLo, longest.likelyLo);
    cell.likelyHi = std::max(cell.likelyHi, longest.likelyHi);
    cell.mean = sum.mean;
    cell.variance = sum.variance();
  }
  if (auto places = cells::byPlace(ctx, input, *axis)) {
    value = AbstractValue::boundedLike(*places);
    sumByPlace(value, *axis, op.getReverse(), own,
               ctx.elementsPerGroup(op.getResult(), value.groups()));
  }
  value.source = LikelySource::Propagated;
  Spread spread = ctx.combineOperands(op->getResult(0));
  spread.unitSum = spread.zeroSum = -1;
  spread.zero = 0;
  spread.alike = all.alike();
  ctx.give(0, std::move(value), spread);
}

void mpopt::attachReductionSpreads(MLIRContext *context) {
  attachSpread<spreadSum<mp::ReduceSumOp>, mp::ReduceSumOp>(context);
  attachSpread<spreadSum<mp::ReduceMeanOp>, mp::ReduceMeanOp>(context);
  attachSpread<spreadProd, mp::ReduceProdGradOp>(context);
  attachSpread<spreadCumSum, mp::CumSumOp>(context);
}
