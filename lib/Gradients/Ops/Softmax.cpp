//===- Softmax.cpp - Spreads of softmax and its gradient
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A row's probabilities add up to 1, and what arrives at them counts only as
// far as it differs within the row. Sums of squares of a row, its collisions,
// say how many elements share it: 1 / n if all do, 1 if one has it all. A mask
// lets rows have different lengths, as a causal one does.
//
//===----------------------------------------------------------------------===//

#include "Families.h"

#include "lib/Gradients/Sums.h"
#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/ActivationOps.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/QuantizationOps.h"
#include "mpopt/Dialect/Ops/TrainingOps.h"
#include "mpopt/Gradients/SoftmaxRows.h"
#include "mpopt/Numerics/Likely.h"
#include "mpopt/Numerics/Normal.h"
#include "mpopt/Ranges/Spread/SpreadInterface.h"
#include "mpopt/Ranges/Value/CommonScores.h"
#include "mpopt/Ranges/Value/SoftmaxEstimate.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

namespace {
/// The elements of rows that are not masked.
struct Rows {
  MaskRows mask;
  /// The terms of the logits without masks, and the variance of normal logits
  /// that contend as these do.
  SmallVector<Value, 2> scores;
  double variance = 0;
  /// The variance of the logits themselves.
  double varies = 0;
};
} // namespace

/// The share of the elements of a mask of two numbers, one of them huge and
/// negative, that have the other; nothing if it is no such mask.
static std::optional<double> shareAdded(const AbstractValue &mask) {
  Cell hull = mask.hull();
  if (!mask.hasLikely() || !(hull.likelyLo < maskedBelow()) ||
      hull.likelyHi < maskedBelow() || !std::isfinite(hull.likelyLo) ||
      !isBimodal(hull))
    return std::nullopt;
  return 1 - shareMasked(hull);
}

/// Addends of masked logits that are looked at one by one: scores, a bias, and
/// masks of the future, of padding and of a window.
static constexpr unsigned kMostAddends = 8;

/// True if the first operand of a choice is what masks, false if the second
/// is; nothing if neither does. Scores may be -Inf, too, where their products
/// overflow.
static std::optional<bool> masksFirst(SpreadContext &ctx, mp::WhereOp where) {
  auto masks = [&](Value value) {
    const AbstractValue &its = ctx.of(value);
    Cell hull = its.hull();
    return hull.mean < maskedBelow() ||
           (its.negInf && (hull.empty() || its.source == LikelySource::Weight));
  };
  if (masks(where.getLhs()))
    return true;
  return masks(where.getRhs()) ? std::optional(false) : std::nullopt;
}

/// The rows of a choice between scores and a huge negative number.
static Value addChoice(SpreadContext &ctx, mp::WhereOp where, bool maskedFirst,
                       int64_t count, Rows &rows) {
  MaskRows mask =
      countLive(ctx, where.getCondition(), count,
                maskedFirst ? LiveElements::Zero : LiveElements::NonZero);
  const AbstractValue &held = ctx.of(where.getCondition());
  if (mask.empty() && held.hasLikely()) {
    double share = std::clamp(held.hull().mean, 0.0, 1.0);
    mask = guessRows(maskedFirst ? 1 - share : share,
                     getShape(where.getResult()), double(count));
  }
  rows.mask = MaskRows::both(std::move(rows.mask), std::move(mask));
  return maskedFirst ? where.getRhs() : where.getLhs();
}

/// The value itself, also behind the codes in which a model keeps it.
static Value peelCodes(Value value) {
  for (;;) {
    value = peel(value);
    if (auto fake = value.getDefiningOp<mp::FakeQuantizeOp>()) {
      value = fake.getInput();
      continue;
    }
    auto numbers = value.getDefiningOp<mp::DequantizeOp>();
    auto codes = numbers ? getMaker<mp::QuantizeOp>(numbers.getInput())
                         : mp::QuantizeOp();
    if (!codes)
      return value;
    value = codes.getInput();
  }
}

/// The variance of what the scores of a row have in common.
static double commonOf(Value scores, SpreadContext &ctx) {
  return commonVariance(scores, [&](Value value) -> const AbstractValue & {
    return ctx.of(value);
  });
}

