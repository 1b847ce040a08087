//===- Activation.cpp - Ranges of functions of one number
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The unary ops of the elementwise and the activation families: their images
// are in Math/Unary.h, under the op's mnemonic. Softmax and its kin, which look
// along an axis, are elsewhere.
//
//===----------------------------------------------------------------------===//

#include "lib/Ranges/Ops/Families.h"

#include "mpopt/Dialect/Ops/ActivationOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Numerics/Binary.h"
#include "mpopt/Ranges/RangeInterface.h"
#include "mpopt/Ranges/Value/ElementwiseSupport.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mpopt;

static void transferUnary(Operation *op, const Unary &unary,
                          TransferContext &ctx) {
  if (!isReal(op->getOperand(0)))
    return ctx.unknown();
  ctx.result(0, mapUnary(ctx, ctx.operand(0), unary,
                         functionError(ctx, op->getOperand(0))));
}

/// Ops without numbers in their formula.
static void transferPlain(Operation *op, TransferContext &ctx) {
  std::optional<UnaryFunction> function =
      parseUnaryFunction(op->getName().stripDialect());
  assert(function && "attached to ops of Math/UnaryFunctions.def only");
  transferUnary(op, Unary{*function}, ctx);
}

/// Ops whose formula has `alpha` and nothing else.
template <UnaryFunction function, typename OpTy>
static void transferAlpha(OpTy op, TransferContext &ctx) {
  transferUnary(op, Unary{function, op.getAlpha().convertToDouble()}, ctx);
}

static void transferHardSigmoid(mp::HardSigmoidOp op, TransferContext &ctx) {
  transferUnary(op,
                Unary{UnaryFunction::HardSigmoid,
                      op.getAlpha().convertToDouble(),
                      op.getBeta().convertToDouble()},
                ctx);
}

static void transferHardTanh(mp::HardTanhOp op, TransferContext &ctx) {
  transferUnary(op,
                Unary{UnaryFunction::HardTanh, op.getLow().convertToDouble(),
                      op.getHigh().convertToDouble()},
                ctx);
}

static void transferShrink(mp::ShrinkOp op, TransferContext &ctx) {
  transferUnary(op,
                Unary{UnaryFunction::Shrink, op.getLambd().convertToDouble(),
                      op.getBias().convertToDouble()},
                ctx);
}

static void transferSelu(mp::SeluOp op, TransferContext &ctx) {
  transferUnary(op,
                Unary{UnaryFunction::Selu, op.getAlpha().convertToDouble(),
                      op.getGamma().convertToDouble()},
                ctx);
}

static void transferSoftplus(mp::SoftplusOp op, TransferContext &ctx) {
  Unary unary{UnaryFunction::Softplus, op.getBeta().convertToDouble()};
  if (op.getThreshold())
    unary.threshold = op.getThreshold()->convertToDouble();
  transferUnary(op, unary, ctx);
}

static void transferGelu(mp::GeluOp op, TransferContext &ctx) {
  transferUnary(op,
                Unary{op.getApproximate() == "tanh" ? UnaryFunction::GeluTanh
                                                    : UnaryFunction::Gelu},
                ctx);
}

//===----------------------------------------------------------------------===//
// Two operands
//===----------------------------------------------------------------------===//

static void transferPRelu(mp::PReluOp op, TransferContext &ctx) {
  if (!isReal(op.getInput()) || !isReal(op.getSlope()))
    return ctx.unknown();
  ctx.result(
      0, mapGroups(
             ctx, {ctx.operand(0), ctx.operand(1)},
             [](ArrayRef<FloatRange> x) { return range::prelu(x[0], x[1]); },
             [](ArrayRef<Likely> x) {
               double slope = x[1].mean;
               return likely::apply(
                   [&](double at) { return at < 0 ? slope * at : at; }, x[0]);
             }));
}

static void transferSwiglu(mp::SwigluOp op, TransferContext &ctx) {
  if (!isReal(op.getGate()) || !isReal(op.getValue()))
    return ctx.unknown();
  double alpha = op.getAlpha().convertToDouble();
  ComputeError error = functionError(ctx, op.getGate());
  double k = expectedExtreme(
      ctx.elementsPerGroup(op.getResult(), ctx.operand(0).groups()), 1);
  ctx.result(0,
             mapGroups(
                 ctx, {ctx.operand(0), ctx.operand(1)},
                 [&](ArrayRef<FloatRange> x) {
                   return range::swiglu(x[0], x[1], alpha, error);
                 },
                 [&](ArrayRef<Likely> x) {
                   return likely::mul(
                       likely::apply(Unary{UnaryFunction::Silu, alpha}, x[0]),
                       x[1], k);
                 }));
}

void mpopt::attachActivationTransfers(MLIRContext *context) {
  attachTransfer<
      transferPlain, mp::AbsOp, mp::NegOp, mp::SignOp, mp::FloorOp, mp::CeilOp,
      mp::RoundOp, mp::TruncOp, mp::SqrtOp, mp::RsqrtOp, mp::ReciprocalOp,
      mp::SquareOp, mp::ExpOp, mp::Exp2Op, mp::Expm1Op, mp::LogOp, mp::Log2Op,
      mp::Log10Op, mp::Log1pOp, mp::SinOp, mp::CosOp, mp::TanOp, mp::AsinOp,
      mp::AcosOp, mp::AtanOp, mp::SinhOp, mp::CoshOp, mp::TanhOp, mp::AsinhOp,
      mp::AcoshOp, mp::AtanhOp, mp::ErfOp, mp::ErfcOp, mp::ErfinvOp, mp::ReluOp,
      mp::Relu6Op, mp::HardSwishOp, mp::SigmoidOp, mp::LogSigmoidOp,
      mp::SoftsignOp, mp::TanhShrinkOp, mp::MishOp>(context);
  attachTransfer<transferAlpha<UnaryFunction::LeakyRelu, mp::LeakyReluOp>,
                 mp::LeakyReluOp>(context);
  attachTransfer<
      transferAlpha<UnaryFunction::ThresholdedRelu, mp::ThresholdedReluOp>,
      mp::ThresholdedReluOp>(context);
  attachTransfer<transferAlpha<UnaryFunction::Elu, mp::EluOp>, mp::EluOp>(
      context);
  attachTransfer<transferAlpha<UnaryFunction::Celu, mp::CeluOp>, mp::CeluOp>(
      context);
  attachTransfer<transferAlpha<UnaryFunction::Silu, mp::SiluOp>, mp::SiluOp>(
      context);
  attachTransfer<transferAlpha<UnaryFunction::QuickGelu, mp::QuickGeluOp>,
                 mp::QuickGeluOp>(context);
  attachTransfer<transferHardSigmoid, mp::HardSigmoidOp>(context);
  attachTransfer<transferHardTanh, mp::HardTanhOp>(context);
  attachTransfer<transferShrink, mp::ShrinkOp>(context);
  attachTransfer<transferSelu, mp::SeluOp>(context);
  attachTransfer<transferSoftplus, mp::SoftplusOp>(context);
  attachTransfer<transferGelu, mp::GeluOp>(context);
  attachTransfer<transferPRelu, mp::PReluOp>(context);
  attachTransfer<transferSwiglu, mp::SwigluOp>(context);
}
