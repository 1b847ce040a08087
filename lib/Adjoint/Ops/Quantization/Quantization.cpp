//===- Quantization.cpp - Gradients of quantised tensors
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Adjoint/Ops/Families.h"

#include "lib/Adjoint/Ops/GradientOp.h"
#include "mpopt/Dialect/Ops/QuantizationOps.h"

using namespace mlir;
using namespace mpopt;

/// Straight through, as if rounding and clamping were the identity: integers
/// have the gradient of the number that they stand for, and a scale has none.
static void buildStraightThrough(GradientContext &ctx) {
  if (ctx.gradient())
    ctx.give(0, ctx.dy());
}

void mpopt::attachQuantizationGradients(MLIRContext *context) {
  attachGradient<buildStraightThrough, mp::QuantizeOp, mp::DequantizeOp,
                 mp::DynamicQuantizeOp>(context);
  attachGradientOp<mp::FakeQuantizeOp, mp::FakeQuantizeGradOp>(context);
  attachGradientOp<mp::MatMulNBitsOp, mp::MatMulNBitsGradOp>(context);
}
