//===- Elementwise.cpp - Ranges of elementwise arithmetic
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two and three operands. The functions of one are in Activation.cpp.
//
//===----------------------------------------------------------------------===//

#include "lib/Ranges/Ops/Families.h"
#include "mpopt/Ranges/Value/ShapeSupport.h"

#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Numerics/Accumulation.h"
#include "mpopt/Numerics/Binary.h"
#include "mpopt/Numerics/EstimateMath.h"
#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Numerics/LikelyGroups.h"
#include "mpopt/Ranges/RangeInterface.h"
#include "mpopt/Ranges/Value/ElementwiseSupport.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

static bool isFloat(Value value) {
  return isa<FloatType>(getElementType(value));
}

/// The number that an operand is everywhere.
static std::optional<double> splatOf(TransferContext &ctx, unsigned index) {
  return ctx.operand(index).constant();
}

//===----------------------------------------------------------------------===//
// Facts about rows
//===----------------------------------------------------------------------===//

/// The axis of the result on which an operand's norm is, and the length of its
/// rows; nothing if broadcasting repeats them.
static std::optional<NormFact> normIn(Operation *op, unsigned index,
                                      TransferContext &ctx) {
  const AbstractValue &value = ctx.operand(index);
  Value result = op->getResult(0);
  size_t rank = ctx.rankOf(result);
  if (!value.norm || value.rank() > rank || !getShape(result))
    return std::nullopt;
  NormFact fact = *value.norm;
  int64_t own = fact.axis;
  fact.axis += rank - value.rank();
  std::optional<int64_t> before = ctx.dimOf(op->getOperand(index), own);
  std::optional<int64_t> after = ctx.dimOf(result, fact.axis);
  if (!before || before != after)
    return std::nullopt;
  return fact;
}

/// The kernel rounds each element to half a unit of its own format; what it
/// loses below the smallest normal number is covered by the other half.
static double roundingFactor(Operation *op, TransferContext &ctx) {
  return 1 + 2 * functionError(ctx, op->getOperand(0)).format->epsilon();
}

/// |a + b| <= |a| + |b|, row by row.
static std::optional<NormFact> normOfSum(Operation *op, TransferContext &ctx) {
  std::optional<NormFact> left = normIn(op, 0, ctx), right = normIn(op, 1, ctx);
  if (!left && !right)
    return std::nullopt;
  NormFact fact = left ? *left : *right;
  double bound = 0;
  for (unsigned index : {0u, 1u}) {
    const AbstractValue &value = ctx.operand(index);
    int64_t axis = fact.axis - int64_t(ctx.rankOf(op->getResult(0))) +
                   int64_t(value.rank());
    // A row of the broadcast operand.
    bound += rowNorm(value, axis, fact.count);
  }
  if (!std::isfinite(bound))
    return std::nullopt;
  fact.bound = bound * roundingFactor(op, ctx);
  return fact;
}

/// Rows of powers add up.
static std::optional<RowSumFact> rowSumOfSum(Operation *op,
                                             TransferContext &ctx) {
  const std::optional<RowSumFact> &left = ctx.operand(0).rowSum,
                                  &right = ctx.operand(1).rowSum;
  if (!left || !right || left->axis != right->axis ||
      getShape(op->getOperand(0)) != getShape(op->getOperand(1)))
    return std::nullopt;
  double factor = roundingFactor(op, ctx);
  return RowSumFact{left->axis, (left->lo + right->lo) * (2 - factor),
                    (left->hi + right->hi) * factor, left->count};
}

/// |c a| = |c| |a|, and |a b| <= max|b| |a|.
static std::optional<NormFact> normOfProduct(Operation *op,
                                             TransferContext &ctx) {
  std::optional<NormFact> best;
  for (unsigned index : {0u, 1u}) {
    std::optional<NormFact> fact = normIn(op, index, ctx);
    if (!fact)
      continue;
    const AbstractValue &other = ctx.operand(1 - index);
    fact->bound *= other.hull().absMax() * roundingFactor(op, ctx);
    if (std::isfinite(fact->bound) && (!best || fact->bound < best->bound))
      best = fact;
  }
  return best;
}

//===----------------------------------------------------------------------===//
// Two operands
//===----------------------------------------------------------------------===//

static void transferAdd(mp::AddOp op, TransferContext &ctx) {
  if (!areReal(op))
    return ctx.unknown();
  AbstractValue value;
  if (ctx.isSameValue(op.getLhs(), op.getRhs()))
    value = mapGroups(
        ctx, ctx.operand(0),
        [](ArrayRef<FloatRange> x) { return range::add(x[0], x[0]); },
        [](ArrayRef<Likely> x) { return likely::affine(x[0], 2, 0); });
  else
    value = addGroups(ctx, ctx.operand(0), ctx.operand(1), /*subtract=*/false);
  value.norm = normOfSum(op, ctx);
  value.rowSum = rowSumOfSum(op, ctx);
  ctx.result(0, std::move(value));
}

