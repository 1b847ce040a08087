//===- Elementwise.cpp - Spreads of arithmetic
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Families.h"

#include "lib/Gradients/Slope.h"
#include "lib/Gradients/Sums.h"
#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/ReductionOps.h"
#include "mpopt/Ranges/Spread/SpreadInterface.h"
#include "mpopt/Ranges/Value/Expression.h"

using namespace mlir;
using namespace mpopt;

/// How alike the positions of a result are as far as an operand goes: copies of
/// one position are the same number.
static double alikeIn(SpreadContext &ctx, Value operand, Value result) {
  const Spread &own = ctx.spread(operand);
  MaybeShape from = getShape(operand), to = getShape(result);
  if (!from || !to || to->size() < from->size() || own.axes.batch < 0)
    return own.alike;
  double copies = 1, positions = 1;
  unsigned shift = to->size() - from->size();
  for (size_t axis = 0; axis < to->size(); ++axis) {
    double dim = double(std::max<int64_t>((*to)[axis], 1));
    if (axis < shift || (*from)[axis - shift] != (*to)[axis])
      copies *= dim;
    else if (own.axes.isPosition(int64_t(axis - shift)))
      positions *= dim;
  }
  if (copies == 1)
    return own.alike;
  return ((copies - 1) + (positions - 1) * copies * own.alike) /
         (copies * positions - 1);
}

static Moments momentsIn(SpreadContext &ctx, Value operand, Value result) {
  return Moments::of(ctx.of(operand).hull(), alikeIn(ctx, operand, result),
                     ctx.spread(operand).steady);
}

static bool isRandom(SpreadContext &ctx, Value value) {
  return ctx.isGradient(value) || ctx.spread(value).axes.batch >= 0;
}

/// A forward op whose result is as its operands are: uncorrelated, and of their
/// shape, so that no position is copied.
static bool isSimple(Operation *op, SpreadContext &ctx) {
  MaybeShape shape = getShape(op->getResult(0));
  return ctx.isUncorrelated() &&
         llvm::all_of(op->getOperands(), [&](Value operand) {
           return ctx.spread(operand).axes.batch < 0 ||
                  getShape(operand) == shape;
         });
}

/// A forward op whose operands depend on one value, and on nothing else.
static bool giveExpression(Operation *op, SpreadContext &ctx) {
  if (ctx.computesGradient())
    return false;
  std::optional<Expression> expression = Expression::of(op);
  if (!expression || !ctx.of(expression->variable()).hasLikely())
    return false;
  giveFunctionSpread(ctx, expression->variable(),
                     [&](double x) { return expression->evaluate(x); });
  return true;
}

/// The hits of a sum of two: an element is hit where either is, and what is
/// left of rows that neither hits is lost with the one that is there at all.
static void giveSummedHits(Operation *op, BackwardSpreadContext &ctx) {
  if (op->getNumOperands() != 2 || !ctx.isGradient(op->getOperand(0)) ||
      !ctx.isGradient(op->getOperand(1)))
    return;
  const Hits *lhs = ctx.hits(op->getOperand(0));
  const Hits *rhs = ctx.hits(op->getOperand(1));
  if (!lhs || !rhs || lhs->share.rank() != rhs->share.rank())
    return;
  AbstractValue::Dims dims;
  for (auto [own, other] : llvm::zip(lhs->share.dims(), rhs->share.dims()))
    dims.push_back(std::max(own, other));
  AbstractValue share = lhs->share.regrouped(dims),
                other = rhs->share.regrouped(dims),
                rest = lhs->rest.regrouped(dims),
                more = rhs->rest.regrouped(dims);
  double left = 0, right = 0;
  for (size_t group = 0; group < share.groups(); ++group) {
    CellRef cell = share.mutableCells()[group];
    cell.mean = 1 - (1 - cell.mean) * (1 - other.cell(group).mean);
    CellRef sum = rest.mutableCells()[group];
    left += sum.mean;
    right += more.cell(group).mean;
    sum.mean += more.cell(group).mean;
  }
  const Losses &first = ctx.losses(op->getOperand(0));
  const Losses &second = ctx.losses(op->getOperand(1));
  Losses losses = ctx.combineLosses();
  if (left == 0)
    losses.rest = second.rest;
  else if (right == 0)
    losses.rest = first.rest;
  ctx.giveLosses(0, losses);
  ctx.giveHits(0, {std::move(share), std::move(rest)});
}