/// The rows of a softmax over the last axis, whose logits are masked: chosen
/// against a huge negative number, or with one added, wherever in a sum. What
/// else is added to the scores varies with them.
static Rows findRows(SpreadContext &ctx, Value logits, int64_t count) {
  Rows rows;
  MaybeShape shape = getShape(logits);
  SmallVector<Value> work = {logits};
  for (unsigned looked = 0; !work.empty(); ++looked) {
    Value term = peelCodes(work.pop_back_val());
    const AbstractValue &own = ctx.of(term);
    bool masked = own.negInf || own.hull().likelyLo < maskedBelow();
    auto where = term.getDefiningOp<mp::WhereOp>();
    auto sum = term.getDefiningOp<mp::AddOp>();
    std::optional<bool> first =
        masked && where ? masksFirst(ctx, where) : std::nullopt;
    if (first && looked < kMostAddends) {
      work.push_back(addChoice(ctx, where, *first, count, rows));
    } else if (masked && sum && looked < kMostAddends) {
      llvm::append_range(work, llvm::reverse(sum->getOperands()));
    } else if (std::optional<double> share = shareAdded(own);
               share && term != peelCodes(logits)) {
      MaskRows mask = countLive(ctx, term, count, LiveElements::AboveMasked);
      if (mask.empty())
        mask = guessRows(*share, shape, double(count));
      rows.mask = MaskRows::both(std::move(rows.mask), std::move(mask));
    } else {
      rows.scores.push_back(term);
      rows.variance += own.hull().variance - commonOf(term, ctx);
    }
  }
  rows.variance += rows.mask.variance;
  return rows;
}

//===----------------------------------------------------------------------===//
// Softmax and its gradient
//===----------------------------------------------------------------------===//

/// The variance of normal logits that are as close to each other at the top of
/// a row as those of `x`, which end at a known number: next to it n phi(z) / s
/// are within 1, with z deviations s from their mean to there, and m / s of
/// normal ones at the expected largest, m. Positions that are multiplied by a
/// slope, and what is capped, are no normal numbers there. The mean of groups.
static double varianceAtTop(const AbstractValue &x, int64_t axis,
                            double count) {
  SmallVector<int64_t> others;
  for (int64_t other = 0; other < int64_t(x.rank()); ++other)
    if (other != axis)
      others.push_back(other);
  AbstractValue rows = x.keeping(others);
  double largest = expectedMaximum(count), sum = 0;
  for (const Cell &cell : rows.cells()) {
    double deviation = std::sqrt(cell.variance);
    double reach = (cell.likelyHi - cell.mean) / deviation;
    double factor = deviation > 0 && reach < largest
                        ? largest / (count * normalDensity(reach))
                        : 1;
    sum += cell.variance * std::min(factor * factor, 1.0);
  }
  return sum / double(rows.groups());
}

/// The rows of a softmax and the variance of their logits; nothing if they are
/// not known.
static std::optional<Rows> rowsOf(mp::SoftmaxOp op, SpreadContext &ctx) {
  Value input = op.getInput();
  int64_t rank = TransferContext::rankOf(input);
  std::optional<int64_t> axis = normalizeAxis(op.getAxis(), rank);
  std::optional<int64_t> count =
      axis ? TransferContext::dimOf(input, *axis) : std::nullopt;
  if (!count || *count < 1 || op.getFlatten())
    return std::nullopt;
  Rows rows{{}, {input}, ctx.of(input).hull().variance};
  if (*axis == rank - 1)
    rows = findRows(ctx, input, *count);
  rows.varies = rows.variance;
  if (rows.mask.empty()) {
    rows.mask = MaskRows::whole(double(*count));
    AbstractValue own = ctx.of(input);
    if (*axis == rank - 1)
      removeCommon(own, input, [&](Value value) -> const AbstractValue & {
        return ctx.of(value);
      });
    rows.variance =
        std::min(rows.variance, varianceAtTop(own, *axis, double(*count)));
  }
  // Logits of two modes far apart, one of them below all scores, are masked in
  // a way that is not seen here.
  for (Value scores : rows.scores)
    if (Cell hull = ctx.of(scores).hull();
        !(std::sqrt(hull.variance) < -maskedBelow()) &&
        !(hull.likelyLo > maskedBelow()) && isBimodal(hull))
      return std::nullopt;
  return rows;
}

