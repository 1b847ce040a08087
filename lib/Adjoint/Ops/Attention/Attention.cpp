//===- Attention.cpp - Gradients of attention and rotary embedding
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Adjoint/Ops/Families.h"

#include "lib/Adjoint/Ops/GradientOp.h"
#include "mpopt/Dialect/Ops/AttentionOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"

using namespace mlir;
using namespace mpopt;

/// Each pair is rotated back. The tables are functions of positions, which
/// nobody learns.
static void buildRotary(mp::RotaryEmbeddingOp op, GradientContext &ctx) {
  ctx.give(0, ctx.make<mp::RotaryEmbeddingOp>(
                  {ctx.dy(), op.getCos(), -ctx.x(2), op.getPositions()},
                  {ctx.integer("num_heads", op.getNumHeads()),
                   ctx.integer("rotary_dim", op.getRotaryDim()),
                   ctx.flag("interleaved", op.getInterleaved()),
                   ctx.number("scale", op.getScale().convertToDouble())}));
}

void mpopt::attachAttentionGradients(MLIRContext *context) {
  attachGradientOp<mp::AttentionOp, mp::AttentionGradOp>(context);
  attachGradient<buildRotary, mp::RotaryEmbeddingOp>(context);
}
