//===- Quantization.cpp - Gradients of quantised tensors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Adjoint/Ops/Families.h"

#include "lib/Adjoint/Ops/GradientOp.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/StorageTypes.h"
#include "mpopt/Dialect/TypeSupport.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

/// A scale or zero point, as it meets the elements of a tensor of that shape;
/// null for those of blocks.
static Value alongAxis(GradientContext &ctx, Value parameter,
                       const StorageFormat &format, const MaybeShape &of) {
  MaybeShape shape = getShape(parameter);
  if (!shape || !of || format.block > 0)
    return nullptr;
  if (getNumElements(*shape) == 1)
    return parameter;
  std::optional<int64_t> at = normalizeAxis(*format.axis, of->size());
  if (shape->size() != 1 || !at || shape->front() < 0)
    return nullptr;
  SmallVector<int64_t> dims(of->size(), 1);
  dims[*at] = shape->front();
  return ctx.reshaped(parameter, dims);
}

/// Straight through, as if rounding were the identity: integers have the
/// gradient of the number that they stand for, and where they saturate none.
static void buildQuantize(mp::QuantizeOp op, GradientContext &ctx) {
  if (!ctx.gradient() || !ctx.wants(0))
    return;
  Value x = op.getInput();
  Type type = getElementType(x);
  auto codes = storageFormatOf(op);
  const FloatFormat *format = getFloatFormat(type);
  if (!codes || !format)
    return ctx.give(0, ctx.dy());
  MaybeShape shape = getShape(x);
  Value scale = alongAxis(ctx, op.getScale(), *codes, shape);
  Value zero = op.getZeroPoint()
                   ? alongAxis(ctx, op.getZeroPoint(), *codes, shape)
                   : nullptr;
  // Codes that the dtype of x cannot tell apart saturate far out, if at all.
  if (!scale || (op.getZeroPoint() && !zero) || !codes->saturates ||
      codes->codes.hi - codes->codes.lo > std::ldexp(1.0, int(format->digits)))
    return ctx.give(0, ctx.dy());
  auto limit = [&](double code) {
    Term end = ctx.scalar(code, type);
    if (zero)
      end = end - ctx.cast(zero, type);
    return end * ctx.cast(scale, type);
  };
  Value inside = ctx.make<mp::LogicalAndOp>(
      {ctx.make<mp::GreaterEqualOp>({x, limit(codes->codes.lo)}),
       ctx.make<mp::LessEqualOp>({x, limit(codes->codes.hi)})});
  ctx.give(0, ctx.where(inside, ctx.dy()));
}

/// A scale has no gradient: what is quantised by it is as large as before.
static void buildStraightThrough(GradientContext &ctx) {
  if (ctx.gradient())
    ctx.give(0, ctx.dy());
}

void mpopt::attachQuantizationGradients(MLIRContext *context) {
  attachGradient<buildQuantize, mp::QuantizeOp>(context);
  attachGradient<buildStraightThrough, mp::DequantizeOp, mp::DynamicQuantizeOp>(
      context);
  attachGradientOp<mp::FakeQuantizeOp, mp::FakeQuantizeGradOp>(context);
  attachGradientOp<mp::MatMulNBitsOp, mp::MatMulNBitsGradOp>(context);
}