/// x - x: zero, but for infinities.
static AbstractValue differenceOfSame(const AbstractValue &input) {
  AbstractValue value = constantValue(0, input.rank());
  value.nan = input.mayBeNonFinite();
  return value;
}

static void transferSub(mp::SubOp op, TransferContext &ctx) {
  if (!areReal(op))
    return ctx.unknown();
  if (ctx.isSameValue(op.getLhs(), op.getRhs()))
    return ctx.result(0, differenceOfSame(ctx.operand(0)));
  AbstractValue value =
      addGroups(ctx, ctx.operand(0), ctx.operand(1), /*subtract=*/true);
  value.norm = normOfSum(op, ctx);
  ctx.result(0, std::move(value));
}

static void transferMul(mp::MulOp op, TransferContext &ctx) {
  if (!areReal(op))
    return ctx.unknown();
  if (ctx.isSameValue(op.getLhs(), op.getRhs()))
    return ctx.result(0, mapUnary(ctx, ctx.operand(0),
                                  Unary{UnaryFunction::Square},
                                  functionError(ctx, op.getLhs())));
  double k = extremeOf(ctx);
  AbstractValue value = mapGroups(
      ctx, operandsOf(ctx),
      [](ArrayRef<FloatRange> x) { return range::mul(x[0], x[1]); },
      [&](ArrayRef<Likely> x) { return likely::mul(x[0], x[1], k); });
  value.norm = normOfProduct(op, ctx);
  ctx.result(0, std::move(value));
}

static void transferDiv(mp::DivOp op, TransferContext &ctx) {
  if (!areReal(op))
    return ctx.unknown();
  likely::Quotient estimate(extremeOf(ctx));
  bool real = isFloat(op.getLhs());
  if (real && ctx.isSameValue(op.getLhs(), op.getRhs())) {
    const AbstractValue &input = ctx.operand(0);
    AbstractValue value = constantValue(1, input.rank());
    value.nan = input.mayBeNonFinite() ||
                llvm::any_of(input.cells(), [](const Cell &cell) {
                  return cell.lo <= 0 && cell.hi >= 0;
                });
    return ctx.result(0, std::move(value));
  }
  ComputeError error = functionError(ctx, op.getLhs());
  AbstractValue value = mapGroups(
      ctx, operandsOf(ctx),
      [&](ArrayRef<FloatRange> x) {
        return real ? range::div(x[0], x[1], error)
                    : range::truncDiv(x[0], x[1]);
      },
      [&](ArrayRef<Likely> x) { return estimate(x[0], x[1]); });
  // Rows divided by one number.
  if (std::optional<NormFact> fact = normIn(op, 0, ctx); fact && real) {
    const AbstractValue &divisor = ctx.operand(1);
    double least = kInfinity;
    for (const Cell &cell : divisor.cells())
      least = std::min(least, Interval{cell.lo, cell.hi}.minAbs());
    if (least > 0 && std::isfinite(least)) {
      fact->bound = fact->bound / least * roundingFactor(op, ctx);
      value.norm = fact;
    }
  }
  ctx.result(0, std::move(value));
}

static void transferFloorDiv(mp::FloorDivOp op, TransferContext &ctx) {
  if (!areReal(op))
    return ctx.unknown();
  likely::Quotient estimate(extremeOf(ctx));
  ComputeError error = functionError(ctx, op.getLhs());
  ctx.result(0, mapGroups(
                    ctx, operandsOf(ctx),
                    [&](ArrayRef<FloatRange> x) {
                      return range::floorDiv(x[0], x[1], error);
                    },
                    [&](ArrayRef<Likely> x) { return estimate(x[0], x[1]); }));
}

static void transferMod(mp::ModOp op, TransferContext &ctx) {
  if (!areReal(op))
    return ctx.unknown();
  bool fmod = op.getFmod();
  ctx.result(0, mapGroups(
                    ctx, operandsOf(ctx),
                    [&](ArrayRef<FloatRange> x) {
                      return fmod ? range::fmod(x[0], x[1])
                                  : range::remainder(x[0], x[1]);
                    },
                    [](ArrayRef<Likely> x) {
                      // Anywhere below the divisor, unless it is never reached.
                      if (x[0].absMax() < std::fabs(x[1].mean) && x[0].lo >= 0)
                        return x[0];
                      double reach = x[1].absMax();
                      return Likely::uniform(x[0].lo < 0 ? -reach : 0, reach);
                    }));
}

