//===- Elementwise.cpp - Gradients of arithmetic on several operands
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `give` sums what was broadcast. Formulas of PyTorch's derivatives.yaml.
//
//===----------------------------------------------------------------------===//

#include "lib/Adjoint/Ops/Families.h"

#include "mpopt/Adjoint/DifferentiableInterface.h"
#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"

using namespace mlir;
using namespace mpopt;

static void buildAdd(GradientContext &ctx) {
  for (unsigned i = 0; i < ctx.op()->getNumOperands(); ++i)
    ctx.give(i, ctx.dy());
}

static void buildSub(GradientContext &ctx) {
  ctx.give(0, ctx.dy());
  if (ctx.wants(1))
    ctx.give(1, -ctx.dy());
}

static void buildMul(GradientContext &ctx) {
  if (ctx.wants(0u))
    ctx.give(0, ctx.dy() * ctx.x(1));
  if (ctx.wants(1))
    ctx.give(1, ctx.dy() * ctx.x(0));
}

/// -dY (a / b) / b, in this order as autograd has it: b^2 may overflow.
static void buildDiv(GradientContext &ctx) {
  if (ctx.wants(0u))
    ctx.give(0, ctx.dy() / ctx.x(1));
  if (ctx.wants(1))
    ctx.give(1, -ctx.dy() * (ctx.x(0) / ctx.x(1) / ctx.x(1)));
}

static void buildMeanN(GradientContext &ctx) {
  unsigned count = ctx.op()->getNumOperands();
  Term share = ctx.dy() / count;
  for (unsigned i = 0; i < count; ++i)
    ctx.give(i, share);
}

static void buildAtan2(GradientContext &ctx) {
  Term a = ctx.x(0), b = ctx.x(1);
  Term share = ctx.dy() / (a * a + b * b);
  if (ctx.wants(0u))
    ctx.give(0, share * b);
  if (ctx.wants(1))
    ctx.give(1, share * -a);
}

/// b is added as often as the quotient says, which counts as a constant.
static void buildMod(mp::ModOp op, GradientContext &ctx) {
  ctx.give(0, ctx.dy());
  if (!ctx.wants(1))
    return;
  Term quotient = op.getFmod() ? ctx.make<mp::TruncOp>({ctx.x(0) / ctx.x(1)})
                               : ctx.make<mp::FloorOp>({ctx.x(0) / ctx.x(1)});
  ctx.give(1, -ctx.dy() * quotient);
}

/// dY b a^(b - 1), 0 where b is 0; dY y log(a), 0 where a is 0 and b is not
/// negative.
static void buildPow(mp::PowOp op, GradientContext &ctx) {
  Term a = ctx.x(0), b = ctx.cast(ctx.x(1), getElementType(op.getLhs()));
  if (ctx.wants(0u)) {
    std::optional<double> exponent = getSplatConstant(op.getRhs());
    if (exponent == 2.0) {
      ctx.give(0, ctx.dy() * (a * 2));
    } else if (exponent && *exponent != 0) {
      Term power = ctx.make<mp::PowOp>(
          {a, ctx.scalar(*exponent - 1, getElementType(a.value()))});
      ctx.give(0, ctx.dy() * (power * *exponent));
    } else {
      Term zero = ctx.scalar(0, getElementType(b.value()));
      Term slope = ctx.dy() * (b * ctx.make<mp::PowOp>({a, b + -1}));
      ctx.give(0, ctx.where(ctx.make<mp::EqualOp>({b, zero}), ctx.zeros(slope),
                            slope));
    }
  }
  if (ctx.wants(1)) {
    Term zero = ctx.scalar(0, getElementType(a.value()));
    Term flat =
        ctx.make<mp::LogicalAndOp>({ctx.make<mp::EqualOp>({a, zero}),
                                    ctx.make<mp::GreaterEqualOp>({b, zero})});
    Term slope = ctx.dy() * (ctx.y() * ctx.make<mp::LogOp>({a}));
    ctx.give(1, ctx.where(flat, ctx.zeros(slope), slope));
  }
}

/// The larger (smaller) operand gets the gradient; two that are equal share it,
/// of several as if max(max(a, b), c) stood there. Operands are compared with
/// each other and not with the result, which they are part of: how probable
/// that is follows from their moments.
static void buildExtreme(GradientContext &ctx) {
  Operation *op = ctx.op();
  bool isMax = isa<mp::MaxOp>(op);
  Type type = getElementType(op->getResult(0));
  auto wins = [&](Value lhs, Value rhs) -> Value {
    return isMax ? Value(ctx.make<mp::GreaterEqualOp>({lhs, rhs}))
                 : Value(ctx.make<mp::LessEqualOp>({lhs, rhs}));
  };
  // For each operand but the first: the extreme of all in front of it.
  SmallVector<Value> before = {Value(), ctx.x(0)};
  for (unsigned i = 1; i + 1 < op->getNumOperands(); ++i)
    before.push_back(isMax ? Value(ctx.make<mp::MaxOp>({before[i], ctx.x(i)}))
                           : Value(ctx.make<mp::MinOp>({before[i], ctx.x(i)})));
  Term rest = ctx.dy();
  for (unsigned i = op->getNumOperands() - 1; i > 0; --i) {
    Term tie(ctx, ctx.cast(ctx.make<mp::EqualOp>({before[i], ctx.x(i)}), type));
    Value part = rest * (1 - tie * 0.5);
    if (ctx.wants(i))
      ctx.give(i, ctx.where(wins(ctx.x(i), before[i]), part));
    rest = Term(ctx, ctx.where(wins(before[i], ctx.x(i)), part));
  }
  if (ctx.wants(0u))
    ctx.give(0, rest);
}

