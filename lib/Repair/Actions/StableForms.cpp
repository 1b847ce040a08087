//===- StableForms.cpp - The same function, computed otherwise
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Actions.h"
#include "mpopt/Dialect/Casts.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/ActivationOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/LossOps.h"
#include "mpopt/Dialect/Ops/ReductionOps.h"
#include "mpopt/Dialect/Settings.h"
#include "mpopt/Dialect/TypeSupport.h"

#include "mlir/IR/Builders.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::fixes;
using namespace mpopt::mp;

/// The new op is treated by a policy as the one that it replaces.
static Value likeThe(Operation *old, Value made) {
  if (Attribute category = old->getAttr("mp.category"))
    made.getDefiningOp()->setAttr("mp.category", category);
  return made;
}

static Value negate(OpBuilder &builder, Value value) {
  return NegOp::create(builder, value.getLoc(), value.getType(), value)
      .getResult();
}

//===----------------------------------------------------------------------===//
// Probabilities
//===----------------------------------------------------------------------===//

/// log(p) or log(1 - p) for p = `probability`(x), of x.
static Value makeLog(OpBuilder &builder, Operation *probability,
                     bool ofComplement, Operation *log) {
  Value result = log->getResult(0);
  Value x = castTo(builder, probability->getOperand(0), getElementType(result));
  if (auto softmax = dyn_cast<SoftmaxOp>(probability)) {
    if (ofComplement)
      return {}; // has no form of its own
    return LogSoftmaxOp::create(builder, log->getLoc(), result.getType(), x,
                                softmax.getAxisAttr(), softmax.getFlattenAttr())
        .getResult();
  }
  if (!isa<SigmoidOp>(probability))
    return {};
  if (ofComplement)
    x = negate(builder, x);
  return LogSigmoidOp::create(builder, log->getLoc(), result.getType(), x)
      .getResult();
}

bool fixes::takeLogOfOperand(Ops ops, bool ofComplement, RetiredOps &retired) {
  Operation *probability = ops.front();
  for (Operation *log : ops.drop_front()) {
    OpBuilder builder(log);
    if (getShape(log->getResult(0)) != getShape(probability->getOperand(0)))
      return false;
    Value made = makeLog(builder, probability, ofComplement, log);
    if (!made)
      return false;
    likeThe(log, made);
    double base = isa<Log2Op>(log) ? 2 : isa<Log10Op>(log) ? 10 : M_E;
    if (base != M_E) {
      Value factor = makeNumber(builder, log->getLoc(), getElementType(made),
                                1 / std::log(base));
      made = MulOp::create(builder, log->getLoc(), made.getType(), made, factor)
                 .getResult();
    }
    retired.replace(log, made);
  }
  return true;
}

bool fixes::takeSigmoidOfNegative(Ops ops, RetiredOps &retired) {
  auto sigmoid = dyn_cast<SigmoidOp>(ops[0]);
  Value result = ops[1]->getResult(0);
  if (!sigmoid || getShape(result) != getShape(sigmoid.getResult()))
    return false;
  OpBuilder builder(ops[1]);
  Value x = castTo(builder, sigmoid->getOperand(0), getElementType(result));
  retired.replace(
      ops[1],
      likeThe(sigmoid, SigmoidOp::create(builder, ops[1]->getLoc(),
                                         result.getType(), negate(builder, x))
                           .getResult()));
  return true;
}

bool fixes::takeLossOfLogits(Ops ops, RetiredOps &retired) {
  auto loss = dyn_cast<BinaryCrossEntropyOp>(ops[0]);
  if (!loss)
    return false;
  OpBuilder builder(loss);
  // Under autocast the form that takes logits is run in f32, as losses are.
  bool wide = getPrecision(loss->getParentOfType<ModuleOp>()).byPolicy;
  auto widen = [&](Value value) {
    return wide && value && isLowPrecision(getElementType(value))
               ? castTo(builder, value, builder.getF32Type())
               : value;
  };
  Value logits = widen(ops[1]->getOperand(0));
  Value result = loss.getResult();
  auto type = withElementType(result.getType(), getElementType(logits));
  auto made = BinaryCrossEntropyWithLogitsOp::create(
      builder, loss->getLoc(), type, logits, widen(loss.getTarget()),
      widen(loss.getWeight()), Value(), loss.getReductionAttr());
  if (wide)
    made->setAttr("mp.category", builder.getStringAttr("fp32"));
  retired.replace(loss,
                  castTo(builder, made.getResult(), getElementType(result)));
  return true;
}

