//===- Loops.cpp - Gradients of loops and scans
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The loop runs again and keeps what each iteration began with. A scan then
// goes over that from the last iteration to the first: it computes the
// iteration again, with its gradient behind it. Its states are the gradients of
// the carried values, and sums for the values from outside that the body reads.
//
//===----------------------------------------------------------------------===//

#include "Bodies.h"
#include "lib/Adjoint/Ops/Families.h"
#include "lib/Adjoint/Reverse.h"

#include "mpopt/Adjoint/DifferentiableInterface.h"
#include "mpopt/Adjoint/Differentiate.h"
#include "mpopt/Dialect/Ops/ControlFlowOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Origin.h"
#include "mpopt/Dialect/TypeInference.h"

using namespace mlir;
using namespace mpopt;

namespace {
/// A loop or a scan. Block arguments are `head` of the
/// loop's own, the carried values, and slices; yielded are `yieldHead` values,
/// the carried ones, and slices of the stacked results.
struct Loop {
  Operation *op;
  ValueRange initial, scanned;
  unsigned head = 0, yieldHead = 0;
  /// Directions of the scanned tensors and of the stacked results, and axes.
  SmallVector<int64_t> inputAxes, inputDirections, outputAxes, outputDirections;

  Block &body() const { return op->getRegion(0).front(); }
  ValueRange yielded() const {
    return body().getTerminator()->getOperands().drop_front(yieldHead);
  }
  BlockArgument carried(unsigned index) const {
    return body().getArgument(head + index);
  }
  BlockArgument slice(unsigned index) const {
    return body().getArgument(head + initial.size() + index);
  }
};
} // namespace

static SmallVector<int64_t> orZeros(std::optional<ArrayRef<int64_t>> values,
                                    size_t count) {
  SmallVector<int64_t> result(count, 0);
  if (values)
    llvm::copy(values->take_front(count), result.begin());
  return result;
}

/// The loop once more, with what its iterations begin with stacked behind its
/// results: the block arguments that are no slices.
static Operation *runAgain(const Loop &loop, GradientContext &ctx) {
  unsigned kept = loop.head + loop.initial.size();
  OperationState state(ctx.loc(), loop.op->getName());
  state.addOperands(loop.op->getOperands());
  state.addTypes(loop.op->getResultTypes());
  state.types.append(kept, getUnknownTensor(ctx.builder().getContext()));
  state.addAttributes(loop.op->getAttrs());
  Region *region = state.addRegion();
  IRMapping map;
  loop.op->getRegion(0).cloneInto(region, map);
  region->walk(
      [](Operation *inner) { inner->setLoc(withValues(inner->getLoc(), {})); });
  Operation *terminator = region->front().getTerminator();
  for (BlockArgument argument : region->front().getArguments().take_front(kept))
    terminator->insertOperands(terminator->getNumOperands(), argument);
  Operation *made = ctx.builder().create(state);
  if (auto scan = dyn_cast<mp::ScanOp>(made)) {
    auto extend = [&](std::optional<ArrayRef<int64_t>> values) {
      SmallVector<int64_t> all(values->begin(), values->end());
      all.append(all.empty() ? 0 : kept, 0);
      return ctx.builder().getDenseI64ArrayAttr(all);
    };
    if (scan.getOutputAxes())
      scan.setOutputAxesAttr(extend(scan.getOutputAxes()));
    if (scan.getOutputDirections())
      scan.setOutputDirectionsAttr(extend(scan.getOutputDirections()));
  }
  if (failed(inferTypes(made, ctx.facts())))
    ctx.fail();
  return made;
}

/// Marks what depends on active values in the body, through iterations.
static void activate(const Loop &loop, Block &body, ArrayRef<Value> arguments,
                     ValueRange yielded, Reverse &inner) {
  bool changed = true;
  while (changed) {
    changed = false;
    for (Operation &op : body)
      inner.activate(&op);
    for (unsigned i = 0; i < loop.initial.size(); ++i)
      if (isDifferentiable(arguments[loop.head + i].getType()) &&
          inner.isActive(yielded[i]))
        changed |= inner.active.insert(arguments[loop.head + i]).second;
  }
}

