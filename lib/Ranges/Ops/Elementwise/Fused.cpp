//===- Fused.cpp - Ranges of fused arithmetic
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Three operands in one op: addcmul, addcdiv, lerp.
//
//===----------------------------------------------------------------------===//

#include "lib/Ranges/Ops/Families.h"

#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Numerics/Binary.h"
#include "mpopt/Ranges/RangeInterface.h"
#include "mpopt/Ranges/Value/ElementwiseSupport.h"

using namespace mlir;
using namespace mpopt;

static void transferAddcmul(Operation *op, TransferContext &ctx) {
  if (!areReal(op))
    return ctx.unknown();
  ComputeError error = functionError(ctx, op->getOperand(0));
  bool divides = isa<mp::AddcdivOp>(op);
  double factor = divides
                      ? cast<mp::AddcdivOp>(op).getValue().convertToDouble()
                      : cast<mp::AddcmulOp>(op).getValue().convertToDouble();
  double k = extremeOf(ctx);
  ctx.result(
      0, mapGroups(
             ctx, operandsOf(ctx),
             [&](ArrayRef<FloatRange> x) {
               return divides ? range::addcdiv(x[0], x[1], x[2], factor, error)
                              : range::addcmul(x[0], x[1], x[2], factor, error);
             },
             [&](ArrayRef<Likely> x) {
               Likely term = divides ? likely::div(x[1], x[2], k)
                                     : likely::mul(x[1], x[2], k);
               return likely::add(x[0], likely::affine(term, factor, 0));
             }));
}

static void transferLerp(mp::LerpOp op, TransferContext &ctx) {
  if (!areReal(op))
    return ctx.unknown();
  ComputeError error = functionError(ctx, op.getLhs());
  double k = extremeOf(ctx);
  ctx.result(0, mapGroups(
                    ctx, operandsOf(ctx),
                    [&](ArrayRef<FloatRange> x) {
                      return range::lerp(x[0], x[1], x[2], error);
                    },
                    [&](ArrayRef<Likely> x) {
                      return likely::add(
                          x[0], likely::mul(x[2], likely::sub(x[1], x[0]), k));
                    }));
}

void mpopt::attachFusedTransfers(MLIRContext *context) {
  attachTransfer<transferAddcmul, mp::AddcmulOp, mp::AddcdivOp>(context);
  attachTransfer<transferLerp, mp::LerpOp>(context);
}
