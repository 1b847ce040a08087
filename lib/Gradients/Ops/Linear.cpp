//===- Linear.cpp - Spreads of matrix products
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Families.h"

#include "lib/Gradients/Sums.h"
#include "mpopt/Dialect/EinsumSupport.h"
#include "mpopt/Dialect/Ops/LinearOps.h"
#include "mpopt/Gradients/SpreadInterface.h"
#include "mpopt/Numerics/Likely.h"
#include "mpopt/Ranges/Weights/ProductSupport.h"

using namespace mlir;
using namespace mpopt;

/// True if the value is the same for all samples: weights.
static bool isFixed(SpreadContext &ctx, Value value) {
  return !ctx.isGradient(value) && ctx.spread(value).axes.batch < 0;
}

/// Samples times known weights: every position is multiplied alike, so that
/// positions stay as alike as they are.
static Spread giveWeighted(SpreadContext &ctx, Value input, Value weight,
                           ArrayRef<int> labels, ArrayRef<int> result,
                           double terms) {
  const Spread &own = ctx.spread(input);
  Spread spread;
  spread.alike = own.alike;
  spread.factors = terms < 4 ? own.factors : 1;
  spread.zeroRows = own.zeroRows;
  spread.zero = std::max(own.zeroRows, std::pow(own.zero, terms));
  for (auto [axis, label] : llvm::enumerate(result)) {
    const int *found = llvm::find(labels, label);
    if (found == labels.end() || axis >= 32)
      continue;
    int64_t from = found - labels.begin();
    if (from == own.axes.batch)
      spread.axes.batch = int(axis);
    // What a product leaves where it is, beside the channels that it makes, are
    // positions.
    else if (own.axes.isPosition(from) || axis + 1 < result.size())
      spread.axes.positions |= 1u << axis;
  }
  ctx.giveSpread(0, spread);
  if (!ctx.isGradient(input))
    return spread;
  Losses losses = ctx.losses(input);
  if (ctx.hits(input)) {
    // Each row has one that is hit.
    losses.hit = losses.hit.both(losses.rest.ofSums(std::max(terms - 1, 0.0)));
    losses.rest = {};
  } else {
    losses.hit = losses.hit.ofSums(terms);
  }
  ctx.giveLosses(0, losses);
  return spread;
}

/// Products of a gradient whose elements add up to 0 along the sum: what all
/// rows of the weights have in common meets 0. The weights are taken less the
/// mean of their rows, each row weighted as it varies: exact for an element
/// that is hit and the others that make up for it.
static bool giveCentred(SpreadContext &ctx, Value input, Value weight,
                        bool transposed, double alpha, const Spread &spread) {
  int64_t rank = TransferContext::rankOf(input);
  if (!ctx.isGradient(input) || ctx.spread(input).zeroSum != rank - 1)
    return false;
  bool swapped;
  std::optional<WeightSource> source = getMatrixSource(ctx, weight, swapped);
  const AbstractValue &dy = ctx.of(input);
  if (!source || source->shape.size() != 2 || dy.rank() != size_t(rank))
    return false;
  bool flipped = transposed != swapped;
  LinearRequest request;
  request.weights = source->tensor;
  request.k = uint64_t(source->shape[flipped ? 1 : 0]);
  request.n = uint64_t(source->shape[flipped ? 0 : 1]);
  request.transposed = flipped;
  AbstractValue classes = dy.keeping({rank - 1});
  std::vector<double> shares, mean, variance, reach;
  double all = 0;
  for (const Cell &cell : classes.cells()) {
    mean.push_back(cell.mean);
    variance.push_back(cell.variance);
    reach.push_back((cell.likelyHi - cell.likelyLo) / 2);
    shares.push_back(cell.variance);
    all += cell.variance;
  }
  if (!(all > 0) || !std::isfinite(all))
    return false;
  double repeated = shares.size() == 1 ? double(request.k) : 1;
  for (double &share : shares)
    share /= all * repeated;
  request.inputs.mean = shares;
  std::vector<double> centre =
      linearSums(request, ctx.jobs(), ctx.sharedSums()).mean;
  request.weights.zeroPoints = centre;
  request.inputs.mean = mean;
  request.inputs.variance = variance;
  request.inputs.halfRange = reach;
  LinearSums sums = linearSums(request, ctx.jobs(), ctx.sharedSums());
  Value result = ctx.op()->getResult(0);
  double extreme =
      expectedExtreme(ctx.elementsPerGroup(result, size_t(request.n)));
  std::vector<Cell> cells(request.n);
  for (uint64_t channel = 0; channel < request.n; ++channel) {
    Likely likely =
        likely::affine(likely::sum(sums.mean[channel], sums.variance[channel],
                                   sums.tail[channel], extreme),
                       alpha, 0);
    cells[channel] = Cell{likely.lo,       likely.hi, likely.mean,
                          likely.variance, likely.lo, likely.hi};
  }
  AbstractValue::Dims dims(TransferContext::rankOf(result), 1);
  dims.back() = int64_t(request.n);
  AbstractValue value(dims, cells);
  value.source = LikelySource::Propagated;
  ctx.give(0, std::move(value), spread);
  return true;
}

