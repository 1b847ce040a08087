//===- Reordered.cpp - The same arithmetic in another order
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Results between that leave a dtype although what comes of them fits: a sum
// that is divided, a product whose root is taken or that divides, a number that
// is scaled after it was stored.
//
//===----------------------------------------------------------------------===//

#include "Actions.h"

#include "mpopt/Dialect/Casts.h"
#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/ReductionOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::fixes;
using namespace mpopt::mp;

static bool isFloat(Value value) {
  return isa<FloatType>(getElementType(value));
}

//===----------------------------------------------------------------------===//
// Means
//===----------------------------------------------------------------------===//

/// The number by which `op` multiplies `value`, or divides it.
static std::optional<double> getScale(Operation *op, Value value) {
  if (!isa<MulOp, DivOp>(op))
    return std::nullopt;
  for (unsigned index : {0u, 1u}) {
    std::optional<double> number = getSplatConstant(op->getOperand(1 - index));
    if (number && *number != 0 && peel(op->getOperand(index)) == peel(value) &&
        (index == 0 || isa<MulOp>(op)))
      return isa<DivOp>(op) ? 1 / *number : *number;
  }
  return std::nullopt;
}

/// The elements that a sum adds up; 0 if dims are open.
static double countTerms(ReduceSumOp sum) {
  MaybeShape from = getShape(sum.getInput()), to = getShape(sum.getResult());
  auto count = [](const Shape &shape) {
    double product = 1;
    for (int64_t dim : shape)
      product *= dim < 0 ? NAN : double(dim);
    return product;
  };
  double terms = from && to ? count(*from) / count(*to) : 0;
  return std::isfinite(terms) ? terms : 0;
}

FixAction mpopt::planMean(Operation *op) {
  auto sum = dyn_cast<ReduceSumOp>(op);
  if (!sum || sum->getNumOperands() != 1 || countTerms(sum) <= 1)
    return {};
  SmallVector<Operation *> readers = getReaders(sum.getResult());
  // A quotient by far less than the number of terms is no mean, and its factor
  // overflows as the sum does.
  constexpr double kNearly = 16;
  if (readers.size() != 1)
    return {};
  std::optional<double> scale = getScale(readers[0], sum.getResult());
  if (!scale || std::fabs(*scale) * countTerms(sum) > kNearly)
    return {};
  return {FixAction::Kind::MeanOfSum, {readers[0], op}};
}

bool fixes::takeMean(Ops ops, RetiredOps &retired) {
  auto sum = dyn_cast<ReduceSumOp>(ops[1]);
  std::optional<double> scale = getScale(ops[0], ops[1]->getResult(0));
  if (!sum || !scale)
    return false;
  OpBuilder builder(sum);
  Value mean = ReduceMeanOp::create(builder, sum.getLoc(), sum.getType(),
                                    sum.getInput(), Value(), sum.getAxesAttr(),
                                    builder.getBoolAttr(sum.getKeepDims()))
                   .getResult();
  builder.setInsertionPoint(ops[0]);
  mean = castTo(builder, mean, getElementType(ops[0]->getResult(0)));
  double factor = *scale * countTerms(sum);
  if (std::fabs(factor - 1) > 1e-6) // more than FP32 rounds off
    mean = MulOp::create(
               builder, mean.getLoc(), mean.getType(), mean,
               makeNumber(builder, mean.getLoc(), getElementType(mean), factor))
               .getResult();
  retired.replace(ops[0], mean);
  return true;
}

//===----------------------------------------------------------------------===//
// Products of lengths
//===----------------------------------------------------------------------===//

/// The number above which a limit or a sum keeps `value`; nothing if it is not
/// such an op.
static std::optional<double> getGuard(Operation *op, Value value) {
  if (!hasRole(op, Role::Addition | Role::LimitsBelow) ||
      op->getNumOperands() < 2)
    return std::nullopt;
  Value number = op->getOperand(peel(op->getOperand(0)) == value ? 1 : 0);
  std::optional<double> guard =
      number ? getSplatConstant(number) : std::nullopt;
  return guard && *guard >= 0 ? guard : std::nullopt;
}

