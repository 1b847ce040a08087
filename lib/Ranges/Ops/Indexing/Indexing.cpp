//===- Indexing.cpp - Ranges of what is picked and put by index
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Ranges/Ops/Families.h"
#include "mpopt/Ranges/Value/CellSupport.h"
#include "mpopt/Ranges/Value/ShapeSupport.h"

#include "mpopt/Dialect/Ops/IndexingOps.h"
#include "mpopt/Ranges/RangeInterface.h"
#include "mpopt/Ranges/Weights/ConstantRange.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <map>

using namespace mlir;
using namespace mpopt;

/// Rows of a table are evidence of their own.
static void markTable(AbstractValue &value) {
  if (value.source == LikelySource::Weight)
    value.source = LikelySource::Embedding;
}

/// The rows of a constant that indices pick for sure: one, or some in a row, as
/// token types and positions do. Nothing else is read.
static std::optional<AbstractValue> readRows(Value table, Value indices,
                                             TransferContext &ctx) {
  std::optional<WeightView> rows = ctx.weights(table);
  auto known = ctx.shapes().constants(indices);
  if (std::optional<double> all = ctx.of(indices).constant(); all && !known)
    known.emplace(1, int64_t(*all));
  if (!rows || rows->splat || rows->shape.empty() || !known || known->empty())
    return std::nullopt;
  int64_t dim = rows->shape[0], first = known->front();
  bool isOne = llvm::all_equal(*known);
  for (auto [at, index] : llvm::enumerate(*known))
    if (index != first + (isOne ? 0 : int64_t(at)))
      return std::nullopt;
  int64_t count = isOne ? 1 : int64_t(known->size());
  first += first < 0 ? dim : 0;
  unsigned bits = rows->elementType.getIntOrFloatBitWidth();
  if (first < 0 || count > dim - first || bits % 8 != 0)
    return std::nullopt;
  rows->shape[0] = 1;
  size_t bytes = size_t(rows->size()) * (bits / 8);
  rows->data = rows->data.slice(size_t(first) * bytes, size_t(count) * bytes);
  rows->shape[0] = count;
  AbstractValue value = summarizeWeights(*rows, ctx.maxGroups());
  // Indices of several axes number no axis of the result.
  MaybeShape shape = getShape(indices);
  bool isRow = shape && !shape->empty() && shape->back() == count;
  return isRow && value.groups() <= ctx.groupLimit().joint ? value
                                                           : value.merging(0);
}

/// `indices`' axes in the place of `axis`.
static AbstractValue gather(Value table, int64_t axis, Value indices,
                            TransferContext &ctx) {
  const AbstractValue &input = ctx.of(table);
  size_t indexRank = ctx.rankOf(indices);
  int64_t dim = input.dims()[axis];
  // Known indices pick known groups; of others any row, any number of times.
  auto known = indexRank <= 1 && dim != 1 ? ctx.shapes().constants(indices)
                                          : std::nullopt;
  bool exact =
      known && !known->empty() && llvm::all_of(*known, [&](int64_t index) {
        return index >= -dim && index < dim;
      });
  if (exact)
    for (int64_t &index : *known)
      index += index < 0 ? dim : 0;
  AbstractValue from =
      exact ? input.selected(axis, *known) : input.merging(axis);
  if (axis == 0 && !exact)
    if (auto rows = readRows(table, indices, ctx))
      from = *std::move(rows);
  AbstractValue picked = AbstractValue::pickedFrom(from);
  for (int64_t other = 0; other < int64_t(from.rank()); ++other)
    if (other != axis)
      picked.keepsRowsAlong(other, from);
  if (indexRank == 0)
    return withoutAxis(picked, axis);
  for (size_t i = 1; i < indexRank; ++i)
    picked = withAxis(picked, axis);
  return picked;
}

static void transferGather(mp::GatherOp op, TransferContext &ctx) {
  const AbstractValue &input = ctx.operand(0);
  std::optional<int64_t> axis = normalizeAxis(op.getAxis(), input.rank());
  AbstractValue value;
  if (!axis || !getShape(op.getInput()) || !getShape(op.getIndices()))
    value = smeared(input, ctx.rankOf(op.getResult()));
  else
    value = gather(op.getInput(), *axis, op.getIndices(), ctx);
  markTable(value);
  ctx.result(0, std::move(value));
}

