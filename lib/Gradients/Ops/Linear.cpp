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

using namespace mlir;
using namespace mpopt;

/// True if the value is the same for all samples: weights.
static bool isFixed(SpreadContext &ctx, Value value) {
  return !ctx.isGradient(value) && ctx.spread(value).axes.batch < 0;
}

/// Samples times known weights: every position is multiplied alike, so that
/// positions stay as alike as they are.
static void giveWeighted(SpreadContext &ctx, Value input, Value weight,
                         ArrayRef<int> labels, ArrayRef<int> result,
                         double terms) {
  const Spread &own = ctx.spread(input);
  Spread spread;
  spread.alike = own.alike;
  spread.factors = terms < 4 ? own.factors : 1;
  spread.zero = std::pow(own.zero, terms);
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
    return;
  Losses losses = ctx.losses(input);
  if (ctx.hits(input)) {
    // Each row has one that is hit.
    losses.hit = losses.hit.both(losses.rest.ofSums(std::max(terms - 1, 0.0)));
    losses.rest = {};
  } else {
    losses.hit = losses.hit.ofSums(terms);
  }
  ctx.giveLosses(0, losses);
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
  if (isFixed(ctx, b))
    return giveWeighted(ctx, a, b, left, result, terms);
  if (isFixed(ctx, a))
    return giveWeighted(ctx, b, a, right, result, terms);
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
