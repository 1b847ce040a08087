//===- Functions.cpp - Gradients of functions of one number
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each formula is the one of PyTorch's derivatives.yaml, in its order of
// operations, so that what overflows there overflows here.
//
//===----------------------------------------------------------------------===//

#include "lib/Adjoint/Ops/Families.h"

#include "mpopt/Adjoint/DifferentiableInterface.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/TrainingOps.h"

#include <cmath>
#include <numbers>

using namespace mlir;
using namespace mpopt;

namespace {
/// The value of a formula in one operand.
using Formula = Term (*)(GradientContext &);

template <Formula formula> void build(GradientContext &ctx) {
  ctx.give(0, formula(ctx));
}
} // namespace

static Term square(Term x) { return x.context().make<mp::SquareOp>({x}); }
static Term rsqrt(Term x) { return x.context().make<mp::RsqrtOp>({x}); }
static Term exp(Term x) { return x.context().make<mp::ExpOp>({x}); }

static Term absSlope(GradientContext &ctx) {
  return ctx.dy() * ctx.make<mp::SignOp>({ctx.x()});
}
static Term negSlope(GradientContext &ctx) { return -ctx.dy(); }
static Term sqrtSlope(GradientContext &ctx) { return ctx.dy() / (ctx.y() * 2); }
static Term rsqrtSlope(GradientContext &ctx) {
  Term y = ctx.y();
  return ctx.dy() * -0.5 * (square(y) * y);
}
static Term reciprocalSlope(GradientContext &ctx) {
  return -ctx.dy() * square(ctx.y());
}
static Term squareSlope(GradientContext &ctx) {
  return ctx.dy() * (ctx.x() * 2);
}
static Term expSlope(GradientContext &ctx) { return ctx.dy() * ctx.y(); }
static Term exp2Slope(GradientContext &ctx) {
  return ctx.dy() * ctx.y() * std::numbers::ln2;
}
static Term expm1Slope(GradientContext &ctx) {
  return ctx.dy() * (ctx.y() + 1);
}
static Term logSlope(GradientContext &ctx) { return ctx.dy() / ctx.x(); }
static Term log2Slope(GradientContext &ctx) {
  return ctx.dy() / (ctx.x() * std::numbers::ln2);
}
static Term log10Slope(GradientContext &ctx) {
  return ctx.dy() / (ctx.x() * std::numbers::ln10);
}
static Term log1pSlope(GradientContext &ctx) {
  return ctx.dy() / (ctx.x() + 1);
}
static Term sinSlope(GradientContext &ctx) {
  return ctx.dy() * ctx.make<mp::CosOp>({ctx.x()});
}
static Term cosSlope(GradientContext &ctx) {
  return ctx.dy() * -ctx.make<mp::SinOp>({ctx.x()});
}
static Term tanSlope(GradientContext &ctx) {
  return ctx.dy() * (square(ctx.y()) + 1);
}
static Term asinSlope(GradientContext &ctx) {
  return ctx.dy() * rsqrt(1 - square(ctx.x()));
}
static Term acosSlope(GradientContext &ctx) { return -asinSlope(ctx); }
static Term atanSlope(GradientContext &ctx) {
  return ctx.dy() / (square(ctx.x()) + 1);
}
static Term sinhSlope(GradientContext &ctx) {
  return ctx.dy() * ctx.make<mp::CoshOp>({ctx.x()});
}
static Term coshSlope(GradientContext &ctx) {
  return ctx.dy() * ctx.make<mp::SinhOp>({ctx.x()});
}
static Term tanhSlope(GradientContext &ctx) {
  return ctx.make<mp::TanhGradOp>({ctx.dy(), ctx.y()});
}
static Term asinhSlope(GradientContext &ctx) {
  return ctx.dy() * rsqrt(square(ctx.x()) + 1);
}
static Term acoshSlope(GradientContext &ctx) {
  return ctx.dy() * rsqrt(square(ctx.x()) + -1);
}
static Term atanhSlope(GradientContext &ctx) {
  return ctx.dy() / (1 - square(ctx.x()));
}
static Term erfSlope(GradientContext &ctx) {
  return exp(-square(ctx.x())) * (2 / std::sqrt(std::numbers::pi)) * ctx.dy();
}
static Term erfcSlope(GradientContext &ctx) { return -erfSlope(ctx); }
static Term erfinvSlope(GradientContext &ctx) {
  return exp(square(ctx.y())) * (std::sqrt(std::numbers::pi) / 2) * ctx.dy();
}
/// The density over the probability, whose logarithm is y.
static Term logNdtrSlope(GradientContext &ctx) {
  Term density = exp(square(ctx.x()) * -0.5 - ctx.y());
  return density * (1 / std::sqrt(2 * std::numbers::pi)) * ctx.dy();
}

void mpopt::attachFunctionsGradients(MLIRContext *context) {
  attachGradient<build<absSlope>, mp::AbsOp>(context);
  attachGradient<build<negSlope>, mp::NegOp>(context);
  attachGradient<build<sqrtSlope>, mp::SqrtOp>(context);
  attachGradient<build<rsqrtSlope>, mp::RsqrtOp>(context);
  attachGradient<build<reciprocalSlope>, mp::ReciprocalOp>(context);
  attachGradient<build<squareSlope>, mp::SquareOp>(context);
  attachGradient<build<expSlope>, mp::ExpOp>(context);
  attachGradient<build<exp2Slope>, mp::Exp2Op>(context);
  attachGradient<build<expm1Slope>, mp::Expm1Op>(context);
  attachGradient<build<logSlope>, mp::LogOp>(context);
  attachGradient<build<log2Slope>, mp::Log2Op>(context);
  attachGradient<build<log10Slope>, mp::Log10Op>(context);
  attachGradient<build<log1pSlope>, mp::Log1pOp>(context);
  attachGradient<build<sinSlope>, mp::SinOp>(context);
  attachGradient<build<cosSlope>, mp::CosOp>(context);
  attachGradient<build<tanSlope>, mp::TanOp>(context);
  attachGradient<build<asinSlope>, mp::AsinOp>(context);
  attachGradient<build<acosSlope>, mp::AcosOp>(context);
  attachGradient<build<atanSlope>, mp::AtanOp>(context);
  attachGradient<build<sinhSlope>, mp::SinhOp>(context);
  attachGradient<build<coshSlope>, mp::CoshOp>(context);
  attachGradient<build<tanhSlope>, mp::TanhOp>(context);
  attachGradient<build<asinhSlope>, mp::AsinhOp>(context);
  attachGradient<build<acoshSlope>, mp::AcoshOp>(context);
  attachGradient<build<atanhSlope>, mp::AtanhOp>(context);
  attachGradient<build<erfSlope>, mp::ErfOp>(context);
  attachGradient<build<erfcSlope>, mp::ErfcOp>(context);
  attachGradient<build<erfinvSlope>, mp::ErfinvOp>(context);
  attachGradient<build<logNdtrSlope>, mp::LogNdtrOp>(context);
  attachNoGradient<mp::SignOp, mp::FloorOp, mp::CeilOp, mp::RoundOp,
                   mp::TruncOp, mp::LogicalNotOp, mp::BitwiseNotOp, mp::IsNanOp,
                   mp::IsFiniteOp, mp::IsInfOp, mp::BitCastOp>(context);
}