static void spreadSoftmax(mp::SoftmaxOp op, SpreadContext &ctx) {
  Value input = op.getInput();
  std::optional<Rows> rows = rowsOf(op, ctx);
  if (!rows)
    return;
  int64_t rank = TransferContext::rankOf(input);
  std::optional<int64_t> axis = normalizeAxis(op.getAxis(), rank);
  double n = double(*TransferContext::dimOf(input, *axis));
  double live = 0;
  for (double length : rows->mask.lengths)
    live += length / double(rows->mask.lengths.size());
  Moments p = probabilitiesOf(rows->mask, n, rows->variance);
  Spread spread = ctx.spread(input);
  spread.axes.positions |= *axis < 32 ? 1u << *axis : 0;
  spread.alike = p.alike();
  spread.zero = 1 - live / n;
  spread.factors = 1;
  spread.unitSum = int(*axis);
  // A sum of many exponentials of normal numbers is near its mean until their
  // deviation passes the expected largest of them (the freezing transition of
  // the random energy model): the range analysis has those rows. Of masked rows
  // and of rows that few elements share the lengths tell the mean square.
  AbstractValue value = ctx.of(op.getResult());
  if (live == n && rows->varies <= std::pow(expectedMaximum(n), 2))
    return ctx.giveSpread(0, spread);
  Cell hull = value.hull();
  double missing = p.square - hull.mean * hull.mean - hull.variance;
  for (CellRef cell : value.mutableCells())
    cell.variance = std::max(cell.variance + missing, 0.0);
  ctx.give(0, std::move(value), spread);
}

/// The same as `logitSquare` where the mean of each class's logits is known: of
/// the others only those that come near the largest, p and 1 - p of a pair, let
/// 4 p^2 (1 - p)^2 through. Of the difference d of two logits that is a bell of
/// height 1/4 and area 2/3, taken as normal. Nothing without such means, and
/// where others are as likely to be the largest, which contend among
/// themselves.
static std::optional<double> squareByClass(const AbstractValue &logits,
                                           int64_t axis, double count) {
  if (!logits.hasLikely() || axis >= int64_t(logits.rank()) ||
      double(logits.dims()[axis]) != count)
    return std::nullopt;
  AbstractValue classes = logits.keeping({axis});
  size_t top = 0;
  for (size_t at = 0; at < classes.groups(); ++at)
    if (classes.cell(at).mean > classes.cell(top).mean)
      top = at;
  // 4 p^2 (1 - p)^2 at p = 1/2, and its integral over d with p = 1 / (1 +
  // e^-d).
  constexpr double kHeight = 0.25, kArea = 2.0 / 3;
  const double width = kArea / (kHeight * std::sqrt(2 * M_PI));
  double sum = 0, overtaking = 0;
  Cell most = classes.cell(top);
  for (size_t at = 0; at < classes.groups(); ++at) {
    if (at == top)
      continue;
    Cell other = classes.cell(at);
    double gap = most.mean - other.mean;
    double spread = width * width + most.variance + other.variance;
    sum += kHeight * width / std::sqrt(spread) *
           std::exp(-gap * gap / (2 * spread));
    overtaking += 0.5 * std::erfc(gap / std::sqrt(2 * spread));
  }
  // Expected number of others above the largest: as likely as not one is.
  constexpr double kEven = 0.5;
  if (overtaking > kEven)
    return std::nullopt;
  return sum / count;
}

/// The operand to which an epsilon is added, or which it limits below; the
/// value itself without one.
static Value peelEpsilon(Value value) {
  Operation *op = peel(value).getDefiningOp();
  if (auto clip = dyn_cast_if_present<mp::ClipOp>(op))
    return peel(clip.getInput());
  if (isa_and_present<mp::AddOp, mp::MaxOp>(op))
    if (std::optional<std::pair<Value, double>> split = splitNumber(op);
        split && split->second > 0)
      return peel(split->first);
  return peel(value);
}

/// The gradient dL of the logarithm of the probabilities y that `grad` = dL / y
/// is; of log(y + epsilon), too, as every loss that is written out has. Null
/// for other gradients.
static Value findGradOfLogarithm(Value grad, Value y) {
  // Probabilities that the epsilon replaces have none.
  if (auto where = peel(grad).getDefiningOp<mp::WhereOp>())
    if (getSplatConstant(where.getRhs()) == 0.0)
      grad = where.getLhs();
  auto quotient = peel(grad).getDefiningOp<mp::DivOp>();
  return quotient && peelEpsilon(quotient.getRhs()) == peel(y)
             ? quotient.getLhs()
             : Value();
}

