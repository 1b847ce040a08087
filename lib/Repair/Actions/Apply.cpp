//===- Apply.cpp - Fixes, applied to a module
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Actions.h"

#include "mpopt/Dialect/Casts.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Ranges/Value/TransferContext.h"

#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::mp;
using namespace mpopt::fixes;

/// Constants of more elements are not copied: masks and epsilons are smaller.
static constexpr int64_t kMostElements = 1 << 20;

static APFloat toFormat(double number, FloatType type) {
  APFloat value(number);
  bool lost;
  (void)value.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                      &lost);
  return value;
}

bool fixes::rewriteConstant(Operation *op,
                            function_ref<double(double)> change) {
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

/// On a number that its type rounds.
static constexpr llvm::StringLiteral kNumberAttr = "mp.number";

std::optional<double> mpopt::getNumber(Value value) {
  if (Operation *op = value.getDefiningOp())
    if (auto exact = op->getAttrOfType<FloatAttr>(kNumberAttr))
      return exact.getValueAsDouble();
  return getSplatConstant(value);
}

Value fixes::makeNumber(OpBuilder &builder, Location location, Type element,
                        double number) {
  auto type = RankedTensorType::get({}, element);
  auto value =
      DenseElementsAttr::get(type, toFormat(number, cast<FloatType>(element)));
  auto constant = ConstantOp::create(builder, location, type, value);
  constant->setAttr(kNumberAttr, builder.getF64FloatAttr(number));
  return constant.getResult();
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

Value fixes::castTo(OpBuilder &builder, Value value, Type element,
                    CastOrigin origin) {
  if (getElementType(value) == element)
    return value;
  return CastOp::create(builder, value.getLoc(),
                        withElementType(value.getType(), element), value,
                        origin, /*saturate=*/false,
                        /*round_mode=*/StringAttr())
      .getResult();
}

//===----------------------------------------------------------------------===//
// Ops that go
//===----------------------------------------------------------------------===//

RetiredOps::~RetiredOps() {
  for (Operation *op : ops)
    op->destroy();
}

void RetiredOps::replace(Operation *op, Value by, bool isNew) {
  Value old = op->getResult(0);
  if (isNew)
    replaced.try_emplace(by, getReplaced(old));
  old.replaceAllUsesWith(by);
  retire(op);
}

/// Also retires producers that only `op` read.
void RetiredOps::retire(Operation *op) {
  SmallVector<Value> read(op->getOperands());
  op->dropAllReferences();
  op->remove();
  ops.push_back(op);
  for (Value value : read)
    if (Operation *maker = value.getDefiningOp();
        maker && maker->getBlock() && isOpTriviallyDead(maker))
      retire(maker);
}

Value RetiredOps::getReplaced(Value value) const {
  auto found = replaced.find(value);
  return found == replaced.end() ? value : found->second;
}

//===----------------------------------------------------------------------===//
// All kinds
//===----------------------------------------------------------------------===//

static bool rewriteAll(Ops ops, function_ref<double(double)> change) {
  return llvm::all_of(
      ops, [&](Operation *op) { return rewriteConstant(op, change); });
}

/// The function computed otherwise, or the arithmetic in another order.
static bool applyForm(const FixAction &action, Ops ops, RetiredOps &retired) {
  using Kind = FixAction::Kind;
  switch (action.kind) {
  case Kind::LogOfOperand:
    return takeLogOfOperand(ops, action.upper == 1, retired);
  case Kind::SigmoidOfNegative:
    return takeSigmoidOfNegative(ops, retired);
  case Kind::ShiftByMaximum:
    return shiftByMaximum(ops, retired);
  case Kind::CentreFirst:
    return centreFirst(ops, retired);
  case Kind::TakeOther:
    return takeOther(ops, action.operands.front(), retired);
  case Kind::LossOfLogits:
    return takeLossOfLogits(ops, retired);
  case Kind::SoftplusOfOperand:
    return takeSoftplus(ops, retired);
  case Kind::Log1pOfOperand:
    return takeLog1p(ops, action.operands.front(), retired);
  case Kind::MeanOfSum:
    return takeMean(ops, retired);
  case Kind::RootOfEach:
    return takeRootOfEach(ops, retired);
  case Kind::DivideTwice:
    return divideTwice(ops, retired);
  case Kind::ScaleBeforeCast:
    return scaleBeforeCast(ops, retired);
  default:
    llvm_unreachable("unknown kind");
  }
}

double MagnitudeLimits::apply(double number) const {
  return number == 0 || std::isnan(number)
             ? number
             : std::copysign(std::clamp(std::fabs(number), least, most),
                             number);
}

std::optional<MagnitudeLimits> mpopt::getLimits(const FixAction &action) {
  if (action.kind == FixAction::Kind::LimitConstant)
    return MagnitudeLimits{0, action.number};
  if (action.kind == FixAction::Kind::RaiseConstant)
    return MagnitudeLimits{action.number, kInfinity};
  return std::nullopt;
}

bool mpopt::applyFix(const FixAction &action,
                     function_ref<Operation *(Operation *)> find,
                     RetiredOps &retired) {
  using Kind = FixAction::Kind;
  SmallVector<Operation *> ops;
  for (Operation *op : action.ops)
    ops.push_back(find(op));
  // One that another fix took out is not in the module any more.
  if (ops.empty() ||
      llvm::any_of(ops, [](Operation *op) { return !op || !op->getBlock(); }))
    return false;
  switch (action.kind) {
  case Kind::None:
  case Kind::Keep:
  case Kind::DeclareStep:
    return false;
  case Kind::LimitConstant:
  case Kind::RaiseConstant:
    return rewriteAll(ops, [limits = *getLimits(action)](double number) {
      return limits.apply(number);
    });
  case Kind::ClampOperand:
    return clamp(ops.front(), action.operands.front(), action.number,
                 action.upper);
  case Kind::ScaleFirst:
    return scaleFirst(ops[0], ops[1]);
  case Kind::Scale:
    return applyScale(ops, action.operands, int(action.number),
                      unsigned(action.upper));
  case Kind::SkipCast:
    return skipCast(ops.front());
  case Kind::WidenExplicitly:
    return widenExplicitly(ops.front());
  case Kind::NarrowExplicitly:
    return narrowExplicitly(ops.front(), action.operands.front());
  case Kind::RemoveCast:
    return removeCast(ops.front(), retired);
  case Kind::CastFirst:
    return castFirst(ops);
  default:
    return applyForm(action, ops, retired);
  }
}
