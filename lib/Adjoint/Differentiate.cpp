//===- Differentiate.cpp - The backward graph of a value
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reverse accumulation: the ops of a block from the last to the first, each
// with the sum of what its users gave. What no wanted value leads to is
// skipped.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Adjoint/Differentiate.h"

#include "lib/Adjoint/Reverse.h"
#include "mpopt/Adjoint/DifferentiableInterface.h"
#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/RandomOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"
#include "mpopt/Dialect/Origin.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"

using namespace mlir;
using namespace mpopt;

bool mpopt::isDifferentiable(Type type) {
  if (!isa<TensorType>(type))
    return false;
  Type element = getElementType(type);
  return isa<FloatType>(element) || isUnknown(element);
}

bool mpopt::storesConstant(Operation *op) {
  auto cast = dyn_cast_or_null<mp::CastOp>(op);
  return cast && cast.getOrigin() == mp::CastOrigin::Storage &&
         cast.getInput().getDefiningOp<mp::ConstantOp>();
}

static bool endsGradient(Operation *op) {
  auto differentiable = dyn_cast<DifferentiableOpInterface>(op);
  return differentiable ? differentiable.endsGradient()
                        : op->getNumOperands() == 0 && op->getNumRegions() == 0;
}

/// True of codes, as an op that quantises makes them or one that rearranges,
/// joins or borders those.
static bool makesCodes(Operation *op) {
  // Views between two quantised layers are few; a bound on time alone.
  constexpr unsigned kMost = 64;
  for (unsigned count = 0; op && count < kMost; ++count) {
    if (hasRole(op, Role::Quantization))
      return true;
    if (op->getNumOperands() == 0 ||
        (!hasRole(op, Role::Rearranges | Role::Concatenation) &&
         !isa<mp::PadOp>(op)))
      return false;
    op = op->getOperand(0).getDefiningOp();
  }
  return false;
}

/// True if a gradient passes: a float, or the integers of a quantised tensor,
/// through which it goes as if nothing was rounded (straight through).
static bool carriesGradient(OpResult result) {
  return isDifferentiable(result.getType()) ||
         (isa<TensorType>(result.getType()) && makesCodes(result.getOwner())) ||
         !isa<TensorType>(result.getType());
}

void mpopt::prepareGradients(Operation *root,
                             llvm::function_ref<void(Value, Value)> replaced) {
  root->walk([&](mp::DropoutOp op) {
    if (op.getMask() || (!op.getTraining() && !op.getDynamicTraining()))
      return;
    OpBuilder builder(op);
    OperationState state(op.getLoc(), op->getName());
    state.addOperands(op->getOperands());
    state.addTypes(
        {op.getResult().getType(),
         getTensorType(getShape(op.getResult()), builder.getI1Type())});
    state.addAttributes(op->getAttrs());
    Operation *made = builder.create(state);
    if (replaced)
      replaced(op.getResult(), made->getResult(0));
    op.getResult().replaceAllUsesWith(made->getResult(0));
    op.erase();
  });
}

//===----------------------------------------------------------------------===//
// Active values: those that depend on a wanted one
//===----------------------------------------------------------------------===//

llvm::SetVector<Value> mpopt::findCaptured(Operation *op) {
  llvm::SetVector<Value> captured;
  if (op->getNumRegions() == 0)
    return captured;
  op->walk([&](Operation *inner) {
    if (inner == op)
      return;
    for (Value operand : inner->getOperands()) {
      Operation *owner = operand.getParentBlock()->getParentOp();
      if (!owner || !op->isAncestor(owner))
        captured.insert(operand);
    }
  });
  return captured;
}

void Reverse::activate(Operation *op) {
  if (endsGradient(op))
    return;
  auto depends = [&](Value value) { return isActive(value); };
  if (llvm::none_of(op->getOperands(), depends) &&
      llvm::none_of(findCaptured(op), depends))
    return;
  for (OpResult result : op->getResults())
    if (carriesGradient(result))
      active.insert(result);
}

/// The ops of its block that a value depends on, in order. A model is
/// differentiated once for each output, and few ops belong to many outputs.
static SmallVector<Operation *> findDependences(Value value) {
  llvm::SetVector<Operation *> found;
  SmallVector<Value> pending = {value};
  while (!pending.empty()) {
    Operation *op = pending.pop_back_val().getDefiningOp();
    if (!op || op->getBlock() != value.getParentBlock() || !found.insert(op))
      continue;
    llvm::append_range(pending, op->getOperands());
    llvm::append_range(pending, findCaptured(op));
  }
  SmallVector<Operation *> ops = found.takeVector();
  llvm::sort(ops,
             [](auto *lhs, auto *rhs) { return lhs->isBeforeInBlock(rhs); });
  return ops;
}

//===----------------------------------------------------------------------===//
// Sums of gradients
//===----------------------------------------------------------------------===//

