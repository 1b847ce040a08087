//===- Loss.cpp - Spreads of the gradients of losses
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The size of everything behind the loss is decided here. Predictions and
// targets are taken as independent, unless the current value of the loss says
// that the model has learnt: then the errors are as large as that value makes
// them. docs/gradients.md has the formulas.
//
//===----------------------------------------------------------------------===//

#include "Families.h"

#include "lib/Gradients/Sums.h"
#include "mpopt/Dialect/Ops/GradientOps.h"
#include "mpopt/Dialect/Settings.h"
#include "mpopt/Gradients/SpreadInterface.h"
#include "mpopt/Numerics/Likely.h"
#include "mpopt/Ranges/Value/CellSupport.h"
#include "mpopt/Ranges/Value/SoftmaxEstimate.h"
#include "mpopt/Ranges/Value/SoftmaxRows.h"

#include <cmath>
#include <numbers>

using namespace mlir;
using namespace mpopt;

/// The variance of the logarithm of a normal number's magnitude.
static constexpr double kLogVariance = std::numbers::pi * std::numbers::pi / 8;

/// A loss that is below this part of what independent targets have was learnt.
static constexpr double kLearnt = 0.9;

namespace {
/// How a loss's reduction scales the gradient of one element.
struct Reduction {
  /// The factor of an element's gradient.
  double factor = 1;
  /// The loss of one element; nothing if the loss is not known.
  std::optional<double> element;
};
} // namespace

/// `terms` elements are added up, `counted` of them are not ignored.
static Reduction reductionOf(SpreadContext &ctx, Value grad, StringRef kind,
                             double terms, double counted) {
  Reduction result;
  double arrives = ctx.of(grad).hull().mean;
  double weight = kind == "mean" ? 1 / std::max(terms * counted, 1.0) : 1;
  result.factor = arrives * weight;
  if (auto value = ctx.lossValue(); value && result.factor != 0)
    result.element = *value / (result.factor * terms * counted);
  return result;
}

//===----------------------------------------------------------------------===//
// Cross entropy
//===----------------------------------------------------------------------===//

namespace {
/// The second moment of 1 - p of the target's class, and the share of it that
/// the other classes' squares have: E sum p^2 = square concentration.
struct Misses {
  double square, concentration;
  bool learnt;
};
} // namespace

/// -log p of the target is taken as exponentially distributed with the loss as
/// its mean L: E (1 - p)^2 = 2 L^2 / ((1 + L) (1 + 2 L)).
static double learntSquare(double loss) {
  return 2 * loss * loss / ((1 + loss) * (1 + 2 * loss));
}

/// The share of targets that are not ignored, which the loss that reads them
/// may declare.
static double shareCounted(Value target) {
  for (Operation *user : target.getUsers())
    if (auto share = user->getAttrOfType<FloatAttr>(kShareCountedAttr))
      return std::clamp(share.getValueAsDouble(), 1e-9, 1.0);
  return 1;
}

