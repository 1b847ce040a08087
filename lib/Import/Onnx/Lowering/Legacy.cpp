//===- Legacy.cpp - Experimental ops of early opsets, from ONNX -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The standard dropped these before opset 9 and its library has no schema of
// them, but ONNX Runtime still runs all but FC, and exports of CNTK, CoreML and
// Caffe2 hold them. Sources: onnxruntime/contrib_ops/cpu (crop.h,
// image_scaler.h, activations.h), caffe2/operators/fully_connected_op.cc.
//
//===----------------------------------------------------------------------===//

#include "Legacy.h"

#include "mpopt/Import/Onnx/Arguments.h"

#include "mpopt/Dialect/Ops/ActivationOps.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/LinearOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"

#include <climits>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::onnx_import;

/// value * factor + term; the value itself where these are 1 and 0.
static Value makeAffine(NodeContext &ctx, Value value, double factor,
                        double term) {
  Type element = getElementType(value);
  if (factor != 1)
    value = ctx.make<mp::MulOp>(value, ctx.makeScalar(factor, element));
  if (term != 0)
    value = ctx.make<mp::AddOp>(value, ctx.makeScalar(term, element));
  return value;
}

static bool isFloat(Value value) {
  return isa<FloatType>(getElementType(value));
}

/// alpha x + beta.
static LogicalResult lowerAffine(NodeContext &ctx) {
  if (!isFloat(ctx.input(0)))
    return ctx.unsupported();
  Value result = makeAffine(ctx, ctx.input(0), ctx.getFloat("alpha", 1),
                            ctx.getFloat("beta", 0));
  ctx.setOutput(0, result);
  return success();
}

/// scale x, Caffe2's.
static LogicalResult lowerScale(NodeContext &ctx) {
  if (!isFloat(ctx.input(0)))
    return ctx.unsupported();
  ctx.setOutput(0, makeAffine(ctx, ctx.input(0), ctx.getFloat("scale", 1), 0));
  return success();
}

/// alpha f(beta x).
template <typename OpT> static LogicalResult lowerScaled(NodeContext &ctx) {
  std::optional<double> alpha = ctx.findFloat("alpha"),
                        beta = ctx.findFloat("beta");
  if (!alpha || !beta)
    return ctx.error("needs alpha and beta");
  if (!isFloat(ctx.input(0)))
    return ctx.unsupported();
  Value inner = makeAffine(ctx, ctx.input(0), *beta, 0), result;
  if constexpr (std::is_same_v<OpT, mp::SoftplusOp>)
    result = ctx.make<OpT>(inner, APFloat(1.0), FloatAttr());
  else
    result = ctx.make<OpT>(inner);
  ctx.setOutput(0, makeAffine(ctx, result, *alpha, 0));
  return success();
}

/// scale x + bias of the channel.
static LogicalResult lowerImageScaler(NodeContext &ctx) {
  if (!isFloat(ctx.input(0)))
    return ctx.unsupported();
  Value result = makeAffine(ctx, ctx.input(0), ctx.getFloat("scale", 1), 0);
  if (auto bias = ctx.findFloats("bias"); bias && !bias->empty()) {
    auto element = cast<FloatType>(getElementType(result));
    SmallVector<Attribute> numbers;
    for (double number : *bias)
      numbers.push_back(ctx.builder().getFloatAttr(element, number));
    auto type = RankedTensorType::get({int64_t(bias->size()), 1, 1}, element);
    Value terms = ctx.makeTyped<mp::ConstantOp>(
                         {type}, DenseElementsAttr::get(type, numbers))
                      .getResult();
    result = ctx.make<mp::AddOp>(result, terms);
  }
  ctx.setOutput(0, result);
  return success();
}

/// Cuts left, top, right and bottom `border` from the last two dims, or to
/// `scale` rows and columns behind the first two.
static LogicalResult lowerCrop(NodeContext &ctx) {
  SmallVector<int64_t> border = ctx.getInts("border"),
                       scale = ctx.getInts("scale");
  if (border.size() != 4 || (!scale.empty() && scale.size() != 2))
    return ctx.error("needs a border of 4 numbers, and a scale of 2 or none");
  auto end = [](int64_t cut) { return cut == 0 ? INT64_MAX : -cut; };
  SmallVector<int64_t> starts = {border[1], border[0]}, ends;
  if (scale.empty())
    ends = {end(border[3]), end(border[2])};
  else
    ends = {border[1] + scale[0], border[0] + scale[1]};
  OpBuilder &b = ctx.builder();
  ctx.setOutput(0, ctx.make<mp::SliceOp>(
                       ctx.input(0), Value(), Value(), Value(), Value(),
                       b.getDenseI64ArrayAttr(starts),
                       b.getDenseI64ArrayAttr(ends),
                       b.getDenseI64ArrayAttr({-2, -1}), DenseI64ArrayAttr()));
  return success();
}

/// data, starts, ends, axes.
static LogicalResult lowerDynamicSlice(NodeContext &ctx) {
  Parameter starts = readParameter(ctx, "starts", 1),
            ends = readParameter(ctx, "ends", 2),
            axes = readParameter(ctx, "axes", 3);
  ctx.setOutput(0, ctx.make<mp::SliceOp>(ctx.input(0), starts.operand,
                                         ends.operand, axes.operand, Value(),
                                         starts.attribute, ends.attribute,
                                         axes.attribute, DenseI64ArrayAttr()));
  return success();
}

/// All dims from `axis` on as one.
static Value flattenFrom(NodeContext &ctx, Value value, int64_t axis) {
  MaybeShape shape = getShape(value);
  if (shape && int64_t(shape->size()) == axis + 1)
    return value;
  SmallVector<int64_t> dims(axis, 0);
  dims.push_back(-1);
  return ctx.make<mp::ReshapeOp>(value, ctx.makeInts(dims), false);
}

/// More axes than any tensor has.
static constexpr int64_t kMostAxes = 64;

/// x w^T + b.
static LogicalResult lowerFC(NodeContext &ctx) {
  int64_t axis = ctx.getInt("axis", 1), axisOfWeight = ctx.getInt("axis_w", 1);
  if (axis < 0 || axis > kMostAxes || axisOfWeight != 1)
    return ctx.unsupported();
  ctx.setOutput(0, ctx.make<mp::LinearOp>(flattenFrom(ctx, ctx.input(0), axis),
                                          flattenFrom(ctx, ctx.input(1), 1),
                                          ctx.input(2)));
  return success();
}

void onnx_import::registerLegacyLowerings(LoweringRegistry &registry) {
  registry.add("Affine", withInputs<1, lowerAffine>);
  registry.add("Crop", withInputs<1, lowerCrop>);
  registry.add("DynamicSlice", withInputs<3, lowerDynamicSlice>);
  registry.add("FC", withInputs<2, lowerFC>);
  registry.add("ImageScaler", withInputs<1, lowerImageScaler>);
  registry.add("ParametricSoftplus",
               withInputs<1, lowerScaled<mp::SoftplusOp>>);
  registry.add("Scale", withInputs<1, lowerScale>);
  registry.add("ScaledTanh", withInputs<1, lowerScaled<mp::TanhOp>>);
}