/// Gives the op's result the name `grad(NAME)` if it has none.
static void nameGradient(Value gradient, Value value) {
  // A cast that a precision brought has the name of what it casts, which has a
  // gradient of its own.
  Operation *maker = value.getDefiningOp();
  StringRef name = isInserted(maker) && !storesConstant(maker)
                       ? StringRef()
                       : getValueName(value);
  auto result = dyn_cast<OpResult>(gradient);
  if (name.empty() || !result || !getValueName(gradient).empty())
    return;
  Operation *op = result.getOwner();
  std::string text = ("grad(" + name + ")").str();
  SmallVector<StringRef> names;
  for (OpResult other : op->getResults())
    names.push_back(other == result ? StringRef(text) : getValueName(other));
  op->setLoc(withValues(op->getLoc(), names));
}

void Reverse::add(Value value, Value gradient, Location location) {
  Value &sum = sums[value];
  if (!sum) {
    sum = gradient;
    return;
  }
  sum = mp::AddOp::create(builder, location, gradient.getType(), sum, gradient)
            .getResult();
}

Value Reverse::take(Value value) {
  auto found = sums.find(value);
  if (found == sums.end())
    return {};
  nameGradient(found->second, value);
  return found->second;
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

LogicalResult Reverse::run(Operation *last) {
  for (Operation *op = last; op; op = op->getPrevNode()) {
    if (op->getNumResults() == 0)
      continue;
    SmallVector<Value> gradients;
    for (OpResult result : op->getResults())
      gradients.push_back(isActive(result) ? take(result) : Value());
    if (llvm::none_of(gradients, [](Value value) { return bool(value); }))
      continue;
    if (failed(runOp(op, gradients)))
      return failure();
  }
  return success();
}

/// The op behind which the builder inserts; null at the start of the block.
static Operation *lastBefore(OpBuilder &builder) {
  Block::iterator place = builder.getInsertionPoint();
  return place == builder.getInsertionBlock()->begin() ? nullptr
                                                       : &*std::prev(place);
}

/// Notes what the ops behind `before` read of the op's operands and results.
/// The gradient of an op with bodies computes them again, from whatever they
/// read: what it needs is what their ops need.
void Reverse::noteReads(Operation *op, Operation *before) {
  SetVector<Value> forward, read;
  if (op->getNumRegions() == 0) {
    forward.insert_range(op->getOperands());
    forward.insert_range(op->getResults());
  }
  Block *block = builder.getInsertionBlock();
  Block::iterator first =
      before ? std::next(Block::iterator(before)) : block->begin();
  for (Operation &made : llvm::make_range(first, builder.getInsertionPoint()))
    if (!isa<mp::ShapeOp, mp::SizeOp>(made))
      for (Value operand : made.getOperands())
        if (forward.contains(operand))
          read.insert(operand);
  reads.push_back(
      {op, SmallVector<Value, 4>(read.getArrayRef()), std::move(bodies)});
  bodies.clear();
}

LogicalResult Reverse::runOp(Operation *op, ArrayRef<Value> gradients) {
  auto count = [&] {
    auto opaque = dyn_cast<mp::OpaqueOp>(op);
    StringRef name = op->getName().getStringRef();
    ++lacking[(opaque ? opaque.getName() : name).str()];
    op->emitRemark("lacks a gradient");
  };
  auto differentiable = dyn_cast<DifferentiableOpInterface>(op);
  if (!differentiable) {
    count();
    return success();
  }
  auto active = [&](Value value) { return isActive(value); };
  Location location = withValues(op->getLoc(), {});
  auto sink = [&](Value value, Value gradient) {
    add(value, gradient, location);
  };
  GradientContext ctx(builder, facts, op, gradients, active, sink);
  ctx.reverse = this;
  Operation *before = lastBefore(builder);
  differentiable.buildGradient(ctx);
  noteReads(op, before);
  if (ctx.lacks())
    count();
  return success(!ctx.failed());
}

FailureOr<Gradients> mpopt::differentiate(OpBuilder &builder, Value result,
                                          Value seed, ArrayRef<Value> wanted) {
  ShapeFacts facts;
  std::map<std::string, unsigned> lacking;
  Reverse reverse(builder, facts, lacking);
  for (Value value : wanted)
    reverse.active.insert(value);
  for (Operation *op : findDependences(result))
    reverse.activate(op);
  Gradients made;
  if (reverse.isActive(result)) {
    reverse.add(result, seed, result.getLoc());
    if (Operation *last = result.getDefiningOp())
      if (failed(reverse.run(last)))
        return failure();
  }
  for (Value value : wanted)
    made.values.push_back(reverse.take(value));
  made.all.insert(reverse.sums.begin(), reverse.sums.end());
  made.lacking = std::move(lacking);
  made.reads = std::move(reverse.reads);
  return made;
}