//===----------------------------------------------------------------------===//
// Exponentials
//===----------------------------------------------------------------------===//

/// `shape` with 1 along the axes of a reduction; without any, along all.
static Shape keepDims(Shape shape, std::optional<ArrayRef<int64_t>> axes) {
  if (!axes || axes->empty())
    return Shape(shape.size(), 1);
  for (int64_t axis : *axes)
    if (std::optional<int64_t> normal = normalizeAxis(axis, shape.size()))
      shape[*normal] = 1;
  return shape;
}

SmallVector<Operation *> fixes::getReaders(Value value) {
  SmallVector<Operation *> readers;
  for (Operation *user : value.getUsers()) {
    if (isa<CastOp>(user))
      llvm::append_range(readers, getReaders(user->getResult(0)));
    else if (!llvm::is_contained(readers, user))
      readers.push_back(user);
  }
  return readers;
}

/// exp(z) / sum(exp(z)) and log(sum(exp(z))), where nothing else reads what is
/// smaller by the same factor in both.
FixAction mpopt::planShift(Operation *exponential) {
  if (!isa<ExpOp>(exponential))
    return {};
  Value result = exponential->getResult(0);
  SmallVector<Operation *> readers = getReaders(result);
  Operation *sum = nullptr;
  for (Operation *reader : readers)
    if (isa<ReduceSumOp>(reader))
      sum = sum ? nullptr : reader;
  if (!sum || sum->getNumOperands() != 1)
    return {};
  SmallVector<Operation *> behind = getReaders(sum->getResult(0));
  FixAction action(FixAction::Kind::ShiftByMaximum, {exponential, sum});
  auto isQuotient = [&](Operation *op) {
    return isa<DivOp>(op) && peel(op->getOperand(0)) == result &&
           peel(op->getOperand(1)) == sum->getResult(0);
  };
  auto reduce = cast<ReduceSumOp>(sum);
  if (reduce.getKeepDims() && llvm::all_of(behind, isQuotient) &&
      llvm::all_of(readers,
                   [&](Operation *op) { return op == sum || isQuotient(op); }))
    return action;
  if (readers.size() == 1 && behind.size() == 1 && isa<LogOp>(behind[0])) {
    action.ops.push_back(behind[0]);
    return action;
  }
  return {};
}

bool fixes::shiftByMaximum(Ops ops, RetiredOps &retired) {
  Operation *exponential = ops[0];
  auto sum = dyn_cast<ReduceSumOp>(ops[1]);
  if (!sum)
    return false;
  OpBuilder builder(exponential);
  Location location = exponential->getLoc();
  Value z = exponential->getOperand(0);
  Type element = getElementType(z);
  MaybeShape shape = getShape(z);
  if (!shape)
    return false;
  // The maximum has the sum's dims, and stays as wide as the row for the
  // difference.
  Shape kept = keepDims(*shape, sum.getAxes());
  auto maximum = ReduceMaxOp::create(
      builder, location, RankedTensorType::get(kept, element), z, Value(),
      sum.getAxesAttr(), builder.getBoolAttr(true));
  exponential->setOperand(
      0, SubOp::create(builder, location, z.getType(), z, maximum.getResult())
             .getResult());
  if (ops.size() < 3)
    return true;
  Operation *log = ops[2];
  builder.setInsertionPointAfter(log);
  Value result = log->getResult(0), most = maximum.getResult();
  if (!sum.getKeepDims()) {
    builder.setInsertionPointAfter(maximum);
    most = ReduceMaxOp::create(
               builder, location,
               withElementType(sum.getResult().getType(), element), z, Value(),
               sum.getAxesAttr(), builder.getBoolAttr(false))
               .getResult();
    builder.setInsertionPointAfter(log);
  }
  most = castTo(builder, most, getElementType(result));
  Operation *whole =
      AddOp::create(builder, log->getLoc(), result.getType(), result, most);
  result.replaceAllUsesExcept(whole->getResult(0), whole);
  return true;
}

/// 1 + `value`, in either order, and nothing else.
static bool addsOne(Operation *op, Value value) {
  return isa<AddOp>(op) &&
         llvm::any_of(
             op->getOperands(),
             [&](Value operand) { return getSplatConstant(operand) == 1.0; }) &&
         llvm::any_of(op->getOperands(),
                      [&](Value operand) { return peel(operand) == value; });
}

