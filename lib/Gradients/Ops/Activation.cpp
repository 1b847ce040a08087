//===- Activation.cpp - Spreads of gradients of activations
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Families.h"

#include "lib/Gradients/Slope.h"
#include "lib/Gradients/Sums.h"
#include "mpopt/Dialect/Ops/ActivationOps.h"
#include "mpopt/Dialect/Ops/GradientOps.h"
#include "mpopt/Dialect/Ops/TrainingOps.h"
#include "mpopt/Gradients/SpreadInterface.h"

#include <cmath>
#include <numbers>

using namespace mlir;
using namespace mpopt;

static double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

//===----------------------------------------------------------------------===//
// Functions of one number
//===----------------------------------------------------------------------===//

/// The operand may be the result of the rectifier, which is no normal number;
/// its argument is.
static void spreadRelu(mp::ReluGradOp op, SpreadContext &ctx) {
  Value x = op.getInput();
  if (auto relu = x.getDefiningOp<mp::ReluOp>())
    x = relu.getInput();
  giveSlope(ctx, op.getGrad(), x, [](double v) { return v > 0 ? 1.0 : 0.0; });
}
static void spreadLeakyRelu(mp::LeakyReluGradOp op, SpreadContext &ctx) {
  double alpha = op.getAlpha().convertToDouble();
  giveSlope(ctx, op.getGrad(), op.getOutput(),
            [=](double y) { return y > 0 ? 1.0 : alpha; });
}
static void spreadSigmoid(mp::SigmoidGradOp op, SpreadContext &ctx) {
  giveSlope(ctx, op.getGrad(), op.getOutput(),
            [](double y) { return std::max(0.0, y * (1 - y)); });
}
static void spreadTanh(mp::TanhGradOp op, SpreadContext &ctx) {
  giveSlope(ctx, op.getGrad(), op.getOutput(),
            [](double y) { return std::max(0.0, 1 - y * y); });
}
static void spreadGelu(mp::GeluGradOp op, SpreadContext &ctx) {
  if (op.getBias())
    return;
  giveSlope(ctx, op.getGrad(), op.getInput(), [](double x) {
    double density = std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
    return std::erfc(-x / std::numbers::sqrt2) / 2 + x * density;
  });
}
static void spreadQuickGelu(mp::QuickGeluGradOp op, SpreadContext &ctx) {
  double alpha = op.getAlpha().convertToDouble();
  giveSlope(ctx, op.getGrad(), op.getInput(), [=](double x) {
    double s = sigmoid(alpha * x);
    return s + alpha * x * s * (1 - s);
  });
}
static void spreadRelu6(mp::Relu6GradOp op, SpreadContext &ctx) {
  giveSlope(ctx, op.getGrad(), op.getInput(),
            [](double x) { return x > 0 && x < 6 ? 1.0 : 0.0; });
}
static void spreadThresholdedRelu(mp::ThresholdedReluGradOp op,
                                  SpreadContext &ctx) {
  double alpha = op.getAlpha().convertToDouble();
  giveSlope(ctx, op.getGrad(), op.getInput(),
            [=](double x) { return x > alpha ? 1.0 : 0.0; });
}
static void spreadHardSigmoid(mp::HardSigmoidGradOp op, SpreadContext &ctx) {
  double alpha = op.getAlpha().convertToDouble(),
         beta = op.getBeta().convertToDouble();
  giveSlope(ctx, op.getGrad(), op.getInput(), [=](double x) {
    double y = alpha * x + beta;
    return y > 0 && y < 1 ? alpha : 0.0;
  });
}
static void spreadHardSwish(mp::HardSwishGradOp op, SpreadContext &ctx) {
  giveSlope(ctx, op.getGrad(), op.getInput(), [](double x) {
    return x <= -3 ? 0.0 : x >= 3 ? 1.0 : x / 3 + 0.5;
  });
}
static void spreadElu(mp::EluGradOp op, SpreadContext &ctx) {
  double alpha = op.getAlpha().convertToDouble();
  giveSlope(ctx, op.getGrad(), op.getInput(),
            [=](double x) { return x > 0 ? 1.0 : alpha * std::exp(x); });
}
static void spreadSelu(mp::SeluGradOp op, SpreadContext &ctx) {
  double alpha = op.getAlpha().convertToDouble(),
         gamma = op.getGamma().convertToDouble();
  giveSlope(ctx, op.getGrad(), op.getInput(), [=](double x) {
    return x > 0 ? gamma : gamma * alpha * std::exp(x);
  });
}
static void spreadLogSigmoid(mp::LogSigmoidGradOp op, SpreadContext &ctx) {
  giveSlope(ctx, op.getGrad(), op.getInput(),
            [](double x) { return sigmoid(-x); });
}
static void spreadMish(mp::MishGradOp op, SpreadContext &ctx) {
  giveSlope(ctx, op.getGrad(), op.getInput(), [](double x) {
    double t = std::tanh(std::log1p(std::exp(std::min(x, 700.0))));
    return t + x * sigmoid(x) * (1 - t * t);
  });
}

void mpopt::attachActivationSpreads(MLIRContext *context) {
  attachSpread<spreadRelu, mp::ReluGradOp>(context);
  attachSpread<spreadLeakyRelu, mp::LeakyReluGradOp>(context);
  attachSpread<spreadSigmoid, mp::SigmoidGradOp>(context);
  attachSpread<spreadTanh, mp::TanhGradOp>(context);
  attachSpread<spreadGelu, mp::GeluGradOp>(context);
  attachSpread<spreadQuickGelu, mp::QuickGeluGradOp>(context);
  attachSpread<spreadRelu6, mp::Relu6GradOp>(context);
  attachSpread<spreadThresholdedRelu, mp::ThresholdedReluGradOp>(context);
  attachSpread<spreadHardSigmoid, mp::HardSigmoidGradOp>(context);
  attachSpread<spreadHardSwish, mp::HardSwishGradOp>(context);
  attachSpread<spreadElu, mp::EluGradOp>(context);
  attachSpread<spreadSelu, mp::SeluGradOp>(context);
  attachSpread<spreadLogSigmoid, mp::LogSigmoidGradOp>(context);
  attachSpread<spreadMish, mp::MishGradOp>(context);
}
