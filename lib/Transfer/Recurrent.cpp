//===- Recurrent.cpp - Ranges of recurrent cells
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gates are what their activation can give: [0, 1] for a sigmoid, [-1, 1] for
// tanh. So a GRU's state is a convex combination of numbers in [-1, 1] and the
// state before, and an LSTM's cell grows by 1 a step at most:
//
//   |c_t| <= F |c_t-1| + I G   and, while F < 1,   |c| <= max(|c_0|, I G/(1-F))
//
// with F, I, G the largest forget gate, input gate and candidate. F needs a
// bound of what goes into the gate: sum |w| max|x| + sum |r| max|h| + |b|,
// which unbounded activations (relu) need, too, step by step.
//
// The likely tier of a sequence follows the moments of each unit
// (RecurrentEstimate.h); where weights are not known, second moments for some
// steps, weights, inputs and states being independent.
//
//===----------------------------------------------------------------------===//

#include "Families.h"
#include "RecurrentEstimate.h"
#include "RowSupport.h"

#include "mpopt/Dialect/Ops/RecurrentOps.h"
#include "mpopt/Transfer/ElementwiseSupport.h"
#include "mpopt/Transfer/RangeInterface.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::rows;

namespace {
/// A function of a gate: an activation by its ONNX name.
struct Activation {
  Unary unary{UnaryFunction::Tanh};
  /// What comes in and out besides: outer f(inner x + shift).
  double outer = 1, inner = 1, shift = 0;
  bool known = true;
};

/// Everything that the cells have in common.
struct Recurrence {
  AbstractValue input, hidden;
  Value weights, recurrence;
  SmallVector<Value, 2> biases;
  int64_t gates = 1;
  /// Steps; nothing if not known.
  std::optional<int64_t> steps;
  double clip = 0;
  bool nonFinite = false;
};
} // namespace

/// Where the number of steps is not known, rounding errors are of so many.
static constexpr double kMostSteps = 1 << 20;

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

static Activation getActivation(StringRef name, std::optional<double> alpha,
                                std::optional<double> beta) {
  std::string lower = name.lower();
  Activation result;
  auto plain = [&](UnaryFunction function) {
    result.unary.function = function;
    return result;
  };
  if (lower == "tanh")
    return plain(UnaryFunction::Tanh);
  if (lower == "sigmoid")
    return plain(UnaryFunction::Sigmoid);
  if (lower == "relu")
    return plain(UnaryFunction::Relu);
  if (lower == "softsign")
    return plain(UnaryFunction::Softsign);
  if (lower == "softplus")
    return plain(UnaryFunction::Softplus);
  if (lower == "leakyrelu") {
    result.unary.alpha = alpha.value_or(0.01);
    return plain(UnaryFunction::LeakyRelu);
  }
  if (lower == "elu") {
    result.unary.alpha = alpha.value_or(1);
    return plain(UnaryFunction::Elu);
  }
  if (lower == "thresholdedrelu") {
    result.unary.alpha = alpha.value_or(1);
    return plain(UnaryFunction::ThresholdedRelu);
  }
  if (lower == "hardsigmoid") {
    result.unary.alpha = alpha.value_or(0.2);
    result.unary.beta = beta.value_or(0.5);
    return plain(UnaryFunction::HardSigmoid);
  }
  if (lower == "scaledtanh" && alpha && beta) {
    result.outer = *alpha;
    result.inner = *beta;
    return plain(UnaryFunction::Tanh);
  }
  if (lower == "affine") {
    result.outer = 1;
    result.inner = alpha.value_or(1);
    result.shift = beta.value_or(0);
    // As it is: abs and relu would lose the sign.
    result.unary.alpha = 1;
    return plain(UnaryFunction::LeakyRelu);
  }
  result.known = false;
  return result;
}

