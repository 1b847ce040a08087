//===- Shape.cpp - Gradients of other shapes, parts and padding
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Adjoint/Ops/Families.h"

#include "lib/Adjoint/Ops/GradientOp.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/IndexingOps.h"
#include "mpopt/Dialect/Ops/ReductionOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"
#include "mpopt/Dialect/Ops/TrainingOps.h"

using namespace mlir;
using namespace mpopt;

/// The same elements under the operand's shape.
static void buildReshape(GradientContext &ctx) {
  ctx.give(0, ctx.reshapedLike(ctx.dy(), ctx.x()));
}

static void buildTranspose(mp::TransposeOp op, GradientContext &ctx) {
  if (!op.getPerm())
    return ctx.give(0, ctx.make<mp::TransposeOp>({ctx.dy()}));
  SmallVector<int64_t> inverse(op.getPerm()->size());
  for (auto [to, from] : llvm::enumerate(*op.getPerm()))
    inverse[from < 0 ? from + int64_t(inverse.size()) : from] = to;
  ctx.give(0, ctx.transposed(ctx.dy(), inverse));
}

/// `give` sums over what was repeated.
static void buildExpand(GradientContext &ctx) { ctx.give(0, ctx.dy()); }

/// Copies get a dim of their own, which is summed.
static void buildTile(mp::TileOp op, GradientContext &ctx) {
  MaybeShape shape = getShape(op.getInput());
  auto repeats = ctx.facts().constants(op.getRepeats());
  if (!shape || !repeats || llvm::is_contained(*shape, kDynamic))
    return ctx.lack();
  SmallVector<int64_t> apart, copies;
  for (auto [dim, count] : llvm::zip(*shape, *repeats)) {
    copies.push_back(apart.size());
    apart.append({count, dim});
  }
  ctx.give(0, ctx.sum(ctx.reshaped(ctx.dy(), apart), copies,
                      /*keepDims=*/false));
}

//===----------------------------------------------------------------------===//
// Parts and their sum
//===----------------------------------------------------------------------===//

static void buildConcat(mp::ConcatOp op, GradientContext &ctx) {
  MaybeShape result = getShape(op.getResult());
  std::optional<int64_t> axis =
      result ? normalizeAxis(op.getAxis(), result->size()) : std::nullopt;
  if (!axis)
    return ctx.lack();
  SmallVector<int64_t> sizes;
  for (Value input : op.getInputs()) {
    MaybeShape shape = getShape(input);
    if (!shape)
      return ctx.lack();
    sizes.push_back((*shape)[*axis]);
  }
  if (sizes.size() == 1)
    return ctx.give(0, ctx.dy());
  SmallVector<NamedAttribute> attributes = {ctx.integer("axis", *axis)};
  Value dynamic;
  if (llvm::is_contained(sizes, kDynamic)) {
    SmallVector<Value> dims;
    for (Value input : op.getInputs())
      dims.push_back(
          ctx.make<mp::ShapeOp>({input}, {ctx.integer("start", *axis),
                                          ctx.integer("end", *axis + 1)}));
    dynamic = ctx.make<mp::ConcatOp>(dims, {ctx.integer("axis", 0)});
  } else {
    attributes.push_back(ctx.integers("sizes", sizes));
  }
  auto parts =
      ctx.makeOp<mp::SplitOp>({ctx.dy(), dynamic}, attributes, sizes.size());
  for (auto [index, part] : llvm::enumerate(parts.getParts()))
    ctx.give(index, part);
}

static void buildSplit(mp::SplitOp op, GradientContext &ctx) {
  SmallVector<Value> parts;
  for (unsigned i = 0; i < op.getParts().size(); ++i)
    parts.push_back(ctx.dy(i));
  ctx.give(0,
           ctx.make<mp::ConcatOp>(parts, {ctx.integer("axis", op.getAxis())}));
}

/// More axes than any tensor has, where a file has more numbers for them.
static constexpr int64_t kMostAxes = 64;

static void buildSlice(mp::SliceOp op, GradientContext &ctx) {
  auto bound = [&](Value dynamic,
                   std::optional<ArrayRef<int64_t>> known) -> Value {
    return dynamic ? dynamic : known ? Value(ctx.indices(*known)) : Value();
  };
  Value starts = bound(op.getDynamicStarts(), op.getStarts());
  Value ends = bound(op.getDynamicEnds(), op.getEnds());
  Value axes = bound(op.getDynamicAxes(), op.getAxes());
  Value steps = bound(op.getDynamicSteps(), op.getSteps());
  if (!starts || !ends)
    return ctx.lack();
  if (!axes) {
    MaybeShape count = getShape(starts);
    if (!count || count->size() != 1 || count->front() < 0 ||
        count->front() > kMostAxes)
      return ctx.lack();
    axes = ctx.indices(llvm::to_vector(llvm::seq<int64_t>(0, count->front())));
  }
  SmallVector<Value> operands = {ctx.dy(), ctx.shapeOf(ctx.x()), starts, ends,
                                 axes};
  if (steps)
    operands.push_back(steps);
  ctx.give(0, ctx.make<mp::SliceGradOp>(operands));
}

static Term sumOfAll(GradientContext &ctx, Value value) {
  return ctx.make<mp::ReduceSumOp>({value, Value()});
}

