//===- Reduction.cpp - Gradients of reductions, scans and selections
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Adjoint/Ops/Families.h"

#include "lib/Adjoint/Ops/GradientOp.h"
#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/ActivationOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/ReductionOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"
#include "mpopt/Dialect/Ops/TrainingOps.h"

using namespace mlir;
using namespace mpopt;

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

namespace {
/// A reduction's operand and gradient, the latter with the reduced dims as 1.
struct Reduced {
  Term x, dy;
  SmallVector<int64_t, 4> axes;
  bool keepsDims;

  /// `value`, of the result's shape, with the reduced dims as 1.
  Term kept(Term value) const {
    if (keepsDims)
      return value;
    GradientContext &ctx = value.context();
    return ctx.make<mp::UnsqueezeOp>({value, Value()},
                                     {ctx.integers("axes", axes)});
  }
  Term y() const { return kept(x.context().y()); }
};
} // namespace

template <typename OpTy>
static std::optional<Reduced> reduced(OpTy op, GradientContext &ctx) {
  auto axes = getReducedAxes(op, ctx.facts());
  if (!axes) {
    ctx.lack();
    return std::nullopt;
  }
  Reduced reduced{ctx.x(), ctx.dy(), *axes, op.getKeepDims() || axes->empty()};
  reduced.dy = reduced.kept(reduced.dy);
  return reduced;
}

/// The gradient from `formula`, whose result broadcasts to x.
template <auto formula, typename OpTy>
static void buildReduction(OpTy op, GradientContext &ctx) {
  if (std::optional<Reduced> r = reduced(op, ctx))
    ctx.give(0, ctx.expandedLike(formula(op, *r, ctx), ctx.x()));
}

template <typename OpTy>
static Term sumSlope(OpTy, Reduced &r, GradientContext &) {
  return r.dy;
}
template <typename OpTy>
static Term meanSlope(OpTy op, Reduced &r, GradientContext &ctx) {
  return ctx.dividedByCount(r.dy, op.getInput(), op.getResult());
}

/// Elements that are equal to the extreme share the gradient.
template <typename OpTy>
static Term extremeSlope(OpTy, Reduced &r, GradientContext &ctx) {
  Type type = getElementType(r.x.value());
  Term equal = ctx.cast(ctx.make<mp::EqualOp>({r.x, r.y()}), type);
  // One is equal at least, which bounds and estimates of a sum do not know.
  Term count = ctx.make<mp::MaxOp>(
      {ctx.sum(equal, r.axes, /*keepDims=*/true), ctx.scalar(1, type)});
  return r.dy / count * equal;
}

static Term l1Slope(mp::ReduceL1Op, Reduced &r, GradientContext &ctx) {
  return r.dy * ctx.make<mp::SignOp>({r.x});
}
static Term sumSquareSlope(mp::ReduceSumSquareOp, Reduced &r,
                           GradientContext &) {
  return r.dy * (r.x * 2);
}
static Term logSumSlope(mp::ReduceLogSumOp, Reduced &r, GradientContext &ctx) {
  return r.dy / ctx.sum(r.x, r.axes, /*keepDims=*/true);
}
/// Along one axis the exponentials are those of a softmax, which no estimate
/// takes for exponentials of two numbers that do not know of each other.
static Term logSumExpSlope(mp::ReduceLogSumExpOp, Reduced &r,
                           GradientContext &ctx) {
  if (r.axes.size() == 1)
    return r.dy *
           ctx.make<mp::SoftmaxOp>({r.x}, {ctx.integer("axis", r.axes[0])});
  return r.dy * ctx.make<mp::ExpOp>({r.x - r.y()});
}

/// 2 dY (x - mean) / (n - correction).
static Term varianceTerm(Term dy, double correction, Reduced &r,
                         GradientContext &ctx) {
  double count = 1;
  MaybeShape shape = getShape(r.x);
  for (int64_t axis : r.axes) {
    if (!shape || (*shape)[axis] < 0)
      ctx.lack();
    else
      count *= (*shape)[axis];
  }
  return ctx.scaled(dy, 2 / (count - correction)) *
         (r.x - ctx.mean(r.x, r.axes, /*keepDims=*/true));
}
static Term varianceSlope(mp::VarianceOp op, Reduced &r, GradientContext &ctx) {
  return varianceTerm(r.dy, op.getCorrection().convertToDouble(), r, ctx);
}
static Term stdSlope(mp::StdOp op, Reduced &r, GradientContext &ctx) {
  Term y = r.y();
  Term share = r.dy / (y * 2);
  Term zero = ctx.zeros(share);
  Value flat = ctx.make<mp::EqualOp>({y, zero});
  return varianceTerm(ctx.where(flat, zero, share),
                      op.getCorrection().convertToDouble(), r, ctx);
}