static Interval imageOf(const Activation &activation, const Interval &x,
                        const ComputeError &error) {
  if (!activation.known)
    return Interval::whole();
  Interval inside = (x * activation.inner + activation.shift)
                        .widened(4 * error.unit(), error.format->minSubnormal);
  FloatRange y = apply(activation.unary, FloatRange::of(inside), error);
  return (y.finite * activation.outer).widened(2 * error.unit());
}

static Likely likelyOf(const Activation &activation, const Likely &x) {
  Likely inside = likely::affine(x, activation.inner, activation.shift);
  return likely::affine(likely::apply(activation.unary, inside),
                        activation.outer, 0);
}

/// The activations of one direction, `count` in a row, from the lists of the
/// op.
template <typename OpTy>
static SmallVector<Activation, 3> getActivations(OpTy op, unsigned direction,
                                                 unsigned count) {
  SmallVector<Activation, 3> result;
  ArrayRef<double> alphas = op.getActivationAlpha(),
                   betas = op.getActivationBeta();
  auto takes = [](StringRef name, bool beta) {
    std::string lower = name.lower();
    if (beta)
      return lower == "affine" || lower == "scaledtanh" ||
             lower == "hardsigmoid";
    return lower == "affine" || lower == "scaledtanh" ||
           lower == "hardsigmoid" || lower == "leakyrelu" || lower == "elu" ||
           lower == "thresholdedrelu";
  };
  ArrayAttr names = op.getActivations();
  size_t withAlpha = 0, withBeta = 0;
  for (Attribute name : names) {
    withAlpha += takes(cast<StringAttr>(name).getValue(), false);
    withBeta += takes(cast<StringAttr>(name).getValue(), true);
  }
  // The numbers are one per activation or one per activation that has one.
  size_t alpha = 0, beta = 0;
  for (auto [index, attribute] : llvm::enumerate(names)) {
    StringRef name = cast<StringAttr>(attribute).getValue();
    std::optional<double> a, b;
    auto pick = [&](ArrayRef<double> list, size_t with, size_t &next,
                    bool isBeta) -> std::optional<double> {
      if (!takes(name, isBeta))
        return std::nullopt;
      if (list.size() == names.size() && list.size() != with)
        return list[index];
      return next < list.size() ? std::optional(list[next++]) : std::nullopt;
    };
    a = pick(alphas, withAlpha, alpha, false);
    b = pick(betas, withBeta, beta, true);
    if (index >= direction * count && index < (direction + 1) * count)
      result.push_back(getActivation(name, a, b));
  }
  Activation unknown;
  unknown.known = false;
  result.resize(count, unknown);
  return result;
}

//===----------------------------------------------------------------------===//
// What goes into a gate
//===----------------------------------------------------------------------===//

/// The largest sum of magnitudes of a row, rows being along the last axis;
/// infinite if the weights are not known.
static double largestRow(Value value, TransferContext &ctx) {
  std::optional<WeightView> weights = ctx.weights(value);
  size_t rank = TransferContext::rankOf(value);
  std::optional<int64_t> columns =
      rank > 0 ? TransferContext::dimOf(value, rank - 1) : std::nullopt;
  if (!columns || *columns <= 0)
    return kInf;
  if (!weights || weights->size() == 0)
    return ctx.of(value).hull().absMax() * double(*columns);
  std::vector<double> row(*columns);
  double most = 0;
  for (int64_t first = 0; first + *columns <= weights->size();
       first += *columns) {
    weights->read(first, row);
    double sum = 0;
    for (double weight : row)
      sum += std::isfinite(weight) ? std::fabs(weight) : 0;
    most = std::max(most, sum);
    if (weights->splat)
      break;
  }
  return most * (1 + 1e-12);
}

namespace {
/// Bounds and estimate of W x + R h + b for the state h.
class GateInput {
public:
  GateInput(const Recurrence &cell, TransferContext &ctx);