static void transferPow(mp::PowOp op, TransferContext &ctx) {
  if (!areReal(op))
    return ctx.unknown();
  ComputeError error = functionError(ctx, op.getLhs());
  std::optional<double> exponent = splatOf(ctx, 1);
  if (exponent == 2)
    return ctx.result(
        0, mapUnary(ctx, ctx.operand(0), Unary{UnaryFunction::Square}, error));
  AbstractValue value = mapGroups(
      ctx, operandsOf(ctx),
      [&](ArrayRef<FloatRange> x) { return range::pow(x[0], x[1], error); },
      [](ArrayRef<Likely> x) {
        double at = x[1].mean;
        return likely::apply([&](double base) { return raise(base, at); },
                             x[0]);
      });
  // An integer's power is cut off towards 0.
  if (isa<IntegerType>(getElementType(op.getResult()))) {
    value = AbstractValue::boundedLike(value);
    value.claimIntegral();
    for (CellRef cell : value.mutableCells())
      if (!cell.empty()) {
        cell.lo = cell.lo > 0 ? std::floor(cell.lo) : cell.lo;
        cell.hi = cell.hi < 0 ? std::ceil(cell.hi) : cell.hi;
      }
  }
  ctx.result(0, std::move(value));
}

static void transferAtan2(mp::Atan2Op op, TransferContext &ctx) {
  if (!areReal(op))
    return ctx.unknown();
  ComputeError error = functionError(ctx, op.getLhs());
  ctx.result(0, mapGroups(
                    ctx, operandsOf(ctx),
                    [&](ArrayRef<FloatRange> x) {
                      return range::atan2(x[0], x[1], error);
                    },
                    [](ArrayRef<Likely> x) {
                      if (x[1].lo > 0)
                        return likely::apply(
                            [&](double y) { return std::atan2(y, x[1].mean); },
                            x[0]);
                      return Likely::uniform(-M_PI, M_PI);
                    }));
}

//===----------------------------------------------------------------------===//
// Any number of operands
//===----------------------------------------------------------------------===//

static void transferExtreme(Operation *op, TransferContext &ctx) {
  if (!areReal(op))
    return ctx.unknown();
  bool max = isa<mp::MaxOp>(op);
  ctx.result(0, mapGroups(
                    ctx, operandsOf(ctx),
                    [&](ArrayRef<FloatRange> x) {
                      FloatRange result = x.front();
                      for (const FloatRange &next : x.drop_front())
                        result = max ? range::max(result, next)
                                     : range::min(result, next);
                      return result;
                    },
                    [&](ArrayRef<Likely> x) {
                      Likely result = x.front();
                      for (const Likely &next : x.drop_front())
                        result = max ? likely::max(result, next)
                                     : likely::min(result, next);
                      return result;
                    }));
}

/// The sum of n operands, each partial sum rounded; the mean is the sum over n.
static void transferSum(Operation *op, TransferContext &ctx) {
  if (!areReal(op))
    return ctx.unknown();
  double count = op->getNumOperands();
  bool mean = isa<mp::MeanNOp>(op);
  Accumulator accumulator{&ctx.sumFormat(op->getOperand(0))};
  bool real = isFloat(op->getResult(0));
  ComputeError error = functionError(ctx, op->getOperand(0));
  ctx.result(
      0, mapGroups(
             ctx, operandsOf(ctx),
             [&](ArrayRef<FloatRange> x) {
               FloatRange result = x.front();
               double magnitude = x.front().finite.maxAbs();
               for (const FloatRange &next : x.drop_front()) {
                 result = range::add(result, next);
                 magnitude += next.finite.maxAbs();
               }
               if (real && x.size() > 2) {
                 result.finite = widenSum(result.finite, accumulator, x.size(),
                                          magnitude * (1 + 1e-12));
                 if (mean && magnitude >= accumulator.format->overflowFrom)
                   result.posInf = result.negInf = true;
                 result.minNonZero = 0;
                 result.integral = false;
               }
               if (mean)
                 result = range::div(result, FloatRange::point(count), error);
               return result;
             },
             [&](ArrayRef<Likely> x) {
               Likely result = x.front();
               for (const Likely &next : x.drop_front())
                 result = likely::add(result, next);
               return mean ? likely::affine(result, 1 / count, 0) : result;
             }));
}

void mpopt::attachElementwiseTransfers(MLIRContext *context) {
  attachTransfer<transferAdd, mp::AddOp>(context);
  attachTransfer<transferSub, mp::SubOp>(context);
  attachTransfer<transferMul, mp::MulOp>(context);
  attachTransfer<transferDiv, mp::DivOp>(context);
  attachTransfer<transferFloorDiv, mp::FloorDivOp>(context);
  attachTransfer<transferMod, mp::ModOp>(context);
  attachTransfer<transferPow, mp::PowOp>(context);
  attachTransfer<transferAtan2, mp::Atan2Op>(context);
  attachTransfer<transferExtreme, mp::MaxOp, mp::MinOp>(context);
  attachTransfer<transferSum, mp::AddNOp, mp::MeanNOp>(context);
}
