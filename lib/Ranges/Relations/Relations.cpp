//===- Relations.cpp - What related operands say of a result
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   x - max(x) <= 0, x - min(x) >= 0, x - max(x, y) <= 0, x - min(x, y) >= 0
//   sum(exp(x - max(x))) >= 1
//   z - log(sum(exp(z))) <= 0
//   mean(x y) - mean(x) mean(y) is expected to be 0, or the variance
//
// Quotients by a norm of the own row are in RowQuotient.cpp, sums in which
// values cancel in Affine.cpp, functions of one value in
// ../Value/ExpressionBounds.cpp.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Ranges/Relations/Relations.h"

#include "Probabilities.h"

#include "mpopt/Ranges/Relations/RelationSupport.h"
#include "mpopt/Ranges/Value/ElementwiseSupport.h"
#include "mpopt/Ranges/Value/Expression.h"
#include "mpopt/Ranges/Value/RowSupport.h"

#include "mpopt/Dialect/CentralMoment.h"
#include "mpopt/Dialect/Composite.h"
#include "mpopt/Dialect/MPDialect.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/IndexingOps.h"
#include "mpopt/Dialect/Ops/LinearOps.h"
#include "mpopt/Dialect/Ops/PoolingOps.h"
#include "mpopt/Dialect/Ops/ReductionOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Numerics/LikelyGroups.h"
#include "mpopt/Numerics/Unary.h"

#include "llvm/ADT/TypeSwitch.h"

#include <numeric>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::relations;

//===----------------------------------------------------------------------===//
// Differences
//===----------------------------------------------------------------------===//

/// x - max(x), x - min(x): exact, since an extreme is one of the elements.
static void refineByExtreme(mp::SubOp op, Operation *reduction, bool swapped,
                            AbstractValue &value, TransferContext &ctx) {
  Value x = swapped ? op.getRhs() : op.getLhs();
  Value extreme = swapped ? op.getLhs() : op.getRhs();
  Rounding error;
  getReduction(extreme, &error);
  peel(x, &error);
  peel(reduction->getOperand(0), &error);
  std::optional<Axes> axes = getReducedAxes(reduction, ctx.shapes());
  if (!axes || error.relative > 0 || error.absolute > 0 ||
      peel(x, Peel::Rounded) != peel(reduction->getOperand(0), Peel::Rounded) ||
      !isRowScale(extreme, x, *axes))
    return;
  bool negative = isa<mp::ReduceMaxOp>(reduction) != swapped;
  clamp(value, negative ? -kInfinity : 0, negative ? 0 : kInfinity);
  // Inf - Inf is NaN; nothing is above the largest.
  (negative ? value.posInf : value.negInf) = false;
}

/// True if both are a sum, difference or product of the same numbers, bit by
/// bit: `isSameExpression` looks through casts that round.
static bool areComputedAlike(Value lhs, Value rhs, TransferContext &ctx) {
  Operation *left = lhs.getDefiningOp(), *right = rhs.getDefiningOp();
  return left && right && left->getName() == right->getName() &&
         isa<mp::AddOp, mp::SubOp, mp::MulOp>(left) &&
         lhs.getType() == rhs.getType() &&
         llvm::all_of(llvm::zip(left->getOperands(), right->getOperands()),
                      [&](auto pair) {
                        auto [a, b] = pair;
                        return ctx.isSameValue(a, b);
                      });
}