/// The position axes over which `mean` is the mean of `x`; empty if it is none.
static SmallVector<int64_t> axesOfMean(Value x, Value mean,
                                       SpreadContext &ctx) {
  auto reduction = getMaker<mp::ReduceMeanOp>(mean);
  if (!reduction || !reduction.getKeepDims() ||
      peel(reduction.getInput()) != peel(x))
    return {};
  auto axes = getReducedAxes(reduction, ctx.shapes());
  if (!axes || !llvm::all_of(*axes, [&](int64_t axis) {
        return ctx.spread(x).axes.isPosition(axis);
      }))
    return {};
  return SmallVector<int64_t>(axes->begin(), axes->end());
}

/// x - mean(x) over positions of one sample: what they have in common cancels,
/// and 1 / n of the rest. By the law of total variance.
static bool giveCentred(Operation *op, SpreadContext &ctx) {
  if (!isa<mp::SubOp>(op) || ctx.computesGradient())
    return false;
  Value x = op->getOperand(0);
  SmallVector<int64_t> axes = axesOfMean(x, op->getOperand(1), ctx);
  const Spread &own = ctx.spread(x);
  double count = axes.empty() ? 1 : ctx.countTerms(x, axes).all();
  if (!changesSum(own.alike, count))
    return false;
  AbstractValue value = ctx.of(op->getResult(0));
  const AbstractValue known =
      ctx.of(x).withRank(value.rank()).regrouped(value.dims());
  double rest = (1 - own.alike) * (1 - 1 / count);
  for (auto [cell, of] : llvm::zip(value.mutableCells(), known.cells())) {
    double variance = of.variance * rest;
    double scale = std::sqrt(variance / cell.variance);
    if (!(scale < 1))
      continue;
    cell.likelyLo = cell.mean - scale * (cell.mean - cell.likelyLo);
    cell.likelyHi = cell.mean + scale * (cell.likelyHi - cell.mean);
    cell.variance = variance;
  }
  Spread spread = ctx.combineOperands(op->getResult(0));
  spread.alike = 0;
  spread.zeroSum = axes.size() == 1 ? int(axes.front()) : -1;
  ctx.give(0, std::move(value), spread);
  return true;
}

/// Sums and differences: variances add, each as alike as it is.
static void spreadSum(Operation *op, SpreadContext &ctx) {
  if (isSimple(op, ctx) || giveExpression(op, ctx) || giveCentred(op, ctx))
    return;
  OpResult result = op->getResult(0);
  Spread spread = ctx.combineOperands(result);
  double weight = 0, alike = 0, factors = 0, zero = 1, zeroRows = 1;
  double response = 0;
  for (Value operand : op->getOperands()) {
    double part = ctx.of(operand).hull().variance;
    const Spread &its = ctx.spread(operand);
    zero *= its.zero;
    // Positions without a target have no gradient in any branch.
    zeroRows = ctx.computesGradient() ? std::min(zeroRows, its.zeroRows)
                                      : zeroRows * its.zeroRows;
    // All summands have to add up to 0.
    if (its.zeroSum != ctx.spread(op->getOperand(0)).zeroSum)
      spread.zeroSum = -1;
    if (!std::isfinite(part))
      continue;
    weight += part;
    if (isRandom(ctx, operand))
      alike += part * alikeIn(ctx, operand, result);
    factors += part * ctx.spread(operand).factors;
    response += part * ctx.spread(operand).response;
  }
  spread.alike = weight > 0 ? std::min(alike / weight, 1.0) : 0;
  spread.factors = weight > 0 ? factors / weight : 1;
  spread.response = weight > 0 ? response / weight : 0;
  spread.zero = std::max(zero, zeroRows);
  spread.zeroRows = zeroRows;
  if (auto *backward = dyn_cast<BackwardSpreadContext>(&ctx))
    giveSummedHits(op, *backward);
  ctx.giveSpread(0, spread);
}

/// A factor counts as random if its spread is not small beside its size.
static double countFactors(SpreadContext &ctx, Value value) {
  Cell cell = ctx.of(value).hull();
  double square = cell.mean * cell.mean + cell.variance;
  if (ctx.isGradient(value))
    return ctx.spread(value).factors;
  return square > 0 && cell.variance > 0.25 * square ? ctx.spread(value).factors
                                                     : 0;
}

static void spreadProduct(Operation *op, SpreadContext &ctx) {
  if (isSimple(op, ctx) || giveExpression(op, ctx))
    return;
  OpResult result = op->getResult(0);
  Value lhs = op->getOperand(0), rhs = op->getOperand(1);
  Spread spread = ctx.combineOperands(result);
  Moments a = momentsIn(ctx, lhs, result), b = momentsIn(ctx, rhs, result);
  // A factor that is the same for all samples scales channels.
  if (!isRandom(ctx, lhs))
    spread.alike = alikeIn(ctx, rhs, result);
  else if (!isRandom(ctx, rhs))
    spread.alike = alikeIn(ctx, lhs, result);
  else {
    Moments product = a * b;
    // A factor that the gradient depends on.
    for (auto [grad, its, other] :
         {std::tuple{lhs, a, b}, std::tuple{rhs, b, a}}) {
      if (!ctx.isGradient(grad) || other.square <= 0)
        continue;
      product.steady +=
          responseToItself(ctx, grad) * its.variance() * other.variance();
      spread.response *= other.mean * other.mean / other.square;
    }
    spread.alike = product.alike();
    spread.steady = product.steadyPart();
    spread.zeroSum = -1;
  }
  spread.factors = countFactors(ctx, lhs) + countFactors(ctx, rhs);
  spread.zero = 1 - (1 - ctx.spread(lhs).zero) * (1 - ctx.spread(rhs).zero);
  ctx.giveSpread(0, spread);
}