static void buildWhere(GradientContext &ctx) {
  if (ctx.wants(1))
    ctx.give(1, ctx.where(ctx.x(0), ctx.dy()));
  if (ctx.wants(2))
    ctx.give(2, ctx.where(ctx.x(0), ctx.scalar(0, getElementType(ctx.y())),
                          ctx.dy()));
}

/// The bound that is taken gets the gradient; a value on a bound is not
/// limited by it. Of bounds the wrong way round the upper one is taken.
static void buildClip(mp::ClipOp op, GradientContext &ctx) {
  Value x = op.getInput(), low = op.getMin(), high = op.getMax();
  auto both = [&](Value lhs, Value rhs) -> Value {
    return lhs && rhs ? Value(ctx.make<mp::LogicalAndOp>({lhs, rhs}))
           : lhs      ? lhs
                      : rhs;
  };
  Value above = low ? Value(ctx.make<mp::GreaterEqualOp>({x, low})) : Value();
  Value below = high ? Value(ctx.make<mp::LessEqualOp>({x, high})) : Value();
  Value inside = both(above, below);
  ctx.give(x, inside ? ctx.where(inside, ctx.dy()) : ctx.dy());
  if (ctx.wants(low)) {
    Value under = ctx.make<mp::LessOp>({x, low});
    Value ordered = high ? Value(ctx.make<mp::LessOp>({low, high})) : Value();
    ctx.give(low, ctx.where(both(under, ordered), ctx.dy()));
  }
  if (ctx.wants(high)) {
    Value over = ctx.make<mp::GreaterOp>({x, high});
    if (low)
      over =
          ctx.make<mp::LogicalOrOp>({over, ctx.make<mp::LessOp>({high, low})});
    ctx.give(high, ctx.where(over, ctx.dy()));
  }
}

static void buildAddcmul(mp::AddcmulOp op, GradientContext &ctx) {
  ctx.give(0, ctx.dy());
  double value = op.getValue().convertToDouble();
  for (unsigned i : {1u, 2u})
    if (ctx.wants(i))
      ctx.give(i, ctx.dy() * (ctx.x(3 - i) * value));
}

static void buildAddcdiv(mp::AddcdivOp op, GradientContext &ctx) {
  ctx.give(0, ctx.dy());
  double value = op.getValue().convertToDouble();
  Term a = ctx.x(1), b = ctx.x(2);
  if (ctx.wants(1))
    ctx.give(1, ctx.dy() * (ctx.ones(b) * value / b));
  if (ctx.wants(2))
    ctx.give(2, -ctx.dy() * (a * value / (b * b)));
}

static void buildLerp(mp::LerpOp op, GradientContext &ctx) {
  Term a = ctx.x(0), b = ctx.x(1), weight = ctx.x(2);
  if (ctx.wants(0u))
    ctx.give(0, ctx.dy() * (1 - weight));
  if (ctx.wants(1))
    ctx.give(1, ctx.dy() * weight);
  if (ctx.wants(2))
    ctx.give(2, ctx.dy() * (b - a));
}

void mpopt::attachElementwiseGradients(MLIRContext *context) {
  attachGradient<buildAdd, mp::AddOp, mp::AddNOp>(context);
  attachGradient<buildSub, mp::SubOp>(context);
  attachGradient<buildMul, mp::MulOp>(context);
  attachGradient<buildDiv, mp::DivOp>(context);
  attachGradient<buildMeanN, mp::MeanNOp>(context);
  attachGradient<buildAtan2, mp::Atan2Op>(context);
  attachGradient<buildMod, mp::ModOp>(context);
  attachGradient<buildPow, mp::PowOp>(context);
  attachGradient<buildExtreme, mp::MaxOp, mp::MinOp>(context);
  attachGradient<buildWhere, mp::WhereOp>(context);
  attachGradient<buildClip, mp::ClipOp>(context);
  attachGradient<buildAddcmul, mp::AddcmulOp>(context);
  attachGradient<buildAddcdiv, mp::AddcdivOp>(context);
  attachGradient<buildLerp, mp::LerpOp>(context);
  attachNoGradient<mp::FloorDivOp, mp::EqualOp, mp::NotEqualOp, mp::LessOp,
                   mp::LessEqualOp, mp::GreaterOp, mp::GreaterEqualOp,
                   mp::LogicalAndOp, mp::LogicalOrOp, mp::LogicalXorOp,
                   mp::BitwiseAndOp, mp::BitwiseOrOp, mp::BitwiseXorOp,
                   mp::ShiftLeftOp, mp::ShiftRightOp>(context);
}
