//===- Recurrent.cpp - Spreads of recurrent cells and their gradients
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With weights that are known every unit has gates of its own: W x + R h + b is
// normal with the moments at which the states settle, and expectations of gates
// and slopes are taken there. Not covered, so unknown: other activations than
// the usual ones, peepholes, coupled gates, a reset gate in front of the
// product, weights that are no constants.
//
//===----------------------------------------------------------------------===//

#include "Families.h"

#include "lib/Gradients/Recurrence.h"
#include "lib/Gradients/Slope.h"
#include "lib/Ranges/Ops/Recurrent/RecurrentSupport.h"
#include "mpopt/Dialect/Ops/GradientOps.h"
#include "mpopt/Dialect/Ops/RecurrentOps.h"
#include "mpopt/Gradients/SpreadInterface.h"
#include "mpopt/Ranges/Value/GradientSupport.h"
#include "mpopt/Ranges/Weights/ConstantLayout.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

//===----------------------------------------------------------------------===//
// Gates
//===----------------------------------------------------------------------===//

static double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
static double sigmoidSlope(double x) { return sigmoid(x) * sigmoid(-x); }
static double tanhSlope(double x) {
  double y = std::tanh(x);
  return 1 - y * y;
}

namespace {
/// The functions of a cell's activations.
enum class Curve : uint8_t { Sigmoid, Tanh, Relu };

/// One cell with its states, ready to be passed back through.
struct CellModel {
  cells::RecurrentUnits units;
  cells::RecurrentStates states;
  /// The arguments of all gates, row by row.
  std::vector<double> mean, variance;

  /// Expectations over the argument of a unit's gate.
  Moments at(unsigned gate, size_t unit,
             llvm::function_ref<double(double)> function) const {
    size_t row = gate * units.units + unit;
    return momentsOf(mean[row], variance[row], function);
  }
};

/// The places of gates.
struct LstmGates {
  unsigned input, output, forget, candidate;
};
struct GruGates {
  unsigned update, reset, candidate;
};
} // namespace

static Likely likelyOf(Curve curve, const Likely &x) {
  Moments moments =
      curve == Curve::Sigmoid ? momentsOf(x.mean, x.variance, sigmoid)
      : curve == Curve::Tanh
          ? momentsOf(x.mean, x.variance, [](double x) { return std::tanh(x); })
          : momentsOf(x.mean, x.variance,
                      [](double x) { return std::max(x, 0.0); });
  return Likely::normal(moments.mean, moments.variance(), 4);
}

/// `arguments` adds what comes from the state to what comes from the input.
static void setArguments(CellModel &cell) {
  cells::Moments x = cell.units.fromInput();
  cells::Moments h =
      cell.units.fromState(cell.states.hidden, 0, cell.units.gates);
  cell.mean = x.mean;
  cell.variance = x.variance;
  for (size_t row = 0; row < x.mean.size(); ++row) {
    cell.mean[row] += h.mean[row];
    cell.variance[row] += h.variance[row];
  }
}

static Moments stateOf(const cells::Moments &state, size_t unit) {
  double mean = state.mean[unit];
  return {mean, mean * mean, mean * mean + state.variance[unit]};
}
static double tangent(double x) { return std::tanh(x); }

static CellFactors factorsOfLstm(const CellModel &cell, LstmGates at) {
  CellFactors result;
  result.gates.resize(4);
  result.gates[at.output].ofHidden = true;
  for (size_t j = 0; j < cell.units.units; ++j) {
    Moments c = stateOf(cell.states.cell, j);
    Moments i = cell.at(at.input, j, sigmoid);
    // The cell after the step; once it has settled it is as it was before.
    Moments next = cell.at(at.forget, j, sigmoid) * c +
                   i * cell.at(at.candidate, j, tangent);
    auto ofCell = [&](llvm::function_ref<double(double)> function) {
      return momentsOf(next.mean, next.variance(), function);
    };
    result.entry.push_back(cell.at(at.output, j, sigmoid) * ofCell(tanhSlope));
    result.keep.push_back(cell.at(at.forget, j, sigmoid));
    auto add = [&](unsigned gate, const Moments &factor) {
      result.gates[gate].input.push_back(factor);
      result.gates[gate].state.push_back(factor);
    };
    add(at.input,
        cell.at(at.candidate, j, tangent) * cell.at(at.input, j, sigmoidSlope));
    add(at.forget, c * cell.at(at.forget, j, sigmoidSlope));
    add(at.candidate, i * cell.at(at.candidate, j, tanhSlope));
    add(at.output, ofCell(tangent) * cell.at(at.output, j, sigmoidSlope));
  }
  return result;
}

