//===- Attention.cpp - Spreads of the gradient of fused attention
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What its parts have, apart: dV = P^T dY, dP = dY v^T, dS = P (dP - sum P dP),
// dQ = scale dS k and dK = scale dS^T q, by the formulas of softmax and of
// contractions. Not covered, so unknown: operands without a dim of heads, keys
// that several queries share, pasts, sinks, lengths, windows and soft caps.
//
//===----------------------------------------------------------------------===//

#include "Families.h"

#include "lib/Gradients/Sums.h"
#include "mpopt/Dialect/Ops/GradientOps.h"
#include "mpopt/Gradients/SoftmaxRows.h"
#include "mpopt/Gradients/SpreadInterface.h"
#include "mpopt/Ranges/Value/GradientSupport.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

/// Scores this far down take no part.
static constexpr double kMasked = -1e4;

/// Operands are [B, H, S or T, D or E]: heads and channels are told apart.
static AbstractValue channelsOf(SpreadContext &ctx, Value value) {
  return ctx.of(value).keeping({1, 3});
}

/// The share of the keys that a mask is expected to keep. One of which nothing
/// is expected keeps all: lengths matter by their roots.
static double shareKept(SpreadContext &ctx, Value mask) {
  const AbstractValue &value = ctx.of(mask);
  if (!value.hasLikely())
    return 1;
  Cell hull = value.hull();
  if (!isa<FloatType>(getElementType(mask)))
    return std::clamp(hull.mean, 0.0, 1.0);
  if (hull.likelyLo > kMasked || !std::isfinite(hull.likelyLo))
    return 1;
  if (hull.likelyHi < kMasked)
    return 0;
  return std::clamp(
      (hull.mean - hull.likelyLo) / (hull.likelyHi - hull.likelyLo), 0.0, 1.0);
}

/// The length of each row, or nothing for a mask whose rows are not known
/// beside those of a causal one.
static std::vector<double> rowLengths(mp::AttentionGradOp op,
                                      SpreadContext &ctx, int64_t queries,
                                      int64_t keys) {
  std::vector<double> lengths{double(keys)};
  if (op.getIsCausal())
    lengths = causalLengths(double(queries), double(keys));
  for (Value mask : {op.getMask(), op.getBias()}) {
    if (!mask)
      continue;
    bool added = isa<FloatType>(getElementType(mask));
    std::vector<double> live = countLive(ctx, mask, keys, [&](double held) {
      return added ? held > kMasked : held != 0;
    });
    if (op.getIsCausal())
      return {};
    if (live.empty())
      live.push_back(std::round(double(keys) * shareKept(ctx, mask)));
    // Rows without a key have no gradient.
    llvm::erase(live, 0.0);
    if (live.empty())
      return {};
    lengths = std::move(live);
  }
  return lengths;
}

/// Gives a result whose groups are those of `from`, each by `make`.
static void giveChannels(SpreadContext &ctx, unsigned index,
                         const AbstractValue &from, double terms, int zeroSum,
                         llvm::function_ref<Moments(const Cell &)> make) {
  Value made = ctx.op()->getResult(index);
  double draws = ctx.elementsPerGroup(made, from.groups());
  std::vector<Cell> cells;
  Moments all;
  for (const Cell &cell : from.cells()) {
    Moments moments = make(cell);
    cells.push_back(SpreadContext::normalCell(moments, draws));
    all = all + moments;
  }
  AbstractValue value(AbstractValue::Dims(from.dims()), cells);
  value.source = LikelySource::Propagated;
  Spread spread;
  spread.axes.batch = 0;
  spread.axes.positions = 1u << 2;
  spread.alike = all.alike();
  spread.zeroSum = zeroSum;
  Losses losses = ctx.combineLosses();
  losses.hit = losses.hit.ofSums(terms);
  ctx.giveLosses(index, losses);
  ctx.give(index, std::move(value), spread);
}

static void spreadAttentionGrad(mp::AttentionGradOp op, SpreadContext &ctx) {
  MaybeShape query = getShape(op.getQuery()), key = getShape(op.getKey()),
             value = getShape(op.getValue());
  for (const MaybeShape &shape : {query, key, value})
    if (!shape || shape->size() != 4 ||
        llvm::any_of(*shape, [](int64_t dim) { return dim < 1; }))
      return;
  if ((*query)[1] != (*key)[1] || op.getPastKey() || op.getKeyLengths() ||
      op.getSink() || op.getSmoothSoftmax() || op.getCausalEnd() ||
      !op.getSoftcap().isZero() || int64_t(op.getLeftWindow()) >= 0 ||
      int64_t(op.getRightWindow()) >= 0)
    return;
  Value grad = op.getGrad();
  for (Value operand : {grad, op.getQuery(), op.getKey(), op.getValue()})
    if (!ctx.of(operand).hasLikely())
      return;
  int64_t queries = (*query)[2], keys = (*key)[2];
  double depth = double((*query)[3]), width = double((*value)[3]);
  double scale = op.getScale().convertToDouble();
  if (scale == 0)
    scale = 1 / std::sqrt(depth);
  std::vector<double> lengths = rowLengths(op, ctx, queries, keys);
  if (lengths.empty())
    return;

  Moments q = ctx.moments(op.getQuery()), k = ctx.moments(op.getKey());
  double score = sumOf(q * k, {depth, 1, 1}).scaled(scale).variance();
  Moments p = probabilitiesOf(lengths, double(keys), score);
  Moments dy = ctx.moments(grad), v = ctx.moments(op.getValue());
  // Within a row only what values do not share differs.
  TermCount channels{width, 1, 1};
  Moments product = sumOf(dy * v, channels);
  double inRow =
      sumOf({dy.mean * v.mean, dy.common * v.common, dy.square * v.common},
            channels)
          .square;
  double own = std::max(product.square - inRow, 0.0);
  double dScore = logitSquare(lengths, double(keys), score) * own;

  for (auto [index, number] : llvm::enumerate(op.getWanted())) {
    switch (gradients::slotOf(op, number)) {
    case 1: // query: what keys share meets a sum of 0
      giveChannels(ctx, index, channelsOf(ctx, op.getKey()), double(keys), -1,
                   [&](const Cell &cell) {
                     Moments x = ctx.moments(op.getKey(), cell);
                     double rest = x.square - x.common;
                     return sumOf({0, 0, dScore * rest}, {1, 1, double(keys)})
                         .scaled(scale);
                   });
      break;
    case 2: // key: columns of a row's score gradients add up to 0
      giveChannels(ctx, index, channelsOf(ctx, op.getQuery()), double(queries),
                   2, [&](const Cell &cell) {
                     Moments x = ctx.moments(op.getQuery(), cell);
                     return sumOf({0, 0, dScore * x.square},
                                  {1, 1, double(queries)})
                         .scaled(scale);
                   });
      break;
    case 3: // value
      giveChannels(ctx, index, channelsOf(ctx, grad), double(queries), -1,
                   [&](const Cell &cell) {
                     Moments x = ctx.moments(grad, cell);
                     TermCount count{1, 1, double(queries)};
                     Moments term = p * x, sum = sumOf(term, count);
                     // Other keys meet the same queries.
                     sum.common =
                         sumOf({term.mean, term.common, p.common * x.square},
                               count)
                             .square;
                     return sum;
                   });
      break;
    default:
      break;
    }
  }
}

void mpopt::attachAttentionSpreads(MLIRContext *context) {
  attachSpread<spreadAttentionGrad, mp::AttentionGradOp>(context);
}
