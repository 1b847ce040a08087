//===- Recurrent.cpp - Spreads of recurrent cells and their gradients
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gates and their slopes: RecurrentGates.h. Not covered, so unknown: other
// activations than the usual ones, peepholes, coupled gates, a reset gate in
// front of the product, weights that are no constants.
//
//===----------------------------------------------------------------------===//

#include "Families.h"
#include "RecurrentGradient.h"

#include "mpopt/Dialect/Ops/GradientOps.h"
#include "mpopt/Dialect/Ops/RecurrentOps.h"
#include "mpopt/Ranges/Spread/SpreadInterface.h"
#include "mpopt/Ranges/Value/GradientSupport.h"
#include "mpopt/Ranges/Weights/ConstantLayout.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

//===----------------------------------------------------------------------===//
// Sequences
//===----------------------------------------------------------------------===//

/// True if the activations of all directions are those, and nothing is cut.
template <typename OpTy>
static bool hasActivations(OpTy op, ArrayRef<UnaryFunction> usual) {
  auto activations = cells::readActivations(
      op.getActivations(), op.getActivationAlpha(), op.getActivationBeta());
  if (!activations || activations->empty() ||
      activations->size() % usual.size() != 0)
    return false;
  for (auto [index, activation] : llvm::enumerate(*activations))
    if (activation.unary.function != usual[index % usual.size()])
      return false;
  return op.getClip().isZero();
}

/// The gradient that arrives at the units of one direction, the last step
/// first; an axis of -1 does not exist.
static std::vector<TimeMoments> readArriving(BackwardSpreadContext &ctx,
                                             Value grad, int timeAxis,
                                             int directionAxis,
                                             unsigned direction, size_t units,
                                             bool reversed) {
  if (!grad)
    return {TimeMoments(units)};
  const AbstractValue &value = ctx.of(grad);
  double alike = ctx.spread(grad).alike;
  auto dimOf = [&](int axis) {
    return axis < 0 ? int64_t(1) : value.dims()[axis];
  };
  SmallVector<int64_t> kept;
  for (int64_t axis = 0; axis < int64_t(value.rank()); ++axis)
    if (axis == timeAxis || axis == directionAxis ||
        axis + 1 == int64_t(value.rank()))
      kept.push_back(axis);
  AbstractValue own = value.keeping(kept);
  size_t columns = size_t(own.dims().back());
  int64_t steps = dimOf(timeAxis), along = dimOf(directionAxis);
  bool timeFirst = timeAxis < directionAxis || directionAxis < 0;
  std::vector<TimeMoments> result;
  for (int64_t step = 0; step < steps; ++step) {
    int64_t place = reversed ? step : steps - 1 - step;
    int64_t way = along == 1 ? 0 : direction;
    size_t first =
        size_t(timeFirst ? place * along + way : way * steps + place) * columns;
    TimeMoments one(units);
    for (size_t j = 0; j < units; ++j) {
      Cell cell = own.cell(first + (columns == 1 ? 0 : j));
      one.mean[j] = cell.mean;
      one.shared[j] = alike * cell.variance;
      one.own[j] = (1 - alike) * cell.variance;
    }
    result.push_back(std::move(one));
  }
  return result;
}

static bool isZero(BackwardSpreadContext &ctx, Value value) {
  return !value || ctx.of(value).hull().absMax() == 0;
}

/// Steps are followed one by one; longer sequences have no estimate.
static constexpr int64_t kMostSteps = 1 << 14;

/// `estimate` gives the states, `factorsOf` what gradients are multiplied by.
template <typename OpTy>
static void giveSequence(
    OpTy op, BackwardSpreadContext &ctx, int64_t gates, unsigned first,
    llvm::function_ref<cells::RecurrentStates(const cells::RecurrentUnits &)>
        estimate,
    llvm::function_ref<CellFactors(const CellModel &)> factorsOf) {
  MaybeShape shape = getShape(op.getInput());
  if (!shape || shape->size() != 3 ||
      llvm::any_of(*shape, [](int64_t dim) { return dim < 1; }))
    return;
  RecurrentLayout layout;
  layout.timeAxis = op.getBatchFirst() ? 1 : 0;
  layout.batchAxis = 1 - layout.timeAxis;
  layout.steps = (*shape)[layout.timeAxis];
  layout.batch = (*shape)[layout.batchAxis];
  if (layout.steps > kMostSteps)
    return;
  layout.startsAtZero = isZero(ctx, op.getInitialH());
  layout.keptIsHidden = gates == 3;
  int directionAxis = op.getBatchFirst() ? 2 : 1;
  for (Value grad : {Value(op.getGrad()), Value(op.getLastHGrad())})
    if (grad && !ctx.of(grad).hasLikely())
      return;
  RecurrentGradient gradient(ctx, op.getInput(), layout);
  unsigned count = op.getDirection() == "bidirectional" ? 2 : 1;
  for (unsigned direction = 0; direction < count; ++direction) {
    std::optional<cells::RecurrentUnits> units = cells::readRecurrentUnits(
        ctx, op.getInput(), op.getWeights(), op.getRecurrence(), op.getBias(),
        gates, layout.steps, direction);
    if (!units)
      return;
    CellModel cell{std::move(*units), {}, {}, {}};
    cell.states = estimate(cell.units);
    setArguments(cell);
    bool reversed = direction == 1 || op.getDirection().starts_with("rev");
    auto last = [&](Value grad) {
      return readArriving(ctx, grad, -1, layout.timeAxis, direction,
                          cell.units.units, false)
          .front();
    };
    TimeMoments lastKept(cell.units.units);
    if constexpr (requires { op.getLastCGrad(); })
      lastKept = last(op.getLastCGrad());
    gradient.add(cell, factorsOf(cell),
                 readArriving(ctx, op.getGrad(), layout.timeAxis, directionAxis,
                              direction, cell.units.units, reversed),
                 last(op.getLastHGrad()), lastKept, reversed);
  }
  // In the order of the gradient op's slots.
  static constexpr RecurrentPart kParts[] = {
      RecurrentPart::Input,        RecurrentPart::InputWeights,
      RecurrentPart::StateWeights, RecurrentPart::Bias,
      RecurrentPart::Other,        RecurrentPart::Hidden,
      RecurrentPart::Kept};
  for (auto [index, number] : llvm::enumerate(op.getWanted())) {
    unsigned slot = gradients::slotOf(op, number) - first;
    gradient.give(index, slot < std::size(kParts) ? kParts[slot]
                                                  : RecurrentPart::Other);
  }
}

