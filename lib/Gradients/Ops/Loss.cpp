//===- Loss.cpp - Spreads of the gradients of losses
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The size of everything behind the loss is decided here. Predictions and
// targets are taken as independent, unless the current value of the loss says
// that the model has learnt: then the errors are as large as that value makes
// them. docs/gradients.md has the formulas.
//
//===----------------------------------------------------------------------===//

#include "Families.h"

#include "lib/Gradients/Sums.h"
#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/GradientOps.h"
#include "mpopt/Dialect/Ops/LossOps.h"
#include "mpopt/Dialect/Ops/TrainingOps.h"
#include "mpopt/Dialect/Settings.h"
#include "mpopt/Numerics/Likely.h"
#include "mpopt/Ranges/Spread/SpreadInterface.h"
#include "mpopt/Ranges/Value/CellSupport.h"
#include "mpopt/Ranges/Value/SoftmaxEstimate.h"
#include "mpopt/Ranges/Value/SoftmaxRows.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

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
  /// The factor of an element's gradient: what arrives, as a root mean square.
  double factor = 1;
  /// The mean of what arrives and its largest magnitude, as parts of that. An
  /// advantage has either sign.
  double mean = 1, most = 1;
  /// The loss of one element; nothing if the loss is not known.
  std::optional<double> element;
  /// The loss has other terms, too: `element` is at most that.
  bool among = false;

  /// Learnt is what is below the loss that independent targets would have, and
  /// below that of the best constant, which a bad start is not.
  bool isLearnt(double independent, double constant) const {
    return element && *element < kLearnt * independent && *element < constant;
  }
};
} // namespace

/// Terms of the loss that are never negative, so that each is at most their
/// sum; 0 if one may be: an output that is taken as it is.
static size_t countTerms(Operation *op) {
  auto function = op->getParentOfType<FunctionOpInterface>();
  auto terms =
      function ? function->getAttrOfType<ArrayAttr>(kLossAttr) : ArrayAttr();
  if (!terms)
    return 1;
  if (terms.size() > 1)
    for (Attribute term : terms) {
      StringRef kind = cast<StringAttr>(term).getValue().split(':').first;
      if (kind == "sum" || kind == "mean")
        return 0;
    }
  return terms.size();
}

/// `terms` elements are added up, `counted` of them are not ignored.
static Reduction reductionOf(BackwardSpreadContext &ctx, Value grad,
                             StringRef kind, double terms, double counted) {
  Reduction result;
  Cell arrives = ctx.of(grad).hull();
  double weight = kind == "mean" ? 1 / std::max(terms * counted, 1.0) : 1;
  double size = std::sqrt(arrives.mean * arrives.mean + arrives.variance);
  result.factor = std::copysign(size, arrives.mean) * weight;
  if (arrives.variance > 0 && size > 0 && std::isfinite(size)) {
    result.mean = std::fabs(arrives.mean) / size;
    result.most =
        std::max(std::fabs(arrives.likelyLo), std::fabs(arrives.likelyHi)) /
        size;
  }
  size_t parts = countTerms(ctx.op());
  result.among = parts > 1;
  if (auto value = ctx.lossValue();
      value && result.factor != 0 && result.mean == 1 && parts > 0)
    result.element = *value / (result.factor * terms * counted);
  return result;
}

/// An element's slope times what arrives.
static Likely scaleSlope(const Likely &slope, const Reduction &reduction) {
  Likely result = likely::affine(slope, reduction.factor, 0);
  if (reduction.mean == 1)
    return result;
  double square = result.mean * result.mean + result.variance;
  result.mean *= reduction.mean;
  result.variance = square - result.mean * result.mean;
  result.hi =
      reduction.most * std::max(std::fabs(result.lo), std::fabs(result.hi));
  result.lo = -result.hi;
  return result;
}

//===----------------------------------------------------------------------===//
// Cross entropy
//===----------------------------------------------------------------------===//

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