FixAction mpopt::planSoftplus(Operation *exponential) {
  if (!isa<ExpOp>(exponential))
    return {};
  SmallVector<Operation *> readers = getReaders(exponential->getResult(0));
  if (readers.size() == 1 && addsOne(readers[0], exponential->getResult(0)))
    readers = getReaders(readers[0]->getResult(0));
  else if (readers.size() != 1 || !isa<Log1pOp>(readers[0]))
    return {};
  return readers.size() == 1 && isa<LogOp, Log1pOp>(readers[0])
             ? FixAction(FixAction::Kind::SoftplusOfOperand,
                         {readers[0], exponential})
             : FixAction();
}

bool fixes::takeSoftplus(Ops ops, RetiredOps &retired) {
  OpBuilder builder(ops[0]);
  Value result = ops[0]->getResult(0);
  Value x = castTo(builder, ops[1]->getOperand(0), getElementType(result));
  auto made = SoftplusOp::create(builder, ops[0]->getLoc(), result.getType(), x,
                                 builder.getF64FloatAttr(1), FloatAttr());
  retired.replace(ops[0], likeThe(ops[1], made.getResult()));
  return true;
}

FixAction mpopt::planLog1p(Operation *sum) {
  if (!isa<AddOp>(sum) || sum->getNumOperands() != 2)
    return {};
  SmallVector<Operation *> readers = getReaders(sum->getResult(0));
  for (unsigned index : {0u, 1u})
    if (getSplatConstant(sum->getOperand(1 - index)) == 1.0 &&
        readers.size() == 1 && isa<LogOp>(readers[0]) &&
        getShape(sum->getOperand(index)) == getShape(sum->getResult(0)))
      return {FixAction::Kind::Log1pOfOperand, {readers[0], sum}, {index}};
  return {};
}

bool fixes::takeLog1p(Ops ops, unsigned operand, RetiredOps &retired) {
  OpBuilder builder(ops[0]);
  Value result = ops[0]->getResult(0);
  Value x =
      castTo(builder, ops[1]->getOperand(operand), getElementType(result));
  retired.replace(ops[0],
                  likeThe(ops[0], Log1pOp::create(builder, ops[0]->getLoc(),
                                                  result.getType(), x)
                                      .getResult()));
  return true;
}

//===----------------------------------------------------------------------===//
// Differences
//===----------------------------------------------------------------------===//

bool fixes::centreFirst(Ops ops, RetiredOps &retired) {
  Operation *variance = ops[0];
  auto mean = dyn_cast<ReduceMeanOp>(ops[1]);
  // Another reader would get the variance, too.
  if (!mean || mean->getNumOperands() != 1 || !mean.getResult().hasOneUse())
    return false;
  Operation *square = peel(mean.getInput()).getDefiningOp();
  if (!square || square->getNumOperands() == 0)
    return false;
  Value x = square->getOperand(0), result = variance->getResult(0);
  Type element = getElementType(mean.getInput());
  MaybeShape shape = getShape(x);
  if (!shape || getShape(result) != getShape(mean.getResult()))
    return false;
  OpBuilder builder(mean);
  Location location = mean->getLoc();
  x = castTo(builder, x, element);
  Shape kept = keepDims(*shape, mean.getAxes());
  Value centre = ReduceMeanOp::create(
                     builder, location, RankedTensorType::get(kept, element), x,
                     Value(), mean.getAxesAttr(), builder.getBoolAttr(true))
                     .getResult();
  Value difference =
      SubOp::create(builder, location, x.getType(), x, centre).getResult();
  Value squares =
      MulOp::create(builder, location, x.getType(), difference, difference)
          .getResult();
  // The mean of squares becomes that of these squares.
  mean->setOperand(0, squares);
  builder.setInsertionPoint(variance);
  bool same = getElementType(mean.getResult()) == getElementType(result);
  retired.replace(variance,
                  castTo(builder, mean.getResult(), getElementType(result)),
                  /*isNew=*/!same);
  return true;
}

bool fixes::takeOther(Ops ops, unsigned operand, RetiredOps &retired) {
  Value result = ops[0]->getResult(0), left = ops[1]->getOperand(operand);
  if (getShape(left) != getShape(result))
    return false;
  OpBuilder builder(ops[0]);
  retired.replace(ops[0], castTo(builder, left, getElementType(result)),
                  /*isNew=*/getElementType(left) != getElementType(result));
  return true;
}