/// x - max(x, y), x - min(x, y), as sums of exponentials are kept from one
/// step to the next. Where x is computed twice, one of the two may be stored
/// and the other not.
static void refineByLimit(mp::SubOp op, Operation *limit, bool swapped,
                          AbstractValue &value, TransferContext &ctx) {
  Value x = swapped ? op.getRhs() : op.getLhs();
  bool negative = isa<mp::MaxOp>(limit) != swapped;
  for (Value operand : limit->getOperands()) {
    bool exact = ctx.isSameValue(x, operand);
    if (!exact && !areComputedAlike(x, operand, ctx))
      continue;
    Rounding error = exact ? Rounding() : storeError(x);
    double off = error.relative * ctx.of(x).hull().absMax() + error.absolute;
    if (std::isnan(off))
      continue;
    clamp(value, negative ? -kInfinity : 0 - off, negative ? off : kInfinity);
    if (exact) // Inf - Inf is NaN.
      (negative ? value.posInf : value.negInf) = false;
    if (!value.hasLikely())
      return;
    for (CellRef cell : value.mutableCells())
      cells::setLikely(
          cell, cells::getLikely(cell).within(
                    {negative ? -kInfinity : 0, negative ? 0 : kInfinity}));
    return;
  }
}

/// The reduction that computes a mean, which may be written as a sum times the
/// reciprocal of the number of its terms; null if there is none.
static Operation *getMean(Value value, TransferContext &ctx) {
  Operation *op = getReduction(value);
  if (isa_and_present<mp::ReduceMeanOp>(op))
    return op;
  if (!isa_and_present<mp::MulOp, mp::DivOp>(op))
    return nullptr;
  for (unsigned index : {0u, 1u}) {
    if (index == 1 && isa<mp::DivOp>(op))
      break;
    auto sum = dyn_cast_if_present<mp::ReduceSumOp>(
        getReduction(op->getOperand(index)));
    std::optional<double> factor = ctx.of(op->getOperand(1 - index)).constant();
    std::optional<Axes> axes =
        sum ? getReducedAxes(sum, ctx.shapes()) : std::nullopt;
    std::optional<double> count =
        axes ? rowLength(sum.getInput(), *axes) : std::nullopt;
    if (!factor || !count)
      continue;
    double product = isa<mp::DivOp>(op) ? *count / *factor : *count * *factor;
    if (std::fabs(product - 1) < 0.01)
      return sum;
  }
  return nullptr;
}

/// The number of elements of `of` whose mean is taken; 0 if it is not known.
static double countAveraged(Operation *mean, Value of, TransferContext &ctx) {
  if (auto axes = hasRole(mean, Role::Reduction)
                      ? getReducedAxes(mean, ctx.shapes())
                      : std::nullopt)
    return rowLength(of, *axes).value_or(0);
  if (auto pool = dyn_cast<mp::AveragePoolOp>(mean))
    return std::accumulate(pool.getKernelShape().begin(),
                           pool.getKernelShape().end(), 1.0,
                           std::multiplies<>());
  auto filter = dyn_cast<mp::ConvOp>(mean);
  MaybeShape shape = filter ? getShape(filter.getFilter()) : MaybeShape();
  std::optional<int64_t> all = getNumElements(shape);
  return all && shape->front() > 0 ? double(*all) / double(shape->front()) : 0;
}

