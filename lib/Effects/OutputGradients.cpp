//===- OutputGradients.cpp - How outputs follow every tensor
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The backward graphs are appended to a copy of the module, all outputs' to one
// copy, so that its forward part is walked once.
//
//===----------------------------------------------------------------------===//

#include "OutputGradients.h"

#include "Stabilizers.h"
#include "WrittenOut.h"
#include "mpopt/Propagate/Branches.h"
#include "mpopt/Propagate/IntegerProduct.h"
#include "mpopt/Propagate/Interpolation.h"
#include "mpopt/Propagate/MeanSquare.h"

#include "mpopt/Adjoint/DifferentiableInterface.h"
#include "mpopt/Adjoint/Differentiate.h"
#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/QuantizationOps.h"
#include "mpopt/Dialect/Ops/TrainingOps.h"
#include "mpopt/Dialect/Origin.h"
#include "mpopt/Dialect/Settings.h"
#include "mpopt/Dialect/StopGradient.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Gradients/SpreadModels.h"
#include "mpopt/Numerics/FunctionTable.h"
#include "mpopt/Propagate/ErrorMoments.h"
#include "mpopt/Propagate/NonFinite.h"
#include "mpopt/Propagate/OpKind.h"
#include "mpopt/Ranges/Analysis/RangeAnalysis.h"
#include "mpopt/Ranges/Value/FunctionOf.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

Operation *mpopt::findReturn(ModuleOp module) {
  for (auto function : module.getOps<FunctionOpInterface>())
    if (!function.isExternal())
      return function.getFunctionBody().front().getTerminator();
  return nullptr;
}

/// Values that depend on no others which have a gradient: where gradients are
/// asked for. Not of cuts, which stand for values that have none, nor of zeros,
/// which every format holds.
static SmallVector<Value> findOrigins(Block &block,
                                      const llvm::DenseSet<Value> &cuts) {
  SmallVector<Value> origins;
  auto consider = [&](Value value) {
    if (isDifferentiable(value.getType()) && !cuts.contains(value) &&
        getSplatConstant(value) != 0.0)
      origins.push_back(value);
  };
  llvm::for_each(block.getArguments(), consider);
  for (Operation &op : block) {
    auto differentiable = dyn_cast<DifferentiableOpInterface>(op);
    bool passes = llvm::any_of(op.getOperands(), [](Value operand) {
      return isDifferentiable(operand.getType());
    });
    if (op.getNumRegions() == 0 &&
        (!passes || (differentiable && differentiable.endsGradient())))
      llvm::for_each(op.getResults(), consider);
  }
  return origins;
}

/// True if errors of that mean square change the slopes at a function's
/// argument by a share that estimates tell. Few pass a pole, and would take all
/// along; an infinity is on the side on which its number was.
static bool movesFar(const Unary &function, double error, Value argument,
                     const RangeAnalysis &ranges) {
  // A hundredth of its deviation.
  constexpr double kSmall = 1e-4;
  const AbstractValue &at = ranges.preRounding(argument);
  return hasBoundedSlope(function) && at.hasLikely() && std::isfinite(error) &&
         error > kSmall * at.hull().variance &&
         !isPastEdge(argument, true, ranges) &&
         !isPastEdge(argument, false, ranges);
}

OutputGradients::OutputGradients(ModuleOp module, const RangeAnalysis &ranges,
                                 const ErrorMoments &errors,
                                 ArrayRef<Value> outputs)
    : module(module), copy(cast<ModuleOp>(module->clone(mapping))) {
  for (auto [from, to] : mapping.getValueMap())
    change.originals[to] = from;
  inlineBranches(ranges);
  // Ops that gradients need more results of.
  prepareGradients(*copy, [&](Value result, Value stands) {
    replace(result, stands);
    change.changed.insert(stands.getDefiningOp());
  });
  fuseComposites(ranges);
  passSteps();
  passIntegerProducts();
  llvm::DenseSet<Value> cuts = cutStabilizers();
  Operation *terminator = findReturn(*copy);
  SmallVector<Value> wanted = findOrigins(*terminator->getBlock(), cuts);
  Operation *last = terminator->getPrevNode();
  // An op without a gradient is counted, and the first one named.
  std::optional<Location> lacking;
  ScopedDiagnosticHandler quiet(module.getContext(), [&](Diagnostic &remark) {
    if (!lacking)
      lacking = remark.getLocation();
    return success();
  });
  for (Value output : outputs) {
    Value fusedOutput = fused.lookup(output);
    lacking.reset();
    append(fusedOutput ? fusedOutput : mapping.lookup(output), wanted);
    if (lacking)
      projections.back().lacking = findOriginal(*lacking);
  }
  keepScalesApart();
  (*copy)->walk([&](mp::BatchNormGradOp norm) {
    Value read = change.originals.lookup(norm.getInput());
    if (!read || !norm.getFrozen() || !ranges.preRounding(read).understated)
      return;
    SmallVector<double> gains;
    for (double by : *ranges.preRounding(read).understated)
      gains.push_back(std::sqrt(by));
    norm->setAttr(kGainAttr, Builder(norm).getDenseF64ArrayAttr(gains));
  });
  (*copy)->walk([&](Operation *op) {
    Value argument = getSlopeArgument(op);
    Value read = argument ? change.originals.lookup(argument) : Value();
    if (read && movesFar(*getFunctionOfGradient(op), errors.of(read).error,
                         read, ranges))
      op->setAttr(kMovedAttr,
                  Builder(op).getF64FloatAttr(errors.of(read).error));
  });
  findChanges(last);
  manager = std::make_unique<ModuleAnalysisManager>(
      *copy, /*passInstrumentor=*/nullptr);
  AnalysisManager analyses = *manager;
  reuseRanges(analyses, ranges, change, Recompute::Changed);
  gradients = &analyses.getAnalysis<GradientAnalysis>();
}

