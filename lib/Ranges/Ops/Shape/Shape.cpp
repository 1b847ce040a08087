//===- Shape.cpp - Ranges through changes of shape
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops that put the same elements elsewhere. Those that make elements (fill,
// range, one_hot) are in Create.cpp.
//
//===----------------------------------------------------------------------===//

#include "lib/Ranges/Ops/Families.h"
#include "mpopt/Ranges/Value/ShapeSupport.h"

#include "mpopt/Dialect/CheckedDim.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"
#include "mpopt/Ranges/RangeInterface.h"
#include "mpopt/Ranges/Value/CellSupport.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mpopt;

/// One group for what nobody can follow: an unknown rank on either side.
static void transferSmeared(TransferContext &ctx, unsigned operand = 0,
                            unsigned result = 0) {
  ctx.result(result, smeared(ctx.operand(operand),
                             ctx.rankOf(ctx.op()->getResult(result))));
}

/// reshape, flatten, squeeze, unsqueeze.
static void transferReshape(Operation *op, TransferContext &ctx) {
  MaybeShape from = getShape(op->getOperand(0));
  MaybeShape to = getShape(op->getResult(0));
  const AbstractValue &input = ctx.operand(0);
  if (!from || !to || from->size() != input.rank())
    return transferSmeared(ctx);
  ctx.result(0, input.reshaped(*from, *to, ctx.maxGroups()));
}

static void transferTranspose(mp::TransposeOp op, TransferContext &ctx) {
  const AbstractValue &input = ctx.operand(0);
  SmallVector<int64_t> perm;
  if (op.getPerm())
    perm.assign(op.getPerm()->begin(), op.getPerm()->end());
  else
    for (size_t axis = input.rank(); axis-- > 0;)
      perm.push_back(axis);
  for (int64_t &axis : perm)
    if (axis < 0)
      axis += perm.size();
  if (perm.size() != input.rank() || !getShape(op.getInput()))
    return transferSmeared(ctx);
  ctx.result(0, input.transposed(perm));
}

static void transferExpand(mp::ExpandOp op, TransferContext &ctx) {
  MaybeShape from = getShape(op.getInput()), to = getShape(op.getResult());
  const AbstractValue &input = ctx.operand(0);
  if (!from || !to || from->size() != input.rank() || to->size() < from->size())
    return transferSmeared(ctx);
  AbstractValue wide = input.withRank(to->size());
  AbstractValue value = AbstractValue::pickedFrom(wide);
  // A row of copies has another length and sum.
  size_t first = to->size() - from->size();
  for (auto [index, dim] : llvm::enumerate(*from))
    if (dim >= 0 && dim == (*to)[first + index])
      value.keepsRowsAlong(first + index, wide);
  ctx.result(0, std::move(value));
}

static void transferTile(mp::TileOp op, TransferContext &ctx) {
  const AbstractValue &input = ctx.operand(0);
  MaybeShape from = getShape(op.getInput()), to = getShape(op.getResult());
  if (!from || !to || from->size() != to->size())
    return transferSmeared(ctx);
  AbstractValue value = AbstractValue::pickedFrom(input);
  for (size_t axis = 0; axis < from->size(); ++axis) {
    int64_t dim = value.dims()[axis], target = (*to)[axis];
    if (dim == 1 || dim == target)
      continue;
    if (target <= 0 || target % dim != 0 ||
        value.groups() / dim * target > ctx.maxGroups()) {
      value = value.merging(axis);
      continue;
    }
    SmallVector<int64_t> indices;
    for (int64_t i = 0; i < target; ++i)
      indices.push_back(i % dim);
    value = value.selected(axis, indices);
  }
  ctx.result(0, std::move(value));
}

//===----------------------------------------------------------------------===//
// Parts and their sum
//===----------------------------------------------------------------------===//

static void transferConcat(mp::ConcatOp op, TransferContext &ctx) {
  SmallVector<AbstractValue> parts;
  SmallVector<int64_t> sizes;
  MaybeShape shape = getShape(op.getResult());
  std::optional<int64_t> axis;
  if (shape)
    axis = normalizeAxis(op.getAxis(), shape->size());
  for (Value input : op.getInputs()) {
    const AbstractValue &part = ctx.of(input);
    MaybeShape own = getShape(input);
    if (!axis || !own || own->size() != shape->size() ||
        part.rank() != shape->size()) {
      // One group of everything.
      parts.clear();
      for (Value each : op.getInputs())
        parts.push_back(smeared(ctx.of(each), 1));
      sizes.assign(parts.size(), -1);
      return ctx.result(0, smeared(concatenated(parts, 0, sizes, 1),
                                   shape ? shape->size() : 0));
    }
    parts.push_back(part);
    sizes.push_back((*own)[*axis]);
  }
  ctx.result(0, concatenated(parts, *axis, sizes, ctx.maxGroups()));
}

static void transferSplit(mp::SplitOp op, TransferContext &ctx) {
  const AbstractValue &input = ctx.operand(0);
  std::optional<int64_t> axis = normalizeAxis(op.getAxis(), input.rank());
  int64_t first = 0;
  bool known = axis && getShape(op.getInput());
  for (OpResult part : op.getParts()) {
    unsigned index = part.getResultNumber();
    if (!known && (!axis || !getShape(op.getInput()))) {
      transferSmeared(ctx, 0, index);
      continue;
    }
    std::optional<int64_t> size = ctx.dimOf(part, *axis);
    known &= size.has_value();
    if (known &&
        (input.dims()[*axis] == 1 || first + *size <= input.dims()[*axis]))
      ctx.result(index, sliced(input, *axis, first, 1, *size));
    else
      ctx.result(index, someOf(input, *axis));
    first += size.value_or(0);
  }
}

static void transferSlice(mp::SliceOp op, TransferContext &ctx) {
  const AbstractValue &input = ctx.operand(0);
  MaybeShape shape = getShape(op.getInput());
  if (!shape)
    return transferSmeared(ctx);
  int64_t rank = shape->size();
  auto starts = getNumbers(op.getStarts(), op.getDynamicStarts(), ctx);
  auto axes = getNumbers(op.getAxes(), op.getDynamicAxes(), ctx);
  auto steps = getNumbers(op.getSteps(), op.getDynamicSteps(), ctx);
  bool axesGiven = op.getAxes() || op.getDynamicAxes();
  bool stepsGiven = op.getSteps() || op.getDynamicSteps();
  AbstractValue value = AbstractValue::sameAs(input);
  SmallVector<bool> followed(rank, false);
  if (starts && (axes || !axesGiven) && (steps || !stepsGiven))
    for (size_t i = 0; i < starts->size(); ++i) {
      if (axes && i >= axes->size())
        break;
      std::optional<int64_t> axis =
          normalizeAxis(axes ? (*axes)[i] : int64_t(i), rank);
      if (!axis)
        break;
      std::optional<int64_t> dim = ctx.dimOf(op.getInput(), *axis);
      std::optional<int64_t> count = ctx.dimOf(op.getResult(), *axis);
      int64_t step = steps && i < steps->size() ? (*steps)[i] : 1;
      if (!dim || !count || followed[*axis] || step == 0)
        continue;
      int64_t start = (*starts)[i];
      if (start < 0)
        start += *dim;
      start = std::clamp<int64_t>(start, 0, step > 0 ? *dim : *dim - 1);
      CheckedDim last = CheckedDim(start) + (CheckedDim(*count) - 1) * step;
      if (*count > 0 && (!last.isKnown() || *last < 0 || *last >= *dim))
        continue;
      value = sliced(value, *axis, start, step, *count);
      followed[*axis] = true;
    }
  // An axis that is not followed may have lost any of its elements.
  for (int64_t axis = 0; axis < rank; ++axis) {
    std::optional<int64_t> dim = ctx.dimOf(op.getInput(), axis);
    std::optional<int64_t> count = ctx.dimOf(op.getResult(), axis);
    if (!followed[axis] && (!dim || !count || dim != count))
      value = someOf(value, axis);
    else if (!followed[axis] && !(starts && (axes || !axesGiven)))
      value = someOf(value, axis); // it may have been reversed
  }
  ctx.result(0, std::move(value));
}

/// The border as groups of their own, along the one axis that is padded: a
/// column of ones is no part of what the others are.
static std::optional<AbstractValue> padBeside(ArrayRef<AxisSlice> parts,
                                              const AbstractValue &input,
                                              const AbstractValue &border,
                                              TransferContext &ctx) {
  const AxisSlice *padded = nullptr;
  for (const AxisSlice &part : parts)
    if (!part.isWhole()) {
      if (padded)
        return std::nullopt;
      padded = &part;
    }
  if (!padded || ShapedType::isDynamic(padded->size) || padded->before() < 0 ||
      padded->after() < 0)
    return std::nullopt;
  int64_t axis = padded - parts.data();
  Cell fill = border.hull();
  // Zeros around a map make no group of their own: groups are few.
  if (fill.lo == 0 && fill.hi == 0 && input.dims()[axis] == 1)
    return std::nullopt;
  SmallVector<AbstractValue> values{input};
  SmallVector<int64_t> sizes{padded->size};
  if (int64_t before = padded->before()) {
    values.insert(values.begin(), border);
    sizes.insert(sizes.begin(), before);
  }
  if (int64_t after = padded->after()) {
    values.push_back(border);
    sizes.push_back(after);
  }
  return concatenated(values, axis, sizes, ctx.maxGroups());
}

/// The share of a padded tensor's elements that the border leaves; 1 where
/// sizes are not known.
static double shareInside(ArrayRef<AxisSlice> parts) {
  double share = 1;
  for (const AxisSlice &part : parts) {
    if (part.isWhole())
      continue;
    if (ShapedType::isDynamic(part.size) || part.count <= 0)
      return 1;
    int64_t end = std::min(part.size, part.of(part.count));
    int64_t kept = end - std::max<int64_t>(part.offset, 0);
    share *= double(std::max<int64_t>(kept, 0)) / double(part.count);
  }
  return share;
}

static void transferPad(mp::PadOp op, TransferContext &ctx) {
  const AbstractValue &input = ctx.operand(0);
  MaybeShape shape = getShape(op.getInput());
  if (!shape || shape->size() != input.rank())
    return transferSmeared(ctx);
  auto parts = partsOf(op, *shape, ctx);
  bool constant = mp::symbolizePadMode(op.getMode()) == mp::PadMode::Constant;
  AbstractValue border = constant && op.getValue()
                             ? smeared(ctx.of(op.getValue()), shape->size())
                             : constantValue(0, shape->size());
  if (constant && parts)
    if (auto beside = padBeside(*parts, input, border, ctx))
      return ctx.result(0, std::move(*beside));
  AbstractValue value = AbstractValue::pickedFrom(input);
  bool padded = false;
  for (size_t axis = 0; axis < shape->size(); ++axis)
    if (!parts || !(*parts)[axis].isWhole()) {
      value = value.merging(axis);
      padded = true;
    }
  if (!padded || !constant)
    return ctx.result(0, std::move(value));
  LikelySource source = value.source;
  AbstractValue joined =
      value.join(border.regrouped(AbstractValue::Dims(shape->size(), 1)));
  // The border counts by its number of elements: a quarter of a small map, a
  // hair of an image. One of infinities has no moments.
  Cell fill = border.hull();
  bool hasMoments = border.hasLikely() && !fill.empty();
  double inside = parts && hasMoments ? shareInside(*parts) : 1;
  if (source != LikelySource::Unknown)
    for (auto [cell, inner] : llvm::zip(joined.mutableCells(), value.cells())) {
      Likely mixed =
          likely::mix(cells::getLikely(inner), cells::getLikely(fill), inside);
      cell.mean = mixed.mean;
      cell.variance = mixed.variance;
    }
  joined.source = source;
  ctx.result(0, std::move(joined));
}

static void transferReverse(mp::ReverseOp op, TransferContext &ctx) {
  AbstractValue value = AbstractValue::sameAs(ctx.operand(0));
  if (!getShape(op.getInput()))
    return transferSmeared(ctx);
  for (int64_t each : op.getAxes()) {
    std::optional<int64_t> axis = normalizeAxis(each, value.rank());
    if (!axis)
      return transferSmeared(ctx);
    int64_t dim = value.dims()[*axis];
    value = sliced(value, *axis, dim - 1, -1, dim);
  }
  ctx.result(0, std::move(value));
}

static void transferRoll(mp::RollOp op, TransferContext &ctx) {
  AbstractValue value = AbstractValue::sameAs(ctx.operand(0));
  // Along one axis rows stay rows, of other elements of the same set.
  if (!op.getAxes() || !getShape(op.getInput()))
    return transferSmeared(ctx);
  ArrayRef<int64_t> axes = *op.getAxes();
  for (int64_t each : axes) {
    std::optional<int64_t> axis = normalizeAxis(each, value.rank());
    if (!axis)
      return transferSmeared(ctx);
    value = value.merging(*axis);
  }
  ctx.result(0, std::move(value));
}

static void transferReverseSequence(mp::ReverseSequenceOp op,
                                    TransferContext &ctx) {
  const AbstractValue &input = ctx.operand(0);
  std::optional<int64_t> axis = normalizeAxis(op.getTimeAxis(), input.rank());
  if (!axis)
    return transferSmeared(ctx);
  // Rows along the batch consist of elements of several steps.
  AbstractValue merged = input.merging(*axis);
  AbstractValue value = AbstractValue::pickedFrom(merged);
  std::optional<int64_t> batch = normalizeAxis(op.getBatchAxis(), input.rank());
  for (int64_t other = 0; other < int64_t(input.rank()); ++other)
    if (other != batch)
      value.keepsRowsAlong(other, merged);
  ctx.result(0, std::move(value));
}

/// The elements of matrices of known sizes apart, where they are few enough.
static std::optional<AbstractValue> transferTriangle(mp::TriluOp op,
                                                     TransferContext &ctx) {
  const AbstractValue &input = ctx.operand(0);
  MaybeShape shape = getShape(op.getInput());
  std::optional<int64_t> k = op.getK();
  if (Value given = op.getDynamicK()) {
    auto constants = ctx.shapes().constants(given);
    k = constants && constants->size() == 1 ? std::optional(constants->front())
                                            : std::nullopt;
  }
  size_t rank = input.rank();
  if (!k || !shape || shape->size() != rank || rank < 2)
    return std::nullopt;
  AbstractValue::Dims dims(input.dims());
  int64_t rows = (*shape)[rank - 2], columns = (*shape)[rank - 1];
  dims[rank - 2] = rows;
  dims[rank - 1] = columns;
  if (rows <= 0 || columns <= 0 ||
      llvm::any_of(
          dims,
          [&](int64_t dim) { return dim > int64_t(ctx.groupLimit().joint); }) ||
      countGroups(dims) > ctx.groupLimit().joint)
    return std::nullopt;
  AbstractValue value = input.regrouped(dims);
  value.dropClaims();
  value.keepsIntegral(input);
  value.keepsMinNonZero(input);
  for (auto [group, cell] : llvm::enumerate(value.mutableCells())) {
    int64_t row = int64_t(group) / columns % rows,
            past = int64_t(group) % columns - row;
    if (op.getUpper() ? past < *k : past > *k)
      cell = Cell{};
  }
  return value;
}

/// Zero elsewhere: a row keeps a part of its elements.
static void transferTrilu(mp::TriluOp op, TransferContext &ctx) {
  const AbstractValue &input = ctx.operand(0);
  AbstractValue value = transferTriangle(op, ctx).value_or(
      input.join(constantValue(0, input.rank())));
  value.keepsNorm(input);
  if (const std::optional<RowSumFact> &sum = input.rowSum)
    value.claimRowSum(sum->axis, 0, sum->hi, sum->count);
  ctx.result(0, std::move(value));
}

static void transferCenterCropPad(mp::CenterCropPadOp op,
                                  TransferContext &ctx) {
  AbstractValue value = smeared(ctx.operand(0), ctx.operand(0).rank());
  ctx.result(0, value.join(constantValue(0, value.rank())));
}

static void transferTensorScatter(mp::TensorScatterOp op,
                                  TransferContext &ctx) {
  const AbstractValue &past = ctx.operand(0), &update = ctx.operand(1);
  std::optional<int64_t> axis = normalizeAxis(op.getAxis(), past.rank());
  if (!axis || update.rank() != past.rank())
    return ctx.result(0, past.merged().join(smeared(update, past.rank())));
  AbstractValue target = past.merging(*axis), written = update.merging(*axis);
  if (past.rank() > 0 && *axis != 0) {
    target = target.merging(0);
    written = written.merging(0);
  }
  // Each position of each batch is of one or the other; rows across positions
  // or batches are of both.
  AbstractValue either = target.join(written);
  AbstractValue value = AbstractValue::pickedFrom(either);
  for (int64_t other = 1; other < int64_t(either.rank()); ++other)
    if (other != *axis)
      value.keepsRowsAlong(other, either);
  ctx.result(0, std::move(value));
}

void mpopt::attachShapeTransfers(MLIRContext *context) {
  attachTransfer<transferReshape, mp::ReshapeOp, mp::FlattenOp, mp::SqueezeOp,
                 mp::UnsqueezeOp>(context);
  attachTransfer<transferTranspose, mp::TransposeOp>(context);
  attachTransfer<transferExpand, mp::ExpandOp>(context);
  attachTransfer<transferTile, mp::TileOp>(context);
  attachTransfer<transferConcat, mp::ConcatOp>(context);
  attachTransfer<transferSplit, mp::SplitOp>(context);
  attachTransfer<transferSlice, mp::SliceOp>(context);
  attachTransfer<transferPad, mp::PadOp>(context);
  attachTransfer<transferReverse, mp::ReverseOp>(context);
  attachTransfer<transferRoll, mp::RollOp>(context);
  attachTransfer<transferReverseSequence, mp::ReverseSequenceOp>(context);
  attachTransfer<transferTrilu, mp::TriluOp>(context);
  attachTransfer<transferCenterCropPad, mp::CenterCropPadOp>(context);
  attachTransfer<transferTensorScatter, mp::TensorScatterOp>(context);
}