  Interval bound(double state) const;
  Likely likely(double stateSquare) const;
  bool hasLikely() const { return known; }
  bool overflows(double state) const {
    return !(magnitude(state) < format.overflowFrom);
  }
  bool isOver(double magnitude) const {
    return !(magnitude < format.overflowFrom);
  }
  /// Of a sum, relative to its magnitudes.
  double relativeError() const { return error; }

private:
  double magnitude(double state) const {
    double sum = fixed + (recurrent == 0 || state == 0 ? 0 : recurrent * state);
    return sum * (1 + error) + 1e-300;
  }

  const FloatFormat &format;
  double fixed = 0, recurrent = 0, error = 0, clip = 0;
  bool known = true;
  double mean = 0, fixedVariance = 0, stateVariance = 0;
};
} // namespace

static double squareOf(const Cell &cell) {
  return cell.variance + cell.mean * cell.mean;
}

GateInput::GateInput(const Recurrence &cell, TransferContext &ctx)
    : format(ctx.productFormat(cell.weights)), clip(cell.clip) {
  Cell x = cell.input.hull(), w = ctx.of(cell.weights).hull(),
       r = ctx.of(cell.recurrence).hull();
  double row = largestRow(cell.weights, ctx);
  fixed = x.absMax() == 0 ? 0 : row * x.absMax();
  recurrent = largestRow(cell.recurrence, ctx);
  double inputs = 0, states = 0;
  auto columns = [](Value value) {
    size_t rank = TransferContext::rankOf(value);
    return rank ? double(TransferContext::dimOf(value, rank - 1).value_or(0))
                : 0.0;
  };
  inputs = columns(cell.weights);
  states = columns(cell.recurrence);
  known = cell.input.hasLikely() && ctx.of(cell.weights).hasLikely() &&
          ctx.of(cell.recurrence).hasLikely();
  fixedVariance = inputs * squareOf(w) * squareOf(x);
  stateVariance = states * squareOf(r);
  for (Value bias : cell.biases) {
    Cell b = ctx.of(bias).hull();
    // Of W and of R, in one tensor or two.
    fixed += (cell.biases.size() == 1 ? 2 : 1) * b.absMax();
    mean += b.mean * (cell.biases.size() == 1 ? 2 : 1);
    fixedVariance += b.variance * (cell.biases.size() == 1 ? 2 : 1);
    known &= ctx.of(bias).hasLikely();
  }
  // The sums' rounding, and stores in the operands' dtype.
  error = (inputs + states + 16) * roundoff(format);
  if (const FloatFormat *own = getFloatFormat(getElementType(cell.weights)))
    error += 8 * roundoff(*own);
}

Interval GateInput::bound(double state) const {
  double most = magnitude(state);
  if (std::isnan(most))
    most = kInf;
  if (clip > 0)
    most = std::min(most, clip);
  return Interval::symmetric(most);
}

Likely GateInput::likely(double stateSquare) const {
  Likely x = Likely::normal(mean, fixedVariance + stateVariance * stateSquare,
                            extremeOf(1e4));
  return x.within(bound(kInf));
}

//===----------------------------------------------------------------------===//
// Setting up and finishing
//===----------------------------------------------------------------------===//

template <typename OpTy>
static Recurrence getSequence(OpTy op, int64_t gates, TransferContext &ctx) {
  Recurrence cell{ctx.of(op.getInput()), AbstractValue::within(0, 0),
                  op.getWeights(), op.getRecurrence()};
  cell.gates = gates;
  cell.clip = op.getClip().convertToDouble();
  if (op.getInitialH())
    cell.hidden = ctx.of(op.getInitialH());
  if (op.getBias())
    cell.biases.push_back(op.getBias());
  cell.steps =
      TransferContext::dimOf(op.getInput(), op.getBatchFirst() ? 1 : 0);
  for (Value operand : op->getOperands())
    cell.nonFinite |= isa<FloatType>(getElementType(operand)) &&
                      ctx.of(operand).mayBeNonFinite();
  return cell;
}