static Likely gateOrTanh(unsigned index, const Likely &x) {
  return likelyOf(index == 0 ? Curve::Sigmoid : Curve::Tanh, x);
}

static void spreadLstmGrad(mp::LSTMGradOp op, BackwardSpreadContext &ctx) {
  if (!hasActivations(op, {UnaryFunction::Sigmoid, UnaryFunction::Tanh,
                           UnaryFunction::Tanh}) ||
      op.getInputForget() || !isZero(ctx, op.getPeepholes()))
    return;
  giveSequence(
      op, ctx, 4, 3,
      [](const cells::RecurrentUnits &units) {
        return estimateLSTM(units, gateOrTanh, /*coupled=*/false);
      },
      [](const CellModel &cell) { return factorsOfLstm(cell, {0, 1, 2, 3}); });
}

/// A reset gate in front of the product with R, R (r h), passes back r_j times
/// sum_i R_ij d_i in place of sum_i R_ij r_i d_i: over all units the squares
/// add up to the same, as gates do not depend on R.
static void spreadGruGrad(mp::GRUGradOp op, BackwardSpreadContext &ctx) {
  if (!hasActivations(op, {UnaryFunction::Sigmoid, UnaryFunction::Tanh}))
    return;
  giveSequence(
      op, ctx, 3, 2,
      [&](const cells::RecurrentUnits &units) {
        return estimateGRU(units, gateOrTanh, op.getLinearBeforeReset());
      },
      [&](const CellModel &cell) {
        return factorsOfGru(cell, {0, 1, 2}, op.getLinearBeforeReset());
      });
}

static void spreadRnnGrad(mp::RNNGradOp op, BackwardSpreadContext &ctx) {
  Curve curve = Curve::Tanh;
  if (!hasActivations(op, {UnaryFunction::Tanh})) {
    if (!hasActivations(op, {UnaryFunction::Relu}))
      return;
    curve = Curve::Relu;
  }
  giveSequence(
      op, ctx, 1, 2,
      [&](const cells::RecurrentUnits &units) {
        return estimateRNN(units, [&](unsigned, const Likely &x) {
          return likelyOf(curve, x);
        });
      },
      [&](const CellModel &cell) { return factorsOfPlain(cell, curve); });
}

//===----------------------------------------------------------------------===//
// Single steps
//===----------------------------------------------------------------------===//

static std::vector<double> readFinite(BackwardSpreadContext &ctx, Value value,
                                      size_t count) {
  if (!value)
    return std::vector<double>(count, 0);
  auto read = readLaidOut(ctx, value, int64_t(count));
  if (!read || read->size() != count ||
      !llvm::all_of(*read, [](double x) { return std::isfinite(x); }))
    return {};
  return *read;
}

/// Mean and variance by unit, of a value of features along its last axis.
static cells::Moments featuresOf(BackwardSpreadContext &ctx, Value value,
                                 size_t units) {
  AbstractValue own = ctx.of(value);
  own = own.keeping({int64_t(own.rank()) - 1});
  cells::Moments result;
  for (size_t j = 0; j < units; ++j) {
    Cell cell = own.cell(own.groups() == 1 ? 0 : j);
    result.mean.push_back(cell.mean);
    result.variance.push_back(cell.variance);
  }
  return result;
}