/// With the reset gate behind the product: n = tanh(W x + b + r (R h + b)).
static CellFactors factorsOfGru(const CellModel &cell, GruGates at) {
  CellFactors result;
  size_t units = cell.units.units;
  result.gates.resize(3);
  cells::Moments x = cell.units.fromInput();
  cells::Moments inner =
      cell.units.fromState(cell.states.hidden, at.candidate, 1);
  for (size_t j = 0; j < units; ++j) {
    size_t row = at.candidate * units + j;
    Moments reset = cell.at(at.reset, j, sigmoid), product = stateOf(inner, j);
    Moments kept = reset * product;
    double mean = x.mean[row] + kept.mean;
    double variance = x.variance[row] + kept.variance();
    Moments n = momentsOf(mean, variance, tangent);
    Moments take = cell.at(at.update, j, [](double a) { return sigmoid(-a); });
    Moments slope = take * momentsOf(mean, variance, tanhSlope);
    Moments h = stateOf(cell.states.hidden, j);
    result.entry.push_back(Moments::number(1));
    result.keep.push_back(cell.at(at.update, j, sigmoid));
    auto add = [&](unsigned gate, const Moments &input, const Moments &state) {
      result.gates[gate].input.push_back(input);
      result.gates[gate].state.push_back(state);
    };
    add(at.candidate, slope, slope * reset);
    Moments update = (h + n.scaled(-1)) * cell.at(at.update, j, sigmoidSlope);
    add(at.update, update, update);
    Moments factor = slope * product * cell.at(at.reset, j, sigmoidSlope);
    add(at.reset, factor, factor);
  }
  return result;
}

