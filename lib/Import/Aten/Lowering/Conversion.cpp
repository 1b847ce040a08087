//===- Conversion.cpp - Changes of dtype, from aten -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A conversion to the dtype that a tensor has gives the tensor itself, unless a
// copy is asked for. Devices and layouts have no counterpart.
//
//===----------------------------------------------------------------------===//

#include "Subfamilies.h"
#include "ViewSteps.h"

#include "mpopt/Dialect/Ops/CoreOps.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::aten;

static LogicalResult convert(NodeContext &context, Type element,
                             bool copy = false) {
  Value input = context.tensor("self");
  if (!input || (element && isUnknown(element)))
    return context.unsupported();
  if (!element || getElementType(input) == element) {
    if (copy)
      context.setOutput(0, input);
    else
      context.setAlias(0, "self");
    return success();
  }
  Value result = context.cast(input, element, /*promotion=*/false);
  if (isUnknown(getElementType(input)) && !copy)
    context.setOutputSharing(0, result, "self");
  else
    context.setOutput(0, result);
  return success();
}

static Value makeCast(NodeContext &context, Value value, Type element) {
  return context
      .makeTyped<mp::CastOp>({getTensorType(getShape(value), element)}, value,
                             mp::CastOrigin::Model, /*saturate=*/false,
                             /*round_mode=*/StringAttr())
      .getResult();
}

/// `x.float()` of what is f32 already is x itself, and yet says what the module
/// wants where autocast, or half weights, give x another dtype.
static LogicalResult keepFloat(NodeContext &context, Type element) {
  auto derive = [element](NodeContext &context, Value base) {
    return makeCast(context, base, element);
  };
  auto writeBack = [element](NodeContext &context, Value, Value updated) {
    return getElementType(updated) == element
               ? updated
               : makeCast(context, updated, element);
  };
  return giveView(context, "self", {derive, writeBack});
}

/// `to`, by dtype, by another tensor or by device alone.
static LogicalResult lowerTo(NodeContext &context) {
  Type element;
  if (context.has("dtype")) {
    element = context.findElementType();
    if (!element)
      return context.unsupported();
    Value input = context.tensor("self");
    if (input && isa<FloatType>(element) && getElementType(input) == element &&
        !input.getDefiningOp<mp::ConstantOp>() && !context.getBool("copy"))
      return keepFloat(context, element);
  } else if (context.has("other")) {
    Value other = context.tensor("other");
    if (!other)
      return context.unsupported();
    element = getElementType(other);
  }
  return convert(context, element, context.getBool("copy"));
}

/// Numbers are those of c10::ScalarType.
template <int64_t Dtype>
static LogicalResult lowerCastTo(NodeContext &context) {
  return convert(context, NodeContext::elementTypeOf(context.context(), Dtype));
}

static LogicalResult lowerSame(NodeContext &context) {
  return convert(context, Type());
}

/// The cast that the TorchScript autocast pass inserts: f32 becomes the reduced
/// dtype of the tensor's device, and back. Which device is not in the file; a
/// region for CUDA goes first. Source:
/// aten/src/ATen/native/TensorConversions.cpp.
static LogicalResult lowerToReduced(NodeContext &context) {
  Value input = context.tensor("self");
  if (!input || isUnknown(getElementType(input)))
    return context.unsupported();
  StringRef dtype = context.getBool("cuda_enabled")  ? "cuda_dtype"
                    : context.getBool("cpu_enabled") ? "cpu_dtype"
                                                     : "";
  bool applies = !dtype.empty() && getElementType(input).isF32();
  Type element = applies ? context.findElementType(dtype) : Type();
  if (applies && !element)
    return context.unsupported();
  return convert(context, element);
}
static LogicalResult lowerToFull(NodeContext &context) {
  Value input = context.tensor("self");
  if (!input || isUnknown(getElementType(input)))
    return context.unsupported();
  bool applies =
      (context.getBool("cuda_enabled") || context.getBool("cpu_enabled")) &&
      (getElementType(input).isF16() || getElementType(input).isBF16());
  return convert(context, applies ? context.builder().getF32Type() : Type());
}

void mpopt::aten::registerConversion(LoweringRegistry &registry) {
  registry.add({"to", "_to_copy", "type_as"}, lowerTo);
  registry.add({"cpu", "cuda", "pin_memory", "_pin_memory"}, lowerSame);
  registry.add("_cast_Byte", lowerCastTo<0>);
  registry.add("_cast_Char", lowerCastTo<1>);
  registry.add("_cast_Short", lowerCastTo<2>);
  registry.add("_cast_Int", lowerCastTo<3>);
  registry.add("_cast_Long", lowerCastTo<4>);
  registry.add("_cast_Half", lowerCastTo<5>);
  registry.add("_cast_Float", lowerCastTo<6>);
  registry.add("_cast_Double", lowerCastTo<7>);
  registry.add("_autocast_to_reduced_precision", lowerToReduced);
  registry.add("_autocast_to_full_precision", lowerToFull);
}
