//===- Distance.cpp - Ranges of distances and of renorm
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Formulas are PyTorch's, step by step.
//
//===----------------------------------------------------------------------===//

#include "Distance.h"
#include "lib/Ranges/Ops/Families.h"

#include "mpopt/Dialect/Ops/LossOps.h"
#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Ranges/RangeInterface.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

/// Elements of the last axis, infinite if that is not known.
static std::pair<double, double> rowLength(Value value, int64_t axis = -1) {
  MaybeShape shape = getShape(value);
  std::optional<int64_t> at =
      shape ? normalizeAxis(axis, shape->size()) : std::nullopt;
  if (!at || (*shape)[*at] < 0)
    return {kInfinity, 1};
  double count = double((*shape)[*at]);
  return {count, std::max(count, 1.0)};
}

Number mpopt::cosineOf(Value first, Value second, int64_t axis, double epsilon,
                       TransferContext &ctx) {
  Number a = numberOf(first, ctx), b = numberOf(second, ctx);
  auto [count, expected] = rowLength(first, axis);
  if (count == 1)
    std::tie(count, expected) = rowLength(second, axis);
  const FloatFormat &format = *a.format;
  Number squares = sumOf(max(square(a), square(b)),
                         std::min(count, kUnknownCount), expected);
  double error = dotError({&format}, count, 4) + 16.0 * format.unitRoundoff();
  // Norms and quotients are tensors of the operands' dtype, which an epsilon of
  // 1e-8 is not in FP16.
  double held = format.round(epsilon), smallest = 0;
  for (Value operand : {first, second})
    if (const FloatFormat *own = getFloatFormat(getElementType(operand));
        own && own->digits < format.digits) {
      error += 8.0 * own->unitRoundoff() +
               8 * std::min(count, kUnknownCount) * own->minSubnormal;
      held = own->round(epsilon);
      smallest = own->minSubnormal;
    }
  // Where a norm's squares underflow, the divisor is epsilon: a vector that
  // short, times the longest of the other ones.
  double least = std::min(a.bound().minAbs(), b.bound().minAbs());
  bool divides = held <= 0 && least == 0;
  least = std::max(least, smallest);
  if (!(least * least > format.minNormal)) {
    double shortest =
        std::sqrt(std::min(count, kUnknownCount) * format.minNormal);
    double longest = 2 * std::sqrt(squares.bound().maxAbs());
    error += held > 0 ? shortest * longest / held : kInfinity;
  }
  Number cosine =
      Number::within(Interval::symmetric(1 + std::min(error, 1e300)), format);
  if (!std::isfinite(error))
    cosine.range = FloatRange::top();
  bool overflows = squares.range.posInf;
  cosine.range.nan |= divides;
  cosine.range.nan |= a.range.nan || b.range.nan || a.range.mayBeInf() ||
                      b.range.mayBeInf() || overflows;
  double deviation = 1 / std::sqrt(expected);
  cosine.expected = Likely::normal(0, deviation * deviation, 3)
                        .within(Interval::symmetric(1));
  cosine.source = std::max(a.source, b.source);
  return cosine;
}

Number mpopt::distanceOf(Value first, Value second, double p, double epsilon,
                         TransferContext &ctx) {
  Number a = numberOf(first, ctx), b = numberOf(second, ctx);
  auto [count, expected] = rowLength(first);
  return normOf(a - b + Number::constant(epsilon, *a.format), p, count,
                expected);
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

static void transferCosineSimilarity(mp::CosineSimilarityOp op,
                                     TransferContext &ctx) {
  ctx.result(0, cosineOf(op.getFirst(), op.getSecond(), op.getAxis(),
                         op.getEpsilon().convertToDouble(), ctx)
                    .value(op.getResult()));
}

static void transferPdist(mp::PdistOp op, TransferContext &ctx) {
  ctx.result(0, distanceOf(op.getInput(), op.getInput(),
                           op.getP().convertToDouble(), 0, ctx)
                    .value(op.getResult()));
}

static void transferCdist(mp::CdistOp op, TransferContext &ctx) {
  Number distance = distanceOf(op.getFirst(), op.getSecond(),
                               op.getP().convertToDouble(), 0, ctx);
  if (op.getP().convertToDouble() == 2) {
    // By a matrix product: |a|^2 + |b|^2 - 2 a b loses what cancels, and is NaN
    // where the squares are Inf.
    auto [count, expected] = rowLength(op.getFirst());
    Number a = numberOf(op.getFirst(), ctx), b = numberOf(op.getSecond(), ctx);
    Number squares = sumOf(square(a) + square(b), count, expected);
    double lost = 8 * squares.bound().hi * a.format->unitRoundoff() *
                  std::min(count, kUnknownCount);
    distance = Number::boundedLike(distance);
    distance.range.finite.hi += std::sqrt(lost);
    distance.range.finite.lo = 0;
    distance.range.posInf |= squares.range.posInf;
    distance.range.nan |= squares.range.posInf;
  }
  ctx.result(
      0, (op.getSquared() ? square(distance) : distance).value(op.getResult()));
}

static void transferDist(mp::DistOp op, TransferContext &ctx) {
  Number a = numberOf(op.getFirst(), ctx), b = numberOf(op.getSecond(), ctx);
  // Broadcast: at most all pairs.
  double first = countOf(op.getFirst()), second = countOf(op.getSecond());
  double count = first == second ? first : first * std::max(second, 1.0);
  double expected =
      std::max(expectedCountOf(op.getFirst()), expectedCountOf(op.getSecond()));
  ctx.result(0, normOf(a - b, op.getP().convertToDouble(), count, expected)
                    .value(op.getResult()));
}

static void transferRenorm(mp::RenormOp op, TransferContext &ctx) {
  const FloatFormat &format = ctx.functionFormat(op.getInput());
  Number x = Number::of(ctx.operand(0), format);
  std::optional<int64_t> slices = ctx.dimOf(op.getInput(), op.getAxis());
  double count = countOf(op.getInput());
  if (slices && *slices > 0)
    count /= double(*slices);
  Number norm = normOf(x, op.getP().convertToDouble(), count, 1);
  AbstractValue value = AbstractValue::boundedLike(ctx.operand(0));
  double most = op.getMaxNorm().convertToDouble();
  double error =
      2 * relativeSumError(format, std::min(count, kUnknownCount), 16);
  most *= 1 + error;
  bool limits = op.getP().convertToDouble() >= 1 && std::isfinite(most);
  for (CellRef cell : value.mutableCells()) {
    if (cell.empty())
      continue;
    Interval all = hull(cells::bound(cell), 0.0);
    if (limits)
      all = intersect(all, Interval::symmetric(most));
    cell.lo = all.lo;
    cell.hi = all.hi;
  }
  // max / Inf is 0, and 0 * Inf NaN.
  value.nan |= value.mayBeInf() || norm.range.nan;
  // Slices are scaled by 1 or less.
  value.keepsNorm(ctx.operand(0));
  ctx.result(0, std::move(value));
}

void mpopt::attachDistanceTransfers(MLIRContext *context) {
  attachTransfer<transferCosineSimilarity, mp::CosineSimilarityOp>(context);
  attachTransfer<transferPdist, mp::PdistOp>(context);
  attachTransfer<transferCdist, mp::CdistOp>(context);
  attachTransfer<transferDist, mp::DistOp>(context);
  attachTransfer<transferRenorm, mp::RenormOp>(context);
}