/// The loss of targets that do not depend on the logits.
static double independentLoss(const AbstractValue &logits, double classes,
                              ArrayRef<double> frequencies) {
  double loss = estimateSoftmaxRows(logits, logits.merged(), classes)[0].logSum;
  double perGroup = classes / double(frequencies.size());
  for (auto [group, frequency] : llvm::enumerate(frequencies))
    loss -= frequency * perGroup *
            logits.cell(logits.groups() == 1 ? 0 : group).mean;
  return loss;
}

static AbstractValue scaled(const AbstractValue &value, double factor) {
  AbstractValue result(AbstractValue::Dims(value.dims()), value.cells());
  for (CellRef cell : result.mutableCells())
    cells::setLikely(cell, likely::affine(cells::getLikely(cell), factor, 0));
  result.source = value.source;
  return result;
}

/// Logits as far apart as a loss tells, which grows with their size; those that
/// have that loss already, or less, stay as they are.
static AbstractValue shrunk(const AbstractValue &logits, double classes,
                            ArrayRef<double> frequencies, double loss) {
  double lo = 0, hi = 1;
  for (int step = 0; step < 12; ++step) {
    double mid = (lo + hi) / 2;
    (independentLoss(scaled(logits, mid), classes, frequencies) < loss ? lo
                                                                       : hi) =
        mid;
  }
  return scaled(logits, hi);
}

namespace {
/// The gradient of -log softmax(input) of the targets, by groups of classes:
/// (p - 1 of the target's class) times what the reduction passes.
class ClassLoss {
public:
  ClassLoss(BackwardSpreadContext &ctx, Value input, Value target, Value grad,
            StringRef kind)
      : ctx(ctx), input(input), target(target), grad(grad), kind(kind) {}

  void give();

private:
  bool estimateProbabilities();
  void estimateMisses();
  Cell cellOf(double mean, double frequency, double rest) const;
  Spread spreadOf(double variation, double shared) const;

  Cell cell(size_t group) const { return p.cell(p.groups() == 1 ? 0 : group); }
  /// The first two moments of the probability of a group's class.
  double meanOf(size_t group) const { return cell(group).mean / sum; }
  double squareOf(size_t group) const {
    Cell own = cell(group);
    return std::min(own.mean / sum, own.mean * own.mean + own.variance);
  }

  BackwardSpreadContext &ctx;
  Value input, target, grad;
  StringRef kind;
  MaybeShape shape;
  int64_t axis = 0, classes = 0;
  double rows = 0, counted = 1;
  Reduction reduction;
  /// The loss says that the model predicts its targets.
  bool learnt = false;
  AbstractValue logits, p;
  /// How often a class of each group is the target.
  std::vector<double> frequencies;
  /// The sum of the means of `p`, and of its squares.
  double sum = 0, squares = 0;
  /// The second moment of 1 - p of the target's class.
  double miss = 0;
};
} // namespace

/// Probabilities of the classes, as far as logits tell them apart.
bool ClassLoss::estimateProbabilities() {
  shape = getShape(input);
  if (!shape || shape->empty())
    return false;
  axis = shape->size() > 1 ? 1 : 0;
  auto all = getNumElements(shape);
  classes = (*shape)[axis];
  if (!all || classes <= 0)
    return false;
  rows = double(*all) / double(classes);
  counted = shareCounted(target);
  reduction = reductionOf(ctx, grad, kind, rows, counted);

  logits = ctx.of(input).keeping({axis});
  frequencies = ctx.frequencies(target, size_t(classes));
  bool byClass =
      !llvm::all_equal(frequencies) && size_t(classes) <= ctx.groupLimit().most;
  auto evenOut = [&](size_t groups) {
    if (frequencies.size() != groups)
      frequencies.assign(groups, 1.0 / double(classes));
  };
  evenOut(byClass ? size_t(classes) : logits.groups());
  double entropy = 0;
  for (double frequency : frequencies)
    if (frequency > 0)
      entropy -= frequency * std::log(frequency) * double(classes) /
                 double(frequencies.size());
  double loss = independentLoss(logits, double(classes), frequencies);
  learnt = reduction.isLearnt(loss, entropy);
  if (reduction.element && !learnt && *reduction.element < kLearnt * loss)
    logits = shrunk(logits, double(classes), frequencies,
                    std::max(*reduction.element, std::log(double(classes))));
  p = cells::softmaxOf(shape, logits, {axis}, /*logarithm=*/false,
                       /*rowsHaveFinite=*/true, FloatFormat::f32(),
                       FloatFormat::f32())
          .keeping({axis});
  evenOut(byClass ? size_t(classes) : p.groups());
  return true;
}

