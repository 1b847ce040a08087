//===- DistanceGradients.cpp - Ranges of gradients of distances
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The slope of a p-norm by one of its elements, sign(d) |d|^(p-1) / norm^(p-1),
// is at most 1 in magnitude for p >= 1. For orders other than 1, 2 and infinity
// the powers may underflow apart, so that nothing is said. Divisors are at
// least the guard that PyTorch puts in.
//
//===----------------------------------------------------------------------===//

#include "Distance.h"
#include "lib/Ranges/Ops/Families.h"
#include "mpopt/Ranges/Value/GradientSupport.h"

#include "mpopt/Dialect/Ops/GradientOps.h"
#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Ranges/RangeInterface.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::gradients;

static bool isCommonOrder(double p) {
  return p == 1 || p == 2 || p == kInfinity;
}

/// The elements of a row, 1 if that is not known.
static double expectedRow(Value value) {
  MaybeShape shape = getShape(value);
  return shape && !shape->empty() ? std::max(double(shape->back()), 1.0) : 1;
}

/// The part of `grad` that a p-norm of differences passes on; where the norm is
/// 0, nothing. Squares that overflow make a norm of Inf.
static Number throughNorm(const Number &grad, ValueRange operands,
                          TransferContext &ctx) {
  // A component of a unit vector.
  double count = expectedRow(operands.front());
  return tainted(grad * within({-kPartOfNorm, kPartOfNorm}, grad,
                               Likely::normal(0, 1 / count, 3)),
                 operands, ctx);
}

static Value operandOf(Operation *op, unsigned number) {
  return op->getOperand(number);
}

//===----------------------------------------------------------------------===//
// Cosines
//===----------------------------------------------------------------------===//

/// (b / |b| - cos a / |a|) / |a|, whose first factor is of two vectors of at
/// most 1.
static Number cosineSlope(Value operand, double guard, const Number &grad,
                          TransferContext &ctx) {
  Number x = inSteps(operand, ctx);
  // Squares below the smallest number are lost.
  double least = std::max(x.bound().minAbs() / kRoom, 0.0);
  if (!(least * least > x.format->minNormal))
    least = 0;
  least = std::max(least, x.format->round(guard) / kRoom);
  double count = expectedRow(operand);
  Number slope = within({-2 * kPartOfNorm, 2 * kPartOfNorm}, x,
                        Likely::normal(0, 1 / count, 3));
  double size = x.expected.mean * x.expected.mean + x.expected.variance;
  Number norm =
      within({least, kInfinity}, x, Likely::point(std::sqrt(count * size)));
  Number result = grad * (slope / norm);
  // 0 / 0, and Inf / Inf of squares that overflow.
  Number squares = sumOf(square(x), mpopt::countOf(operand));
  result.range.nan |= least == 0 || squares.range.mayBeInf();
  result.range.posInf |= least == 0;
  result.range.negInf |= least == 0;
  return result;
}

static void transferCosine(mp::CosineSimilarityGradOp op,
                           TransferContext &ctx) {
  MaybeShape shape = broadcastOf({op.getFirst(), op.getSecond()});
  Number grad = inSteps(op.getGrad(), ctx);
  giveWanted(op, ctx, [&](unsigned slot) -> std::optional<Number> {
    Value operand = operandOf(op, slot);
    Number each =
        cosineSlope(operand, op.getEpsilon().convertToDouble(), grad, ctx);
    return summedTo(operand,
                    tainted(each, {op.getFirst(), op.getSecond()}, ctx), shape);
  });
}

/// Guards are 1e-12 below the root; 1e-8 covers a guard of the norm itself. In
/// FP16 both are 0.
static void transferCosineEmbedding(mp::CosineEmbeddingLossGradOp op,
                                    TransferContext &ctx) {
  MaybeShape first = getShape(op.getFirst()), second = getShape(op.getSecond());
  if (!first || first != second)
    return;
  Number grad = shareOf(inSteps(op.getGrad(), ctx), op.getReduction(),
                        getShape(op.getTarget()));
  giveWanted(
      op, ctx,
      [&](unsigned slot) -> std::optional<Number> {
        if (slot > 2)
          return std::nullopt;
        Number each = zeroOr(cosineSlope(operandOf(op, slot), 1e-8, grad, ctx));
        return tainted(each, {op.getFirst(), op.getSecond()}, ctx);
      },
      /*keepsEstimate=*/true);
}

//===----------------------------------------------------------------------===//
// Norms of differences
//===----------------------------------------------------------------------===//

/// Directions of two distances of each operand, where the margin is positive.
static void transferTriplet(mp::TripletMarginLossGradOp op,
                            TransferContext &ctx) {
  MaybeShape shape = getShape(op.getAnchor());
  if (!isCommonOrder(op.getP().convertToDouble()) || !shape || shape->empty() ||
      shape != getShape(op.getPositive()) ||
      shape != getShape(op.getNegative()))
    return;
  shape->pop_back();
  Number share = shareOf(inSteps(op.getGrad(), ctx), op.getReduction(), shape);
  Number one = throughNorm(
      share, {op.getAnchor(), op.getPositive(), op.getNegative()}, ctx);
  giveWanted(
      op, ctx, [&](unsigned) -> std::optional<Number> { return one + one; },
      /*keepsEstimate=*/true);
}

