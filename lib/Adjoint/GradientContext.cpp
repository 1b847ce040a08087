//===- GradientContext.cpp - What a gradient is built with
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Adjoint/GradientContext.h"

#include "mpopt/Adjoint/Differentiate.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/ReductionOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"
#include "mpopt/Dialect/Ops/TrainingOps.h"
#include "mpopt/Dialect/Origin.h"
#include "mpopt/Dialect/TypeInference.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

//===----------------------------------------------------------------------===//
// Terms
//===----------------------------------------------------------------------===//

Term Term::operator-() const { return ctx->make<mp::NegOp>({its}); }

namespace mpopt {

Term operator+(Term lhs, Term rhs) {
  return lhs.context().make<mp::AddOp>({lhs, rhs});
}
Term operator-(Term lhs, Term rhs) {
  return lhs.context().make<mp::SubOp>({lhs, rhs});
}
Term operator*(Term lhs, Term rhs) {
  return lhs.context().make<mp::MulOp>({lhs, rhs});
}
Term operator/(Term lhs, Term rhs) {
  return lhs.context().make<mp::DivOp>({lhs, rhs});
}
Term operator+(Term lhs, double rhs) {
  return lhs + lhs.context().scalar(rhs, getElementType(lhs.value()));
}
Term operator-(double lhs, Term rhs) {
  return rhs.context().scalar(lhs, getElementType(rhs.value())) - rhs;
}
Term operator*(Term lhs, double rhs) { return lhs.context().scaled(lhs, rhs); }
Term operator/(Term lhs, double rhs) {
  return lhs / lhs.context().scalar(rhs, getElementType(lhs.value()));
}

} // namespace mpopt

//===----------------------------------------------------------------------===//
// Gradients in and out
//===----------------------------------------------------------------------===//

GradientContext::GradientContext(OpBuilder &builder, ShapeFacts &facts,
                                 Operation *op, ArrayRef<Value> gradients,
                                 llvm::function_ref<bool(Value)> active,
                                 Sink sink)
    : opBuilder(builder), shapeFacts(facts), its(op),
      location(withValues(op->getLoc(), {})), gradients(gradients),
      active(active), sink(sink) {}

Term GradientContext::dy(unsigned index) {
  return gradients[index] ? Term(*this, gradients[index])
                          : zeros(its->getResult(index));
}

