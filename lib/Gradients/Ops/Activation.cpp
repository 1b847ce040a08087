//===- Activation.cpp - Spreads of gradients of functions of one number
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The slope is that of the function's row in the table; the argument is that of
// the forward op, whose result may be what the gradient op reads.
//
//===----------------------------------------------------------------------===//

#include "Families.h"

#include "lib/Gradients/Slope.h"
#include "mpopt/Dialect/MPDialect.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/GradientOps.h"
#include "mpopt/Dialect/Ops/TrainingOps.h"
#include "mpopt/Gradients/SpreadModels.h"
#include "mpopt/Ranges/Spread/SpreadInterface.h"
#include "mpopt/Ranges/Value/FunctionOf.h"

using namespace mlir;
using namespace mpopt;

/// The op that makes the value, behind casts.
static Operation *findMaker(Value value) {
  Operation *op = value.getDefiningOp();
  while (isa_and_nonnull<mp::CastOp>(op))
    op = op->getOperand(0).getDefiningOp();
  return op;
}

Value mpopt::getSlopeArgument(Operation *op) {
  std::optional<Unary> unary = getFunctionOfGradient(op);
  if (!unary || op->getNumOperands() != 2)
    return {};
  Value x = op->getOperand(1);
  Operation *maker = findMaker(x);
  std::optional<Unary> made = maker ? getFunction(maker) : std::nullopt;
  if (made && made->function == unary->function)
    return maker->getOperand(0);
  // A result whose argument is not known leaves only the range of the slope.
  if (isa<mp::SigmoidGradOp, mp::TanhGradOp, mp::LeakyReluGradOp>(op))
    return {};
  return x;
}

/// dY f'(x), where the op reads x, or f(x).
static void spreadFunction(Operation *op, BackwardSpreadContext &ctx) {
  Value x = getSlopeArgument(op);
  if (!x)
    return;
  Unary unary = *getFunctionOfGradient(op);
  giveSlope(
      ctx, op->getOperand(0), x,
      [&](double at) { return derivative(unary, at); },
      /*peaked=*/isa<mp::SigmoidGradOp, mp::TanhGradOp>(op));
}

void mpopt::attachActivationSpreads(MLIRContext *context) {
  attachSpread<spreadFunction, mp::ReluGradOp, mp::LeakyReluGradOp,
               mp::SigmoidGradOp, mp::TanhGradOp, mp::GeluGradOp,
               mp::QuickGeluGradOp, mp::Relu6GradOp, mp::ThresholdedReluGradOp,
               mp::HardSigmoidGradOp, mp::HardSwishGradOp, mp::HardTanhGradOp,
               mp::ShrinkGradOp, mp::EluGradOp, mp::CeluGradOp, mp::SeluGradOp,
               mp::LogSigmoidGradOp, mp::SoftplusGradOp, mp::MishGradOp>(
      context);
}