template <typename OpTy>
static Recurrence getCell(OpTy op, int64_t gates, TransferContext &ctx) {
  Recurrence cell{ctx.of(op.getInput()), ctx.of(op.getHidden()),
                  op.getInputWeights(), op.getHiddenWeights()};
  cell.gates = gates;
  cell.steps = 1;
  for (Value bias : {op.getInputBias(), op.getHiddenBias()})
    if (bias)
      cell.biases.push_back(bias);
  // One of two counts once.
  if (cell.biases.size() == 1)
    cell.biases.push_back(cell.biases.front());
  for (Value operand : op->getOperands())
    cell.nonFinite |= ctx.of(operand).mayBeNonFinite();
  return cell;
}

static AbstractValue makeState(Value result, const Interval &range,
                               const std::optional<Likely> &likely,
                               bool mayBeNaN) {
  AbstractValue value = AbstractValue::within(range.lo, range.hi,
                                              TransferContext::rankOf(result));
  value.nan = mayBeNaN;
  bool unbounded = !range.isBounded();
  value.posInf = unbounded && range.hi == kInf;
  value.negInf = unbounded && range.lo == -kInf;
  if (likely) {
    setLikely(value.mutableCells().front(),
              {0, 0, likely->mean, likely->variance, likely->lo, likely->hi});
    value.source = LikelySource::Propagated;
  }
  return value;
}

/// Moments by unit of what a sequence op computes; empty if not known.
struct UnitMoments {
  SmallVector<Moments, 2> hidden, cell;
};

template <typename OpTy>
static UnitMoments
estimateUnits(OpTy op, const Recurrence &cell, unsigned activations,
              TransferContext &ctx,
              llvm::function_ref<RecurrentStates(const RecurrentUnits &,
                                                 ActivationEstimate)>
                  estimate) {
  UnitMoments result;
  unsigned directions = op.getDirection() == "bidirectional" ? 2 : 1;
  for (unsigned direction = 0; direction < directions; ++direction) {
    std::optional<RecurrentUnits> units = readRecurrentUnits(
        ctx, op.getInput(), op.getWeights(), op.getRecurrence(), op.getBias(),
        cell.gates, cell.steps.value_or(32), direction);
    SmallVector<Activation, 3> functions =
        getActivations(op, direction, activations);
    if (!units || llvm::any_of(functions, [](const Activation &function) {
          return !function.known;
        }))
      return {};
    RecurrentStates states =
        estimate(*units, [&](unsigned index, const Likely &x) {
          return likelyOf(functions[index], x);
        });
    result.hidden.push_back(std::move(states.hidden));
    result.cell.push_back(std::move(states.cell));
  }
  return result;
}

/// Result `index` of a sequence op with its units told apart: every step's
/// states, or the last ones.
template <typename OpTy>
static AbstractValue tellUnits(OpTy op, unsigned index,
                               const AbstractValue &value,
                               ArrayRef<Moments> units, TransferContext &ctx) {
  if (units.empty() || !value.hasLikely())
    return value;
  size_t axis = index == 0 ? 1 : 0;
  if (op.getBatchFirst())
    ++axis;
  double groups = double(units.size() * units.front().mean.size());
  return withUnits(value, units, axis,
                   ctx.elementsPerGroup(op->getResult(index), groups));
}

static Interval hullOf(const AbstractValue &value) {
  return hull(bound(value.hull()), 0.0);
}

/// Of the store of a state, which may be in the operands' dtype at every step.
static double storeUnit(const Recurrence &cell) {
  const FloatFormat *own = getFloatFormat(getElementType(cell.weights));
  return own ? 2 * roundoff(*own) : 0;
}

/// How often the estimate is iterated.
static int64_t likelySteps(const Recurrence &cell) {
  return std::clamp<int64_t>(cell.steps.value_or(32), 1, 32);
}