static void spreadCrossEntropy(mp::CrossEntropyGradOp op, SpreadContext &ctx) {
  Value input = op.getInput();
  MaybeShape shape = getShape(input);
  if (!shape || shape->empty() || op.getWanted().size() != 1 ||
      op.getWanted().front() != 1)
    return;
  int64_t axis = shape->size() > 1 ? 1 : 0;
  auto all = getNumElements(shape);
  int64_t classes = (*shape)[axis];
  if (!all || classes <= 0)
    return;
  double rows = double(*all) / double(classes);
  double counted = shareCounted(op.getTarget());
  Reduction reduction =
      reductionOf(ctx, op.getGrad(), op.getReduction(), rows, counted);

  // Probabilities of the classes, as far as logits tell them apart.
  AbstractValue logits = ctx.of(input).keeping({axis});
  AbstractValue p = cells::softmaxOf(shape, logits, {axis}, /*logarithm=*/false,
                                     /*rowsHaveFinite=*/true,
                                     FloatFormat::f32(), FloatFormat::f32())
                        .keeping({axis});
  double logSum =
      estimateSoftmaxRows(logits, logits.merged(), double(classes))[0].logSum;
  std::vector<double> frequencies =
      ctx.frequencies(op.getTarget(), size_t(classes));
  bool even = llvm::all_equal(frequencies);
  size_t groups = !even && size_t(classes) <= ctx.groupLimit().most
                      ? size_t(classes)
                      : p.groups();
  if (frequencies.size() != groups)
    frequencies.assign(groups, 1.0 / double(classes));
  auto classOf = [&](const AbstractValue &value, size_t group) {
    return value.cell(value.groups() == 1 ? 0 : group);
  };
  double perGroup = double(classes) / double(groups);
  double meanHit = 0, squareHit = 0, squares = 0, loss = logSum, sum = 0;
  for (size_t group = 0; group < groups; ++group)
    sum += perGroup * classOf(p, group).mean;
  for (size_t group = 0; group < groups; ++group) {
    Cell cell = classOf(p, group);
    double mean = cell.mean / sum;
    double square = std::min(mean, cell.mean * cell.mean + cell.variance);
    double frequency = frequencies[group] * perGroup;
    meanHit += frequency * mean;
    squareHit += frequency * square;
    squares += perGroup * square;
    loss -= frequency * classOf(logits, group).mean;
  }
  bool learnt = reduction.element && *reduction.element < kLearnt * loss;
  double miss = learnt ? learntSquare(std::max(*reduction.element, 0.0))
                       : 1 - 2 * meanHit + squareHit;
  double among = std::clamp(squares, 1.0 / double(classes), 1.0);

  double size = std::fabs(reduction.factor);
  double draws = rows * counted;
  std::vector<Cell> made(groups), shares(groups), rests(groups);
  double variation = 0, shared = 0;
  for (size_t group = 0; group < groups; ++group) {
    Cell cell = classOf(p, group);
    double mean = cell.mean / sum, frequency = frequencies[group];
    double square = std::min(mean, cell.mean * cell.mean + cell.variance);
    double rest =
        learnt ? miss * among * square / std::max(squares, 1e-300) : square;
    Cell &own = made[group];
    double whole = counted * (frequency * miss + (1 - frequency) * rest);
    own.mean = learnt ? 0 : counted * (mean - frequency) * reduction.factor;
    own.variance = std::max(0.0, whole * size * size - own.mean * own.mean);
    double high =
        std::min(1.0, std::sqrt(rest) * std::max(1.0, expectedExtreme(draws)));
    own.likelyLo = -size * (learnt ? 1 : 1 - std::min(mean, 1.0));
    own.likelyHi = high * size;
    if (reduction.factor < 0)
      std::tie(own.likelyLo, own.likelyHi) =
          std::pair(-own.likelyHi, -own.likelyLo);
    own.lo = own.likelyLo;
    own.hi = own.likelyHi;
    shares[group].mean = frequency * counted;
    rests[group].mean = counted * rest * size * size;
    variation += own.variance;
    shared += std::max(0.0, square - mean * mean) * size * size;
  }
  AbstractValue::Dims dims(shape->size(), 1);
  if (groups > 1)
    dims[axis] = classes;
  AbstractValue value(dims, made);
  value.source = LikelySource::Propagated;
  Spread spread = ctx.spread(input);
  spread.alike =
      variation > 0 ? std::min(1.0, spread.alike * shared / variation) : 0;
  spread.bounded = true;
  spread.zero = spread.zeroRows = 1 - counted;
  spread.zeroSum = int(axis);
  // The logarithm of a probability varies as its logit does.
  spread.factors = std::min(logits.hull().variance, 16.0) / kLogVariance;
  ctx.give(0, std::move(value), spread);
  ctx.giveHits(0, {AbstractValue(dims, shares), AbstractValue(dims, rests)});
}

//===----------------------------------------------------------------------===//
// Losses of two tensors
//===----------------------------------------------------------------------===//

namespace {
/// An error of one element, and its spread.
struct Error {
  AbstractValue value;
  Spread spread;
};
} // namespace

/// x - t, where both have one shape.
template <typename OpTy>
static std::optional<Error> errorOf(OpTy op, SpreadContext &ctx) {
  MaybeShape input = getShape(op.getInput()), target = getShape(op.getTarget());
  if (!input || !target || input->size() != target->size() ||
      op.getWanted().size() != 1 || op.getWanted().front() != 1)
    return std::nullopt;
  Error error{AbstractValue(ctx.of(op.getInput())), ctx.spread(op.getInput())};
  Cell goal = ctx.of(op.getTarget()).hull();
  double own = error.value.hull().variance, all = own + goal.variance;
  for (CellRef cell : error.value.mutableCells()) {
    Likely difference =
        likely::sub(cells::getLikely(cell), cells::getLikely(goal));
    cells::setLikely(cell, difference);
  }
  if (all > 0)
    error.spread.alike = (own * error.spread.alike +
                          goal.variance * ctx.spread(op.getTarget()).alike) /
                         all;
  error.spread.zero = 0;
  error.spread.factors = 1;
  return error;
}

/// Makes the mean square of `error` what it is known to be: a model that has
/// learnt is closer to its targets.
static void setSquare(Error &error, double square) {
  double now = 0;
  for (const Cell &cell : error.value.cells())
    now += cell.mean * cell.mean + cell.variance;
  now /= double(error.value.groups());
  if (!(now > 0) || !std::isfinite(now) || !(square >= 0))
    return;
  double factor = std::sqrt(square / now);
  for (CellRef cell : error.value.mutableCells())
    cells::setLikely(cell, likely::affine(cells::getLikely(cell), factor, 0));
}

/// Gives the input's gradient: a function of the error, reduced.
template <typename OpTy>
static void giveSlope(OpTy op, SpreadContext &ctx, Error error,
                      const Reduction &reduction,
                      llvm::function_ref<double(double)> slope) {
  for (CellRef cell : error.value.mutableCells()) {
    Likely own = likely::apply(slope, cells::getLikely(cell));
    cells::setLikely(cell, likely::affine(own, reduction.factor, 0));
    cell.lo = cell.likelyLo;
    cell.hi = cell.likelyHi;
  }
  AbstractValue value = AbstractValue(AbstractValue::Dims(error.value.dims()),
                                      error.value.cells());
  value.source = LikelySource::Propagated;
  ctx.give(0, std::move(value), error.spread);
}

