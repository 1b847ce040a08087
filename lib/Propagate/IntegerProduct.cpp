//===- IntegerProduct.cpp - Products of codes that become numbers
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Propagate/IntegerProduct.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/LinearOps.h"
#include "mpopt/Dialect/Ops/QuantizationOps.h"
#include "mpopt/Dialect/Ops/ReductionOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mpopt;

std::optional<IntegerOperands> mpopt::getIntegerOperands(Operation *op) {
  if (auto matmul = dyn_cast_if_present<mp::MatMulIntegerOp>(op))
    return IntegerOperands{matmul.getLhs(), matmul.getLhsZeroPoint(),
                           matmul.getRhs(), matmul.getRhsZeroPoint(), -1};
  if (auto conv = dyn_cast_if_present<mp::ConvIntegerOp>(op))
    return IntegerOperands{conv.getInput(), conv.getInputZeroPoint(),
                           conv.getFilter(), conv.getFilterZeroPoint(), 0};
  return std::nullopt;
}

std::optional<int64_t> mpopt::findChannelAxis(OpOperand &use, int64_t rank) {
  if (use.getOperandNumber() != 1)
    return std::nullopt;
  using Result = std::optional<int64_t>;
  return llvm::TypeSwitch<Operation *, Result>(use.getOwner())
      .Case<mp::ConvOp, mp::LinearOp>([](auto) -> Result { return 0; })
      .Case([](mp::ConvTransposeOp) -> Result { return 1; })
      .Case([](mp::GemmOp op) -> Result { return op.getTransB() ? 0 : 1; })
      .Case([&](mp::MatMulOp op) -> Result {
        return op.getTransB() ? rank - 2 : rank - 1;
      })
      .Default([](Operation *) { return std::nullopt; });
}

std::optional<IntegerOperands> mpopt::findCodes(Operation *op,
                                                unsigned widest) {
  if (auto product = findIntegerProduct(op))
    return *product;
  if (auto operands = getIntegerOperands(op))
    return operands;
  if (op->getNumOperands() < 2)
    return std::nullopt;
  MaybeShape shape = getShape(op->getOperand(1));
  auto lhs = getMaker<mp::DequantizeOp>(op->getOperand(0), Peel::Identities);
  auto rhs = getMaker<mp::DequantizeOp>(op->getOperand(1), Peel::Identities);
  std::optional<int64_t> axis =
      shape ? findChannelAxis(op->getOpOperand(1), int64_t(shape->size()))
            : std::nullopt;
  auto isNarrow = [&](Value codes) {
    return getElementType(codes).getIntOrFloatBitWidth() <= widest;
  };
  if (!lhs || !rhs || !axis || !isNarrow(lhs.getInput()) ||
      !isNarrow(rhs.getInput()))
    return std::nullopt;
  return IntegerOperands{
      lhs.getInput(), lhs.getZeroPoint(), rhs.getInput(), rhs.getZeroPoint(),
      *axis,          lhs.getScale(),     rhs.getScale()};
}

/// The one op that reads a value; null if there are several.
static Operation *findReader(Value value) {
  return value.hasOneUse() ? *value.getUsers().begin() : nullptr;
}

/// The scale of codes that are made of numbers; null for others.
static Value findScaleOf(Value codes) {
  codes = peel(codes, Peel::Views);
  if (auto fixed = codes.getDefiningOp<mp::QuantizeOp>())
    return fixed.getScale();
  auto dynamic = codes.getDefiningOp<mp::DynamicQuantizeOp>();
  return dynamic && codes == dynamic.getValues() ? dynamic.getScale() : Value();
}

/// The codes before a constant that makes them unsigned, and the constant.
static std::pair<Value, double> beforeOffset(Value codes) {
  auto narrow = codes.getDefiningOp<mp::CastOp>();
  Operation *sum = narrow ? narrow.getInput().getDefiningOp() : nullptr;
  if (!sum || !hasRole(sum, Role::Addition) || sum->getNumOperands() != 2)
    return {};
  auto wide = sum->getOperand(0).getDefiningOp<mp::CastOp>();
  std::optional<double> offset = getSplatConstant(sum->getOperand(1));
  return wide && offset ? std::pair(wide.getInput(), *offset)
                        : std::pair<Value, double>();
}

/// The difference of a product of such codes and the offset's part, the sums of
/// weights times the constant; null for others.
static Value withoutOffset(Value product, Value weights, double offset) {
  Operation *rest = findReader(product);
  if (!hasRole(rest, Role::Subtraction) || rest->getNumOperands() != 2 ||
      rest->getOperand(0) != product)
    return nullptr;
  Operation *part = rest->getOperand(1).getDefiningOp();
  if (!hasRole(part, Role::Multiplication) || part->getNumOperands() != 2 ||
      getSplatConstant(part->getOperand(1)) != offset)
    return nullptr;
  auto sums = part->getOperand(0).getDefiningOp<mp::ReduceSumOp>();
  return sums && peel(sums.getInput(), Peel::Casts) == weights
             ? rest->getResult(0)
             : Value();
}

