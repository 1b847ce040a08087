//===- Core.cpp - Constants, casts and identities, from ONNX --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Import/Onnx/Lowering.h"

#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::onnx_import;

//===----------------------------------------------------------------------===//
// Constant
//===----------------------------------------------------------------------===//

/// The value of one of the attributes that opset 12 added; null if there is
/// none.
static DenseElementsAttr findPlainValue(NodeContext &ctx) {
  Builder &builder = ctx.builder();
  auto vector = [](size_t size, Type element) {
    return RankedTensorType::get({int64_t(size)}, element);
  };
  auto scalar = [](Type element) { return RankedTensorType::get({}, element); };
  Type string = mp::StringType::get(ctx.context());

  if (auto value = ctx.findFloat("value_float"))
    return DenseElementsAttr::get(scalar(builder.getF32Type()), float(*value));
  if (auto values = ctx.findFloats("value_floats")) {
    SmallVector<float> floats(values->begin(), values->end());
    return DenseElementsAttr::get(vector(floats.size(), builder.getF32Type()),
                                  ArrayRef<float>(floats));
  }
  if (auto value = ctx.findInt("value_int"))
    return DenseElementsAttr::get(scalar(builder.getI64Type()), *value);
  if (auto values = ctx.findInts("value_ints"))
    return DenseElementsAttr::get(vector(values->size(), builder.getI64Type()),
                                  ArrayRef<int64_t>(*values));
  if (auto value = ctx.findString("value_string"))
    return DenseStringElementsAttr::get(scalar(string), {*value});
  if (auto values = ctx.findStrings("value_strings"))
    return DenseStringElementsAttr::get(vector(values->size(), string),
                                        *values);
  return {};
}

static LogicalResult lowerConstant(NodeContext &ctx) {
  for (StringRef name : {"value", "sparse_value"}) {
    if (!ctx.hasAttr(name))
      continue;
    Value constant = ctx.makeConstantOf(name);
    if (!constant)
      return ctx.error("attribute '" + name + "' is not a tensor");
    ctx.setOutput(0, constant);
    return success();
  }
  DenseElementsAttr value = findPlainValue(ctx);
  if (!value)
    return ctx.error("a Constant needs a value");
  ctx.setOutput(
      0, ctx.makeTyped<mp::ConstantOp>({value.getType()}, value).getResult());
  return success();
}

//===----------------------------------------------------------------------===//
// Cast, CastLike, BitCast, Identity
//===----------------------------------------------------------------------===//

/// The element type that the attribute `to` names: before opset 6 by its name
/// in TensorProto.DataType, then by its number. Null if there is none.
static Type findTarget(NodeContext &ctx) {
  if (std::optional<int64_t> number = ctx.findInt("to"))
    return ctx.elementTypeOf(*number);
  int64_t number = llvm::StringSwitch<int64_t>(ctx.getString("to", ""))
                       .Case("FLOAT", 1)
                       .Case("UINT8", 2)
                       .Case("INT8", 3)
                       .Case("UINT16", 4)
                       .Case("INT16", 5)
                       .Case("INT32", 6)
                       .Case("INT64", 7)
                       .Case("STRING", 8)
                       .Case("BOOL", 9)
                       .Case("FLOAT16", 10)
                       .Case("DOUBLE", 11)
                       .Case("UINT32", 12)
                       .Case("UINT64", 13)
                       .Case("COMPLEX64", 14)
                       .Case("COMPLEX128", 15)
                       .Default(0);
  return number ? ctx.elementTypeOf(number) : Type();
}

static void setCast(NodeContext &ctx, Type to) {
  // The attributes mean something for these formats only.
  auto narrow = dyn_cast<FloatType>(to);
  bool saturate =
      narrow && narrow.getWidth() == 8 && ctx.getFlag("saturate", true);
  StringAttr mode;
  if (isa<Float8E8M0FNUType>(to))
    mode = ctx.builder().getStringAttr(ctx.getString("round_mode", "up"));
  auto cast = ctx.makeTyped<mp::CastOp>(
      {getTensorType(std::nullopt, to)}, ctx.input(0),
      mp::CastOriginAttr::get(ctx.context(), mp::CastOrigin::Model),
      saturate ? ctx.builder().getUnitAttr() : UnitAttr(), mode);
  ctx.setOutput(0, cast.getResult());
}

static LogicalResult lowerCast(NodeContext &ctx) {
  if (failed(ctx.requireInputs(1)))
    return failure();
  Type to = findTarget(ctx);
  if (!to)
    return ctx.error("attribute 'to' does not name an element type");
  setCast(ctx, to);
  return success();
}

static LogicalResult lowerCastLike(NodeContext &ctx) {
  if (failed(ctx.requireInputs(2)))
    return failure();
  Type to = getElementType(ctx.input(1));
  if (isUnknown(to))
    return ctx.unsupported();
  setCast(ctx, to);
  return success();
}

static LogicalResult lowerBitCast(NodeContext &ctx) {
  if (failed(ctx.requireInputs(1)))
    return failure();
  Type to = findTarget(ctx);
  if (!to)
    return ctx.error("attribute 'to' does not name an element type");
  auto cast = ctx.makeTyped<mp::BitCastOp>({getTensorType(std::nullopt, to)},
                                           ctx.input(0));
  ctx.setOutput(0, cast.getResult());
  return success();
}

static LogicalResult lowerIdentity(NodeContext &ctx) {
  if (failed(ctx.requireInputs(1)))
    return failure();
  ctx.setOutput(0, ctx.make<mp::IdentityOp>(ctx.input(0)));
  return success();
}

void onnx_import::registerCoreLowerings(LoweringRegistry &registry) {
  registry.add("Constant", lowerConstant);
  registry.add("Cast", lowerCast);
  registry.add("CastLike", lowerCastLike);
  registry.add("BitCast", lowerBitCast);
  registry.add("Identity", lowerIdentity);
}
