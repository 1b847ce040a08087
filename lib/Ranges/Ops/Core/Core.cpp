//===- Core.cpp - Ranges of casts and identities
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Constants are summarised by the driver. `mp.opaque` has no function: its
// results are unknown, and it is counted. Of `mp.custom` a project states the
// bound, which is taken as those of inputs are.
//
//===----------------------------------------------------------------------===//

#include "lib/Ranges/Ops/Families.h"

#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/CustomOps.h"
#include "mpopt/Ranges/RangeInterface.h"
#include "mpopt/Ranges/Weights/ScaledWeights.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

static void transferIdentity(mp::IdentityOp, TransferContext &ctx) {
  ctx.result(0, AbstractValue::sameAs(ctx.operand(0)));
}

/// Toward zero. What is no integer's value (NaN, infinities) becomes whatever
/// the platform says, so nothing more is known than the type.
static AbstractValue toInteger(const AbstractValue &input, Value result) {
  AbstractValue value = AbstractValue::boundedLike(input);
  Cell all = TransferContext::anything(result).hull();
  bool bounded = !input.mayBeNonFinite();
  for (CellRef cell : value.mutableCells()) {
    // Numbers are expected.
    cell.lo = bounded ? std::trunc(cell.lo) : all.lo;
    cell.hi = bounded ? std::trunc(cell.hi) : all.hi;
    cell.likelyLo = std::trunc(cell.likelyLo);
    cell.likelyHi = std::trunc(cell.likelyHi);
  }
  value.setNonFinite(false, false, false);
  value.claimIntegral();
  value.claimMinNonZero(1);
  return value;
}

/// A cast to bool: 1 where the element is not zero.
static AbstractValue toBool(const AbstractValue &input) {
  AbstractValue value = AbstractValue::boundedLike(input);
  bool mayBeInf = input.mayBeNonFinite();
  for (CellRef cell : value.mutableCells()) {
    bool zero = !cell.empty() && cell.lo <= 0 && cell.hi >= 0;
    bool other = cell.empty() || cell.lo != 0 || cell.hi != 0 || mayBeInf;
    double share = cell.mean >= 0 && cell.mean <= 1 ? cell.mean : 0.5;
    bool known = cell.lo >= 0 && cell.hi <= 1 && input.integral;
    double lo = zero ? 0 : 1, hi = other ? 1 : 0;
    double mean = lo == hi ? lo : known ? share : 0.5;
    cell = Cell{lo, hi, mean, mean * (1 - mean), lo, hi};
  }
  value.setNonFinite(false, false, false);
  value.claimIntegral();
  value.claimMinNonZero(1);
  return value;
}

/// In a dtype that is not known: FP16's range and BF16's digits at worst.
static AbstractValue toUnknown(const AbstractValue &input) {
  AbstractValue value = AbstractValue::boundedLike(input);
  const FloatFormat &narrow = FloatFormat::f16();
  double unit = FloatFormat::bf16().unitRoundoff();
  for (CellRef cell : value.mutableCells()) {
    if (cell.empty())
      continue;
    value.posInf |= cell.hi >= narrow.overflowFrom;
    value.negInf |= cell.lo <= -narrow.overflowFrom;
    cell.lo -= std::fabs(cell.lo) * unit;
    cell.hi += std::fabs(cell.hi) * unit;
    if (cell.absMax() < 1)
      cell.lo -= narrow.minSubnormal, cell.hi += narrow.minSubnormal;
  }
  return value;
}

/// Rounded by other rules than the driver's: up to a unit in the last place
/// (E8M0 up to the next power of two), and to the largest finite value where it
/// saturates.
static AbstractValue roundedAsSaid(const AbstractValue &input, mp::CastOp op,
                                   const FloatFormat &format) {
  AbstractValue value = AbstractValue::boundedLike(input);
  // Whole numbers stay so in formats that have a zero (E8M0 has none).
  if (format.hasZero)
    value.keepsIntegral(input);
  double unit = format.epsilon();
  for (CellRef cell : value.mutableCells())
    if (!cell.empty()) {
      cell.lo -= std::fabs(cell.lo) * unit + format.minSubnormal;
      cell.hi += std::fabs(cell.hi) * unit + format.minSubnormal;
    }
  if (op.getSaturate())
    value.saturate(Interval::symmetric(format.maxFinite));
  return value;
}

