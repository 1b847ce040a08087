//===- Pooling.cpp - Spreads of gradients of pools
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Families.h"

#include "lib/Gradients/RowSlopes.h"
#include "lib/Gradients/Sums.h"
#include "mpopt/Dialect/Ops/GradientOps.h"
#include "mpopt/Dialect/Ops/PoolingOps.h"
#include "mpopt/Ranges/Spread/SpreadInterface.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

/// Elements of the window that an output has, and windows that an input is in.
static std::pair<double, double> windowOf(Value grad, Value made,
                                          double window) {
  auto some = getNumElements(getShape(grad)),
       all = getNumElements(getShape(made));
  double ratio = some && all && *all > 0 ? double(*some) / double(*all) : 1;
  return {window, window * ratio};
}

static double product(ArrayRef<int64_t> dims) {
  double all = 1;
  for (int64_t dim : dims)
    all *= double(std::max<int64_t>(dim, 1));
  return all;
}

static Spread imageSpread(BackwardSpreadContext &ctx, Value grad, size_t rank) {
  Spread spread = ctx.spread(grad);
  for (size_t axis = 2; axis < std::min<size_t>(rank, 32); ++axis)
    spread.axes.positions |= 1u << axis;
  return spread;
}

namespace {
/// The slope of a window by one of its elements.
struct WindowSlope {
  Moments moments;
  /// The largest magnitude, and the share of elements that have a slope.
  double peak, live;

  /// `factor` for the part `share` of elements.
  static WindowSlope ofShare(double share, double factor) {
    return {{share * factor, share * share * factor * factor,
             share * factor * factor},
            std::fabs(factor),
            share};
  }
};
} // namespace

/// The sum over `windows` windows of the gradient times the slope.
static void giveWindows(BackwardSpreadContext &ctx, Value grad,
                        const WindowSlope &slope, double windows) {
  Value made = ctx.op()->getResult(0);
  MaybeShape shape = getShape(made);
  AbstractValue dy = ctx.of(grad);
  if (!shape || dy.rank() != shape->size())
    return;
  for (size_t axis = 2; axis < dy.rank(); ++axis)
    dy = dy.merging(int64_t(axis));
  const Spread &before = ctx.spread(grad);
  double draws = ctx.elementsPerGroup(made, dy.groups());
  std::vector<Cell> cells;
  Moments all;
  for (const Cell &cell : dy.cells()) {
    Moments term = Moments::of(cell, before.alike) * slope.moments;
    Moments sum = windows >= 1 ? sumOf(term, {1, 1, windows})
                               : Moments{term.mean * windows,
                                         term.common * windows * windows,
                                         term.square * windows};
    sum.common = term.common * windows * windows;
    Cell own = SpreadContext::normalCell(sum, draws);
    double peak = std::max(std::fabs(cell.likelyLo), std::fabs(cell.likelyHi)) *
                  slope.peak;
    own.likelyLo = std::min(own.likelyLo, -peak);
    own.likelyHi = std::max(own.likelyHi, peak);
    cells.push_back(own);
    all = all + sum;
  }
  AbstractValue value(AbstractValue::Dims(dy.dims()), cells);
  value.source = LikelySource::Propagated;
  Spread spread = imageSpread(ctx, grad, shape->size());
  spread.alike = all.alike();
  spread.steady = all.steadyPart();
  spread.reach *= std::max(1.0, windows >= 1 ? 1.0 : 1 / windows);
  double live = slope.live * (1 - before.zero);
  spread.zero = windows >= 1 ? std::pow(1 - live, windows) : 1 - live * windows;
  ctx.give(0, std::move(value), spread);
}

