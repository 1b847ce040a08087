//===- RecurrentSupport.cpp - What recurrent cells have in common
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The likely tier of a sequence follows the moments of each unit
// (RecurrentEstimate.h); where weights are not known, second moments for some
// steps, weights, inputs and states being independent.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Numerics/Infinity.h"

#include "RecurrentSupport.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::cells;

/// The largest sum of magnitudes of a row, rows being along the last axis;
/// infinite if the weights are not known.
static double largestRow(Value value, TransferContext &ctx) {
  std::optional<WeightView> weights = ctx.weights(value);
  size_t rank = TransferContext::rankOf(value);
  std::optional<int64_t> columns =
      rank > 0 ? TransferContext::dimOf(value, rank - 1) : std::nullopt;
  if (!columns || *columns <= 0)
    return kInfinity;
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

ComputeError cells::cellError(TransferContext &ctx, const Recurrence &op) {
  ComputeError error = functionError(ctx, op.weights);
  // ONNX Runtime's cells compute tanh as 2 sigmoid(2 x) - 1: of a small x it is
  // off by what the two are off by near 1/2 and 1.
  if (error.scale != 0)
    error.absolute = ctx.target().approximation();
  return error;
}

GateInput::GateInput(const Recurrence &op, TransferContext &ctx)
    : format(ctx.productFormat(op.weights)), clip(op.clip) {
  Cell x = op.input.hull(), w = ctx.of(op.weights).hull(),
       r = ctx.of(op.recurrence).hull();
  double row = largestRow(op.weights, ctx);
  fixed = x.absMax() == 0 ? 0 : row * x.absMax();
  recurrent = largestRow(op.recurrence, ctx);
  double inputs = 0, states = 0;
  auto columns = [](Value value) {
    size_t rank = TransferContext::rankOf(value);
    return rank ? double(TransferContext::dimOf(value, rank - 1).value_or(0))
                : 0.0;
  };
  inputs = columns(op.weights);
  states = columns(op.recurrence);
  known = op.input.hasLikely() && ctx.of(op.weights).hasLikely() &&
          ctx.of(op.recurrence).hasLikely();
  fixedVariance = inputs * squareOf(w) * squareOf(x);
  stateVariance = states * squareOf(r);
  for (Value bias : op.biases) {
    Cell b = ctx.of(bias).hull();
    // The biases of W and of R are in one tensor or in two.
    fixed += (op.biases.size() == 1 ? 2 : 1) * b.absMax();
    mean += b.mean * (op.biases.size() == 1 ? 2 : 1);
    fixedVariance += b.variance * (op.biases.size() == 1 ? 2 : 1);
    known &= ctx.of(bias).hasLikely();
  }
  // Inf in a sum takes an activation to its end, wherever the finite ones end.
  if (op.nonFinite)
    fixed = kInfinity;
  // The sums' rounding, and stores in the operands' dtype.
  error = relativeSumError(format, inputs + states, 16);
  if (const FloatFormat *own = getFloatFormat(getElementType(op.weights)))
    error += 8 * own->unitRoundoff();
}

Interval GateInput::bound(double state) const {
  double most = magnitude(state);
  if (std::isnan(most))
    most = kInfinity;
  if (clip > 0)
    most = std::min(most, clip);
  return Interval::symmetric(most);
}

Likely GateInput::likely(double stateSquare) const {
  Likely x = Likely::normal(mean, fixedVariance + stateVariance * stateSquare,
                            expectedExtreme(1e4));
  return x.within(bound(kInfinity));
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

static AbstractValue makeState(Value result, const Interval &range,
                               const std::optional<Likely> &likely,
                               bool mayBeNaN) {
  AbstractValue value = AbstractValue::within(range.lo, range.hi,
                                              TransferContext::rankOf(result));
  bool unbounded = !range.isBounded();
  // Sums of infinite states may be NaN.
  value.nan = mayBeNaN || unbounded;
  value.posInf = unbounded && range.hi == kInfinity;
  value.negInf = unbounded && range.lo == -kInfinity;
  if (likely) {
    setLikely(value.mutableCells().front(),
              {0, 0, likely->mean, likely->variance, likely->lo, likely->hi});
    value.source = LikelySource::Propagated;
  }
  return value;
}

namespace {
/// Moments by unit of what a sequence op computes; empty if not known.
struct UnitMoments {
  SmallVector<Moments, 2> hidden, cell;
};
} // namespace

static UnitMoments
estimateUnits(const Sequence &sequence, TransferContext &ctx,
              llvm::function_ref<RecurrentStates(const RecurrentUnits &,
                                                 ActivationEstimate)>
                  estimate) {
  UnitMoments result;
  for (unsigned direction = 0; direction < sequence.directions; ++direction) {
    std::optional<RecurrentUnits> units =
        sequence.readUnits(direction, /*stepsIfUnknown=*/32, ctx);
    ArrayRef<Activation> functions = sequence.activationsOf(direction);
    if (!units)
      return {};
    RecurrentStates states =
        estimate(*units, [&](unsigned index, const Likely &x) {
          return functions[index].likelyOf(x);
        });
    result.hidden.push_back(std::move(states.hidden));
    result.cell.push_back(std::move(states.cell));
  }
  return result;
}

/// Result `index` with its units distinguished: every step's states, or the
/// last ones.
static AbstractValue tellUnits(const Sequence &sequence, unsigned index,
                               const AbstractValue &value,
                               ArrayRef<Moments> units, TransferContext &ctx) {
  if (units.empty() || !value.hasLikely())
    return value;
  size_t axis = index == 0 ? 1 : 0;
  if (sequence.batchFirst)
    ++axis;
  double groups = double(units.size() * units.front().mean.size());
  return withUnits(value, units, axis,
                   ctx.elementsPerGroup(ctx.op()->getResult(index), groups));
}

void cells::transferSequence(
    const Sequence &sequence,
    llvm::function_ref<void(unsigned direction, ArrayRef<Activation>, States &)>
        run,
    llvm::function_ref<RecurrentStates(const RecurrentUnits &,
                                       ActivationEstimate)>
        estimate,
    TransferContext &ctx) {
  bool bounded = sequence.activations.has_value();
  for (unsigned direction = 0; bounded && direction < sequence.directions;
       ++direction)
    bounded &=
        sequence.gates == 1 || sequence.activationsOf(direction)[0].isGate();
  if (!bounded) {
    for (unsigned index = 0; index < ctx.op()->getNumResults(); ++index)
      ctx.unknown(index);
    return;
  }
  States states;
  states.nan = sequence.nonFinite;
  for (unsigned direction = 0; direction < sequence.directions; ++direction)
    run(direction, sequence.activationsOf(direction), states);
  UnitMoments units = estimateUnits(sequence, ctx, estimate);
  auto set = [&](unsigned index, const Interval &range,
                 const std::optional<Likely> &likely,
                 ArrayRef<Moments> moments) {
    AbstractValue value =
        makeState(ctx.op()->getResult(index), range, likely, states.nan);
    ctx.result(index, tellUnits(sequence, index, value, moments, ctx));
  };
  set(0, states.hidden, states.likelyHidden, units.hidden);
  // Sequences of length 0 keep their state.
  set(1, hull(states.hidden, hullOf(sequence.hidden)), states.likelyHidden,
      units.hidden);
  if (ctx.op()->getNumResults() > 2)
    set(2, hull(states.cell, hullOf(sequence.cell)), states.likelyCell,
        units.cell);
}

void cells::setStepResults(const States &states, TransferContext &ctx) {
  Operation *op = ctx.op();
  ctx.result(0, makeState(op->getResult(0), states.hidden, states.likelyHidden,
                          states.nan));
  if (op->getNumResults() > 1)
    ctx.result(1, makeState(op->getResult(1), states.cell, states.likelyCell,
                            states.nan));
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

double Recurrence::storeUnit() const {
  const FloatFormat *own = getFloatFormat(getElementType(weights));
  return own ? 2 * own->unitRoundoff() : 0;
}

double Recurrence::mostSteps() const {
  // Where the length is not known; longer sequences are not covered.
  constexpr int64_t kIfUnknown = 1 << 20;
  return double(steps.value_or(kIfUnknown));
}

double Recurrence::growthBy(const Interval &gate, double unit) const {
  double past = gate.hi - 1;
  return past <= 8 * unit ? 1 : std::pow(1 + 2 * past, mostSteps());
}

int64_t Recurrence::likelySteps() const {
  return std::clamp<int64_t>(steps.value_or(32), 1, 32);
}

std::optional<RecurrentUnits> Sequence::readUnits(unsigned direction,
                                                  int64_t stepsIfUnknown,
                                                  TransferContext &ctx) const {
  return readRecurrentUnits(ctx, source, weights, recurrence, bias, gates,
                            steps.value_or(stepsIfUnknown), direction);
}