/// Has another value of the copy stand for the original of `result`.
void OutputGradients::replace(Value result, Value stands) {
  Value original = change.originals.lookup(result);
  change.originals.erase(result);
  change.originals[stands] = original;
  mapping.map(original, stands);
}

/// Outputs and what is read outside stand for what a branch yields.
void OutputGradients::inlineBranches(const RangeAnalysis &ranges) {
  mpopt::inlineBranches(*findReturn(*copy)->getBlock(), change, ranges,
                        [&](Value result, Value stands) {
                          mapping.map(change.originals.lookup(result), stands);
                        });
}

/// True if storing a value does more than to round it: a typical element is
/// subnormal, or some are past the edge.
static bool losesMore(Value value, const RangeAnalysis &ranges) {
  const FloatFormat *format = getFloatFormat(getElementType(value));
  if (!format || !isLowPrecision(getElementType(value)))
    return false;
  const AbstractValue &known = ranges.preRounding(value);
  Cell hull = known.hull();
  return !known.hasLikely() ||
         !(std::max(-hull.likelyLo, hull.likelyHi) < format->overflowFrom) ||
         !(std::sqrt(meanSquare(known)) >= format->minNormal);
}

/// True if rows are over a norm of theirs: none of their elements is below 0
/// where that is a sum, and the epsilon is small beside it.
static bool areShares(const WrittenOut &composite, Value input, Value divisor,
                      const RangeAnalysis &ranges) {
  constexpr double kSmall = 0.1;
  return (!composite.length->positive ||
          ranges.preRounding(input).hull().lo >= 0) &&
         composite.epsilon <=
             kSmall * std::sqrt(meanSquare(ranges.preRounding(divisor)));
}

void OutputGradients::fuseComposites(const RangeAnalysis &ranges) {
  llvm::DenseMap<Operation *, Operation *> originals;
  for (auto [from, to] : mapping.getOperationMap())
    originals[to] = from;
  for (const WrittenOut &composite : findWrittenOut(*copy)) {
    if (llvm::any_of(composite.averaged, [&](Value value) {
          Value original = change.originals.lookup(value);
          return !original || losesMore(original, ranges);
        }))
      continue;
    Value input = change.originals.lookup(composite.input);
    if ((composite.sum || composite.length) && !input)
      continue;
    // Terms of at most 1 need no more, as those of a sum from whose numbers the
    // maximum is taken off.
    if (composite.sum && !(ranges.preRounding(input).hull().hi > 0))
      continue;
    if (composite.length &&
        !areShares(composite, input,
                   change.originals.lookup(composite.averaged.front()), ranges))
      continue;
    Operation *made = fuse(composite);
    if (!made)
      continue;
    // The value that a norm is scaled from has no original.
    for (Operation *op = composite.result->getNextNode(); op != made;
         op = op->getNextNode())
      change.changed.insert(op);
    Value original = change.originals[composite.result->getResult(0)];
    change.originals[made->getResult(0)] = original;
    fused[original] = made->getResult(0);
    for (Operation *member : composite.members)
      parts[originals.lookup(member)] = original;
  }
}

/// Rounding to whole numbers has no slope, but on average it moves as what is
/// rounded does; not the place of a pair of neighbours, between which the
/// fraction moves.
void OutputGradients::passSteps() {
  llvm::DenseMap<Operation *, Operation *> originals;
  for (auto [from, to] : mapping.getOperationMap())
    originals[to] = from;
  SmallVector<Operation *> steps;
  for (Operation &op : *findReturn(*copy)->getBlock())
    if (originals.contains(&op) && roundsToWhole(&op) &&
        !isFloorOfInterpolation(&op))
      steps.push_back(&op);
  for (Operation *op : steps) {
    OpBuilder builder(op);
    Value result = op->getResult(0);
    Value stands = mp::IdentityOp::create(builder, op->getLoc(),
                                          result.getType(), op->getOperand(0))
                       .getResult();
    replace(result, stands);
    result.replaceAllUsesWith(stands);
    op->erase();
  }
}