void ClassLoss::estimateMisses() {
  double perGroup = double(classes) / double(frequencies.size());
  for (size_t group = 0; group < frequencies.size(); ++group)
    sum += perGroup * cell(group).mean;
  double meanHit = 0, squareHit = 0;
  for (auto [group, each] : llvm::enumerate(frequencies)) {
    double frequency = each * perGroup, square = squareOf(group);
    meanHit += frequency * meanOf(group);
    squareHit += frequency * square;
    squares += perGroup * square;
  }
  miss = learnt ? learntSquare(std::max(*reduction.element, 0.0))
                : 1 - 2 * meanHit + squareHit;
}

/// The gradient of a class with that mean probability and that frequency as a
/// target; `rest` is the second moment where it is not the target.
Cell ClassLoss::cellOf(double mean, double frequency, double rest) const {
  double size = std::fabs(reduction.factor);
  Cell own;
  double whole = counted * (frequency * miss + (1 - frequency) * rest);
  if (!learnt)
    own.mean = counted * (mean - frequency) * reduction.factor * reduction.mean;
  own.variance = std::max(0.0, whole * size * size - own.mean * own.mean);
  double extreme = std::max(1.0, expectedExtreme(rows * counted));
  own.likelyLo = -size * (learnt ? 1 : 1 - std::min(mean, 1.0));
  own.likelyHi = std::min(1.0, std::sqrt(rest) * extreme) * size;
  if (reduction.factor < 0)
    std::tie(own.likelyLo, own.likelyHi) =
        std::pair(-own.likelyHi, -own.likelyLo);
  if (reduction.mean != 1) {
    own.likelyHi = reduction.most * std::max(-own.likelyLo, own.likelyHi);
    own.likelyLo = -own.likelyHi;
  }
  own.lo = own.likelyLo;
  own.hi = own.likelyHi;
  return own;
}

/// `shared` of the `variation` is that of the probabilities.
Spread ClassLoss::spreadOf(double variation, double shared) const {
  Spread spread = ctx.spread(input);
  spread.unitSum = -1;
  spread.alike =
      variation > 0 ? std::min(1.0, spread.alike * shared / variation) : 0;
  spread.steady = 0;
  spread.response =
      variation > 0 && !learnt ? std::min(1.0, shared / variation) : 0;
  spread.outputs = double(classes);
  spread.bounded = true;
  spread.zero = spread.zeroRows = 1 - counted;
  spread.zeroSum = int(axis);
  // The logarithm of a probability varies as its logit does.
  spread.factors = std::min(logits.hull().variance, 16.0) / kLogVariance;
  return spread;
}

void ClassLoss::give() {
  if (!estimateProbabilities())
    return;
  estimateMisses();
  // The other classes share a miss: E sum p^2 = miss concentration.
  double concentration = std::clamp(squares, 1.0 / double(classes), 1.0);
  size_t groups = frequencies.size();
  double size = std::fabs(reduction.factor);
  std::vector<Cell> made(groups), shares(groups), rests(groups);
  double variation = 0, shared = 0;
  for (auto [group, frequency] : llvm::enumerate(frequencies)) {
    double mean = meanOf(group), square = squareOf(group);
    double rest =
        learnt ? miss * concentration * square / std::max(squares, 1e-300)
               : square;
    made[group] = cellOf(mean, frequency, rest);
    shares[group].mean = frequency * counted;
    rests[group].mean = counted * rest * size * size;
    variation += made[group].variance;
    shared += std::max(0.0, square - mean * mean) * size * size;
  }
  AbstractValue::Dims dims(shape->size(), 1);
  if (groups > 1)
    dims[axis] = classes;
  AbstractValue value(dims, made);
  value.source = LikelySource::Propagated;
  ctx.give(0, std::move(value), spreadOf(variation, shared));
  ctx.giveHits(0, {AbstractValue(dims, shares), AbstractValue(dims, rests)});
}

