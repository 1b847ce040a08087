//===- WeightedMean.cpp - Quotients of sums with the same weights
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// sum(w x) / sum(w), with w >= 0, is among the x that it averages, however
// small the divisor is: masked means, linear attention with q k for w, kernels
// that are normalised by their own sums. The estimate only: rows of x that
// numerator and divisor pair with other weights are not told apart, nor is a
// guard of the divisor that outweighs it.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Ranges/Relations/RelationSupport.h"
#include "mpopt/Ranges/Value/CellSupport.h"

#include "RowScale.h"
#include "SumOfProducts.h"

#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/LinearOps.h"
#include "mpopt/Dialect/Ops/ReductionOps.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::relations;

namespace {
/// The x that a quotient averages, and a number that it is multiplied by.
struct Averaged {
  Value x;
  double scale;
  /// The averages are of elements so far, the first ones of few.
  bool running;
};
} // namespace

static std::optional<Averaged> findAveraged(mp::DivOp op,
                                            TransferContext &ctx) {
  Rounding rounding;
  SumOfProducts below =
      SumOfProducts::of(peelGuards(op.getRhs(), rounding, ctx), {}, ctx);
  if (!below.sums || below.factors.empty() || below.bias)
    return std::nullopt;
  SumOfProducts above = SumOfProducts::of(op.getLhs(), below.factors, ctx);
  if (!above.sums || above.factors.size() != below.factors.size() + 1 ||
      above.bias)
    return std::nullopt;
  for (Value weight : below.factors) {
    auto same = llvm::find_if(above.factors, [&](Value factor) {
      return isSameExpression(factor, weight);
    });
    if (same == above.factors.end() || !isNotNegative(weight, ctx))
      return std::nullopt;
    above.factors.erase(same);
  }
  double scale = above.number / below.number;
  if (!std::isfinite(scale))
    return std::nullopt;
  return Averaged{above.factors.front(), scale, above.running || below.running};
}

/// A gradient on its way to the weights: what it meets there is as small as the
/// divisor is. By the size of weights that make it, E 1/s^2 is 1 / E s^2.
static void divideBySize(mp::DivOp op, AbstractValue &value,
                         TransferContext &ctx) {
  const AbstractValue &x = ctx.of(op.getLhs()), &sum = ctx.of(op.getRhs());
  if (!x.hasLikely() || !sum.hasLikely())
    return;
  AbstractValue above = x.withRank(value.rank()).regrouped(value.dims());
  AbstractValue below = sum.withRank(value.rank()).regrouped(value.dims());
  for (auto [group, cell] : llvm::enumerate(value.mutableCells())) {
    const Cell a = above.cell(group), s = below.cell(group);
    double size = std::sqrt(s.mean * s.mean + s.variance);
    if (!(size > 0))
      continue;
    cells::setLikely(cell, Likely{a.mean / size, a.variance / (size * size),
                                  a.likelyLo / size, a.likelyHi / size});
  }
}

void relations::expectWeightedMean(Value result, AbstractValue &value,
                                   TransferContext &ctx) {
  auto op = result.getDefiningOp<mp::DivOp>();
  if (!op || !value.hasLikely())
    return;
  auto averaged = findAveraged(op, ctx);
  if (!averaged) {
    for (Operation *user : op.getRhs().getUsers())
      if (auto other = dyn_cast<mp::DivOp>(user);
          other && other != op && other.getRhs() == op.getRhs() &&
          findAveraged(other, ctx))
        return divideBySize(op, value, ctx);
    return;
  }
  const AbstractValue &x = ctx.of(averaged->x);
  if (!x.hasLikely())
    return;
  Cell all = x.hull();
  double scale = averaged->scale;
  expectWithin(value, Interval{all.likelyLo, all.likelyHi} * scale);
  // An average varies no more than the averaged do (Jensen), and weights that
  // depend on them move it by their deviation at most. Running averages differ
  // by position, which one variance of all does not tell.
  if (averaged->running)
    return;
  double mean = all.mean * scale, variance = all.variance * scale * scale;
  double deviation = std::sqrt(variance);
  for (CellRef cell : value.mutableCells()) {
    cell.mean = std::clamp(cell.mean, mean - deviation, mean + deviation);
    cell.variance = std::min(cell.variance, variance);
  }
}
