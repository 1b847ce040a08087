//===- Indexing.cpp - Ranges of what is picked and put by index
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Families.h"
#include "ShapeSupport.h"

#include "mpopt/Dialect/Ops/IndexingOps.h"
#include "mpopt/Transfer/RangeInterface.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mpopt;

/// Rows of a table are evidence of their own.
static void markTable(AbstractValue &value) {
  if (value.source == LikelySource::Weight)
    value.source = LikelySource::Embedding;
}

/// `indices`' axes in the place of `axis`.
static AbstractValue gather(const AbstractValue &input, int64_t axis,
                            Value indices, TransferContext &ctx) {
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
  AbstractValue picked =
      exact ? input.selected(axis, *known) : input.merging(axis);
  if (picked.norm && picked.norm->axis == axis)
    picked.norm.reset();
  if (picked.rowSum && picked.rowSum->axis == axis)
    picked.rowSum.reset();
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
    value = gather(input, *axis, op.getIndices(), ctx);
  markTable(value);
  ctx.result(0, std::move(value));
}

static void transferEmbedding(mp::EmbeddingOp op, TransferContext &ctx) {
  const AbstractValue &table = ctx.operand(0);
  AbstractValue value;
  if (table.rank() == 0 || !getShape(op.getIndices()))
    value = smeared(table, ctx.rankOf(op.getResult()));
  else
    value = gather(table, 0, op.getIndices(), ctx);
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
  AbstractValue value = input.merging(*axis);
  value.norm.reset();
  value.rowSum.reset();
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

/// "none", "max" and "min" leave an element of either operand. Sums and
/// products of duplicates have no bound worth having without their number.
template <typename OpTy>
static void transferScatter(OpTy op, TransferContext &ctx) {
  if (op.getReduction() == "add" || op.getReduction() == "mul")
    return ctx.unknown();
  const AbstractValue &input = ctx.operand(0);
  AbstractValue updates = smeared(ctx.operand(2), input.rank());
  ctx.result(0, input.join(updates));
}

static void transferMaskedFill(mp::MaskedFillOp op, TransferContext &ctx) {
  size_t rank = ctx.rankOf(op.getResult());
  AbstractValue input = ctx.operand(0).withRank(rank);
  AbstractValue filled = smeared(ctx.operand(2), rank);
  if (input.rank() != rank)
    input = smeared(input, rank);
  AbstractValue value = input.join(filled);
  ctx.result(0, std::move(value));
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
  value.integral = true;
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
  attachTransfer<transferMaskedFill, mp::MaskedFillOp>(context);
  attachTransfer<transferCompress, mp::CompressOp>(context);
  attachTransfer<transferNonZero, mp::NonZeroOp>(context);
  attachTransfer<transferUnique, mp::UniqueOp>(context);
  attachTransfer<transferNonMaxSuppression, mp::NonMaxSuppressionOp>(context);
}