static void transferCast(mp::CastOp op, TransferContext &ctx) {
  const AbstractValue &input = ctx.operand(0);
  Type to = getElementType(op.getResult());
  const FloatFormat *format = getFloatFormat(to);
  if (to.isInteger(1))
    return ctx.result(0, toBool(input));
  if (isa<IntegerType>(to))
    return ctx.result(0, toInteger(input, op.getResult()));
  if (isUnknown(to))
    return ctx.result(0, toUnknown(input));
  if (!format || !(getFloatFormat(getElementType(op.getInput())) ||
                   isa<IntegerType>(getElementType(op.getInput()))))
    return ctx.unknown();
  if (auto operand = getScaledOperand(op.getResult()))
    return ctx.result(0, storedRange(*operand, input, ctx));
  if (op.getSaturate() || op.getRoundMode())
    return ctx.result(0, roundedAsSaid(input, op, *format));
  ctx.result(0, AbstractValue::sameAs(input));
}

/// A cell of that bound and those moments, with the extremes that one expects
/// of so many normal draws.
static Cell cellOf(Interval bound, double mean, double deviation,
                   double draws) {
  double reach = deviation * std::sqrt(2 * std::log(std::max(draws, 2.0)));
  return {bound.lo,
          bound.hi,
          mean,
          deviation * deviation,
          std::max(bound.lo, mean - reach),
          std::min(bound.hi, mean + reach)};
}

/// An op that is given Inf or NaN may give them back.
static void transferCustom(mp::CustomOp op, TransferContext &ctx) {
  Value result = op.getResult();
  AbstractValue value(
      AbstractValue::Dims(TransferContext::rankOf(result), 1),
      cellOf({op.getLo().convertToDouble(), op.getHi().convertToDouble()},
             op.getMean().convertToDouble(),
             op.getDeviation().convertToDouble(),
             ctx.elementsPerGroup(result, 1)));
  bool isFinite = llvm::all_of(op.getInputs(), [&](Value input) {
    return !isa<FloatType>(getElementType(input)) ||
           !ctx.of(input).mayBeNonFinite();
  });
  value.setNonFinite(!isFinite, !isFinite, !isFinite);
  value.source = LikelySource::Declared;
  ctx.result(0, std::move(value));
}

/// The mean square of the slope s over the result's n elements is that of the
/// gradient over the operand's: sum J^2 = n s^2 either way. No bound follows.
static void transferCustomGrad(mp::CustomGradOp op, TransferContext &ctx) {
  const AbstractValue &grad = ctx.of(op.getGrad());
  ArrayRef<double> slopes = op.getSlopes();
  for (auto [index, number] : llvm::enumerate(op.getWanted())) {
    Value result = op->getResult(unsigned(index));
    AbstractValue value = TransferContext::anything(result);
    if (grad.hasLikely()) {
      Cell hull = grad.hull();
      double slope = slopes[slopes.size() == 1 ? 0 : size_t(number - 1)];
      double draws = ctx.elementsPerGroup(result, 1);
      double part = ctx.elementsPerGroup(op.getGrad(), 1) / draws;
      double square = hull.mean * hull.mean + hull.variance;
      for (CellRef cell : value.mutableCells())
        cell = cellOf({cell.lo, cell.hi}, 0, slope * std::sqrt(part * square),
                      draws);
      value.source = LikelySource::Propagated;
    }
    ctx.result(unsigned(index), std::move(value));
  }
}

void mpopt::attachCoreTransfers(MLIRContext *context) {
  attachTransfer<transferCustom, mp::CustomOp>(context);
  attachTransfer<transferCustomGrad, mp::CustomGradOp>(context);
  attachTransfer<transferIdentity, mp::IdentityOp>(context);
  attachTransfer<transferCast, mp::CastOp>(context);
}
