//===- Reduction.cpp - Spreads of sums and means
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Families.h"

#include "lib/Gradients/Sums.h"
#include "mpopt/Dialect/Ops/GradientOps.h"
#include "mpopt/Dialect/Ops/ReductionOps.h"
#include "mpopt/Gradients/SpreadInterface.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

template <typename OpTy> static void spreadSum(OpTy op, SpreadContext &ctx) {
  Value input = op.getInput();
  int64_t rank = TransferContext::rankOf(input);
  MaybeShape shape = getShape(input);
  SmallVector<int64_t> axes;
  if (auto given = op.getAxes()) {
    for (int64_t axis : *given)
      if (auto normal = normalizeAxis(axis, rank))
        axes.push_back(*normal);
  } else if (op->getNumOperands() > 1) {
    auto known = ctx.shapes().constants(op->getOperand(1));
    if (!known)
      return;
    for (int64_t axis : *known)
      if (auto normal = normalizeAxis(axis, rank))
        axes.push_back(*normal);
  }
  if (axes.empty())
    axes = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  if (!shape || ctx.of(input).rank() != size_t(rank))
    return;
  double factor = 1;
  if constexpr (std::is_same_v<OpTy, mp::ReduceMeanOp>)
    factor = 1 / ctx.countTerms(input, axes).all();
  giveSum(ctx, 0, input, axes, op.getKeepDims(), factor);
}

/// dY times the product of the other elements, which are independent.
static void spreadProd(mp::ReduceProdGradOp op, SpreadContext &ctx) {
  Value grad = op.getGrad(), input = op.getInput();
  auto all = getNumElements(getShape(input)),
       rows = getNumElements(getShape(grad));
  if (!all || !rows || *rows == 0 || !ctx.of(input).hasLikely())
    return;
  double others = double(*all) / double(*rows) - 1;
  Moments dy = ctx.moments(grad), x = ctx.moments(input);
  Moments slope{dy.mean * std::pow(x.mean, others),
                dy.common * std::pow(x.common, others),
                dy.square * std::pow(x.square, others)};
  AbstractValue value(AbstractValue::Dims(TransferContext::rankOf(input), 1),
                      SpreadContext::normalCell(slope, double(*all)));
  value.source = LikelySource::Propagated;
  Spread spread = ctx.spread(input);
  spread.alike = slope.alike();
  spread.factors = ctx.spread(grad).factors + others;
  ctx.give(0, std::move(value), spread);
}

void mpopt::attachReductionSpreads(MLIRContext *context) {
  attachSpread<spreadSum<mp::ReduceSumOp>, mp::ReduceSumOp>(context);
  attachSpread<spreadSum<mp::ReduceMeanOp>, mp::ReduceMeanOp>(context);
  attachSpread<spreadProd, mp::ReduceProdGradOp>(context);
}