FixAction mpopt::planSeparateLengths(Operation *product) {
  if (!isa<MulOp>(product) ||
      peel(product->getOperand(0)) == peel(product->getOperand(1)) ||
      isConstant(product->getOperand(0)) || isConstant(product->getOperand(1)))
    return {};
  SmallVector<Operation *> path = {product};
  Value value = product->getResult(0);
  for (unsigned step = 0; step < 2; ++step) {
    SmallVector<Operation *> readers = getReaders(value);
    if (readers.size() != 1)
      return {};
    Operation *reader = readers[0];
    if (isa<SqrtOp, RsqrtOp>(reader)) {
      path.insert(path.begin(), reader);
      return {FixAction::Kind::RootOfEach, path};
    }
    if (isa<DivOp>(reader) && peel(reader->getOperand(1)) == value &&
        path.size() == 1)
      return {FixAction::Kind::DivideTwice, {reader, product}};
    if (!getGuard(reader, value))
      return {};
    path.push_back(reader);
    value = reader->getResult(0);
  }
  return {};
}

bool fixes::takeRootOfEach(Ops ops, RetiredOps &retired) {
  Operation *root = ops[0], *product = ops[1];
  Type element = getElementType(root->getResult(0));
  OpBuilder builder(root);
  Location location = root->getLoc();
  SmallVector<Value, 2> roots;
  for (Value factor : product->getOperands()) {
    factor = castTo(builder, factor, element);
    // Each has its half of the guard.
    if (ops.size() > 2)
      if (auto guard = getGuard(ops[2], product->getResult(0)))
        factor = ClipOp::create(
                     builder, location, factor.getType(), factor,
                     makeNumber(builder, location, element, std::sqrt(*guard)),
                     Value())
                     .getResult();
    if (isa<SqrtOp>(root))
      roots.push_back(
          SqrtOp::create(builder, location, factor.getType(), factor));
    else
      roots.push_back(
          RsqrtOp::create(builder, location, factor.getType(), factor));
  }
  retired.replace(root,
                  MulOp::create(builder, location, root->getResult(0).getType(),
                                roots[0], roots[1])
                      .getResult());
  return true;
}

bool fixes::divideTwice(Ops ops, RetiredOps &retired) {
  Operation *quotient = ops[0];
  Type type = quotient->getResult(0).getType();
  OpBuilder builder(quotient);
  Value value = quotient->getOperand(0);
  // A factor with fewer dims first would give the first quotient a shape of
  // its own.
  if (getShape(value) != getShape(quotient->getResult(0)))
    return false;
  for (Value factor : ops[1]->getOperands())
    value = DivOp::create(builder, quotient->getLoc(), type, value,
                          castTo(builder, factor, getElementType(value)))
                .getResult();
  retired.replace(quotient, value);
  return true;
}

//===----------------------------------------------------------------------===//
// Casts
//===----------------------------------------------------------------------===//

FixAction mpopt::planScaleBeforeCast(Operation *cast) {
  if (!isa<CastOp>(cast) || !isFloat(cast->getOperand(0)))
    return {};
  SmallVector<Operation *, 4> ops = {cast};
  for (Operation *user : cast->getResult(0).getUsers()) {
    if (!getScale(user, cast->getResult(0)) ||
        getElementType(user->getResult(0)) !=
            getElementType(cast->getResult(0)))
      return {};
    if (!llvm::is_contained(ops, user))
      ops.push_back(user);
  }
  return ops.size() > 1 ? FixAction(FixAction::Kind::ScaleBeforeCast, ops)
                        : FixAction();
}

bool fixes::scaleBeforeCast(Ops ops, RetiredOps &retired) {
  Value wide = ops[0]->getOperand(0);
  Type element = getElementType(wide);
  for (Operation *scale : ops.drop_front()) {
    std::optional<double> factor = getScale(scale, ops[0]->getResult(0));
    if (!factor)
      return false;
    OpBuilder builder(scale);
    Location location = scale->getLoc();
    Value scaled =
        MulOp::create(builder, location,
                      withElementType(scale->getResult(0).getType(), element),
                      wide, makeNumber(builder, location, element, *factor))
            .getResult();
    retired.replace(
        scale, castTo(builder, scaled, getElementType(scale->getResult(0))));
  }
  return true;
}
