//===- ControlFlow.cpp - Ranges through branches and loops
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Branches join. A loop's body is walked with what its arguments may be, until
// that holds what the body gives back: exactly, iteration by iteration, if it
// runs a known small number of times; else the arguments grow by joins and then
// by the steps of AbstractValue::widened, whose number is small. Values inside
// the body are those of the last walk, which covers every iteration.
//
//===----------------------------------------------------------------------===//

#include "lib/Ranges/Ops/Families.h"
#include "mpopt/Ranges/Value/CellSupport.h"
#include "mpopt/Ranges/Value/ShapeSupport.h"

#include "mpopt/Dialect/Ops/ControlFlowOps.h"
#include "mpopt/Ranges/RangeInterface.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mpopt;

static mp::YieldOp getYield(Region &body) {
  if (body.empty() || body.front().empty())
    return {};
  return dyn_cast<mp::YieldOp>(body.front().back());
}

static void transferIf(mp::IfOp op, TransferContext &ctx) {
  ctx.walk(op.getThenBody());
  ctx.walk(op.getElseBody());
  mp::YieldOp then = getYield(op.getThenBody());
  mp::YieldOp otherwise = getYield(op.getElseBody());
  if (!then || !otherwise)
    return;
  Cell condition = ctx.operand(0).hull();
  for (OpResult result : op.getResults()) {
    unsigned i = result.getResultNumber();
    if (i >= then->getNumOperands() || i >= otherwise->getNumOperands())
      return;
    const AbstractValue &a = ctx.of(then->getOperand(i));
    const AbstractValue &b = ctx.of(otherwise->getOperand(i));
    if (condition.lo == 1)
      ctx.result(i, a);
    else if (condition.hi == 0)
      ctx.result(i, b);
    else
      ctx.result(i, a.join(b));
  }
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// Up to this many iterations are walked one by one.
static constexpr int64_t kUnrolled = 8;
/// Joins before widening.
static constexpr unsigned kJoins = 2;
/// Bounds have about six steps, so this many rounds end every chain; past it
/// nothing is known.
static constexpr unsigned kMostRounds = 16;
/// The rounds of nested loops multiply.
static constexpr unsigned kMostNested = 3;

static unsigned countLoops(Operation *op) {
  unsigned loops = 0;
  while ((op = op->getParentOp()))
    loops += isa<mp::LoopOp, mp::ScanOp>(op);
  return loops;
}

namespace {
/// A body whose arguments from `firstArgument` on are carried, given back by
/// the yield's operands from `firstYield` on.
struct Carried {
  Region &body;
  unsigned firstArgument, firstYield, count;

  BlockArgument argument(unsigned i) const {
    return body.getArgument(firstArgument + i);
  }
  Value yielded(unsigned i) const {
    return getYield(body)->getOperand(firstYield + i);
  }
};
} // namespace

using States = SmallVector<AbstractValue>;

static States yielded(const Carried &carried, TransferContext &ctx) {
  States states;
  for (unsigned i = 0; i < carried.count; ++i)
    states.push_back(ctx.of(carried.yielded(i)));
  return states;
}

static void walkBody(const Carried &carried, const States &states,
                     TransferContext &ctx) {
  for (unsigned i = 0; i < carried.count; ++i)
    ctx.setArgument(carried.argument(i), states[i]);
  ctx.walk(carried.body);
}

static States joinStates(const States &a, const States &b) {
  States joined;
  for (auto [left, right] : llvm::zip_equal(a, b))
    joined.push_back(left.join(right));
  return joined;
}

/// The bound of `value`, all groups merged, with the estimate of `from`.
static AbstractValue withEstimate(const AbstractValue &value,
                                  const AbstractValue &from) {
  AbstractValue merged = value.merged();
  if (!from.hasLikely())
    return merged;
  for (CellRef cell : merged.mutableCells())
    cells::setLikely(cell, from.hull());
  merged.source = from.source;
  return merged;
}

/// The carried values after the last iteration. The body's values afterwards
/// hold for every iteration.
static States runLoop(const Carried &carried, const States &initial,
                      std::optional<int64_t> trips, TransferContext &ctx) {
  unsigned nested = countLoops(ctx.op());
  if (trips && *trips <= kUnrolled && nested == 0) {
    States state = initial, all = initial;
    for (int64_t i = 0; i < *trips; ++i) {
      walkBody(carried, state, ctx);
      state = yielded(carried, ctx);
      if (i + 1 < *trips)
        all = joinStates(all, state);
    }
    walkBody(carried, all, ctx);
    return state;
  }
  States state = initial;
  bool stable = false;
  for (unsigned round = 0; !stable && round < kMostRounds; ++round) {
    if (nested >= kMostNested)
      break;
    walkBody(carried, state, ctx);
    States next = joinStates(state, yielded(carried, ctx));
    stable = llvm::all_of(llvm::zip_equal(state, next), [](auto pair) {
      const auto &[before, after] = pair;
      return before.contains(after);
    });
    if (stable)
      break;
    if (round >= kJoins)
      for (auto [before, after] : llvm::zip_equal(state, next))
        after = after.widened(before);
    state = std::move(next);
  }
  if (!stable) {
    for (unsigned i = 0; i < carried.count; ++i)
      state[i] = ctx.anything(carried.argument(i));
    walkBody(carried, state, ctx);
  }
  if (trips && *trips > 0)
    return yielded(carried, ctx);
  // The body may not run at all; the state holds the initial values. What no
  // iteration reads is there for that alone, and may be anything.
  for (unsigned i = 0; i < carried.count; ++i)
    if (carried.argument(i).use_empty())
      state[i] = withEstimate(state[i], ctx.of(carried.yielded(i)));
  return state;
}

static AbstractValue counter(std::optional<int64_t> trips, Value argument) {
  AbstractValue value =
      AbstractValue::within(0, trips ? std::max<double>(*trips - 1, 0) : 0x1p62,
                            TransferContext::rankOf(argument));
  value.claimIntegral();
  return value;
}

static void transferLoop(mp::LoopOp op, TransferContext &ctx) {
  Region &body = op.getBody();
  unsigned count = op.getInitial().size();
  mp::YieldOp yield = getYield(body);
  if (!yield || body.getNumArguments() < 2 + count ||
      yield->getNumOperands() < 1 + count)
    return;
  std::optional<int64_t> trips = op.getKnownTripCount(ctx.shapes());
  // A condition may end it sooner; runtimes look at what the body yields
  // without one, too.
  std::optional<int64_t> least =
      op.getCondition() || !op.keepsRunning(ctx.shapes()) ? std::nullopt
                                                          : trips;
  if (!trips && op.getTripCount()) {
    Cell most = ctx.of(op.getTripCount()).hull();
    if (most.hi < 0x1p48)
      trips = std::max<int64_t>(0, int64_t(most.hi));
  }
  ctx.setArgument(body.getArgument(0), counter(trips, body.getArgument(0)));
  ctx.setArgument(body.getArgument(1), ctx.anything(body.getArgument(1)));
  States initial;
  for (Value value : op.getInitial())
    initial.push_back(ctx.of(value));
  States last = runLoop(Carried{body, 2, 1, count}, initial, least, ctx);
  for (unsigned i = 0; i < count; ++i)
    ctx.result(i, last[i]);
  for (unsigned i = count; i < op.getNumResults(); ++i) {
    Value slice = yield->getOperand(1 + i);
    if (!getShape(slice)) {
      ctx.result(i, smeared(ctx.of(slice), ctx.rankOf(op->getResult(i))));
      continue;
    }
    ctx.result(i, withAxis(ctx.of(slice), 0));
  }
}

static void transferScan(mp::ScanOp op, TransferContext &ctx) {
  Region &body = op.getBody();
  unsigned states = op.getInitial().size(), inputs = op.getInputs().size();
  mp::YieldOp yield = getYield(body);
  if (!yield || body.getNumArguments() < states + inputs ||
      yield->getNumOperands() < states)
    return;
  // Without the batch that the body does not see.
  unsigned hidden = op.getBatched() ? 1 : 0;
  std::optional<int64_t> trips;
  for (unsigned i = 0; i < inputs; ++i) {
    Value input = op.getInputs()[i];
    const AbstractValue &all = ctx.of(input);
    BlockArgument slice = body.getArgument(states + i);
    std::optional<int64_t> axis =
        normalizeAxis(op.getBatched() ? 1 : op.getInputAxis(i), all.rank());
    if (!getShape(input) || !axis) {
      ctx.setArgument(slice, smeared(all, ctx.rankOf(slice)));
      continue;
    }
    if (std::optional<int64_t> dim = ctx.dimOf(input, *axis))
      trips = *dim;
    AbstractValue value = withoutAxis(all, *axis);
    if (hidden)
      value = withoutAxis(value, 0);
    ctx.setArgument(slice, std::move(value));
  }
  if (op.getLengths())
    trips.reset();
  States initial;
  for (Value value : op.getInitial()) {
    const AbstractValue &state = ctx.of(value);
    initial.push_back(hidden && state.rank() > 0 ? withoutAxis(state, 0)
                                                 : state);
  }
  States last = runLoop(Carried{body, 0, 0, states}, initial, trips, ctx);
  for (unsigned i = 0; i < op.getNumResults(); ++i) {
    const AbstractValue &value =
        i < states ? last[i] : ctx.of(yield->getOperand(i));
    // The batch and the steps are merged; where they are put is type
    // inference's business.
    ctx.result(i, i < states && !hidden
                      ? value
                      : smeared(value, ctx.rankOf(op->getResult(i))));
  }
}

void mpopt::attachControlFlowTransfers(MLIRContext *context) {
  attachTransfer<transferIf, mp::IfOp>(context);
  attachTransfer<transferLoop, mp::LoopOp>(context);
  attachTransfer<transferScan, mp::ScanOp>(context);
}