namespace {
/// The scan that goes over the iterations from the last to the first.
class ReverseScan {
public:
  ReverseScan(const Loop &loop, GradientContext &ctx)
      : loop(loop), ctx(ctx), states(loop.initial.size()),
        kept(loop.head + states), outside(wantedOutside(ctx)),
        builder(loop.op->getContext()),
        inner(builder, ctx.facts(), ctx.reverse->lacking) {}

  void build();

private:
  void collectOperands(ValueRange stacks);
  void addArguments(Block &block, IRMapping &map);
  LogicalResult differentiate(Block &block, const IRMapping &map);
  void yieldGradients();
  Operation *createScan(std::unique_ptr<Region> region);

  Value gradientOf(Value value) {
    Value gradient = inner.sums.lookup(value);
    return gradient ? gradient : zerosAt(builder, ctx, value);
  }

  const Loop &loop;
  GradientContext &ctx;
  unsigned states, kept;
  /// Values from outside with a gradient, which the scan sums.
  SmallVector<Value> outside;
  /// The carried values and the stacked results that have a gradient.
  SmallVector<unsigned> carried, sliced;

  // The scan's operands.
  SmallVector<Value> initial, scanned;
  SmallVector<int64_t> axes, directions;

  /// The context of the body, whose region has no op yet to ask.
  OpBuilder builder;
  Reverse inner;
  /// The body's arguments: gradients of carried values, sums for `outside`, the
  /// arguments of the loop's own body, gradients of slices.
  SmallVector<Value> gradients, sums, arguments, slices;
  SmallVector<Value> results, wantedSlices;
  SmallVector<int64_t> outputAxes, outputDirections;
};
} // namespace

/// Gradients of carried floats, sums, then what is read.
void ReverseScan::collectOperands(ValueRange stacks) {
  for (unsigned i = 0; i < states; ++i)
    if (isDifferentiable(loop.initial[i].getType())) {
      carried.push_back(i);
      initial.push_back(ctx.gradient(i) ? Value(ctx.gradient(i))
                                        : Value(ctx.dy(i)));
    }
  for (Value value : outside)
    initial.push_back(ctx.zeros(value));
  llvm::append_range(scanned, stacks);
  axes.append(kept, 0);
  directions.append(kept, 1);
  llvm::append_range(scanned, loop.scanned);
  llvm::append_range(axes, loop.inputAxes);
  for (int64_t direction : loop.inputDirections)
    directions.push_back(1 - direction);
  for (unsigned i = 0; i < loop.outputAxes.size(); ++i)
    if (Value gradient = ctx.gradient(states + i)) {
      sliced.push_back(i);
      scanned.push_back(gradient);
      axes.push_back(loop.outputAxes[i]);
      directions.push_back(1 - loop.outputDirections[i]);
    }
}

void ReverseScan::addArguments(Block &block, IRMapping &map) {
  auto add = [&](Type type) { return block.addArgument(type, ctx.loc()); };
  for (unsigned i : carried)
    gradients.push_back(add(loop.carried(i).getType()));
  for (Value value : outside)
    sums.push_back(add(value.getType()));
  for (BlockArgument argument : loop.body().getArguments()) {
    arguments.push_back(add(argument.getType()));
    map.map(argument, arguments.back());
  }
  for (unsigned i : sliced)
    slices.push_back(add(loop.yielded()[states + i].getType()));
}

/// Appends the gradient of the iteration that `block` has computed again.
LogicalResult ReverseScan::differentiate(Block &block, const IRMapping &map) {
  Operation *last = block.empty() ? nullptr : &block.back();
  SmallVector<Value> yielded = llvm::map_to_vector(
      loop.yielded(), [&](Value value) { return map.lookupOrDefault(value); });
  inner.active.insert(outside.begin(), outside.end());
  for (unsigned i = 0; i < states; ++i)
    if (ctx.wants(loop.initial[i]) &&
        isDifferentiable(loop.initial[i].getType()))
      inner.active.insert(arguments[loop.head + i]);
  for (auto [i, value] : llvm::enumerate(loop.scanned))
    if (ctx.wants(value))
      inner.active.insert(arguments[kept + i]);
  activate(loop, block, arguments, yielded, inner);
  auto seed = [&](Value value, Value gradient) {
    if (inner.isActive(value))
      inner.add(value, gradient, ctx.loc());
  };
  for (auto [i, gradient] : llvm::zip(carried, gradients))
    seed(yielded[i], gradient);
  for (auto [i, gradient] : llvm::zip(sliced, slices))
    seed(yielded[states + i], gradient);
  return inner.run(last);
}