static CellFactors factorsOfPlain(const CellModel &cell, Curve curve) {
  CellFactors result;
  result.gates.resize(1);
  for (size_t j = 0; j < cell.units.units; ++j) {
    Moments slope =
        curve == Curve::Tanh
            ? cell.at(0, j, tanhSlope)
            : cell.at(0, j, [](double x) { return x > 0 ? 1.0 : 0.0; });
    result.entry.push_back(Moments::number(1));
    result.keep.push_back(Moments::number(0));
    result.gates[0].input.push_back(slope);
    result.gates[0].state.push_back(slope);
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

namespace {
/// The operands that have gradients, of any cell.
enum class Part : uint8_t {
  Input,
  InputWeights,
  StateWeights,
  Bias,
  InputBias,
  StateBias,
  Hidden,
  Kept,
  Other
};

/// Sizes and layout of a sequence; a single step has no axis of time.
struct Layout {
  int64_t steps = 1, batch = 1;
  int timeAxis = -1, batchAxis = 0;
  bool startsAtZero = false, keptIsHidden = false;
};

class RecurrentGradient {
public:
  RecurrentGradient(SpreadContext &ctx, Value input, Layout layout)
      : ctx(ctx), input(input), layout(layout) {}

  /// Passes one direction back.
  void add(const CellModel &cell, const CellFactors &factors,
           ArrayRef<TimeMoments> arriving, const TimeMoments &lastHidden,
           const TimeMoments &lastKept, bool reversed);
  void give(unsigned index, Part part);

private:
  struct Direction {
    PassedBack passed;
    cells::Moments input, hidden;
    bool reversed;
  };

  void giveInput(unsigned index);
  /// The sums over the batch of a row's gradients times `columns` numbers.
  void giveWeights(unsigned index, bool ofState);
  void giveBias(unsigned index, Part part);
  void giveState(unsigned index, bool kept);
  void giveCells(unsigned index, AbstractValue::Dims dims,
                 ArrayRef<Moments> moments, const Spread &spread, double terms);
  Moments columnOf(const cells::Moments &from, size_t column) const;

  SpreadContext &ctx;
  Value input;
  Layout layout;
  std::vector<Direction> directions;
};
} // namespace

void RecurrentGradient::add(const CellModel &cell, const CellFactors &factors,
                            ArrayRef<TimeMoments> arriving,
                            const TimeMoments &lastHidden,
                            const TimeMoments &lastKept, bool reversed) {
  directions.push_back(
      {passBack(factors, cell.units.weights, cell.units.recurrence, arriving,
                lastHidden, lastKept, layout.steps, arriving.size() > 1),
       cell.units.input, cell.states.hidden, reversed});
}

void RecurrentGradient::giveCells(unsigned index, AbstractValue::Dims dims,
                                  ArrayRef<Moments> moments,
                                  const Spread &spread, double terms) {
  double draws =
      ctx.elementsPerGroup(ctx.op()->getResult(index), moments.size());
  std::vector<Cell> cells;
  for (const Moments &one : moments)
    cells.push_back(SpreadContext::normalCell(one, draws));
  AbstractValue value(std::move(dims), cells);
  value.source = LikelySource::Propagated;
  Losses losses = ctx.combineLosses();
  losses.hit = losses.hit.ofSums(terms);
  ctx.giveLosses(index, losses);
  ctx.give(index, std::move(value), spread);
}

/// Adds up expected products, to be divided: a group's elements differ.
static void addPart(Moments &to, const Moments &one, double count) {
  to.mean += one.mean / count;
  to.common += one.common / count;
  to.square += one.square / count;
}

void RecurrentGradient::giveInput(unsigned index) {
  int64_t rank = TransferContext::rankOf(input);
  size_t features = directions.front().passed.features.mean.size();
  Spread spread;
  spread.axes.batch = layout.batchAxis;
  if (layout.timeAxis >= 0)
    spread.axes.positions = 1u << layout.timeAxis;
  std::vector<Moments> all;
  double common = 0, square = 0;
  for (size_t i = 0; i < features; ++i) {
    Moments sum;
    for (const Direction &direction : directions)
      sum = sum + direction.passed.features.at(i);
    common += sum.common - sum.mean * sum.mean;
    square += sum.variance();
    all.push_back(sum);
  }
  spread.alike = square > 0 ? std::clamp(common / square, 0.0, 1.0) : 0;
  AbstractValue::Dims dims(rank, 1);
  dims.back() = int64_t(features);
  size_t steps = size_t(layout.steps);
  if (layout.timeAxis >= 0 && steps * features <= ctx.groupLimit().joint &&
      llvm::all_of(directions, [&](const Direction &direction) {
        return direction.passed.byStep.size() == steps;
      })) {
    dims[layout.timeAxis] = layout.steps;
    all.assign(steps * features, Moments());
    for (const Direction &direction : directions)
      for (size_t step = 0; step < steps; ++step)
        for (size_t i = 0; i < features; ++i) {
          const TimeMoments &its = direction.passed.byStep[step];
          size_t place = direction.reversed ? step : steps - 1 - step;
          double mean = its.mean[i] * its.mean[i] + its.shared[i];
          Moments &to = all[place * features + i];
          to = to + Moments{its.mean[i], mean, mean + its.own[i]};
        }
  }
  giveCells(index, std::move(dims), all, spread,
            double(directions.front().passed.input.mean.size()));
}

Moments RecurrentGradient::columnOf(const cells::Moments &from,
                                    size_t column) const {
  size_t at = from.mean.size() == 1 ? 0 : column;
  double square = from.mean[at] * from.mean[at];
  return {from.mean[at], square + ctx.spread(input).alike * from.variance[at],
          square + from.variance[at]};
}

void RecurrentGradient::giveWeights(unsigned index, bool ofState) {
  Value made = ctx.op()->getResult(index);
  MaybeShape shape = getShape(made);
  size_t rows = directions.front().passed.input.mean.size();
  size_t columns = size_t(shape->back());
  // The state before the first step is 0 where none is given.
  double steps = double(layout.steps) - (ofState && layout.startsAtZero);
  TermCount count{1, double(layout.batch), steps};
  bool apart = directions.size() * rows * columns <= ctx.groupLimit().joint;
  std::vector<Moments> all;
  for (const Direction &direction : directions) {
    const StepSums &sums =
        ofState ? direction.passed.state : direction.passed.input;
    for (size_t row = 0; row < rows; ++row) {
      Moments merged;
      for (size_t column = 0; column < columns; ++column) {
        Moments x =
            columnOf(ofState ? direction.hidden : direction.input, column);
        Moments sum = steps > 0 ? sumOf(sums.at(row) * x, count) : Moments();
        if (apart)
          all.push_back(sum);
        else
          addPart(merged, sum, double(columns));
      }
      if (!apart)
        all.push_back(merged);
    }
  }
  AbstractValue::Dims dims(shape->size(), 1);
  dims[shape->size() - 2] = int64_t(rows);
  if (apart)
    dims.back() = int64_t(columns);
  if (shape->size() == 3)
    dims.front() = int64_t(directions.size());
  giveCells(index, std::move(dims), all, {}, count.all());
}

void RecurrentGradient::giveBias(unsigned index, Part part) {
  MaybeShape shape = getShape(ctx.op()->getResult(index));
  TermCount count{1, double(layout.batch), double(layout.steps)};
  std::vector<Moments> all;
  for (const Direction &direction : directions)
    for (bool ofState : {false, true}) {
      if (part == (ofState ? Part::InputBias : Part::StateBias))
        continue;
      const StepSums &sums =
          ofState ? direction.passed.state : direction.passed.input;
      for (size_t row = 0; row < sums.mean.size(); ++row)
        all.push_back(sumOf(sums.at(row), count));
    }
  AbstractValue::Dims dims(shape->size(), 1);
  dims.back() = shape->back();
  if (shape->size() == 2)
    dims.front() = int64_t(directions.size());
  giveCells(index, std::move(dims), all, {}, count.all());
}

void RecurrentGradient::giveState(unsigned index, bool kept) {
  MaybeShape shape = getShape(ctx.op()->getResult(index));
  std::vector<Moments> all;
  size_t units = 1;
  for (const Direction &direction : directions) {
    const PassedBack &passed = direction.passed;
    units = passed.hidden.size();
    for (size_t j = 0; j < units; ++j) {
      auto at = [&](const TimeMoments &from) {
        double square = from.mean[j] * from.mean[j] + from.shared[j];
        return Moments{from.mean[j], square, square + from.own[j]};
      };
      Moments sum = at(kept ? passed.kept : passed.hidden);
      if (!kept && layout.keptIsHidden)
        sum = sum + at(passed.kept);
      all.push_back(sum);
    }
  }
  Moments merged;
  for (const Moments &one : all)
    addPart(merged, one, double(all.size()));
  AbstractValue::Dims dims(shape->size(), 1);
  dims.back() = int64_t(units);
  // Directions are apart, whatever their axis is.
  if (directions.size() > 1) {
    dims.back() = 1;
    all = {merged};
  }
  Spread spread;
  spread.axes.batch =
      int(shape->size()) - 2 - (layout.timeAxis == 1 && shape->size() == 3);
  giveCells(index, std::move(dims), all, spread, 1);
}

void RecurrentGradient::give(unsigned index, Part part) {
  if (!getShape(ctx.op()->getResult(index)))
    return;
  switch (part) {
  case Part::Input:
    return giveInput(index);
  case Part::InputWeights:
  case Part::StateWeights:
    return giveWeights(index, part == Part::StateWeights);
  case Part::Bias:
  case Part::InputBias:
  case Part::StateBias:
    return giveBias(index, part);
  case Part::Hidden:
  case Part::Kept:
    return giveState(index, part == Part::Kept);
  case Part::Other:
    return;
  }
}

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

/// What arrives at the units of one direction, the last step first; axes of the
/// value that are -1 are not there.
static std::vector<TimeMoments> readArriving(SpreadContext &ctx, Value grad,
                                             int timeAxis, int directionAxis,
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

static bool isZero(SpreadContext &ctx, Value value) {
  return !value || ctx.of(value).hull().absMax() == 0;
}

/// Steps are followed one by one; longer sequences have no estimate.
static constexpr int64_t kMostSteps = 1 << 14;

/// `estimate` gives the states, `factorsOf` what gradients are multiplied by.
template <typename OpTy>
static void giveSequence(
    OpTy op, SpreadContext &ctx, int64_t gates, unsigned first,
    llvm::function_ref<cells::RecurrentStates(const cells::RecurrentUnits &)>
        estimate,
    llvm::function_ref<CellFactors(const CellModel &)> factorsOf) {
  MaybeShape shape = getShape(op.getInput());
  if (!shape || shape->size() != 3 ||
      llvm::any_of(*shape, [](int64_t dim) { return dim < 1; }))
    return;
  Layout layout;
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
  static constexpr Part kParts[] = {
      Part::Input, Part::InputWeights, Part::StateWeights, Part::Bias,
      Part::Other, Part::Hidden,       Part::Kept};
  for (auto [index, number] : llvm::enumerate(op.getWanted())) {
    unsigned slot = gradients::slotOf(op, number) - first;
    gradient.give(index, slot < std::size(kParts) ? kParts[slot] : Part::Other);
  }
}

static Likely gateOrTanh(unsigned index, const Likely &x) {
  return likelyOf(index == 0 ? Curve::Sigmoid : Curve::Tanh, x);
}

static void spreadLstmGrad(mp::LSTMGradOp op, SpreadContext &ctx) {
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

static void spreadGruGrad(mp::GRUGradOp op, SpreadContext &ctx) {
  if (!hasActivations(op, {UnaryFunction::Sigmoid, UnaryFunction::Tanh}) ||
      !op.getLinearBeforeReset())
    return;
  giveSequence(
      op, ctx, 3, 2,
      [](const cells::RecurrentUnits &units) {
        return estimateGRU(units, gateOrTanh, /*linearBeforeReset=*/true);
      },
      [](const CellModel &cell) { return factorsOfGru(cell, {0, 1, 2}); });
}

static void spreadRnnGrad(mp::RNNGradOp op, SpreadContext &ctx) {
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

static std::vector<double> readFinite(SpreadContext &ctx, Value value,
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
static cells::Moments featuresOf(SpreadContext &ctx, Value value,
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
giveStep(OpTy op, SpreadContext &ctx, size_t gates, unsigned first,
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
  Layout layout;
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
  static constexpr Part kParts[] = {
      Part::Input,        Part::Hidden,    Part::Kept,     Part::InputWeights,
      Part::StateWeights, Part::InputBias, Part::StateBias};
  for (auto [index, number] : llvm::enumerate(op.getWanted())) {
    unsigned slot = gradients::slotOf(op, number) - first;
    slot += !keepsCell && slot >= 2;
    gradient.give(index, slot < std::size(kParts) ? kParts[slot] : Part::Other);
  }
}

static void spreadLstmCellGrad(mp::LSTMCellGradOp op, SpreadContext &ctx) {
  giveStep(op, ctx, 4, 2, [](const CellModel &cell) {
    return factorsOfLstm(cell, {0, 3, 1, 2});
  });
}
static void spreadGruCellGrad(mp::GRUCellGradOp op, SpreadContext &ctx) {
  giveStep(op, ctx, 3, 1,
           [](const CellModel &cell) { return factorsOfGru(cell, {1, 0, 2}); });
}
static void spreadRnnCellGrad(mp::RNNCellGradOp op, SpreadContext &ctx) {
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