/// dL - y sum(dL): the probability that dL is divided by is the one that the
/// softmax multiplies with.
static void spreadOfLogarithm(mp::SoftmaxGradOp op, Value grad, double count,
                              double collisions, BackwardSpreadContext &ctx) {
  AbstractValue value = ctx.of(grad);
  for (CellRef cell : value.mutableCells()) {
    double square = cell.variance * (1 - 2 / count + collisions) +
                    cell.mean * cell.mean * (count * collisions - 1);
    cell.mean = 0;
    cell.variance = std::max(square, 0.0);
    double peak = std::max(std::fabs(cell.likelyLo), std::fabs(cell.likelyHi));
    cell.likelyLo = cell.lo = -2 * peak;
    cell.likelyHi = cell.hi = 2 * peak;
  }
  value = AbstractValue(AbstractValue::Dims(value.dims()), value.cells());
  value.source = LikelySource::Propagated;
  Spread spread = ctx.spread(grad);
  spread.axes = ctx.spread(op.getOutput()).axes;
  ctx.give(0, std::move(value), spread);
}

static void spreadSoftmaxGrad(mp::SoftmaxGradOp op,
                              BackwardSpreadContext &ctx) {
  Value grad = op.getGrad(), y = op.getOutput();
  std::optional<int64_t> axis =
      normalizeAxis(op.getAxis(), TransferContext::rankOf(y));
  if (!axis || op.getCoerced() ||
      ctx.of(grad).rank() != TransferContext::rankOf(y))
    return;
  double n = double(
      std::max<int64_t>(TransferContext::dimOf(y, *axis).value_or(1), 1));
  Moments p = ctx.moments(peel(y));
  double collisions = std::clamp(n * p.square, 1 / n, 1.0);
  if (Value logarithm = findGradOfLogarithm(grad, y);
      logarithm && getShape(logarithm) == getShape(y))
    return spreadOfLogarithm(op, logarithm, n, collisions, ctx);
  double passed;
  auto softmax = peel(y).getDefiningOp<mp::SoftmaxOp>();
  if (auto rows = softmax ? rowsOf(softmax, ctx) : std::nullopt) {
    passed = logitSquare(rows->mask.lengths, n, rows->variance);
    bool whole = rows->mask.lengths.size() == 1 &&
                 rows->mask.lengths.front() == n && rows->scores.size() == 1;
    if (auto byClass = whole ? squareByClass(ctx.of(rows->scores[0]), *axis, n)
                             : std::nullopt)
      passed = std::min(passed, *byClass);
  } else {
    passed = logitSquare({n}, n, logitVariance(n, collisions));
  }
  const Spread &before = ctx.spread(grad);
  bool last = *axis + 1 == int64_t(TransferContext::rankOf(y));
  // Channels of one position have nothing in common but their mean.
  bool hasPositions = *axis < 32 && before.axes.isPosition(*axis);
  double shared = last && before.alikeInRow >= 0
                      ? std::min(before.alikeInRow, 1.0)
                  : hasPositions ? before.alike
                                 : 0;
  AbstractValue value = AbstractValue(ctx.of(grad)).merging(*axis);
  for (CellRef cell : value.mutableCells()) {
    double own = cell.variance * (1 - shared);
    cell.mean = 0;
    cell.variance = passed * own;
    double peak = std::max(std::fabs(cell.likelyLo), std::fabs(cell.likelyHi)) *
                  std::min(ctx.of(y).hull().likelyHi, 0.5);
    cell.likelyLo = cell.lo = -peak;
    cell.likelyHi = cell.hi = peak;
  }
  value = AbstractValue(AbstractValue::Dims(value.dims()), value.cells());
  value.source = LikelySource::Propagated;
  Spread spread = before;
  spread.axes = ctx.spread(y).axes;
  spread.alike = 0;
  spread.alikeInRow = -1;
  spread.zero = ctx.spread(peel(y)).zero;
  spread.factors = before.factors + (collisions > 2 / n ? 1 : 0);
  spread.zeroSum = int(*axis);
  ctx.give(0, std::move(value), spread);
}

void mpopt::attachSoftmaxSpreads(MLIRContext *context) {
  attachSpread<spreadSoftmax, mp::SoftmaxOp>(context);
  attachSpread<spreadSoftmaxGrad, mp::SoftmaxGradOp>(context);
}