static void transferEmbedding(mp::EmbeddingOp op, TransferContext &ctx) {
  const AbstractValue &table = ctx.operand(0);
  AbstractValue value;
  if (table.rank() == 0 || !getShape(op.getIndices()))
    value = smeared(table, ctx.rankOf(op.getResult()));
  else
    value = gather(op.getTable(), 0, op.getIndices(), ctx);
  markTable(value);
  ctx.result(0, std::move(value));
}

/// Elements of one axis; along the others the indices may cover a part.
static void transferGatherElements(mp::GatherElementsOp op,
                                   TransferContext &ctx) {
  const AbstractValue &input = ctx.operand(0);
  std::optional<int64_t> axis = normalizeAxis(op.getAxis(), input.rank());
  if (!axis)
    return ctx.result(0, smeared(input, ctx.rankOf(op.getResult())));
  AbstractValue value = AbstractValue::pickedFrom(input.merging(*axis));
  MaybeShape from = getShape(op.getInput()), to = getShape(op.getResult());
  for (size_t other = 0; other < value.rank(); ++other)
    if (!from || !to || from->size() != to->size() || (*from)[other] < 0 ||
        (*from)[other] != (*to)[other])
      value = value.merging(other);
  ctx.result(0, std::move(value));
}

static void transferGatherND(mp::GatherNDOp op, TransferContext &ctx) {
  ctx.result(0, smeared(ctx.operand(0), ctx.rankOf(op.getResult())));
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

/// How many updates an element of the result may get, at most; nothing if that
/// is not known.
static std::optional<double> mostUpdates(mp::ScatterElementsOp op,
                                         TransferContext &ctx) {
  size_t rank = ctx.rankOf(op.getIndices());
  std::optional<int64_t> axis = normalizeAxis(op.getAxis(), rank);
  std::optional<int64_t> dim =
      axis ? ctx.dimOf(op.getIndices(), *axis) : std::nullopt;
  if (!dim)
    return std::nullopt;
  return double(*dim);
}

static std::optional<double> mostUpdates(mp::ScatterNDOp op,
                                         TransferContext &ctx) {
  MaybeShape shape = getShape(op.getIndices());
  if (!shape || shape->empty())
    return std::nullopt;
  std::optional<int64_t> tuples =
      getNumElements(Shape(ArrayRef(*shape).drop_back()));
  if (!tuples)
    return std::nullopt;
  // Places that are known are counted. Negative ones count from the end.
  int64_t size = shape->back();
  auto known = ctx.shapes().constants(op.getIndices());
  if (!known || size <= 0 || int64_t(known->size()) != *tuples * size ||
      llvm::any_of(*known, [](int64_t index) { return index < 0; }))
    return double(*tuples);
  std::map<std::vector<int64_t>, int64_t> counts;
  int64_t most = 0;
  for (size_t at = 0; at < known->size(); at += size)
    most =
        std::max(most, ++counts[std::vector<int64_t>(
                           known->begin() + at, known->begin() + at + size)]);
  return double(most);
}

/// Up to `most` updates are added to an element, in any order, each sum rounded
/// to the element's dtype: kernels add in place.
static AbstractValue addUpdates(const AbstractValue &value,
                                const AbstractValue &updates, double most,
                                double expected, const FloatFormat *own) {
  const FloatFormat &format = own ? *own : FloatFormat::f64();
  Cell update = updates.hull();
  Interval added = cells::bound(update);
  added =
      added.isEmpty() ? Interval::point(0) : cells::repeat(added, {0.0, most});
  bool posInf = value.posInf || updates.posInf,
       negInf = value.negInf || updates.negInf;
  bool nan = value.nan || updates.nan || (posInf && negInf);
  double reach =
      std::max(update.likelyHi - update.mean, update.mean - update.likelyLo);
  Interval likelySum = {
      std::min(0.0, expected * update.mean - std::sqrt(expected) * reach),
      std::max(0.0, expected * update.mean + std::sqrt(expected) * reach)};
  AbstractValue result = AbstractValue::boundedLike(value);
  for (CellRef cell : result.mutableCells()) {
    Interval x = cells::bound(cell);
    if (x.isEmpty())
      x = Interval::point(0);
    double magnitude = x.maxAbs() + added.maxAbs();
    double error = sumError({&format}, most + 1, magnitude);
    Interval sum = cells::computedSum(x + added, hull(x, added), error);
    posInf |= own && sum.hi >= format.overflowFrom;
    negInf |= own && sum.lo <= -format.overflowFrom;
    cell = cells::make(sum, cell.mean + expected * update.mean,
                       cell.variance + expected * (update.variance +
                                                   update.mean * update.mean),
                       hull(cells::likelyInterval(cell),
                            cells::likelyInterval(cell) + likelySum));
  }
  bool known = value.hasLikely() && updates.hasLikely();
  result.source = known ? LikelySource::Propagated : LikelySource::Unknown;
  result.setNonFinite(nan || (posInf && negInf), posInf, negInf);
  if (value.integral && updates.integral)
    result.claimIntegral();
  return result;
}

/// "none", "max" and "min" leave an element of either operand.
template <typename OpTy>
static void transferScatter(OpTy op, TransferContext &ctx) {
  const AbstractValue &input = ctx.operand(0);
  auto reduction = mp::symbolizeScatterReduction(op.getReduction());
  if (reduction == mp::ScatterReduction::Add) {
    std::optional<double> most = mostUpdates(op, ctx);
    Type element = getElementType(op.getResult());
    if (!most || !isa<FloatType, IntegerType>(element))
      return ctx.unknown();
    double share = ctx.elementsPerGroup(op.getUpdates(), 1) /
                   std::max(1.0, ctx.elementsPerGroup(op.getResult(), 1));
    ctx.result(0, addUpdates(input, ctx.operand(2), *most,
                             std::clamp(share, 0.0, *most),
                             getFloatFormat(element)));
    return;
  }
  // Products of duplicates have no bound worth having.
  if (reduction == mp::ScatterReduction::Mul)
    return ctx.unknown();
  AbstractValue updates = smeared(ctx.operand(2), input.rank());
  ctx.result(0, input.join(updates));
}

//===----------------------------------------------------------------------===//
// Results whose length depends on values
//===----------------------------------------------------------------------===//

static void transferCompress(mp::CompressOp op, TransferContext &ctx) {
  const AbstractValue &input = ctx.operand(0);
  std::optional<int64_t> axis;
  if (op.getAxis())
    axis = normalizeAxis(*op.getAxis(), input.rank());
  ctx.result(0, axis ? someOf(input, *axis)
                     : smeared(input, ctx.rankOf(op.getResult())));
}

/// Integers from 0 to the largest of the operand's dims, or its size.
static AbstractValue indicesOf(Value input, bool flat, size_t rank) {
  double most = 0x1p48;
  if (MaybeShape shape = getShape(input)) {
    double size = 1, largest = 0;
    bool known = true;
    for (int64_t dim : *shape) {
      known &= dim >= 0;
      size *= double(dim);
      largest = std::max(largest, double(dim));
    }
    if (known)
      most = std::max(flat ? size : largest, 1.0) - (flat ? 0 : 1);
  }
  AbstractValue value = AbstractValue::within(0, most, rank);
  value.claimIntegral();
  return value;
}

static void transferNonZero(mp::NonZeroOp op, TransferContext &ctx) {
  ctx.result(0, indicesOf(op.getInput(), /*flat=*/false, 2));
}

static void transferUnique(mp::UniqueOp op, TransferContext &ctx) {
  ctx.result(0, smeared(ctx.operand(0), ctx.rankOf(op.getValues())));
  for (unsigned result : {1u, 2u, 3u})
    ctx.result(result, indicesOf(op.getInput(), /*flat=*/true, 1));
}

static void transferNonMaxSuppression(mp::NonMaxSuppressionOp op,
                                      TransferContext &ctx) {
  // (batch, class, box): dims of the scores.
  ctx.result(0, indicesOf(op.getScores(), /*flat=*/false, 2));
}

void mpopt::attachIndexingTransfers(MLIRContext *context) {
  attachTransfer<transferGather, mp::GatherOp>(context);
  attachTransfer<transferEmbedding, mp::EmbeddingOp>(context);
  attachTransfer<transferGatherElements, mp::GatherElementsOp>(context);
  attachTransfer<transferGatherND, mp::GatherNDOp>(context);
  attachTransfer<transferScatter<mp::ScatterElementsOp>, mp::ScatterElementsOp>(
      context);
  attachTransfer<transferScatter<mp::ScatterNDOp>, mp::ScatterNDOp>(context);
  attachTransfer<transferCompress, mp::CompressOp>(context);
  attachTransfer<transferNonZero, mp::NonZeroOp>(context);
  attachTransfer<transferUnique, mp::UniqueOp>(context);
  attachTransfer<transferNonMaxSuppression, mp::NonMaxSuppressionOp>(context);
}