void OutputGradients::passIntegerProducts() {
  SmallVector<IntegerProduct> products;
  for (Operation &op : *findReturn(*copy)->getBlock())
    if (auto product = findIntegerProduct(&op))
      products.push_back(*product);
  for (const IntegerProduct &product : products) {
    OpBuilder builder(product.numbers.getDefiningOp());
    SmallVector<Operation *, 3> made = buildNumbers(builder, product);
    change.changed.insert(made.begin(), made.end());
    if (Value original = change.originals.lookup(product.rhs))
      fused[original] = made[made.size() - 2]->getResult(0);
    Value numbers = product.numbers, stands = made.back()->getResult(0);
    replace(numbers, stands);
    numbers.replaceAllUsesWith(stands);
  }
}

llvm::DenseSet<Value> OutputGradients::cutStabilizers() {
  llvm::DenseSet<Value> cuts;
  for (auto &[op, uses] : findStabilizers(*findReturn(*copy)->getBlock())) {
    OpBuilder builder(op->getContext());
    builder.setInsertionPointAfter(op);
    Value result = op->getResult(0);
    auto cut =
        mp::IdentityOp::create(builder, op->getLoc(), result.getType(), result);
    cut->setAttr(kStopsGradientAttr, builder.getUnitAttr());
    for (OpOperand *use : uses)
      use->set(cut.getResult());
    change.changed.insert(cut);
    cuts.insert(cut.getResult());
  }
  return cuts;
}

void OutputGradients::append(Value output, ArrayRef<Value> wanted) {
  Projection &projection = projections.emplace_back();
  Operation *terminator = findReturn(*copy);
  OpBuilder builder(terminator);
  Operation *before = terminator->getPrevNode();
  // Any op that is not looked through: a projection is not the output.
  auto seed = mp::NegOp::create(builder, withValues(output.getLoc(), {}),
                                output.getType(), output);
  seed->setAttr(kSeedAttr, builder.getStringAttr(kProjection));
  FailureOr<Gradients> made =
      differentiate(builder, output, seed.getResult(), wanted);
  Operation *op =
      before ? before->getNextNode() : &terminator->getBlock()->front();
  for (; op != terminator; op = op->getNextNode())
    op->walk([&](Operation *inner) {
      inner->setAttr(kBackwardAttr, builder.getUnitAttr());
    });
  if (failed(made)) {
    projection.lacks = true;
    return;
  }
  projection.lacks = !made->lacking.empty();
  projection.gradients.insert(made->all.begin(), made->all.end());
}

void OutputGradients::keepScalesApart() {
  for (auto op : findReturn(*copy)->getBlock()->getOps<mp::DequantizeOp>()) {
    MaybeShape shape = getShape(op.getResult()),
               scales = getShape(op.getScale());
    if (!shape || !scales || scales->size() != 1 || (*scales)[0] <= 1 ||
        op.getBlockSize() != 0)
      continue;
    std::optional<int64_t> axis = normalizeAxis(op.getAxis(), shape->size());
    for (const Projection &projection : projections)
      if (Value gradient = projection.gradients.lookup(op.getResult());
          axis && gradient && gradient.getDefiningOp())
        gradient.getDefiningOp()->setAttr(kKeptAxisAttr,
                                          Builder(op).getI64IntegerAttr(*axis));
  }
}

/// The ops of the backward graphs that compute with forward values alone have
/// ranges; what gradients are, the estimates say.
void OutputGradients::findChanges(Operation *last) {
  llvm::DenseSet<Value> depends;
  Operation *terminator = findReturn(*copy);
  Operation *op = last ? last->getNextNode() : &terminator->getBlock()->front();
  for (; op != terminator; op = op->getNextNode()) {
    bool follows = op->hasAttr(kSeedAttr);
    SetVector<Value> read(op->operand_begin(), op->operand_end());
    getUsedValuesDefinedAbove(op->getRegions(), read);
    for (Value value : read)
      follows |= depends.contains(value);
    if (follows)
      depends.insert(op->result_begin(), op->result_end());
    else
      change.changed.insert(op);
  }
}

Operation *OutputGradients::findOriginal(Location origin) const {
  Location place = withValues(origin, {});
  Operation *found = nullptr;
  module->walk([&](Operation *op) {
    if (withValues(op->getLoc(), {}) != place)
      return WalkResult::advance();
    found = op;
    return WalkResult::interrupt();
  });
  return found;
}

std::pair<Operation *, Value>
OutputGradients::findUnestimated(Value gradient) const {
  Operation *last = nullptr;
  while (Operation *op = gradient.getDefiningOp()) {
    if (!op->hasAttr(kBackwardAttr))
      return {nullptr, change.originals.lookup(gradient)};
    last = op;
    auto unknown = llvm::find_if(op->getOperands(), [&](Value operand) {
      return isa<FloatType>(getElementType(operand)) &&
             !gradients->of(operand).hasLikely();
    });
    if (unknown == op->operand_end())
      break;
    gradient = *unknown;
  }
  return {last ? findOriginal(last->getLoc()) : nullptr, Value()};
}

Value OutputGradients::gradient(size_t output, Value value) const {
  Value here = fused.lookup(value);
  return projections[output].gradients.lookup(
      here ? here : mapping.lookupOrNull(value));
}