void ReverseScan::yieldGradients() {
  for (unsigned i : carried)
    results.push_back(gradientOf(arguments[loop.head + i]));
  for (auto [value, sum] : llvm::zip(outside, sums)) {
    Value gradient = inner.sums.lookup(value);
    results.push_back(gradient ? mp::AddOp::create(builder, ctx.loc(),
                                                   sum.getType(), sum, gradient)
                                     .getResult()
                               : sum);
  }
  for (auto [i, value] : llvm::enumerate(loop.scanned))
    if (ctx.wants(value)) {
      wantedSlices.push_back(value);
      results.push_back(gradientOf(arguments[kept + i]));
      outputAxes.push_back(loop.inputAxes[i]);
      outputDirections.push_back(1 - loop.inputDirections[i]);
    }
  mp::YieldOp::create(builder, ctx.loc(), results);
}

Operation *ReverseScan::createScan(std::unique_ptr<Region> region) {
  OperationState state(ctx.loc(), mp::ScanOp::getOperationName());
  state.addOperands(initial);
  state.addOperands(scanned);
  state.types.append(results.size(),
                     getUnknownTensor(ctx.builder().getContext()));
  state.addAttributes({ctx.integers("input_axes", axes),
                       ctx.integers("input_directions", directions),
                       ctx.integers("output_axes", outputAxes),
                       ctx.integers("output_directions", outputDirections)});
  state.addAttribute("operandSegmentSizes", ctx.builder().getDenseI32ArrayAttr(
                                                {0, int32_t(initial.size()),
                                                 int32_t(scanned.size())}));
  state.addRegion(std::move(region));
  return ctx.builder().create(state);
}

void ReverseScan::build() {
  Operation *again = runAgain(loop, ctx);
  collectOperands(again->getResults().take_back(kept));
  auto region = std::make_unique<Region>();
  Block &block = region->emplaceBlock();
  builder.setInsertionPointToEnd(&block);
  IRMapping map;
  addArguments(block, map);
  recompute(loop.body(), builder, map);
  if (failed(differentiate(block, map)))
    return ctx.fail();
  ctx.reverse->bodies.push_back(std::move(inner.reads));
  yieldGradients();
  Operation *made = createScan(std::move(region));
  if (failed(inferTypes(made, ctx.facts())))
    return ctx.fail();
  SmallVector<Value> given;
  for (unsigned i : carried)
    given.push_back(loop.initial[i]);
  llvm::append_range(given, outside);
  llvm::append_range(given, wantedSlices);
  for (auto [value, gradient] : llvm::zip_equal(given, made->getResults()))
    ctx.give(value, gradient);
}

static void buildLoop(const Loop &loop, GradientContext &ctx) {
  if (llvm::any_of(loop.initial, [](Value value) {
        return !isa<TensorType>(value.getType());
      }))
    return ctx.lack();
  ReverseScan(loop, ctx).build();
}

static void buildLoopOp(mp::LoopOp op, GradientContext &ctx) {
  Loop loop{op, op.getInitial(), ValueRange(), /*head=*/2, /*yieldHead=*/1};
  size_t outputs = op->getNumResults() - op.getInitial().size();
  loop.outputAxes = loop.outputDirections = SmallVector<int64_t>(outputs, 0);
  buildLoop(loop, ctx);
}

/// The form of opset 8, with a batch and lengths, is not covered.
static void buildScanOp(mp::ScanOp op, GradientContext &ctx) {
  if (op.getBatched() || op.getLengths())
    return ctx.lack();
  Loop loop{op, op.getInitial(), op.getInputs()};
  size_t inputs = op.getInputs().size();
  size_t outputs = op->getNumResults() - op.getInitial().size();
  loop.inputAxes = orZeros(op.getInputAxes(), inputs);
  loop.inputDirections = orZeros(op.getInputDirections(), inputs);
  loop.outputAxes = orZeros(op.getOutputAxes(), outputs);
  loop.outputDirections = orZeros(op.getOutputDirections(), outputs);
  buildLoop(loop, ctx);
}

void mpopt::attachLoopsGradients(MLIRContext *context) {
  attachGradient<buildLoopOp, mp::LoopOp>(context);
  attachGradient<buildScanOp, mp::ScanOp>(context);
}