/// mean(x y) - mean(x) mean(y): the estimate only, since rounding may take more
/// than the variance. The operands' means are large and equal but for it; what
/// is left of their rounding may have any sign.
static void expectVariance(mp::SubOp op, AbstractValue &value,
                           TransferContext &ctx) {
  auto getAny = [&](Value mean) -> Operation * {
    Operation *maker = getReduction(mean);
    return isa_and_present<mp::AveragePoolOp, mp::ConvOp>(maker)
               ? maker
               : getMean(mean, ctx);
  };
  auto isSame = [](Value lhs, Value rhs) { return isSameExpression(lhs, rhs); };
  auto moment = findCentralMoment(op, {isSame, nullptr}, getAny);
  if (!moment || !value.hasLikely())
    return;
  bool isVariance = isSame(moment->lhs, moment->rhs);
  const AbstractValue &x = ctx.of(moment->lhs), &y = ctx.of(moment->rhs);
  double count = countAveraged(moment->mean, moment->lhs, ctx);
  if (!x.hasLikely() || !y.hasLikely() || count < 1)
    return;
  AbstractValue rows[] = {x.merged(), y.merged()};
  if (std::optional<Axes> axes =
          hasRole(moment->mean, Role::Reduction)
              ? getReducedAxes(moment->mean, ctx.shapes())
              : std::nullopt) {
    SmallVector<int64_t> others;
    for (int64_t axis = 0; axis < int64_t(x.rank()); ++axis)
      if (!llvm::is_contained(*axes, axis))
        others.push_back(axis);
    // In the same order, also where the reduced axes are gone.
    for (unsigned index : {0u, 1u})
      if (AbstractValue its = (index ? y : x).keeping(others);
          its.groups() == value.groups())
        rows[index] = std::move(its);
  }
  double unit = getFloatFormat(getElementType(op.getLhs()))->unitRoundoff();
  double draws = ctx.elementsPerGroup(op.getResult(), value.groups());
  for (auto [group, cell] : llvm::enumerate(value.mutableCells())) {
    auto cellOf = [&](const AbstractValue &row) {
      return row.cell(row.groups() == 1 ? 0 : group);
    };
    Cell first = cellOf(rows[0]), second = cellOf(rows[1]);
    double spread = std::sqrt(first.variance * second.variance);
    double expected = isVariance ? spread : 0;
    double lost = unit * (spread + std::fabs(first.mean * second.mean));
    spread *= std::sqrt((isVariance ? 2 : 1) / count);
    double reach = expectedExtreme(draws) * spread + lost;
    cell.mean = expected;
    cell.variance = spread * spread + lost * lost / 3;
    cell.likelyLo = isVariance ? std::max(expected - reach, -lost) : -reach;
    cell.likelyHi = expected + reach;
  }
}