//===----------------------------------------------------------------------===//
// Plain recurrence
//===----------------------------------------------------------------------===//

/// As many steps are followed one by one.
static constexpr int64_t kUnrolled = 64;

/// With the weights of each unit, if they are known.
static std::optional<PlainBounds> boundPlain(const Recurrence &cell,
                                             const RecurrentUnits &units,
                                             const Activation &activation,
                                             const GateInput &gate,
                                             const ComputeError &error) {
  if (!activation.known || cell.steps.value_or(kUnrolled + 1) > kUnrolled)
    return std::nullopt;
  size_t rank = cell.input.rank();
  AbstractValue features =
      rank > 0 ? cell.input.keeping({int64_t(rank) - 1}) : cell.input;
  if (features.groups() != 1 && features.groups() != units.inputs)
    features = features.merged();
  SmallVector<Interval> inputs;
  for (const Cell &x : features.cells())
    inputs.push_back(x.empty() ? Interval::point(0) : bound(x));
  double store = storeUnit(cell);
  return boundPlainUnits(
      units, inputs, hullOf(cell.hidden), *cell.steps, gate.relativeError(),
      [&](const Interval &sum) {
        Interval x = sum;
        if (cell.clip > 0)
          x = {std::clamp(x.lo, -cell.clip, cell.clip),
               std::clamp(x.hi, -cell.clip, cell.clip)};
        return imageOf(activation, x, error).widened(store, 1e-300);
      });
}

static void transferPlain(const Recurrence &cell, const Activation &activation,
                          const std::optional<RecurrentUnits> &units,
                          TransferContext &ctx, Interval &total,
                          std::optional<Likely> &estimate, bool &nan) {
  GateInput gate(cell, ctx);
  ComputeError error = functionError(ctx, cell.weights);
  std::optional<PlainBounds> byUnit;
  if (units)
    byUnit = boundPlain(cell, *units, activation, gate, error);
  // What no state can exceed, if there is such a bound.
  Interval closed = imageOf(activation, gate.bound(kInf), error);
  Interval state = hullOf(cell.hidden), reached = Interval::empty();
  if (byUnit) {
    reached = intersect(byUnit->state, closed);
    nan |= gate.isOver(byUnit->magnitude);
  } else if (closed.isBounded() ||
             cell.steps.value_or(kUnrolled + 1) > kUnrolled) {
    reached = closed;
    Interval either = hull(closed, state);
    reached = imageOf(activation, gate.bound(either.maxAbs()), error);
    nan |= gate.overflows(either.maxAbs());
  } else {
    for (int64_t step = 0; step < *cell.steps; ++step) {
      nan |= gate.overflows(state.maxAbs());
      state = imageOf(activation, gate.bound(state.maxAbs()), error);
      reached = hull(reached, state);
    }
  }
  total = hull(total, hull(reached, 0.0));
  if (!gate.hasLikely())
    return;
  Likely h = Likely::point(0);
  double square = squareOf(cell.hidden.hull());
  for (int64_t step = 0; step < likelySteps(cell); ++step) {
    h = likelyOf(activation, gate.likely(square));
    square = std::min(h.variance + h.mean * h.mean, 1e30);
  }
  estimate = estimate ? likely::mix(*estimate, h) : h;
}

static void transferRNN(mp::RNNOp op, TransferContext &ctx) {
  Recurrence cell = getSequence(op, 1, ctx);
  unsigned directions = op.getDirection() == "bidirectional" ? 2 : 1;
  Interval total = Interval::empty();
  std::optional<Likely> estimate;
  bool nan = cell.nonFinite;
  for (unsigned direction = 0; direction < directions; ++direction)
    transferPlain(cell, getActivations(op, direction, 1)[0],
                  readRecurrentUnits(ctx, op.getInput(), op.getWeights(),
                                     op.getRecurrence(), op.getBias(), 1,
                                     cell.steps.value_or(1), direction),
                  ctx, total, estimate, nan);
  UnitMoments units = estimateUnits(op, cell, 1, ctx, estimateRNN);
  auto result = [&](unsigned index, const Interval &range) {
    ctx.result(index,
               tellUnits(op, index,
                         makeState(op->getResult(index), range, estimate, nan),
                         units.hidden, ctx));
  };
  result(0, total);
  // Sequences of length 0 keep their state.
  result(1, hull(total, hullOf(cell.hidden)));
}