/// The Euclidean norm by the op of all norms.
static void buildL2(mp::ReduceL2Op op, GradientContext &ctx) {
  auto axes = getReducedAxes(op, ctx.facts());
  if (!axes)
    return ctx.lack();
  ctx.give(0, ctx.make<mp::NormGradOp>({ctx.dy(), ctx.x(), Value()},
                                       {ctx.integers("axes", *axes),
                                        ctx.number("ord", 2),
                                        ctx.flag("keep_dims", op.getKeepDims()),
                                        ctx.integers("wanted", {1})}));
}

//===----------------------------------------------------------------------===//
// Scans
//===----------------------------------------------------------------------===//

/// The sum runs the other way.
static void buildCumSum(mp::CumSumOp op, GradientContext &ctx) {
  SmallVector<NamedAttribute> attributes;
  if (op.getAxis())
    attributes.push_back(ctx.integer("axis", *op.getAxis()));
  if (op.getExclusive())
    attributes.push_back(ctx.unit("exclusive"));
  if (!op.getReverse())
    attributes.push_back(ctx.unit("reverse"));
  ctx.give(0,
           ctx.make<mp::CumSumOp>({ctx.dy(), op.getDynamicAxis()}, attributes));
}

//===----------------------------------------------------------------------===//
// Selections
//===----------------------------------------------------------------------===//

/// The gradient goes back to where the values came from.
static Term scattered(GradientContext &ctx, Value gradient, Value shape,
                      Value indices, int64_t axis) {
  return ctx.make<mp::GatherGradOp>(
      {gradient, shape, indices},
      {ctx.integer("axis", axis),
       ctx.word("kind", stringifyEnum(mp::GatherKind::Elements))});
}

template <typename OpTy>
static void buildSelection(OpTy op, GradientContext &ctx) {
  ctx.give(0, scattered(ctx, ctx.dy(), ctx.shapeOf(ctx.x()), op.getIndices(),
                        op.getAxis()));
}

static void buildMedian(mp::MedianOp op, GradientContext &ctx) {
  if (std::optional<int64_t> axis = op.getAxis()) {
    Value gradient = ctx.dy(), indices = op.getIndices();
    if (!op.getKeepDims()) {
      NamedAttribute axes = ctx.integers("axes", {*axis});
      gradient = ctx.make<mp::UnsqueezeOp>({gradient, Value()}, {axes});
      indices = ctx.make<mp::UnsqueezeOp>({indices, Value()}, {axes});
    }
    return ctx.give(
        0, scattered(ctx, gradient, ctx.shapeOf(ctx.x()), indices, *axis));
  }
  Term grad =
      scattered(ctx, ctx.reshaped(ctx.dy(), {1}), ctx.flatShapeOf(ctx.x()),
                ctx.reshaped(op.getIndices(), {1}), 0);
  ctx.give(0, ctx.reshapedLike(grad, ctx.x()));
}

void mpopt::attachReductionGradients(MLIRContext *context) {
  attachGradient<buildReduction<sumSlope<mp::ReduceSumOp>, mp::ReduceSumOp>,
                 mp::ReduceSumOp>(context);
  attachGradient<buildReduction<meanSlope<mp::ReduceMeanOp>, mp::ReduceMeanOp>,
                 mp::ReduceMeanOp>(context);
  attachGradient<buildReduction<extremeSlope<mp::ReduceMaxOp>, mp::ReduceMaxOp>,
                 mp::ReduceMaxOp>(context);
  attachGradient<buildReduction<extremeSlope<mp::ReduceMinOp>, mp::ReduceMinOp>,
                 mp::ReduceMinOp>(context);
  attachGradient<buildReduction<l1Slope, mp::ReduceL1Op>, mp::ReduceL1Op>(
      context);
  attachGradient<buildReduction<sumSquareSlope, mp::ReduceSumSquareOp>,
                 mp::ReduceSumSquareOp>(context);
  attachGradient<buildReduction<logSumSlope, mp::ReduceLogSumOp>,
                 mp::ReduceLogSumOp>(context);
  attachGradient<buildReduction<logSumExpSlope, mp::ReduceLogSumExpOp>,
                 mp::ReduceLogSumExpOp>(context);
  attachGradient<buildReduction<varianceSlope, mp::VarianceOp>, mp::VarianceOp>(
      context);
  attachGradient<buildReduction<stdSlope, mp::StdOp>, mp::StdOp>(context);
  attachGradient<buildL2, mp::ReduceL2Op>(context);
  attachGradientOp<mp::ReduceProdOp, mp::ReduceProdGradOp>(context);
  attachGradientOp<mp::NormOp, mp::NormGradOp>(context);
  attachGradient<buildCumSum, mp::CumSumOp>(context);
  attachGradientOp<mp::CumProdOp, mp::CumProdGradOp>(context);
  attachGradient<buildSelection<mp::TopKOp>, mp::TopKOp>(context);
  attachGradient<buildSelection<mp::SortOp>, mp::SortOp>(context);
  attachGradient<buildMedian, mp::MedianOp>(context);
  attachNoGradient<mp::ReduceAllOp, mp::ReduceAnyOp, mp::CountNonzeroOp,
                   mp::ArgMaxOp, mp::ArgMinOp>(context);
}