static void transferDist(mp::DistGradOp op, TransferContext &ctx) {
  if (!isCommonOrder(op.getP().convertToDouble()))
    return;
  MaybeShape shape = broadcastOf({op.getFirst(), op.getSecond()});
  Number each = throughNorm(numberOf(op.getGrad(), ctx),
                            {op.getFirst(), op.getSecond()}, ctx);
  giveWanted(op, ctx, [&](unsigned slot) -> std::optional<Number> {
    return summedTo(operandOf(op, slot), each, shape);
  });
}

/// Rows from which on PyTorch goes through a matrix product for p = 2: what
/// cancels there makes distances, by which it divides, too small.
static constexpr int64_t kProductRows = 25;

/// Each row meets all rows of the other one.
static void transferCdist(mp::CdistGradOp op, TransferContext &ctx) {
  MaybeShape first = getShape(op.getFirst()), second = getShape(op.getSecond());
  double p = op.getP().convertToDouble();
  if (!first || !second || first->size() < 2 || first->size() != second->size())
    return;
  size_t leading = first->size() - 2;
  int64_t rows[] = {(*first)[leading], (*second)[leading]};
  if (llvm::is_contained(rows, kDynamic) ||
      ArrayRef(*first).take_front(leading) !=
          ArrayRef(*second).take_front(leading))
    return;
  bool byProduct = p == 2 && std::max(rows[0], rows[1]) > kProductRows;
  if (!op.getSquared() && (!isCommonOrder(p) || byProduct))
    return;
  Number grad = numberOf(op.getGrad(), ctx);
  Number each = throughNorm(grad, {op.getFirst(), op.getSecond()}, ctx);
  if (op.getSquared()) {
    Number d = numberOf(op.getFirst(), ctx) - numberOf(op.getSecond(), ctx);
    each = grad * (Number::constant(2, *d.format) * either(d, -d));
  }
  giveWanted(op, ctx, [&](unsigned slot) -> std::optional<Number> {
    return sumOf(each, std::max<double>(rows[slot == 1 ? 1 : 0], 1));
  });
}

static void transferPdist(mp::PdistGradOp op, TransferContext &ctx) {
  std::optional<int64_t> rows = ctx.dimOf(op.getInput(), 0);
  if (!isCommonOrder(op.getP().convertToDouble()) || !rows)
    return;
  Number each = throughNorm(numberOf(op.getGrad(), ctx), op.getInput(), ctx);
  giveWanted(op, ctx, [&](unsigned) -> std::optional<Number> {
    return sumOf(each, std::max<double>(*rows - 1, 1));
  });
}

//===----------------------------------------------------------------------===//
// Renorm
//===----------------------------------------------------------------------===//

/// dY, and where a slice is scaled m / |x| (dY - y' (x . dY) / |x|) with the
/// norm's slope y': m / |x| <= 1, and |x . dY| / |x| <= n^(1 - 1/p) max|dY|
/// (Hölder).
static void transferRenorm(mp::RenormGradOp op, TransferContext &ctx) {
  double p = op.getP().convertToDouble();
  double count = countWithout(op.getInput(), op.getAxis());
  if (!isCommonOrder(p) || op.getMaxNorm().convertToDouble() < 0 ||
      !std::isfinite(count))
    return;
  const FloatFormat &format = ctx.functionFormat(op.getInput());
  Number x = numberOf(op.getInput(), ctx), grad = numberOf(op.getGrad(), ctx);
  double inner = p == 1 ? 1 : p == 2 ? std::sqrt(count) : count;
  double most =
      (1 + kPartOfNorm * inner) *
      (kRoom + 4 * relativeSumError(format, std::max(count, 1.0), 16));
  Number result =
      tainted(grad * within({-most, most}, grad), op.getInput(), ctx);
  // The product with x, and the norm, may overflow.
  Number product = sumOf(x * grad, std::max(count, 1.0)), squares = square(x);
  bool overflows =
      product.range.mayBeInf() || sumOf(squares, count).range.mayBeInf();
  result.range.nan |= overflows;
  result.range.posInf |= overflows;
  result.range.negInf |= overflows;
  giveWanted(op, ctx,
             [&](unsigned) -> std::optional<Number> { return result; });
}

void mpopt::attachDistanceGradientsTransfers(MLIRContext *context) {
  attachTransfer<transferCosine, mp::CosineSimilarityGradOp>(context);
  attachTransfer<transferCosineEmbedding, mp::CosineEmbeddingLossGradOp>(
      context);
  attachTransfer<transferTriplet, mp::TripletMarginLossGradOp>(context);
  attachTransfer<transferDist, mp::DistGradOp>(context);
  attachTransfer<transferCdist, mp::CdistGradOp>(context);
  attachTransfer<transferPdist, mp::PdistGradOp>(context);
  attachTransfer<transferRenorm, mp::RenormGradOp>(context);
}