static void transferRNNCell(mp::RNNCellOp op, TransferContext &ctx) {
  Recurrence cell = getCell(op, 1, ctx);
  Interval total = Interval::empty();
  std::optional<Likely> estimate;
  bool nan = cell.nonFinite;
  transferPlain(cell, getActivation(op.getActivation(), {}, {}), std::nullopt,
                ctx, total, estimate, nan);
  ctx.result(0, makeState(op->getResult(0), total, estimate, nan));
}

//===----------------------------------------------------------------------===//
// LSTM
//===----------------------------------------------------------------------===//

namespace {
struct LSTMStates {
  Interval hidden = Interval::empty(), cell = Interval::empty();
  std::optional<Likely> likelyHidden, likelyCell;
  bool nan = false;
};
} // namespace

/// f, g, h: of the gates, the candidate and the output. `peephole` is the
/// largest magnitude of the weights by which the cell enters the gates.
static void transferLSTM(const Recurrence &cell, const AbstractValue &initial,
                         ArrayRef<Activation> f, double peephole, bool coupled,
                         TransferContext &ctx, LSTMStates &states) {
  GateInput gate(cell, ctx);
  ComputeError error = functionError(ctx, cell.weights);
  double unit = error.unit();
  Interval start = hullOf(initial);
  Interval anyGate = imageOf(f[0], Interval::whole(), error);
  Interval candidate = imageOf(f[1], Interval::whole(), error);
  Interval output = imageOf(f[2], Interval::whole(), error);
  // The state before, whatever it was: what bounds the gates' input.
  Interval hidden = hull(hullOf(cell.hidden), anyGate * output);
  Interval input = gate.bound(hidden.maxAbs());
  states.nan |= gate.overflows(hidden.maxAbs());
  if (peephole == 0) {
    anyGate = intersect(anyGate, imageOf(f[0], input, error));
    output = intersect(output, imageOf(f[2], Interval::whole(), error));
  }
  candidate = intersect(candidate, imageOf(f[1], input, error));
  double store = storeUnit(cell);
  double rounded = (1 + 4 * unit) * (1 + store);
  double grow = anyGate.maxAbs() * candidate.maxAbs() * rounded;
  double keep = anyGate.maxAbs() * rounded;
  double first = start.maxAbs(), most = kInf;
  bool closed = anyGate.maxAbs() <= 1 + 8 * unit;
  bool convex = coupled && anyGate.lo >= 0 && closed;
  double steps = double(cell.steps.value_or(int64_t(kMostSteps)));
  if (convex)
    // A store rounds to the next value once, and then to the same.
    most = std::max(first, candidate.maxAbs()) * (1 + 8 * unit * steps) *
           (1 + 2 * store);
  else if (closed)
    most = (first + steps * grow) * (1 + (32 * unit + store) * steps);
  if (!convex && keep < 1)
    most = std::min(most, std::max(first, grow / (1 - keep)) * (1 + 1e-9));
  // Gates that amplify: step by step.
  if (!std::isfinite(most) && cell.steps && *cell.steps <= 64) {
    most = first;
    double sum = first;
    for (int64_t step = 0; step < *cell.steps; ++step)
      most = std::max(most, sum = keep * sum + grow);
  }
  Interval c = Interval::symmetric(most);
  Interval h =
      (anyGate * intersect(output, imageOf(f[2], c, error))).widened(4 * unit);
  states.cell = hull(states.cell, hull(c, 0.0));
  states.hidden = hull(states.hidden, hull(h, 0.0));
  if (!gate.hasLikely())
    return;
  double hSquare = squareOf(cell.hidden.hull());
  double cSquare = squareOf(initial.hull());
  Likely g, i, ofCell, out;
  for (int64_t step = 0; step < likelySteps(cell); ++step) {
    Likely x = gate.likely(hSquare);
    i = likelyOf(f[0], x);
    g = likelyOf(f[1], x);
    double gateSquare = i.variance + i.mean * i.mean;
    double fresh = gateSquare * (g.variance + g.mean * g.mean);
    cSquare = std::min(gateSquare * cSquare + fresh, 1e30);
    ofCell = Likely::normal(0, cSquare, extremeOf(1e4)).within(c);
    out = likely::mul(i, likelyOf(f[2], ofCell), extremeOf(1e4)).within(h);
    hSquare = out.variance + out.mean * out.mean;
  }
  states.likelyCell =
      states.likelyCell ? likely::mix(*states.likelyCell, ofCell) : ofCell;
  states.likelyHidden =
      states.likelyHidden ? likely::mix(*states.likelyHidden, out) : out;
}