template <typename OpTy>
static Reduction reductionOf(OpTy op, SpreadContext &ctx) {
  auto all = getNumElements(getShape(op.getInput()));
  return reductionOf(ctx, op.getGrad(), op.getReduction(),
                     all ? double(*all) : 1, 1);
}

static void spreadMse(mp::MseLossGradOp op, SpreadContext &ctx) {
  std::optional<Error> error = errorOf(op, ctx);
  if (!error)
    return;
  Reduction reduction = reductionOf(op, ctx);
  if (reduction.element)
    setSquare(*error, *reduction.element);
  giveSlope(op, ctx, std::move(*error), reduction,
            [](double d) { return 2 * d; });
}

static void spreadL1(mp::L1LossGradOp op, SpreadContext &ctx) {
  if (std::optional<Error> error = errorOf(op, ctx))
    giveSlope(op, ctx, std::move(*error), reductionOf(op, ctx), [](double d) {
      return d > 0 ? 1.0 : d < 0 ? -1.0 : 0.0;
    });
}

/// Below `edge` the loss is d^2 over twice `width`.
template <typename OpTy>
static void spreadClipped(OpTy op, double edge, double width,
                          SpreadContext &ctx) {
  std::optional<Error> error = errorOf(op, ctx);
  if (!error)
    return;
  Reduction reduction = reductionOf(op, ctx);
  if (reduction.element && *reduction.element < edge * edge / width / 8)
    setSquare(*error, 2 * width * *reduction.element);
  giveSlope(op, ctx, std::move(*error), reduction,
            [&](double d) { return std::clamp(d, -edge, edge) / width; });
}
static void spreadSmoothL1(mp::SmoothL1LossGradOp op, SpreadContext &ctx) {
  double beta = std::max(op.getBeta().convertToDouble(), 1e-30);
  spreadClipped(op, beta, beta, ctx);
}
static void spreadHuber(mp::HuberLossGradOp op, SpreadContext &ctx) {
  spreadClipped(op, op.getDelta().convertToDouble(), 1, ctx);
}

/// sigma(x) - t; targets are 0 and 1 with the declared mean, unless their
/// spread is less.
static void spreadBce(mp::BinaryCrossEntropyWithLogitsGradOp op,
                      SpreadContext &ctx) {
  if (op.getWeight() || op.getPosWeight())
    return;
  std::optional<Error> error = errorOf(op, ctx);
  if (!error)
    return;
  Reduction reduction = reductionOf(op, ctx);
  const AbstractValue &x = ctx.of(op.getInput());
  Cell goal = ctx.of(op.getTarget()).hull();
  double loss = 0, square = 0;
  std::vector<Cell> made;
  for (const Cell &cell : x.cells()) {
    Likely p = likely::apply([](double v) { return 1 / (1 + std::exp(-v)); },
                             cells::getLikely(cell));
    Likely cost = likely::apply(
        [](double v) {
          return std::max(v, 0.0) + std::log1p(std::exp(-std::fabs(v)));
        },
        cells::getLikely(cell));
    loss += cost.mean - goal.mean * cell.mean;
    Cell own{};
    own.mean = p.mean - goal.mean;
    own.variance = p.variance + goal.variance;
    own.likelyLo = std::max(-1.0, p.lo - goal.hi);
    own.likelyHi = std::min(1.0, p.hi - goal.lo);
    square += own.mean * own.mean + own.variance;
    made.push_back(own);
  }
  loss /= double(made.size());
  square /= double(made.size());
  double scale = 1;
  bool learnt = reduction.element && *reduction.element < kLearnt * loss;
  if (learnt && square > 0)
    scale =
        std::min(1.0, learntSquare(std::max(*reduction.element, 0.0)) / square);
  for (Cell &own : made) {
    double whole = own.mean * own.mean + own.variance;
    if (learnt)
      own.mean = 0;
    own.variance = (whole * scale - own.mean * own.mean);
    cells::setLikely(
        own, likely::affine(cells::getLikely(own), reduction.factor, 0));
    own.lo = own.likelyLo;
    own.hi = own.likelyHi;
  }
  AbstractValue value(AbstractValue::Dims(x.dims()), made);
  value.source = LikelySource::Propagated;
  error->spread.bounded = true;
  ctx.give(0, std::move(value), error->spread);
}

void mpopt::attachLossSpreads(MLIRContext *context) {
  attachSpread<spreadCrossEntropy, mp::CrossEntropyGradOp>(context);
  attachSpread<spreadMse, mp::MseLossGradOp>(context);
  attachSpread<spreadL1, mp::L1LossGradOp>(context);
  attachSpread<spreadSmoothL1, mp::SmoothL1LossGradOp>(context);
  attachSpread<spreadHuber, mp::HuberLossGradOp>(context);
  attachSpread<spreadBce, mp::BinaryCrossEntropyWithLogitsGradOp>(context);
}
