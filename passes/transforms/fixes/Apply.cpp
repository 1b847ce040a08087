//===- Apply.cpp - Fixes that change values
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/transforms/fixes/Fix.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Transfer/TransferContext.h"

#include "mlir/IR/Builders.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::mp;

/// Constants of more elements are not copied: masks and epsilons are smaller.
static constexpr int64_t kMostElements = 1 << 20;

static APFloat toFormat(double number, FloatType type) {
  APFloat value(number);
  bool lost;
  (void)value.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                      &lost);
  return value;
}

/// Rewrites each element of a float constant.
static bool rewrite(Operation *op, function_ref<double(double)> change) {
  auto constant = dyn_cast_or_null<ConstantOp>(op);
  if (!constant)
    return false;
  auto type = cast<RankedTensorType>(constant.getType());
  auto element = dyn_cast<FloatType>(type.getElementType());
  std::optional<ConstantBytes> bytes = getConstantBytes(constant);
  if (!element || !bytes || element.getWidth() < 16 ||
      (!bytes->splat && type.getNumElements() > kMostElements))
    return false;
  WeightView view;
  view.data = bytes->data;
  view.splat = bytes->splat;
  view.elementType = element;
  view.shape = *getShape(constant.getResult());
  std::vector<double> numbers(bytes->splat ? 1 : type.getNumElements());
  view.read(0, numbers);
  SmallVector<APFloat> values;
  for (double number : numbers)
    values.push_back(toFormat(change(number), element));
  constant.setValueAttr(DenseElementsAttr::get(type, values));
  return true;
}

static Value makeNumber(OpBuilder &builder, Location location, Type element,
                        double number) {
  auto type = RankedTensorType::get({}, element);
  auto value =
      DenseElementsAttr::get(type, toFormat(number, cast<FloatType>(element)));
  return ConstantOp::create(builder, location, type, value).getResult();
}

static bool clamp(Operation *op, unsigned index, double lo, double hi) {
  Value value = op->getOperand(index);
  Type element = getElementType(value);
  if (!isa<FloatType>(element))
    return false;
  OpBuilder builder(op);
  auto bound = [&](double number) {
    return std::isinf(number)
               ? Value()
               : makeNumber(builder, op->getLoc(), element, number);
  };
  op->setOperand(index, ClipOp::create(builder, value.getLoc(), value.getType(),
                                       value, bound(lo), bound(hi))
                            .getResult());
  return true;
}

/// (q k) s as (q s) k.
static bool scaleFirst(Operation *product, Operation *scale) {
  unsigned scores = 0;
  std::optional<double> factor = getSplatConstant(scale->getOperand(1));
  if (!factor && isa<MulOp>(scale)) {
    factor = getSplatConstant(scale->getOperand(0));
    scores = 1;
  }
  Value query = product->getOperand(0);
  if (!factor || !isa<MulOp, DivOp>(scale) ||
      !isa<FloatType>(getElementType(query)) ||
      scale->getOperand(scores).getType() != scale->getResult(0).getType())
    return false;
  double number = isa<DivOp>(scale) ? 1 / *factor : *factor;
  OpBuilder builder(product);
  Value constant =
      makeNumber(builder, product->getLoc(), getElementType(query), number);
  product->setOperand(0, MulOp::create(builder, query.getLoc(), query.getType(),
                                       query, constant)
                             .getResult());
  scale->getResult(0).replaceAllUsesWith(scale->getOperand(scores));
  return true;
}

static bool skipCast(Operation *op) {
  auto up = dyn_cast<CastOp>(op);
  // Views in between would have to be widened, too.
  auto down = up ? up.getInput().getDefiningOp<CastOp>() : CastOp();
  if (!down || down.getInput().getType() != up.getResult().getType())
    return false;
  // Ops of the copy stay where they are: findings are told by them.
  up->setOperand(0, down.getInput());
  return true;
}

bool mpopt::applyFix(const FixAction &action,
                     function_ref<Operation *(Operation *)> find) {
  SmallVector<Operation *> ops;
  for (Operation *op : action.ops)
    ops.push_back(find(op));
  if (ops.empty() || llvm::is_contained(ops, nullptr))
    return false;
  double limit = action.number;
  switch (action.kind) {
  case FixAction::Kind::None:
  case FixAction::Kind::Keep:
    return false;
  case FixAction::Kind::LimitConstant:
    return llvm::all_of(ops, [&](Operation *op) {
      return rewrite(op, [&](double number) {
        return std::isnan(number) ? number : std::clamp(number, -limit, limit);
      });
    });
  case FixAction::Kind::RaiseConstant:
    return llvm::all_of(ops, [&](Operation *op) {
      return rewrite(op, [&](double number) {
        return number != 0 && std::fabs(number) < limit
                   ? std::copysign(limit, number)
                   : number;
      });
    });
  case FixAction::Kind::ClampOperand:
    return clamp(ops.front(), action.operands.front(), action.number,
                 action.upper);
  case FixAction::Kind::ScaleFirst:
    return scaleFirst(ops[0], ops[1]);
  case FixAction::Kind::SkipCast:
    return skipCast(ops.front());
  }
  llvm_unreachable("unknown kind");
}
