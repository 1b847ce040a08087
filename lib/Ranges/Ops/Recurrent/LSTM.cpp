//===- LSTM.cpp - Ranges of LSTM cells
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gates are what their activation can give: [0, 1] for a sigmoid, [-1, 1] for
// tanh. So a cell grows by 1 a step at most:
//
//   |c_t| <= F |c_t-1| + I G   and, while F < 1,   |c| <= max(|c_0|, I G/(1-F))
//
// with F, I, G the largest forget gate, input gate and candidate. F needs a
// bound of what goes into the gate: sum |w| max|x| + sum |r| max|h| + |b|.
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

/// f, g, h: of the gates, the candidate and the output. With `peepholes` the
/// cell enters the gates, too.
static void runLSTM(const Recurrence &op, ArrayRef<Activation> f,
                    bool peepholes, bool coupled, TransferContext &ctx,
                    States &states) {
  GateInput gate(op, ctx);
  ComputeError error = cellError(ctx, op);
  double unit = error.format->epsilon(), store = op.storeUnit(),
         steps = op.mostSteps();
  Interval open = f[0].imageOf(Interval::whole(), error);
  // The state before, whatever it was: what bounds the gates' input.
  Interval hidden =
      hull(hullOf(op.hidden), open * f[2].imageOf(Interval::whole(), error));
  Interval input = gate.bound(hidden.maxAbs());
  states.nan |= gate.overflows(hidden.maxAbs());
  if (!peepholes)
    open = f[0].imageOf(input, error);
  double candidate = f[1].imageOf(input, error).maxAbs();
  double first = op.cell.hull().absMax(), most;
  double growth = op.growthBy(open, unit);
  if (coupled) {
    // A mean of the two. A store rounds to the next value once, and then to
    // the same.
    most = std::max(first, candidate) * (1 + 8 * unit * steps) *
           (1 + 2 * store) * growth;
  } else {
    double keep = open.maxAbs() * (1 + 4 * unit) * (1 + store);
    // 0 times infinite.
    double grow = keep == 0 ? candidate : keep * candidate;
    most = (first + steps * grow) * (1 + (32 * unit + store) * steps) * growth;
    if (keep < 1)
      most = std::min(most, std::max(first, grow / (1 - keep)) * (1 + 1e-9));
  }
  Interval c = Interval::symmetric(most);
  Interval h = (open * f[2].imageOf(c, error)).widened(4 * unit);
  states.cell = hull(states.cell, hull(c, 0.0));
  states.hidden = hull(states.hidden, hull(h, 0.0));
  // A cell that is Inf makes a state of Inf times a gate of 0.
  states.nan |= !c.isBounded();
  if (!gate.hasLikely())
    return;
  double hSquare = squareOf(op.hidden.hull());
  double cSquare = squareOf(op.cell.hull());
  Likely g, i, ofCell, out;
  for (int64_t step = 0; step < op.likelySteps(); ++step) {
    Likely x = gate.likely(hSquare);
    i = f[0].likelyOf(x);
    g = f[1].likelyOf(x);
    double gateSquare = squareOf(i);
    double fresh = gateSquare * squareOf(g);
    cSquare = std::min(gateSquare * cSquare + fresh, 1e30);
    ofCell = Likely::normal(0, cSquare, expectedExtreme(1e4)).within(c);
    out = likely::mul(i, f[2].likelyOf(ofCell), expectedExtreme(1e4)).within(h);
    hSquare = squareOf(out);
  }
  states.addCell(ofCell);
  states.addHidden(out);
}

static void transferLSTM(mp::LSTMOp op, TransferContext &ctx) {
  Sequence sequence = getSequence(op, 4, ctx);
  bool peepholes =
      op.getPeepholes() && ctx.of(op.getPeepholes()).hull().absMax() != 0;
  transferSequence(
      sequence,
      [&](unsigned, ArrayRef<Activation> f, States &states) {
        runLSTM(sequence, f, peepholes, op.getInputForget(), ctx, states);
      },
      [&](const RecurrentUnits &units, ActivationEstimate activation) {
        return estimateLSTM(units, activation, op.getInputForget());
      },
      ctx);
}

static void transferLSTMCell(mp::LSTMCellOp op, TransferContext &ctx) {
  Recurrence step = getStep(op, 4, ctx);
  Activation sigmoid{UnaryFunction::Sigmoid}, tanh{UnaryFunction::Tanh};
  States states;
  states.nan = step.nonFinite;
  runLSTM(step, {sigmoid, tanh, tanh}, /*peepholes=*/false, /*coupled=*/false,
          ctx, states);
  setStepResults(states, ctx);
}

void mpopt::attachLSTMTransfers(MLIRContext *context) {
  attachTransfer<transferLSTM, mp::LSTMOp>(context);
  attachTransfer<transferLSTMCell, mp::LSTMCellOp>(context);
}