static void transferLSTMSequence(mp::LSTMOp op, TransferContext &ctx) {
  Recurrence cell = getSequence(op, 4, ctx);
  AbstractValue initial =
      op.getInitialC() ? ctx.of(op.getInitialC()) : AbstractValue::within(0, 0);
  double peephole =
      op.getPeepholes() ? ctx.of(op.getPeepholes()).hull().absMax() : 0;
  unsigned directions = op.getDirection() == "bidirectional" ? 2 : 1;
  LSTMStates states;
  states.nan = cell.nonFinite;
  for (unsigned direction = 0; direction < directions; ++direction)
    transferLSTM(cell, initial, getActivations(op, direction, 3), peephole,
                 op.getInputForget(), ctx, states);
  UnitMoments units = estimateUnits(
      op, cell, 3, ctx,
      [&](const RecurrentUnits &units, ActivationEstimate activation) {
        return estimateLSTM(units, activation, op.getInputForget());
      });
  auto result = [&](unsigned index, const Interval &range,
                    const std::optional<Likely> &likely,
                    ArrayRef<Moments> moments) {
    ctx.result(index, tellUnits(op, index,
                                makeState(op->getResult(index), range, likely,
                                          states.nan),
                                moments, ctx));
  };
  result(0, states.hidden, states.likelyHidden, units.hidden);
  result(1, hull(states.hidden, hullOf(cell.hidden)), states.likelyHidden,
         units.hidden);
  result(2, hull(states.cell, hullOf(initial)), states.likelyCell, units.cell);
}

static void transferLSTMCell(mp::LSTMCellOp op, TransferContext &ctx) {
  Recurrence cell = getCell(op, 4, ctx);
  Activation sigmoid = getActivation("sigmoid", {}, {});
  Activation tanh = getActivation("tanh", {}, {});
  LSTMStates states;
  states.nan = cell.nonFinite;
  transferLSTM(cell, ctx.of(op.getCell()), {sigmoid, tanh, tanh}, 0, false, ctx,
               states);
  ctx.result(0, makeState(op->getResult(0), states.hidden, states.likelyHidden,
                          states.nan));
  ctx.result(1, makeState(op->getResult(1), states.cell, states.likelyCell,
                          states.nan));
}

//===----------------------------------------------------------------------===//
// GRU
//===----------------------------------------------------------------------===//

