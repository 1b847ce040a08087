//===- Attention.cpp - Spreads of fused attention and its gradient
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The result is an average of the values with the weights P: E y^2 = c + K (s -
// c), with s the square and c the common product of the values and K the sum of
// a row's squared weights (averageOf). The first row of a causal mask is its
// own value, K = 1.
//
// The gradient has what its parts have, apart: dV = P^T dY, dP = dY v^T, dS = P
// (dP - sum P dP), dQ = scale dS k and dK = scale dS^T q, by the formulas of
// softmax and of contractions. A soft cap is a slope on the way of dS. Not
// covered, so unknown: pasts and sinks.
//
//===----------------------------------------------------------------------===//

#include "Families.h"

#include "lib/Gradients/Sums.h"
#include "mpopt/Dialect/Ops/AttentionOps.h"
#include "mpopt/Dialect/Ops/GradientOps.h"
#include "mpopt/Gradients/SoftmaxRows.h"
#include "mpopt/Ranges/Spread/SpreadInterface.h"
#include "mpopt/Ranges/Value/GradientSupport.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

namespace {
/// Where an operand or a result has its heads, rows and channels.
struct Layout {
  int64_t heads = 1, rows = 0, width = 0;
  /// The axis of the rows, and those of heads and channels.
  int64_t rowAxis = 0;
  SmallVector<int64_t, 2> channelAxes;
  bool batched = true;

  /// The layout of a tensor of rank 3 with heads side by side, of rank 4, or
  /// without heads. Nothing if a dim is not known.
  static std::optional<Layout> of(Value value, int64_t heads) {
    MaybeShape shape = getShape(value);
    if (!shape || shape->size() < 2 ||
        llvm::any_of(*shape, [](int64_t dim) { return dim < 1; }))
      return std::nullopt;
    int64_t rank = shape->size();
    Layout layout;
    layout.rows = (*shape)[rank - 2];
    layout.width = shape->back();
    layout.rowAxis = rank - 2;
    layout.channelAxes = {rank - 1};
    layout.batched = rank > 2;
    if (rank == 4) {
      layout.heads = (*shape)[1];
      layout.channelAxes = {1, 3};
    } else if (rank == 3 && heads > 0) {
      layout.heads = heads;
      layout.width /= heads;
    }
    return layout;
  }
};
} // namespace

/// Heads and channels of `from`, told apart if `to` has as many in the same
/// places.
static AbstractValue channelsOf(SpreadContext &ctx, Value from, Value to) {
  MaybeShape has = getShape(from), wants = getShape(to);
  std::optional<Layout> layout = Layout::of(from, 0);
  bool alike = layout && has->size() == wants->size() &&
               llvm::all_of(layout->channelAxes, [&](int64_t axis) {
                 return (*has)[axis] == (*wants)[axis];
               });
  if (alike)
    return ctx.of(from).keeping(layout->channelAxes);
  AbstractValue merged(AbstractValue::Dims(wants->size(), 1),
                       ctx.of(from).hull());
  merged.source = LikelySource::Propagated;
  return merged;
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
  return std::isfinite(hull.likelyLo) ? 1 - shareMasked(hull) : 1;
}

/// The keys that each query sees of those within a distance.
template <typename OpTy>
static MaskRows windowRows(OpTy op, int64_t queries, int64_t keys) {
  double left = double(int64_t(op.getLeftWindow()));
  double right = op.getIsCausal() ? 0 : double(int64_t(op.getRightWindow()));
  double end = double(keys) - 1;
  double shift = op.getCausalEnd() ? double(keys) - double(queries) : 0;
  std::vector<std::pair<double, double>> spans;
  for (double query : chooseRows(double(queries))) {
    double at = query + shift;
    double first = left < 0 ? 0 : std::max(at - left, 0.0);
    double last = right < 0 ? end : std::min(at + right, end);
    spans.push_back({first, last});
  }
  return MaskRows::ofSpans(spans);
}

/// The keys of each row, those that are left by all masks. A bias that masks
/// nothing leaves all, and varies with the scores.
template <typename OpTy>
static MaskRows findRows(OpTy op, SpreadContext &ctx, int64_t queries,
                         int64_t keys) {
  MaskRows rows = MaskRows::whole(double(keys));
  bool windowed = int64_t(op.getLeftWindow()) >= 0 ||
                  int64_t(op.getRightWindow()) >= 0 || op.getCausalEnd();
  if (windowed)
    rows = windowRows(op, queries, keys);
  else if (op.getIsCausal())
    rows = MaskRows::causal(double(queries), double(keys));
  for (Value mask : {op.getMask(), op.getBias()}) {
    if (!mask)
      continue;
    bool added = isa<FloatType>(getElementType(mask));
    MaskRows live =
        countLive(ctx, mask, keys,
                  added ? LiveElements::AboveMasked : LiveElements::NonZero);
    double share = live.empty() ? shareKept(ctx, mask) : 0;
    if (live.empty() && share > 0) {
      live = guessRows(share, getShape(mask), double(keys));
      if (const AbstractValue &its = ctx.of(mask);
          added && share == 1 && its.hasLikely())
        live.variance = its.hull().variance;
    }
    if (live.empty())
      return {};
    rows = MaskRows::both(std::move(rows), std::move(live));
  }
  return rows;
}

/// Gives a result whose groups are those of `from`, each by `make`.
static void giveChannels(BackwardSpreadContext &ctx, unsigned index,
                         const AbstractValue &from, double terms, bool zeroSum,
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
  Layout layout = *Layout::of(made, 0);
  spread.axes.batch = layout.batched ? 0 : -1;
  spread.axes.positions = 1u << layout.rowAxis;
  spread.alike = all.alike();
  spread.zeroSum = zeroSum ? int(layout.rowAxis) : -1;
  Losses losses = ctx.combineLosses();
  losses.hit = losses.hit.ofSums(terms);
  ctx.giveLosses(index, losses);
  ctx.give(index, std::move(value), spread);
}

/// The gradient of what is added to scores: theirs, added up where one number
/// is added to several. Rows add up to 0.
static void giveAdded(BackwardSpreadContext &ctx, unsigned index, double scores,
                      int64_t keys, double square) {
  Value made = ctx.op()->getResult(index);
  MaybeShape shape = getShape(made);
  std::optional<int64_t> count = getNumElements(shape);
  if (!shape || shape->empty() || !count || *count < 1)
    return;
  bool alongKeys = shape->back() == keys;
  double terms = std::max(scores / double(*count), 1.0);
  Moments moments =
      sumOf({0, 0, alongKeys ? square : 0}, TermCount{terms, 1, 1});
  AbstractValue value(AbstractValue::Dims(shape->size(), 1),
                      SpreadContext::normalCell(
                          moments, ctx.elementsPerGroup(made, /*groups=*/1)));
  value.source = LikelySource::Propagated;
  Spread spread;
  int64_t rank = int64_t(shape->size());
  spread.axes.batch = rank > 3 && shape->front() > 1 ? 0 : -1;
  for (int64_t axis = std::max<int64_t>(rank - 2, 0);
       axis < std::min<int64_t>(rank, 32); ++axis)
    spread.axes.positions |= 1u << axis;
  spread.zeroSum = alongKeys ? int(rank - 1) : -1;
  Losses losses = ctx.combineLosses();
  losses.hit = losses.hit.ofSums(terms);
  ctx.giveLosses(index, losses);
  ctx.give(index, std::move(value), spread);
}

namespace {
/// Queries, keys and values of an attention, and the weights of its rows.
struct Heads {
  Layout query, key, value;
  /// Queries of so many heads read one head of keys.
  double sharing = 1;
  /// The factor of scores.
  double scale = 1;
  /// The variance of scores that are not masked, after a soft cap, whose mean
  /// squared slope that is.
  double score = 0, slope = 1;
  /// The keys of each query.
  MaskRows mask;
  /// The moments of a weight.
  Moments p;

  /// Nothing where a shape or an estimate is unknown, for pasts and for sinks.
  template <typename OpTy>
  static std::optional<Heads> of(OpTy op, SpreadContext &ctx);

private:
  template <typename OpTy> void weigh(OpTy op, SpreadContext &ctx);
};
} // namespace

template <typename OpTy>
std::optional<Heads> Heads::of(OpTy op, SpreadContext &ctx) {
  int64_t keyHeads = op.getKvNumHeads() ? op.getKvNumHeads() : op.getNumHeads();
  std::optional<Layout> query = Layout::of(op.getQuery(), op.getNumHeads()),
                        key = Layout::of(op.getKey(), keyHeads),
                        value = Layout::of(op.getValue(), keyHeads);
  if (!query || !key || !value || key->heads != value->heads ||
      query->heads % key->heads != 0 || op.getPastKey() || op.getSink() ||
      op.getSmoothSoftmax())
    return std::nullopt;
  for (Value operand : {op.getQuery(), op.getKey(), op.getValue()})
    if (!ctx.of(operand).hasLikely())
      return std::nullopt;
  Heads heads{*query, *key, *value};
  heads.sharing = double(query->heads) / double(key->heads);
  heads.mask = findRows(op, ctx, query->rows, key->rows);
  if (heads.mask.empty())
    return std::nullopt;
  heads.weigh(op, ctx);
  return heads;
}

template <typename OpTy> void Heads::weigh(OpTy op, SpreadContext &ctx) {
  double depth = double(query.width);
  scale = op.getScale().convertToDouble();
  if (scale == 0)
    scale = 1 / std::sqrt(depth);
  // Scores of a row that differ by what its keys share are not told apart.
  Moments q = ctx.moments(op.getQuery()), k = ctx.moments(op.getKey());
  score = depth * scale * scale * q.square * std::max(k.square - k.common, 0.0);
  if (double cap = op.getSoftcap().convertToDouble(); cap > 0) {
    slope = momentsOf(0, score, [&](double x) {
              double capped = std::tanh(x / cap);
              return 1 - capped * capped;
            }).square;
    score = momentsOf(0, score, [&](double x) {
              return cap * std::tanh(x / cap);
            }).variance();
  }
  score += mask.variance;
  p = probabilitiesOf(mask, double(key.rows), score);
}

static void spreadAttention(mp::AttentionOp op, SpreadContext &ctx) {
  std::optional<Heads> heads = Heads::of(op, ctx);
  Value made = op.getResult();
  std::optional<Layout> layout = Layout::of(made, op.getNumHeads());
  if (!heads || !layout)
    return;
  double keys = double(heads->key.rows);
  // The shortest row averages least, and is as many elements as any other.
  double shortest = *llvm::min_element(heads->mask.lengths);
  double least = collisionsOf(shortest, heads->score);
  AbstractValue value = channelsOf(ctx, op.getValue(), made);
  double draws = ctx.elementsPerGroup(made, value.groups());
  double rowDraws = std::max(draws / double(layout->rows), 1.0);
  Moments all;
  std::vector<Cell> cells;
  for (const Cell &cell : value.cells()) {
    Moments v = ctx.moments(op.getValue(), cell);
    Moments average = averageOf(heads->p, v, keys);
    all = all + average;
    Cell typical = SpreadContext::normalCell(average, draws);
    Moments first = average;
    first.square = v.common + least * (v.square - v.common);
    Cell widest = SpreadContext::normalCell(first, rowDraws);
    typical.likelyLo = std::min(typical.likelyLo, widest.likelyLo);
    typical.likelyHi = std::max(typical.likelyHi, widest.likelyHi);
    cells.push_back(typical);
  }
  AbstractValue result(AbstractValue::Dims(value.dims()), cells);
  result.source = LikelySource::Propagated;
  Spread spread;
  spread.axes.batch = layout->batched ? 0 : -1;
  spread.axes.positions = 1u << layout->rowAxis;
  spread.alike = all.alike();
  spread.steady = ctx.spread(op.getValue()).steady;
  ctx.give(0, std::move(result), spread);
}

/// The sum over rows of their probabilities times gradients.
static Moments sumOverRows(const Moments &p, const Moments &grad,
                           const TermCount &count, double keys) {
  Moments term = p * grad, sum = sumOf(term, count);
  // Other keys of the rows, and other keys of other rows.
  sum.common = sumOf({term.mean, p.mean * p.mean * grad.common,
                      productInRow(p, keys) * grad.square},
                     count)
                   .square;
  return sum;
}

/// Rows of scores. Heads that lie side by side have rows of their own.
static double countRows(ArrayRef<int64_t> query, int64_t heads) {
  double rows = query.size() == 3 ? double(heads) : 1;
  for (int64_t dim : query.drop_back())
    rows *= double(dim);
  return rows;
}

static void spreadAttentionGrad(mp::AttentionGradOp op,
                                BackwardSpreadContext &ctx) {
  Value grad = op.getGrad();
  std::optional<Heads> heads = Heads::of(op, ctx);
  if (!heads || !getShape(grad) || !ctx.of(grad).hasLikely())
    return;
  const auto &[query, key, value, sharing, scale, score, slope, mask, p] =
      *heads;
  int64_t queries = query.rows, keys = key.rows;
  double width = double(value.width);
  Moments dy = ctx.moments(grad), v = ctx.moments(op.getValue());
  // Within a row only what values do not share differs.
  TermCount channels{width, 1, 1};
  Moments product = sumOf(dy * v, channels);
  double inRow =
      sumOf({dy.mean * v.mean, dy.common * v.common, dy.square * v.common},
            channels)
          .square;
  double own = std::max(product.square - inRow, 0.0);
  double dScore = logitSquare(mask.lengths, double(keys), score) * own * slope;

  for (auto [index, number] : llvm::enumerate(op.getWanted())) {
    Value made = op->getResult(index);
    switch (gradients::slotOf(op, number)) {
    case 1: // query: what keys share meets a sum of 0
      giveChannels(ctx, index, channelsOf(ctx, op.getKey(), made), double(keys),
                   false, [&](const Cell &cell) {
                     Moments x = ctx.moments(op.getKey(), cell);
                     double rest = x.square - x.common;
                     return sumOf({0, 0, dScore * rest}, {1, 1, double(keys)})
                         .scaled(scale);
                   });
      break;
    case 2: // key: columns of a row's score gradients add up to 0
      giveChannels(ctx, index, channelsOf(ctx, op.getQuery(), made),
                   sharing * double(queries), true, [&](const Cell &cell) {
                     Moments x = ctx.moments(op.getQuery(), cell);
                     return sumOf({0, 0, dScore * x.square},
                                  {sharing, 1, double(queries)})
                         .scaled(scale);
                   });
      break;
    case 3: // value
      giveChannels(ctx, index, channelsOf(ctx, grad, made),
                   sharing * double(queries), false, [&](const Cell &cell) {
                     return sumOverRows(p, ctx.moments(grad, cell),
                                        {sharing, 1, double(queries)},
                                        double(keys));
                   });
      break;
    case 4: // mask and bias
    case 5:
      giveAdded(ctx, index,
                countRows(*getShape(op.getQuery()), query.heads) * double(keys),
                keys, dScore);
      break;
    default:
      break;
    }
  }
}

void mpopt::attachAttentionSpreads(MLIRContext *context) {
  attachSpread<spreadAttention, mp::AttentionOp>(context);
  attachSpread<spreadAttentionGrad, mp::AttentionGradOp>(context);
}
