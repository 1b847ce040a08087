//===- RNN.cpp - Ranges of plain recurrent cells
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The state is an activation of W x + R h + b. Where the activation is bounded
// so is the state; else (relu) it is followed step by step, unit by unit where
// weights are known.
//
//===----------------------------------------------------------------------===//

#include "RecurrentSupport.h"
#include "lib/Ranges/Ops/Families.h"

#include "mpopt/Dialect/Ops/RecurrentOps.h"
#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Ranges/RangeInterface.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::cells;

/// As many steps are followed one by one.
static constexpr int64_t kUnrolled = 64;

/// With the weights of each unit, if they are known.
static std::optional<PlainBounds> boundPlain(const Recurrence &op,
                                             const RecurrentUnits &units,
                                             const Activation &activation,
                                             const GateInput &gate,
                                             const ComputeError &error) {
  if (op.steps.value_or(kUnrolled + 1) > kUnrolled)
    return std::nullopt;
  size_t rank = op.input.rank();
  AbstractValue features =
      rank > 0 ? op.input.keeping({int64_t(rank) - 1}) : op.input;
  if (features.groups() != 1 && features.groups() != units.inputs)
    features = features.merged();
  SmallVector<Interval> inputs;
  for (const Cell &x : features.cells())
    inputs.push_back(x.empty() ? Interval::point(0) : bound(x));
  double store = op.storeUnit();
  return boundPlainUnits(units, inputs, hullOf(op.hidden), *op.steps,
                         gate.relativeError(), [&](const Interval &sum) {
                           Interval x = sum;
                           if (op.clip > 0)
                             x = {std::clamp(x.lo, -op.clip, op.clip),
                                  std::clamp(x.hi, -op.clip, op.clip)};
                           return activation.imageOf(x, error).widened(store,
                                                                       1e-300);
                         });
}

static void runPlain(const Recurrence &op, const Activation &activation,
                     const std::optional<RecurrentUnits> &units,
                     TransferContext &ctx, States &states) {
  GateInput gate(op, ctx);
  ComputeError error = cellError(ctx, op);
  std::optional<PlainBounds> byUnit;
  if (units && !op.nonFinite)
    byUnit = boundPlain(op, *units, activation, gate, error);
  // The bound of every state, if there is one.
  Interval closed = activation.imageOf(gate.bound(kInfinity), error);
  Interval state = hullOf(op.hidden), reached = Interval::empty();
  if (byUnit) {
    reached = intersect(byUnit->state, closed);
    states.nan |= gate.isOver(byUnit->magnitude);
  } else if (closed.isBounded() ||
             op.steps.value_or(kUnrolled + 1) > kUnrolled) {
    reached = closed;
    Interval either = hull(closed, state);
    reached = activation.imageOf(gate.bound(either.maxAbs()), error);
    states.nan |= gate.overflows(either.maxAbs());
  } else {
    for (int64_t step = 0; step < *op.steps; ++step) {
      states.nan |= gate.overflows(state.maxAbs());
      state = activation.imageOf(gate.bound(state.maxAbs()), error);
      reached = hull(reached, state);
    }
  }
  states.hidden = hull(states.hidden, hull(reached, 0.0));
  if (!gate.hasLikely())
    return;
  Likely h = Likely::point(0);
  double square = squareOf(op.hidden.hull());
  for (int64_t step = 0; step < op.likelySteps(); ++step) {
    h = activation.likelyOf(gate.likely(square));
    square = std::min(squareOf(h), 1e30);
  }
  states.addHidden(h);
}

static void transferRNN(mp::RNNOp op, TransferContext &ctx) {
  Sequence sequence = getSequence(op, 1, ctx);
  transferSequence(
      sequence,
      [&](unsigned direction, ArrayRef<Activation> f, States &states) {
        runPlain(sequence, f[0],
                 sequence.readUnits(direction, /*stepsIfUnknown=*/1, ctx), ctx,
                 states);
      },
      estimateRNN, ctx);
}

static void transferRNNCell(mp::RNNCellOp op, TransferContext &ctx) {
  Recurrence step = getStep(op, 1, ctx);
  States states;
  states.nan = step.nonFinite;
  bool relu = op.getActivation() == "relu";
  runPlain(step, {relu ? UnaryFunction::Relu : UnaryFunction::Tanh},
           std::nullopt, ctx, states);
  setStepResults(states, ctx);
}

void mpopt::attachRNNTransfers(MLIRContext *context) {
  attachTransfer<transferRNN, mp::RNNOp>(context);
  attachTransfer<transferRNNCell, mp::RNNCellOp>(context);
}
