//===- GRU.cpp - Ranges of GRU cells
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The state is a convex combination of the state before and of a candidate,
// which is what its activation can give: [-1, 1] for tanh.
//
//===----------------------------------------------------------------------===//

#include "RecurrentSupport.h"
#include "lib/Ranges/Ops/Families.h"

#include "mpopt/Dialect/Ops/RecurrentOps.h"
#include "mpopt/Ranges/RangeInterface.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::cells;

static void runGRU(const Recurrence &op, ArrayRef<Activation> f,
                   TransferContext &ctx, States &states) {
  GateInput gate(op, ctx);
  ComputeError error = cellError(ctx, op);
  Interval start = hullOf(op.hidden);
  Interval fresh = f[1].imageOf(Interval::whole(), error);
  // (1 - z) n + z h, off by some units a step.
  // A store rounds to the next value once, and then to the same.
  double unit = error.format->epsilon();
  Interval update = f[0].imageOf(Interval::whole(), error);
  double off = 24 * unit * op.mostSteps() + 2 * op.storeUnit();
  off += (1 + off) * (op.growthBy(update, unit) - 1);
  Interval state = hull(start, fresh);
  state = state.widened(0, off * state.maxAbs());
  // The reset gate scales the state in front of the product by up to 1.
  Interval input = gate.bound(state.maxAbs());
  states.nan |= gate.overflows(state.maxAbs());
  Interval narrower = hull(start, intersect(fresh, f[1].imageOf(input, error)));
  state = intersect(state, narrower.widened(0, off * narrower.maxAbs()));
  states.hidden = hull(states.hidden, hull(state, 0.0));
  if (!gate.hasLikely())
    return;
  double square = squareOf(op.hidden.hull());
  Likely h = Likely::point(0);
  for (int64_t step = 0; step < op.likelySteps(); ++step) {
    Likely x = gate.likely(square);
    Likely z = f[0].likelyOf(x), n = f[1].likelyOf(x);
    double keep = squareOf(z);
    double take = z.variance + (1 - z.mean) * (1 - z.mean);
    square = std::min(take * squareOf(n) + keep * square, 1e30);
    h = Likely::normal((1 - z.mean) * n.mean, square, expectedExtreme(1e4))
            .within(state);
  }
  states.addHidden(h);
}

static void transferGRU(mp::GRUOp op, TransferContext &ctx) {
  Sequence sequence = getSequence(op, 3, ctx);
  transferSequence(
      sequence,
      [&](unsigned, ArrayRef<Activation> f, States &states) {
        runGRU(sequence, f, ctx, states);
      },
      [&](const RecurrentUnits &units, ActivationEstimate activation) {
        return estimateGRU(units, activation, op.getLinearBeforeReset());
      },
      ctx);
}

static void transferGRUCell(mp::GRUCellOp op, TransferContext &ctx) {
  Recurrence step = getStep(op, 3, ctx);
  States states;
  states.nan = step.nonFinite;
  runGRU(step, {{UnaryFunction::Sigmoid}, {UnaryFunction::Tanh}}, ctx, states);
  setStepResults(states, ctx);
}

void mpopt::attachGRUTransfers(MLIRContext *context) {
  attachTransfer<transferGRU, mp::GRUOp>(context);
  attachTransfer<transferGRUCell, mp::GRUCellOp>(context);
}