std::optional<IntegerProduct> mpopt::findIntegerProduct(Operation *op) {
  std::optional<IntegerOperands> operands = getIntegerOperands(op);
  if (!operands)
    return std::nullopt;
  Value sum = op->getResult(0);
  if (auto [codes, offset] = beforeOffset(operands->lhs);
      codes && !operands->lhsZeroPoint)
    if (Value rest = withoutOffset(sum, operands->rhs, offset)) {
      operands->lhs = codes;
      sum = rest;
    }
  auto cast = dyn_cast_if_present<mp::CastOp>(findReader(sum));
  if (!cast || !isa<FloatType>(getElementType(cast.getResult())))
    return std::nullopt;
  IntegerProduct found = {*operands};
  found.product = op;
  found.numbers = cast.getResult();
  found.lhsScale = findScaleOf(found.lhs);
  // Both scales in one factor, or one after the other.
  SmallVector<Value, 2> scales;
  while (scales.size() < 2) {
    Operation *times = findReader(found.numbers);
    while (auto same = dyn_cast_if_present<mp::CastOp>(times)) {
      if (getElementType(same.getResult()) != getElementType(found.numbers))
        return std::nullopt;
      found.numbers = same.getResult();
      times = findReader(found.numbers);
    }
    if (!hasRole(times, Role::Multiplication) || times->getNumOperands() != 2)
      return std::nullopt;
    Value factor = times->getOperand(times->getOperand(0) == found.numbers);
    Operation *both = factor.getDefiningOp();
    if (hasRole(both, Role::Multiplication) && both->getNumOperands() == 2)
      scales.append(both->operand_begin(), both->operand_end());
    else
      scales.push_back(factor);
    found.numbers = times->getResult(0);
  }
  // A cast may flush it.
  auto isLhs = [&](Value scale) {
    return isSameBehind(scale, found.lhsScale, Peel::Views | Peel::Lossless);
  };
  if (scales.size() != 2 || !found.lhsScale || llvm::none_of(scales, isLhs))
    return std::nullopt;
  found.rhsScale = scales[isLhs(scales[0])];
  return found;
}

SmallVector<Operation *, 3> mpopt::buildNumbers(OpBuilder &builder,
                                                const IntegerProduct &product) {
  Operation *op = product.product;
  Location loc = op->getLoc();
  Type element = getElementType(product.numbers);
  auto dequantize = [&](Value codes, Value scale, Value zeroPoint,
                        int64_t block) {
    return mp::DequantizeOp::create(
        builder, loc, getTensorType(getShape(codes), element), codes, scale,
        zeroPoint, builder.getI64IntegerAttr(product.axis),
        builder.getI64IntegerAttr(block), TypeAttr(), DenseI64ArrayAttr());
  };
  // Rows with a scale each are blocks of the last axis.
  Value codes = peel(product.lhs, Peel::Views);
  MaybeShape rows = getShape(codes);
  bool hasRows = rows && !rows->empty() && product.axis == -1 &&
                 getNumElements(getShape(product.lhsScale)) != 1 &&
                 rows->back() != kDynamic;
  SmallVector<Operation *, 3> all = {dequantize(codes, product.lhsScale,
                                                product.lhsZeroPoint,
                                                hasRows ? rows->back() : 0)};
  Value a = all.front()->getResult(0);
  // Views of the codes are those of the numbers.
  SmallVector<Operation *> views;
  for (Value view = product.lhs; view != codes;
       view = views.back()->getOperand(0))
    views.push_back(view.getDefiningOp());
  for (Operation *view : llvm::reverse(views)) {
    all.push_back(builder.clone(*view));
    all.back()->setOperand(0, a);
    a = all.back()->getResult(0);
    a.setType(getTensorType(getShape(a), element));
  }
  all.push_back(
      dequantize(product.rhs, product.rhsScale, product.rhsZeroPoint, 0));
  Value b = all.back()->getResult(0);
  Operation *made;
  if (auto conv = dyn_cast<mp::ConvIntegerOp>(op))
    made =
        mp::ConvOp::create(builder, loc, product.numbers.getType(), a, b,
                           Value(), conv.getStrides(), conv.getDilations(),
                           conv.getPads(), conv.getGroup(), conv.getAutoPad());
  else
    made = mp::MatMulOp::create(builder, loc, product.numbers.getType(), a, b,
                                builder.getBoolAttr(false),
                                builder.getBoolAttr(false),
                                builder.getF64FloatAttr(1.0));
  all.push_back(made);
  return all;
}