/// Labels of a product of matrices: rows -1, sums -2, columns -3, batch dims
/// from the right.
static void giveProduct(SpreadContext &ctx, Value a, Value b, bool transA,
                        bool transB, double alpha) {
  int64_t rankA = TransferContext::rankOf(a),
          rankB = TransferContext::rankOf(b);
  MaybeShape shapeA = getShape(a), shapeB = getShape(b);
  if (rankA < 2 || rankB < 2)
    return;
  constexpr int kRow = -1, kInner = -2, kColumn = -3;
  SmallVector<int> left, right, result;
  for (int64_t axis = 0; axis < rankA - 2; ++axis)
    left.push_back(int(rankA - 3 - axis));
  for (int64_t axis = 0; axis < rankB - 2; ++axis)
    right.push_back(int(rankB - 3 - axis));
  result = rankA >= rankB ? left : right;
  left.append({transA ? kInner : kRow, transA ? kRow : kInner});
  right.append({transB ? kColumn : kInner, transB ? kInner : kColumn});
  result.append({kRow, kColumn});
  double terms =
      double(std::max<int64_t>((*shapeA)[transA ? rankA - 2 : rankA - 1], 1));
  if (isFixed(ctx, b)) {
    Spread spread = giveWeighted(ctx, a, b, left, result, terms);
    if (!transA)
      giveCentred(ctx, a, b, transB, alpha, spread);
    return;
  }
  if (isFixed(ctx, a)) {
    giveWeighted(ctx, b, a, right, result, terms);
    return;
  }
  giveContraction(ctx, 0, makeFactor(ctx, a, left), makeFactor(ctx, b, right),
                  result, alpha);
}

static void spreadMatMul(mp::MatMulOp op, SpreadContext &ctx) {
  giveProduct(ctx, op.getLhs(), op.getRhs(), op.getTransA(), op.getTransB(),
              op.getAlpha().convertToDouble());
}
static void spreadGemm(mp::GemmOp op, SpreadContext &ctx) {
  giveProduct(ctx, op.getLhs(), op.getRhs(), op.getTransA(), op.getTransB(),
              op.getAlpha().convertToDouble());
}
static void spreadLinear(mp::LinearOp op, SpreadContext &ctx) {
  int64_t rank = TransferContext::rankOf(op.getInput());
  MaybeShape weight = getShape(op.getWeight());
  if (rank < 1 || !weight || weight->size() != 2)
    return;
  SmallVector<int> labels, result;
  for (int64_t axis = 0; axis < rank; ++axis)
    labels.push_back(int(axis));
  result = labels;
  result.back() = -3;
  if (isFixed(ctx, op.getWeight()))
    giveWeighted(ctx, op.getInput(), op.getWeight(), labels, result,
                 double(std::max<int64_t>((*weight)[1], 1)));
}

/// Of two operands; the gradient of one of more is one of two where the others
/// are known.
static void spreadEinsum(mp::EinsumOp op, SpreadContext &ctx) {
  std::optional<EinsumEquation> equation =
      EinsumEquation::parse(op.getEquation());
  if (!equation || op.getInputs().size() != 2 || op.getEquation().contains('.'))
    return;
  auto labelsOf = [](StringRef text) {
    SmallVector<int> labels;
    for (char label : text)
      labels.push_back(label);
    return labels;
  };
  SmallVector<int> left = labelsOf(equation->operands[0]),
                   right = labelsOf(equation->operands[1]),
                   result = labelsOf(equation->result);
  Value a = op.getInputs()[0], b = op.getInputs()[1];
  if (size_t(TransferContext::rankOf(a)) != left.size() ||
      size_t(TransferContext::rankOf(b)) != right.size() || isFixed(ctx, a) ||
      isFixed(ctx, b))
    return;
  giveContraction(ctx, 0, makeFactor(ctx, a, left), makeFactor(ctx, b, right),
                  result);
}

void mpopt::attachLinearSpreads(MLIRContext *context) {
  attachSpread<spreadMatMul, mp::MatMulOp>(context);
  attachSpread<spreadGemm, mp::GemmOp>(context);
  attachSpread<spreadLinear, mp::LinearOp>(context);
  attachSpread<spreadEinsum, mp::EinsumOp>(context);
}
