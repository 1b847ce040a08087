//===- Activation.cpp - Ranges of functions of one number
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The unary ops of all families: the facts of their functions are rows of
// Numerics/FunctionTable.h, found by the op's mnemonic. Softmax and its kin,
// which look along an axis, are elsewhere.
//
//===----------------------------------------------------------------------===//

#include "lib/Ranges/Ops/Families.h"

#include "mpopt/Dialect/MPDialect.h"
#include "mpopt/Dialect/Ops/ActivationOps.h"
#include "mpopt/Numerics/Binary.h"
#include "mpopt/Numerics/FunctionTable.h"
#include "mpopt/Ranges/RangeInterface.h"
#include "mpopt/Ranges/Value/ElementwiseSupport.h"
#include "mpopt/Ranges/Value/FunctionOf.h"

using namespace mlir;
using namespace mpopt;

namespace {
/// The model of every op that is a function of one number.
struct FunctionModel : RangeOpInterface::FallbackModel<FunctionModel> {
  void transfer(Operation *op, TransferContext &ctx) const {
    if (!isReal(op->getOperand(0)))
      return ctx.unknown();
    ctx.result(0, mapUnary(ctx, ctx.operand(0), *getFunction(op),
                           functionError(ctx, op->getOperand(0))));
  }
};
} // namespace

/// An op is a function of one number if the table has a row of its name.
static void attachFunctions(MLIRContext *context) {
  for (RegisteredOperationName name : context->getRegisteredOperationsByDialect(
           mp::MPDialect::getDialectNamespace()))
    if (parseUnaryFunction(name.stripDialect()))
      name.attachInterface<FunctionModel>();
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
  attachFunctions(context);
  attachTransfer<transferPRelu, mp::PReluOp>(context);
  attachTransfer<transferSwiglu, mp::SwigluOp>(context);
}