static void spreadCrossEntropy(mp::CrossEntropyGradOp op,
                               BackwardSpreadContext &ctx) {
  if (op.getWanted().size() == 1 && op.getWanted().front() == 1)
    ClassLoss(ctx, op.getInput(), op.getTarget(), op.getGrad(),
              op.getReduction())
        .give();
}

/// The same of a loss that the model holds itself; the logits are those of its
/// forward op.
static void spreadSoftmaxCrossEntropy(mp::SoftmaxCrossEntropyGradOp op,
                                      BackwardSpreadContext &ctx) {
  auto loss = getMaker<mp::SoftmaxCrossEntropyOp>(op.getLogProb());
  if (loss && op.getGrad() && !op.getWeight() && !op.getBias())
    ClassLoss(ctx, loss->getOperand(0), op.getTarget(), op.getGrad(),
              op.getReduction())
        .give();
}

//===----------------------------------------------------------------------===//
// Losses of two tensors
//===----------------------------------------------------------------------===//

namespace {
/// An error of one element, and its spread.
struct Error {
  AbstractValue value;
  Spread spread;
  /// The mean square of the best constant prediction.
  double constant = 0;
};
} // namespace

/// x - t, where both have one shape.
template <typename OpTy>
static std::optional<Error> errorOf(OpTy op, BackwardSpreadContext &ctx) {
  MaybeShape input = getShape(op.getInput()), target = getShape(op.getTarget());
  if (!input || !target || input->size() != target->size() ||
      op.getWanted().size() != 1 || op.getWanted().front() != 1)
    return std::nullopt;
  Error error{AbstractValue(ctx.of(op.getInput())), ctx.spread(op.getInput())};
  Cell goal = ctx.of(op.getTarget()).hull();
  error.constant = goal.variance;
  double own = error.value.hull().variance, all = own + goal.variance;
  double within = 0;
  for (const Cell &cell : error.value.cells())
    within += cell.variance / double(error.value.groups());
  // Numbers that are predicted at one place.
  for (size_t axis = 0; axis < input->size(); ++axis)
    if (int64_t(axis) != error.spread.axes.batch &&
        !error.spread.axes.isPosition(int64_t(axis)))
      error.spread.outputs *= double(std::max<int64_t>((*input)[axis], 1));
  error.spread.response = all > 0 ? within / (within + goal.variance) : 0;
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
/// learnt is closer to its targets, and no longer away from them where its
/// prediction is large.
static void setSquare(Error &error, const Reduction &reduction, double square) {
  double now = 0;
  for (const Cell &cell : error.value.cells())
    now += cell.mean * cell.mean + cell.variance;
  now /= double(error.value.groups());
  if (!(now > 0) || !std::isfinite(now) || !(square >= 0))
    return;
  if (reduction.among && square > now)
    return;
  double factor = std::sqrt(square / now);
  if (square < kLearnt * now && square < error.constant)
    error.spread.response = 0;
  for (CellRef cell : error.value.mutableCells())
    cells::setLikely(cell, likely::affine(cells::getLikely(cell), factor, 0));
}

/// Gives the input's gradient: a function of the error, reduced.
template <typename OpTy>
static void giveSlope(OpTy op, BackwardSpreadContext &ctx, Error error,
                      const Reduction &reduction,
                      llvm::function_ref<double(double)> slope) {
  for (CellRef cell : error.value.mutableCells()) {
    Likely own = likely::apply(slope, cells::getLikely(cell));
    cells::setLikely(cell, scaleSlope(own, reduction));
    cell.lo = cell.likelyLo;
    cell.hi = cell.likelyHi;
  }
  AbstractValue value = AbstractValue(AbstractValue::Dims(error.value.dims()),
                                      error.value.cells());
  value.source = LikelySource::Propagated;
  ctx.give(0, std::move(value), error.spread);
}

template <typename OpTy>
static Reduction reductionOf(OpTy op, BackwardSpreadContext &ctx) {
  auto all = getNumElements(getShape(op.getInput()));
  return reductionOf(ctx, op.getGrad(), op.getReduction(),
                     all ? double(*all) : 1, 1);
}

static void spreadMse(mp::MseLossGradOp op, BackwardSpreadContext &ctx) {
  std::optional<Error> error = errorOf(op, ctx);
  if (!error)
    return;
  Reduction reduction = reductionOf(op, ctx);
  if (reduction.element)
    setSquare(*error, reduction, *reduction.element);
  giveSlope(op, ctx, std::move(*error), reduction,
            [](double d) { return 2 * d; });
}

static void spreadL1(mp::L1LossGradOp op, BackwardSpreadContext &ctx) {
  if (std::optional<Error> error = errorOf(op, ctx))
    giveSlope(op, ctx, std::move(*error), reductionOf(op, ctx), [](double d) {
      return d > 0 ? 1.0 : d < 0 ? -1.0 : 0.0;
    });
}

/// Below `edge` the loss is d^2 over twice `width`.
template <typename OpTy>
static void spreadClipped(OpTy op, double edge, double width,
                          BackwardSpreadContext &ctx) {
  std::optional<Error> error = errorOf(op, ctx);
  if (!error)
    return;
  Reduction reduction = reductionOf(op, ctx);
  if (reduction.element && *reduction.element < edge * edge / width / 8)
    setSquare(*error, reduction, 2 * width * *reduction.element);
  giveSlope(op, ctx, std::move(*error), reduction,
            [&](double d) { return std::clamp(d, -edge, edge) / width; });
}
static void spreadSmoothL1(mp::SmoothL1LossGradOp op,
                           BackwardSpreadContext &ctx) {
  double beta = std::max(op.getBeta().convertToDouble(), 1e-30);
  spreadClipped(op, beta, beta, ctx);
}
static void spreadHuber(mp::HuberLossGradOp op, BackwardSpreadContext &ctx) {
  spreadClipped(op, op.getDelta().convertToDouble(), 1, ctx);
}

/// sigma(x) - t; targets are 0 and 1 with the declared mean, unless their
/// spread is less.
static void spreadBce(mp::BinaryCrossEntropyWithLogitsGradOp op,
                      BackwardSpreadContext &ctx) {
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
  double share = std::clamp(goal.mean, 1e-12, 1 - 1e-12);
  double entropy = -share * std::log(share) - (1 - share) * std::log(1 - share);
  bool learnt = reduction.isLearnt(loss, entropy);
  if (learnt)
    error->spread.response = 0;
  if (learnt && square > 0)
    scale =
        std::min(1.0, learntSquare(std::max(*reduction.element, 0.0)) / square);
  for (Cell &own : made) {
    double whole = own.mean * own.mean + own.variance;
    if (learnt)
      own.mean = 0;
    own.variance = (whole * scale - own.mean * own.mean);
    cells::setLikely(own, scaleSlope(cells::getLikely(own), reduction));
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
  attachSpread<spreadSoftmaxCrossEntropy, mp::SoftmaxCrossEntropyGradOp>(
      context);
  attachSpread<spreadMse, mp::MseLossGradOp>(context);
  attachSpread<spreadL1, mp::L1LossGradOp>(context);
  attachSpread<spreadSmoothL1, mp::SmoothL1LossGradOp>(context);
  attachSpread<spreadHuber, mp::HuberLossGradOp>(context);
  attachSpread<spreadBce, mp::BinaryCrossEntropyWithLogitsGradOp>(context);
}