/// The gradient of a logarithm or quotient, divided by a function of one
/// number: near a zero of that the mean and deviation of the denominator do not
/// tell the mean square of its reciprocal.
static bool giveReciprocal(mp::DivOp op, SpreadContext &ctx) {
  auto *backward = dyn_cast<BackwardSpreadContext>(&ctx);
  if (!backward || !ctx.isGradient(op.getLhs()) || ctx.isGradient(op.getRhs()))
    return false;
  std::optional<Expression> expression = Expression::ofValue(op.getRhs());
  if (!expression ||
      getShape(expression->variable()) != getShape(op.getResult()))
    return false;
  // A number of one sign is no normal one: sums of squares and the like have
  // the least that likely::reciprocal expects.
  const AbstractValue &x = ctx.of(expression->variable());
  Cell hull = x.hull();
  if (!x.hasLikely() || hull.likelyLo >= 0 || hull.likelyHi <= 0)
    return false;
  giveSlope(
      *backward, op.getLhs(), expression->variable(),
      [&](double x) { return 1 / expression->evaluate(x); },
      /*peaked=*/true);
  return true;
}

/// dX x, divided: a quotient's denominator is a forward value.
static void spreadQuotient(mp::DivOp op, SpreadContext &ctx) {
  if (isSimple(op, ctx) || giveReciprocal(op, ctx) || giveExpression(op, ctx))
    return;
  Spread spread = ctx.combineOperands(op->getResult(0));
  spread.alike = alikeIn(ctx, op.getLhs(), op.getResult());
  spread.zero = ctx.spread(op.getLhs()).zero;
  spread.factors = countFactors(ctx, op.getLhs());
  ctx.giveSpread(0, spread);
}

/// A gradient where a condition holds, else another or none.
static void spreadWhere(mp::WhereOp op, SpreadContext &ctx) {
  OpResult result = op->getResult(0);
  if (!ctx.computesGradient())
    return;
  const AbstractValue &condition = ctx.of(op.getCondition());
  double share =
      condition.hasLikely() ? std::clamp(condition.hull().mean, 0.0, 1.0) : 0.5;
  Value lhs = op.getLhs(), rhs = op.getRhs();
  if (ctx.isGradient(lhs) == ctx.isGradient(rhs))
    return;
  bool left = ctx.isGradient(lhs);
  Value grad = left ? lhs : rhs;
  double part = left ? share : 1 - share;
  MaybeShape shape = getShape(result);
  AbstractValue value = ctx.of(grad);
  if (!shape)
    return;
  value = value.withRank(shape->size());
  for (CellRef cell : value.mutableCells()) {
    double square = part * (cell.mean * cell.mean + cell.variance);
    cell.mean *= part;
    cell.variance = std::max(0.0, square - cell.mean * cell.mean);
    cell.likelyLo = std::min(cell.likelyLo, 0.0);
    cell.likelyHi = std::max(cell.likelyHi, 0.0);
  }
  Spread spread = ctx.combineOperands(result);
  Moments before = momentsIn(ctx, grad, result);
  // Which positions are left is a matter of chance.
  spread.alike = Moments{before.mean * part, before.common * part * part,
                         before.square * part}
                     .alike();
  spread.zero = 1 - part * (1 - ctx.spread(grad).zero);
  spread.factors = ctx.spread(grad).factors;
  // Masked elements of a softmax are 0 before they are masked again.
  if (ctx.spread(grad).zeroSum >= 0 &&
      ctx.spread(grad).zero > 0.5 * (1 - part)) {
    spread = ctx.spread(grad);
    value = ctx.of(grad);
  }
  ctx.give(0, std::move(value), spread);
}

void mpopt::attachElementwiseSpreads(MLIRContext *context) {
  attachSpread<spreadSum, mp::AddOp, mp::SubOp, mp::AddNOp>(context);
  attachSpread<spreadProduct, mp::MulOp>(context);
  attachSpread<spreadQuotient, mp::DivOp>(context);
  attachSpread<spreadWhere, mp::WhereOp>(context);
}