/// `first` gradients come before the op's own operands.
template <typename OpTy>
static void
giveStep(OpTy op, BackwardSpreadContext &ctx, size_t gates, unsigned first,
         llvm::function_ref<CellFactors(const CellModel &)> factorsOf) {
  MaybeShape shape = getShape(op.getInput()), hidden = getShape(op.getHidden());
  if (!shape || !hidden || shape->empty() || shape->size() > 2 ||
      hidden->empty() || shape->front() < 1 || shape->back() < 1 ||
      hidden->back() < 1 || !ctx.of(op.getInput()).hasLikely() ||
      !ctx.of(op.getHidden()).hasLikely())
    return;
  CellModel cell;
  size_t units = size_t(hidden->back()), inputs = size_t(shape->back());
  cell.units.units = units;
  cell.units.inputs = inputs;
  cell.units.gates = gates;
  cell.units.weights =
      readFinite(ctx, op.getInputWeights(), gates * units * inputs);
  cell.units.recurrence =
      readFinite(ctx, op.getHiddenWeights(), gates * units * units);
  cell.units.inputBias = readFinite(ctx, op.getInputBias(), gates * units);
  cell.units.stateBias = readFinite(ctx, op.getHiddenBias(), gates * units);
  if (cell.units.weights.empty() || cell.units.recurrence.empty() ||
      cell.units.inputBias.empty() || cell.units.stateBias.empty())
    return;
  cell.units.input = featuresOf(ctx, op.getInput(), inputs);
  cell.states.hidden = featuresOf(ctx, op.getHidden(), units);
  RecurrentLayout layout;
  layout.batch = shape->size() == 2 ? shape->front() : 1;
  layout.keptIsHidden = gates == 3;
  TimeMoments lastKept(units);
  bool keepsCell = false;
  if constexpr (requires { op.getCell(); }) {
    keepsCell = true;
    cells::Moments before = featuresOf(ctx, op.getCell(), units);
    if (!ctx.of(op.getCell()).hasLikely())
      return;
    cell.states.cell = before;
    setArguments(cell);
    if (Value grad = op.getNextCellGrad())
      lastKept = readArriving(ctx, grad, -1, -1, 0, units, false).front();
  } else {
    setArguments(cell);
  }
  RecurrentGradient gradient(ctx, op.getInput(), layout);
  gradient.add(cell, factorsOf(cell),
               readArriving(ctx, op.getGrad(), -1, -1, 0, units, false),
               TimeMoments(units), lastKept, /*reversed=*/false);
  // In the order of the gradient op's slots.
  static constexpr RecurrentPart kParts[] = {
      RecurrentPart::Input,        RecurrentPart::Hidden,
      RecurrentPart::Kept,         RecurrentPart::InputWeights,
      RecurrentPart::StateWeights, RecurrentPart::InputBias,
      RecurrentPart::StateBias};
  for (auto [index, number] : llvm::enumerate(op.getWanted())) {
    unsigned slot = gradients::slotOf(op, number) - first;
    slot += !keepsCell && slot >= 2;
    gradient.give(index, slot < std::size(kParts) ? kParts[slot]
                                                  : RecurrentPart::Other);
  }
}

static void spreadLstmCellGrad(mp::LSTMCellGradOp op,
                               BackwardSpreadContext &ctx) {
  giveStep(op, ctx, 4, 2, [](const CellModel &cell) {
    return factorsOfLstm(cell, {0, 3, 1, 2});
  });
}
static void spreadGruCellGrad(mp::GRUCellGradOp op,
                              BackwardSpreadContext &ctx) {
  giveStep(op, ctx, 3, 1,
           [](const CellModel &cell) { return factorsOfGru(cell, {1, 0, 2}); });
}
static void spreadRnnCellGrad(mp::RNNCellGradOp op,
                              BackwardSpreadContext &ctx) {
  Curve curve = op.getActivation() == "tanh" ? Curve::Tanh : Curve::Relu;
  giveStep(op, ctx, 1, 1,
           [&](const CellModel &cell) { return factorsOfPlain(cell, curve); });
}

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

/// Steps are positions of their samples.
template <typename OpTy>
static void spreadSequence(OpTy op, SpreadContext &ctx) {
  bool batchFirst = op.getBatchFirst();
  Spread spread;
  spread.alike = ctx.spread(op.getInput()).alike;
  spread.axes.batch = batchFirst ? 0 : 2;
  spread.axes.positions = 1u << (batchFirst ? 1 : 0);
  ctx.giveSpread(0, spread);
  spread.axes.batch = batchFirst ? 0 : 1;
  spread.axes.positions = 0;
  for (unsigned index = 1; index < op->getNumResults(); ++index)
    ctx.giveSpread(index, spread);
}

void mpopt::attachRecurrentSpreads(MLIRContext *context) {
  attachSpread<spreadSequence<mp::RNNOp>, mp::RNNOp>(context);
  attachSpread<spreadSequence<mp::LSTMOp>, mp::LSTMOp>(context);
  attachSpread<spreadSequence<mp::GRUOp>, mp::GRUOp>(context);
  attachSpread<spreadRnnGrad, mp::RNNGradOp>(context);
  attachSpread<spreadLstmGrad, mp::LSTMGradOp>(context);
  attachSpread<spreadGruGrad, mp::GRUGradOp>(context);
  attachSpread<spreadRnnCellGrad, mp::RNNCellGradOp>(context);
  attachSpread<spreadLstmCellGrad, mp::LSTMCellGradOp>(context);
  attachSpread<spreadGruCellGrad, mp::GRUCellGradOp>(context);
}