void GradientContext::give(Value value, Value gradient) {
  if (!wants(value))
    return;
  Value fitting = unbroadcast(gradient, value);
  Type element = getElementType(value);
  // An integer that stands for a number has its gradient in floats.
  if (isa<FloatType>(element))
    fitting = cast(fitting, element);
  sink(value, fitting);
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

Operation *GradientContext::makeGeneric(StringRef name,
                                        ArrayRef<Value> operands,
                                        bool segmented,
                                        ArrayRef<NamedAttribute> attributes,
                                        unsigned results, Type elementType) {
  OperationState state(location, name);
  SmallVector<int32_t> segments;
  for (Value operand : operands) {
    segments.push_back(operand ? 1 : 0);
    if (operand)
      state.addOperands(operand);
  }
  state.addAttributes(attributes);
  if (segmented && !state.attributes.get("operandSegmentSizes"))
    state.addAttribute("operandSegmentSizes",
                       opBuilder.getDenseI32ArrayAttr(segments));
  Type unknown = elementType ? getTensorType(std::nullopt, elementType)
                             : getUnknownTensor(opBuilder.getContext());
  state.types.assign(results, unknown);
  Operation *made = opBuilder.create(state);
  hasFailed |= mlir::failed(inferTypes(made, shapeFacts));
  return made;
}

NamedAttribute GradientContext::number(StringRef name, double value) {
  return opBuilder.getNamedAttr(name, opBuilder.getF64FloatAttr(value));
}
NamedAttribute GradientContext::integer(StringRef name, int64_t value) {
  return opBuilder.getNamedAttr(name, opBuilder.getI64IntegerAttr(value));
}
NamedAttribute GradientContext::integers(StringRef name,
                                         ArrayRef<int64_t> values) {
  return opBuilder.getNamedAttr(name, opBuilder.getDenseI64ArrayAttr(values));
}
NamedAttribute GradientContext::flag(StringRef name, bool value) {
  return opBuilder.getNamedAttr(name, opBuilder.getBoolAttr(value));
}
NamedAttribute GradientContext::unit(StringRef name) {
  return opBuilder.getNamedAttr(name, opBuilder.getUnitAttr());
}
NamedAttribute GradientContext::word(StringRef name, StringRef value) {
  return opBuilder.getNamedAttr(name, opBuilder.getStringAttr(value));
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

static Value makeConstant(GradientContext &ctx, DenseElementsAttr elements) {
  return mp::ConstantOp::create(ctx.builder(), ctx.loc(), elements.getType(),
                                elements)
      .getResult();
}

static DenseElementsAttr splat(RankedTensorType type, double value) {
  Type element = type.getElementType();
  if (auto format = dyn_cast<FloatType>(element)) {
    APFloat rounded(value);
    bool lossy;
    rounded.convert(format.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                    &lossy);
    return DenseElementsAttr::get(type, rounded);
  }
  return DenseElementsAttr::get(
      type, Attribute(IntegerAttr::get(element, int64_t(value))));
}

Term GradientContext::scalar(double value, Type elementType) {
  if (!isa<FloatType, IntegerType>(elementType))
    elementType = opBuilder.getF32Type();
  return {*this,
          makeConstant(*this,
                       splat(RankedTensorType::get({}, elementType), value))};
}

Term GradientContext::index(int64_t value) {
  return scalar(value, opBuilder.getI64Type());
}

Term GradientContext::indices(ArrayRef<int64_t> values) {
  auto type =
      RankedTensorType::get({int64_t(values.size())}, opBuilder.getI64Type());
  return {*this, makeConstant(*this, DenseIntElementsAttr::get(type, values))};
}

Term GradientContext::filled(double value, Value like) {
  Type element = getElementType(like);
  if (!isa<FloatType, IntegerType>(element))
    element = opBuilder.getF32Type();
  auto type = dyn_cast<RankedTensorType>(like.getType());
  if (type && type.hasStaticShape())
    return {*this, makeConstant(*this, splat(type.clone(element), value))};
  return make<mp::FillOp>(
      {shapeOf(like)},
      {opBuilder.getNamedAttr(
          "value", splat(RankedTensorType::get({1}, element), value))});
}

Term GradientContext::filled(double value, RankedTensorType type) {
  return {*this, makeConstant(*this, splat(type, value))};
}

Term GradientContext::shapeOf(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (type && type.hasStaticShape())
    return indices(type.getShape());
  return make<mp::ShapeOp>({value});
}

Term GradientContext::flatShapeOf(Value value) {
  if (std::optional<int64_t> count = getNumElements(getShape(value)))
    return indices({*count});
  return reshaped(make<mp::SizeOp>({value}), {1});
}

Term GradientContext::scaled(Value value, double factor) {
  if (factor == 1)
    return {*this, value};
  Type element = getElementType(value);
  if (isLowPrecision(element)) {
    const FloatFormat *format = getFloatFormat(element);
    double size = std::fabs(factor);
    if (size != 0 && (size > format->maxFinite || size < format->minNormal))
      return make<mp::LossScaleOp>(
          {value, scalar(factor, opBuilder.getF32Type())});
  }
  return Term(*this, value) * scalar(factor, element);
}

Term GradientContext::dividedByCount(Value value, Value from, Value to) {
  Type wide = opBuilder.getF32Type(), element = getElementType(value);
  auto all = getNumElements(getShape(from)),
       kept = getNumElements(getShape(to));
  const FloatFormat *format = getFloatFormat(element);
  if (all && kept && *kept > 0) {
    double count = double(*all) / double(*kept);
    if (count == 1)
      return {*this, value};
    if (!format || count <= format->maxFinite)
      return Term(*this, value) / count;
    return make<mp::LossScaleOp>({value, scalar(count, wide)},
                                 {flag("divide")});
  }
  auto sizeOf = [&](Value tensor) {
    return cast(make<mp::SizeOp>({tensor}), wide);
  };
  return make<mp::LossScaleOp>({value, sizeOf(from) / sizeOf(to)},
                               {flag("divide")});
}

//===----------------------------------------------------------------------===//
// Shapes and dtypes
//===----------------------------------------------------------------------===//

Term GradientContext::cast(Value value, Type elementType) {
  if (getElementType(value) == elementType || isUnknown(elementType))
    return {*this, value};
  return make<mp::CastOp>(
      {value},
      {opBuilder.getNamedAttr(
          "origin", mp::CastOriginAttr::get(opBuilder.getContext(),
                                            mp::CastOrigin::Promotion))},
      elementType);
}

Term GradientContext::where(Value condition, Value value) {
  return where(condition, value, scalar(0, getElementType(value)));
}
Term GradientContext::where(Value condition, Value value, Value otherwise) {
  return make<mp::WhereOp>({condition, value, otherwise});
}

Term GradientContext::reshaped(Value value, ArrayRef<int64_t> shape) {
  return make<mp::ReshapeOp>({value, indices(shape)}, {unit("allow_zero")});
}

Term GradientContext::reshapedLike(Value value, Value like) {
  MaybeShape have = getShape(value), want = getShape(like);
  if (have && want && *have == *want && !llvm::is_contained(*want, kDynamic))
    return {*this, value};
  return make<mp::ReshapeOp>({value, shapeOf(like)}, {unit("allow_zero")});
}

Term GradientContext::expandedLike(Value value, Value like) {
  MaybeShape have = getShape(value), want = getShape(like);
  if (have && want && *have == *want && !llvm::is_contained(*want, kDynamic))
    return {*this, value};
  return make<mp::ExpandOp>({value, shapeOf(like)});
}

Term GradientContext::sum(Value value, ArrayRef<int64_t> axes, bool keepDims) {
  if (axes.empty())
    return {*this, value};
  return make<mp::ReduceSumOp>(
      {value, Value()}, {integers("axes", axes), flag("keep_dims", keepDims)});
}

Term GradientContext::mean(Value value, ArrayRef<int64_t> axes, bool keepDims) {
  return make<mp::ReduceMeanOp>(
      {value, Value()}, {integers("axes", axes), flag("keep_dims", keepDims)});
}

Term GradientContext::transposed(Value value, ArrayRef<int64_t> perm) {
  return make<mp::TransposeOp>({value}, {integers("perm", perm)});
}

Term GradientContext::unbroadcast(Value value, Value like) {
  MaybeShape have = getShape(value), want = getShape(like);
  if (!have || !want || have->size() < want->size()) {
    // The dims are not known before the model runs.
    auto axes = makeOp<mp::BroadcastGradientArgsOp>(
        {shapeOf(like), shapeOf(value)}, {}, /*results=*/2);
    Term total = make<mp::ReduceSumOp>({value, axes.getFirstAxes()},
                                       {flag("keep_dims", true)});
    return make<mp::ReshapeOp>({total, shapeOf(like)}, {unit("allow_zero")});
  }
  size_t extra = have->size() - want->size();
  SmallVector<int64_t> leading, broadcast;
  for (size_t i = 0; i < have->size(); ++i) {
    if (i < extra)
      leading.push_back(i);
    else if ((*want)[i - extra] == 1 && (*have)[i] != 1)
      broadcast.push_back(i);
  }
  if (broadcast.empty())
    return sum(value, leading, /*keepDims=*/false);
  Term total = sum(value, broadcast, /*keepDims=*/true);
  return sum(total, leading, /*keepDims=*/false);
}