/// Zeros are cropped again; a value that was padded gets what is left.
static void buildPad(mp::PadOp op, GradientContext &ctx) {
  if (op.getMode() != stringifyEnum(mp::PadMode::Constant))
    return buildGradientOp<mp::PadGradOp>(op, ctx);
  SmallVector<NamedAttribute> attributes;
  Value pads;
  if (op.getDynamicPads()) {
    pads = ctx.make<mp::NegOp>({op.getDynamicPads()});
  } else if (op.getPads()) {
    SmallVector<int64_t> negated =
        llvm::map_to_vector(*op.getPads(), [](int64_t pad) { return -pad; });
    attributes.push_back(ctx.integers("pads", negated));
  } else {
    return ctx.lack();
  }
  if (op.getAxes())
    attributes.push_back(ctx.integers("axes", *op.getAxes()));
  Term inner = ctx.make<mp::PadOp>(
      {ctx.dy(), pads, Value(), op.getDynamicAxes()}, attributes);
  ctx.give(0, inner);
  if (ctx.wants(op.getValue()))
    ctx.give(op.getValue(), sumOfAll(ctx, ctx.dy()) - sumOfAll(ctx, inner));
}

/// The same crops and pads the other way round.
static void buildCenterCropPad(mp::CenterCropPadOp op, GradientContext &ctx) {
  MaybeShape from = getShape(op.getInput()), to = getShape(op.getResult());
  if (!from || !to || llvm::is_contained(*from, kDynamic) ||
      llvm::is_contained(*to, kDynamic))
    return ctx.lack();
  SmallVector<int64_t> begins, ends;
  for (auto [input, result] : llvm::zip(*from, *to)) {
    int64_t begin = (input - result) / 2;
    begins.push_back(begin);
    ends.push_back(input - result - begin);
  }
  llvm::append_range(begins, ends);
  ctx.give(0, ctx.make<mp::PadOp>({ctx.dy(), Value(), Value(), Value()},
                                  {ctx.integers("pads", begins)}));
}

/// Overwritten elements get nothing; the update gets what is there.
static void buildTensorScatter(mp::TensorScatterOp op, GradientContext &ctx) {
  if (ctx.wants(op.getPast()))
    ctx.give(op.getPast(),
             ctx.make<mp::TensorScatterOp>(
                 {ctx.dy(), ctx.zeros(op.getUpdate()), op.getIndices()},
                 {ctx.integer("axis", op.getAxis()),
                  ctx.word("mode", op.getMode())}));
  if (!ctx.wants(op.getUpdate()))
    return;
  MaybeShape shape = getShape(op.getUpdate());
  std::optional<int64_t> axis =
      shape ? normalizeAxis(op.getAxis(), shape->size()) : std::nullopt;
  if (op.getIndices() || !axis || (*shape)[*axis] < 0)
    return ctx.lack();
  ctx.give(op.getUpdate(),
           ctx.make<mp::SliceOp>({ctx.dy(), Value(), Value(), Value(), Value()},
                                 {ctx.integers("starts", {0}),
                                  ctx.integers("ends", {(*shape)[*axis]}),
                                  ctx.integers("axes", {*axis})}));
}

/// The start is in every element, the step as often as it was added.
static void buildRange(mp::RangeOp op, GradientContext &ctx) {
  if (ctx.wants(op.getStart()))
    ctx.give(op.getStart(), sumOfAll(ctx, ctx.dy()));
  if (ctx.wants(op.getDelta())) {
    Term steps = (ctx.y() - ctx.x(0)) / ctx.x(2);
    ctx.give(op.getDelta(), sumOfAll(ctx, ctx.dy() * steps));
  }
}

/// Off and on values get the sums of where they are.
static void buildOneHot(mp::OneHotOp op, GradientContext &ctx) {
  Type element = getElementType(op.getValues());
  if (!ctx.wants(op.getValues()) || !isa<FloatType>(element))
    return;
  auto type = RankedTensorType::get({2}, element);
  Value marks = mp::ConstantOp::create(
      ctx.builder(), ctx.loc(), type,
      DenseElementsAttr::get(
          type, {ctx.builder().getFloatAttr(element, 0).getValue(),
                 ctx.builder().getFloatAttr(element, 1).getValue()}));
  Term on = ctx.make<mp::OneHotOp>({op.getIndices(), op.getDepth(), marks},
                                   {ctx.integer("axis", op.getAxis())});
  Term lit = sumOfAll(ctx, ctx.dy() * on);
  Term dark = sumOfAll(ctx, ctx.dy() * (1 - on));
  ctx.give(op.getValues(), ctx.make<mp::ConcatOp>({ctx.reshaped(dark, {1}),
                                                   ctx.reshaped(lit, {1})},
                                                  {ctx.integer("axis", 0)}));
}

void mpopt::attachShapeGradients(MLIRContext *context) {
  attachGradient<buildReshape, mp::ReshapeOp, mp::FlattenOp, mp::SqueezeOp,
                 mp::UnsqueezeOp>(context);
  attachGradient<buildTranspose, mp::TransposeOp>(context);
  attachGradient<buildExpand, mp::ExpandOp>(context);
  attachGradient<buildTile, mp::TileOp>(context);
  attachGradient<buildConcat, mp::ConcatOp>(context);
  attachGradient<buildSplit, mp::SplitOp>(context);
  attachGradient<buildSlice, mp::SliceOp>(context);
  attachGradient<buildPad, mp::PadOp>(context);
  attachGradient<buildCenterCropPad, mp::CenterCropPadOp>(context);
  attachGradient<buildTensorScatter, mp::TensorScatterOp>(context);
  attachGradient<buildRange, mp::RangeOp>(context);
  attachGradient<buildOneHot, mp::OneHotOp>(context);
  attachNoGradient<mp::ShapeOp, mp::SizeOp, mp::FillOp, mp::EyeLikeOp>(context);
}