static void refineDifference(mp::SubOp op, AbstractValue &value,
                             TransferContext &ctx) {
  if (!getFloatFormat(getElementType(op.getResult())))
    return;
  for (bool swapped : {false, true}) {
    Operation *other = getReduction(swapped ? op.getLhs() : op.getRhs());
    if (isa_and_present<mp::ReduceMaxOp, mp::ReduceMinOp>(other))
      refineByExtreme(op, other, swapped, value, ctx);
    Operation *limit = (swapped ? op.getLhs() : op.getRhs()).getDefiningOp();
    if (isa_and_present<mp::MaxOp, mp::MinOp>(limit))
      refineByLimit(op, limit, swapped, value, ctx);
  }
  expectVariance(op, value, ctx);
  Operation *right = getReduction(op.getRhs());
  if (isa_and_present<mp::LogOp, mp::ReduceLogSumExpOp>(right))
    refineLogSoftmax(op, right, value, ctx);
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// sum(exp(x - max(x))): one term is e^0, if there is any, and adding others
/// takes nothing away.
static void refineShiftedSum(mp::ReduceSumOp op, AbstractValue &value,
                             TransferContext &ctx) {
  auto exp = peel(op.getInput(), Peel::Rounded).getDefiningOp<mp::ExpOp>();
  Rounding error;
  auto sub =
      exp ? peel(exp.getInput(), &error).getDefiningOp<mp::SubOp>() : nullptr;
  Operation *max = sub ? getReduction(sub.getRhs(), &error) : nullptr;
  if (!isa_and_present<mp::ReduceMaxOp>(max) ||
      peel(sub.getLhs(), &error) != peel(max->getOperand(0), &error))
    return;
  std::optional<Axes> axes = getReducedAxes(op, ctx.shapes());
  // A maximum over fewer axes still has its e^0 in every sum.
  std::optional<Axes> maxAxes = getReducedAxes(max, ctx.shapes());
  if (!axes || !maxAxes || error.relative > 0 ||
      !isRowScale(sub.getRhs(), sub.getLhs(), *maxAxes) ||
      !llvm::all_of(*maxAxes, [&](int64_t axis) {
        return llvm::is_contained(*axes, axis);
      }))
    return;
  if (MaybeShape shape = getShape(op.getInput());
      shape && llvm::is_contained(*shape, 0))
    return;
  Rounding own = functionError(exp.getResult(), ctx);
  clamp(value, 1 - own.relative, kInfinity);
}

//===----------------------------------------------------------------------===//
// Functions of one value
//===----------------------------------------------------------------------===//

/// Cuts the result of an op to the bounds of the function of one value that it
/// is: x clip(x + 3, 0, 6) >= -2.25, x - x^3 <= 0.385 for x in [0, 1].
static void refineByExpression(const Expression &expression, Value result,
                               AbstractValue &value, TransferContext &ctx) {
  FloatRange bound = expression.bound(ctx.of(expression.variable()).range(),
                                      errorOfSteps(expression, result, ctx));
  clamp(value, bound.finite.lo, bound.finite.hi);
  value.nan &= bound.nan;
  value.posInf &= bound.posInf;
  value.negInf &= bound.negInf;
}

/// A product or sum of two functions of one value is expected as the function
/// of that value that it is: x clip(x + 3) is never far below 0, and (x x) x is
/// large where x is. As independent operands they would have any sign.
static void expectExpression(const Expression &expression, AbstractValue &value,
                             TransferContext &ctx) {
  const AbstractValue &x = ctx.of(expression.variable());
  if (!value.hasLikely() || !x.hasLikely() || x.rank() != value.rank())
    return;
  AbstractValue expected = mapGroups(
      ctx, x, [](ArrayRef<FloatRange>) { return FloatRange::top(); },
      [&](ArrayRef<Likely> of) {
        return likely::applyToAll(
            [&](ArrayRef<double> points, MutableArrayRef<double> values) {
              expression.evaluate(points, values);
            },
            of[0]);
      });
  expected = expected.regrouped(value.dims());
  for (auto [group, cell] : llvm::enumerate(value.mutableCells())) {
    Likely found = cells::getLikely(expected.cell(group));
    if (std::isfinite(found.lo) && std::isfinite(found.hi))
      cells::setLikely(cell, found);
  }
}

void mpopt::refineByRelations(Value result, AbstractValue &value,
                              TransferContext &ctx) {
  Operation *op = result.getDefiningOp();
  // They may be those of an operand, from which the value was copied.
  value.understated.reset();
  value.trained = false;
  if (!op || !getFloatFormat(getElementType(result)))
    return;
  TypeSwitch<Operation *>(op)
      .Case<mp::DivOp, mp::MulOp>([&](auto) {
        refineQuotient(result, value, ctx);
        expectWeightedMean(result, value, ctx);
      })
      .Case([&](mp::SubOp sub) {
        refineDifference(sub, value, ctx);
        refineAffine(sub, value, ctx);
        refineToLast(sub, value, ctx);
        expectPartOfSum(sub, value, ctx);
        expectSquaredDistance(result, value, ctx);
      })
      .Case([&](mp::AddOp add) {
        refineAffine(add, value, ctx);
        expectSquaredDistance(result, value, ctx);
      })
      .Case([&](mp::GemmOp) { expectSquaredDistance(result, value, ctx); })
      .Case([&](mp::ReduceSumOp sum) { refineShiftedSum(sum, value, ctx); })
      .Case<mp::ReduceL2Op, mp::NormOp>(
          [&](auto) { expectLengthOfRows(op, value, ctx); })
      .Case([&](mp::LogOp log) { expectLogSoftmax(log, value, ctx); })
      .Case([&](mp::ExpOp exp) { expectMaskedExponential(exp, value, ctx); })
      .Case<mp::SliceOp, mp::GatherOp>(
          [&](auto) { expectPartOfSum(op, value, ctx); })
      .Case<mp::TriluOp, mp::WhereOp, mp::MaskedFillOp>(
          [&](auto) { refinePrefixDifference(op, value, ctx); });
  if (std::optional<Expression> expression = Expression::of(op)) {
    refineByExpression(*expression, result, value, ctx);
    expectExpression(*expression, value, ctx);
  }
  expectStatistics(result, value, ctx);
}