static void transferGated(const Recurrence &cell, ArrayRef<Activation> f,
                          TransferContext &ctx, Interval &total,
                          std::optional<Likely> &estimate, bool &nan) {
  GateInput gate(cell, ctx);
  ComputeError error = functionError(ctx, cell.weights);
  double unit = error.unit();
  Interval start = hullOf(cell.hidden);
  Interval update = imageOf(f[0], Interval::whole(), error);
  Interval fresh = imageOf(f[1], Interval::whole(), error);
  double steps = double(cell.steps.value_or(int64_t(kMostSteps)));
  Interval state = Interval::whole();
  if (update.lo >= 0 && update.hi <= 1 + 16 * unit) {
    // (1 - z) n + z h, off by some units a step.
    // A store rounds to the next value once, and then to the same.
    double off = 24 * unit * steps + 2 * storeUnit(cell);
    state = hull(start, fresh);
    state = state.widened(0, off * state.maxAbs());
    // The reset gate scales the state in front of the product by up to 1.
    Interval input = gate.bound(state.maxAbs());
    nan |= gate.overflows(state.maxAbs());
    Interval narrower =
        hull(start, intersect(fresh, imageOf(f[1], input, error)));
    state = intersect(state, narrower.widened(0, off * narrower.maxAbs()));
  }
  total = hull(total, hull(state, 0.0));
  if (!gate.hasLikely())
    return;
  double square = squareOf(cell.hidden.hull());
  Likely h = Likely::point(0);
  for (int64_t step = 0; step < likelySteps(cell); ++step) {
    Likely x = gate.likely(square);
    Likely z = likelyOf(f[0], x), n = likelyOf(f[1], x);
    double keep = z.variance + z.mean * z.mean;
    double take = z.variance + (1 - z.mean) * (1 - z.mean);
    square =
        std::min(take * (n.variance + n.mean * n.mean) + keep * square, 1e30);
    h = Likely::normal((1 - z.mean) * n.mean, square, extremeOf(1e4))
            .within(state);
  }
  estimate = estimate ? likely::mix(*estimate, h) : h;
}

static void transferGRU(mp::GRUOp op, TransferContext &ctx) {
  Recurrence cell = getSequence(op, 3, ctx);
  unsigned directions = op.getDirection() == "bidirectional" ? 2 : 1;
  Interval total = Interval::empty();
  std::optional<Likely> estimate;
  bool nan = cell.nonFinite;
  for (unsigned direction = 0; direction < directions; ++direction)
    transferGated(cell, getActivations(op, direction, 2), ctx, total, estimate,
                  nan);
  UnitMoments units = estimateUnits(
      op, cell, 2, ctx,
      [&](const RecurrentUnits &units, ActivationEstimate activation) {
        return estimateGRU(units, activation, op.getLinearBeforeReset());
      });
  auto result = [&](unsigned index, const Interval &range) {
    ctx.result(index,
               tellUnits(op, index,
                         makeState(op->getResult(index), range, estimate, nan),
                         units.hidden, ctx));
  };
  result(0, total);
  result(1, hull(total, hullOf(cell.hidden)));
}

static void transferGRUCell(mp::GRUCellOp op, TransferContext &ctx) {
  Recurrence cell = getCell(op, 3, ctx);
  Interval total = Interval::empty();
  std::optional<Likely> estimate;
  bool nan = cell.nonFinite;
  transferGated(
      cell, {getActivation("sigmoid", {}, {}), getActivation("tanh", {}, {})},
      ctx, total, estimate, nan);
  ctx.result(0, makeState(op->getResult(0), total, estimate, nan));
}

void mpopt::attachRecurrentTransfers(MLIRContext *context) {
  attachTransfer<transferRNN, mp::RNNOp>(context);
  attachTransfer<transferLSTMSequence, mp::LSTMOp>(context);
  attachTransfer<transferGRU, mp::GRUOp>(context);
  attachTransfer<transferRNNCell, mp::RNNCellOp>(context);
  attachTransfer<transferLSTMCell, mp::LSTMCellOp>(context);
  attachTransfer<transferGRUCell, mp::GRUCellOp>(context);
}