static void spreadMaxPool(mp::MaxPoolGradOp op, BackwardSpreadContext &ctx) {
  auto [window, windows] =
      windowOf(op.getGrad(), op->getResult(0), product(op.getKernelShape()));
  giveWindows(ctx, op.getGrad(), WindowSlope::ofShare(1 / window, 1), windows);
}
static void spreadAveragePool(mp::AveragePoolGradOp op,
                              BackwardSpreadContext &ctx) {
  auto [window, windows] =
      windowOf(op.getGrad(), op->getResult(0), product(op.getKernelShape()));
  giveWindows(ctx, op.getGrad(), WindowSlope::ofShare(1, 1 / window), windows);
}
static void spreadLpPool(mp::LpPoolGradOp op, BackwardSpreadContext &ctx) {
  auto [window, windows] =
      windowOf(op.getGrad(), op->getResult(0), product(op.getKernelShape()));
  const AbstractValue &x = ctx.of(op.getInput());
  Cell input = x.hull();
  if (auto norm = RowNorm::make(x, op.getP().convertToDouble(), window))
    giveWindows(ctx, op.getGrad(),
                {norm->slope(input), norm->steepest(input), 1}, windows);
}
/// Windows that part the input among them.
static void spreadAdaptive(Operation *op, double share,
                           BackwardSpreadContext &ctx) {
  Value grad = op->getOperand(0), made = op->getResult(0);
  auto some = getNumElements(getShape(grad)),
       all = getNumElements(getShape(made));
  if (!some || !all || *some == 0)
    return;
  double window = std::max(1.0, double(*all) / double(*some));
  if (share > 0) {
    giveWindows(ctx, grad, WindowSlope::ofShare(1 / window, 1), 1);
    return;
  }
  giveWindows(ctx, grad, WindowSlope::ofShare(1, 1 / window), 1);
  // Elements of a window are the same number.
  if (window > 1) {
    MaybeShape shape = getShape(made);
    Spread spread = ctx.spread(made);
    double positions = 1;
    for (size_t axis = 2; shape && axis < shape->size(); ++axis)
      positions *= double(std::max<int64_t>((*shape)[axis], 1));
    if (positions > 1) {
      double outputs = positions / window;
      spread.alike = ((window - 1) + (outputs - 1) * window * spread.alike) /
                     (positions - 1);
      ctx.giveSpread(0, spread);
    }
  }
}
static void spreadAdaptiveMax(mp::AdaptiveMaxPoolGradOp op,
                              BackwardSpreadContext &ctx) {
  spreadAdaptive(op, 1, ctx);
}
static void spreadAdaptiveAverage(mp::AdaptiveAvgPoolGradOp op,
                                  BackwardSpreadContext &ctx) {
  spreadAdaptive(op, 0, ctx);
}

/// A mean over windows of correlated positions: E y^2 = c + (s - c) / window.
/// Windows of correlated elements; the range analysis estimates independent
/// ones.
static void spreadMeanOfWindows(Operation *op, SpreadContext &ctx) {
  Value input = op->getOperand(0), made = op->getResult(0);
  auto all = getNumElements(getShape(input)),
       some = getNumElements(getShape(made));
  const AbstractValue &x = ctx.of(input);
  const Spread &spread = ctx.spread(input);
  size_t rank = TransferContext::rankOf(input);
  if (!all || !some || *some < 1 || x.rank() != rank || rank < 3)
    return;
  double window = std::max(double(*all) / double(*some), 1.0);
  if (auto pool = dyn_cast<mp::AveragePoolOp>(op))
    window = product(pool.getKernelShape());
  auto average = [&](const Moments &term) {
    return averageOf(Moments{0, 0, 1 / window}, term, /*count=*/1);
  };
  Spread result = spread;
  result.unitSum = result.zeroSum = -1;
  result.alike = average({0, spread.alike, 1}).alike();
  if (!changesSum(spread.alike, window))
    return ctx.giveSpread(0, result);
  AbstractValue value = x.keeping({0, 1});
  double draws = ctx.elementsPerGroup(made, value.groups());
  Moments mixed;
  std::vector<Cell> cells;
  for (const Cell &cell : value.cells()) {
    Moments mean = average(Moments::of(cell, spread));
    mixed = mixed + mean;
    cells.push_back(SpreadContext::normalCell(mean, draws));
  }
  result.alike = mixed.alike();
  AbstractValue averages(AbstractValue::Dims(value.dims()), cells);
  averages.source = LikelySource::Propagated;
  ctx.give(0, std::move(averages), result);
}

void mpopt::attachPoolingSpreads(MLIRContext *context) {
  attachSpread<spreadMeanOfWindows, mp::AveragePoolOp, mp::GlobalAveragePoolOp,
               mp::AdaptiveAvgPoolOp>(context);
  attachSpread<spreadMaxPool, mp::MaxPoolGradOp>(context);
  attachSpread<spreadAveragePool, mp::AveragePoolGradOp>(context);
  attachSpread<spreadLpPool, mp::LpPoolGradOp>(context);
  attachSpread<spreadAdaptiveMax, mp::AdaptiveMaxPoolGradOp>(context);
  attachSpread<spreadAdaptiveAverage, mp::AdaptiveAvgPoolGradOp>(context);
}
