//===- Embedding.cpp - Rows of tables -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A bag is the sum, mean or maximum of the rows from its offset to the next. If
// the offsets are known and equally far apart, as for a matrix of indices, that
// is a reduction; else rows are added where their bag is.
//
//===----------------------------------------------------------------------===//

#include "Index.h"
#include "ShapeValues.h"
#include "Subfamilies.h"

#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/IndexingOps.h"
#include "mpopt/Dialect/Ops/ReductionOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"
#include "mpopt/Numerics/Infinity.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::aten;

static LogicalResult lowerEmbedding(NodeContext &context) {
  IntegerAttr padding;
  if (int64_t index = context.getInt("padding_idx", -1); index >= 0)
    padding = context.builder().getI64IntegerAttr(index);
  context.setOutput(0, context.make<mp::EmbeddingOp>(context.tensor("weight"),
                                                     context.tensor("indices"),
                                                     padding));
  return success();
}

static LogicalResult lowerOneHot(NodeContext &context) {
  Value self = context.tensor("self");
  Value depth;
  if (int64_t classes = context.getInt("num_classes", -1); classes >= 0) {
    depth = makeInt(context, classes);
  } else if (!context.isDynamic("num_classes")) {
    // As many as the largest index needs.
    Value last = context.make<mp::ReduceMaxOp>(self, Value(),
                                               DenseI64ArrayAttr(), false);
    depth = context.make<mp::AddOp>(
        context.cast(last, context.builder().getI64Type()),
        makeInt(context, 1));
  } else {
    return context.unsupported();
  }
  context.setOutput(
      0, context.make<mp::OneHotOp>(self, depth, context.makeInts({0, 1}), -1));
  return success();
}

namespace {
enum class Mode { Sum, Mean, Max };
} // namespace

static Value reduceRows(NodeContext &context, Value rows, Mode mode) {
  DenseI64ArrayAttr axes = context.builder().getDenseI64ArrayAttr(1);
  switch (mode) {
  case Mode::Sum:
    return context.make<mp::ReduceSumOp>(rows, Value(), axes, false);
  case Mode::Mean:
    return context.make<mp::ReduceMeanOp>(rows, Value(), axes, false);
  case Mode::Max:
    return context.make<mp::ReduceMaxOp>(rows, Value(), axes, false);
  }
  llvm_unreachable("unknown mode");
}

/// The distance between offsets 0, n, 2n, ... that `count` indices fill.
static std::optional<int64_t> findBagSize(ArrayRef<int64_t> offsets,
                                          int64_t count, bool includesLast) {
  int64_t bags = offsets.size() - includesLast;
  if (bags <= 0 || count % bags || count == 0)
    return std::nullopt;
  int64_t size = count / bags;
  for (auto [bag, offset] : llvm::enumerate(offsets))
    if (offset != int64_t(bag) * size)
      return std::nullopt;
  return size;
}

/// Rows reduced into bags that begin at `offsets`.
static Value scatterRows(NodeContext &context, Value rows, Value offsets,
                         Mode mode) {
  Value weight = context.tensor("weight"), indices = context.tensor("indices");
  Type element = getElementType(weight);
  // The bag of each row: how many offsets are not behind it, less one.
  Value places =
      unsqueeze(context, iota(context, dimValue(context, indices, 0)), 1);
  Value begun =
      context.make<mp::LessEqualOp>(unsqueeze(context, offsets, 0), places);
  Value bags = context.make<mp::SubOp>(
      context.make<mp::ReduceSumOp>(
          context.cast(begun, context.builder().getI64Type()), Value(),
          context.builder().getDenseI64ArrayAttr(1), false),
      makeInt(context, 1));
  bags = unsqueeze(context, bags, 1);
  Value length = shapeValue(context, offsets);
  Value zeros = fill(
      context,
      concat(context,
             {length, context.make<mp::ShapeOp>(
                          weight, 1, context.builder().getI64IntegerAttr(2))},
             0),
      0, element);
  Value ones = expand(context, context.makeScalar(1, element),
                      shapeValue(context, indices));
  Value counts =
      unsqueeze(context,
                context.make<mp::ScatterNDOp>(fill(context, length, 0, element),
                                              bags, ones, StringRef("add")),
                1);
  if (mode == Mode::Max) {
    // An empty bag is 0.
    Value lowest = context.makeScalar(-kInfinity, element);
    Value most = context.make<mp::ScatterNDOp>(
        expandLike(context, lowest, zeros), bags, rows, StringRef("max"));
    Value isEmpty =
        context.make<mp::EqualOp>(counts, context.makeScalar(0, element));
    return context.make<mp::WhereOp>(isEmpty, context.makeScalar(0, element),
                                     most);
  }
  Value sums =
      context.make<mp::ScatterNDOp>(zeros, bags, rows, StringRef("add"));
  if (mode != Mode::Mean)
    return sums;
  Value divisors = context.make<mp::MaxOp>(
      ValueRange{counts, context.makeScalar(1, element)});
  return context.make<mp::DivOp>(sums, divisors);
}

static LogicalResult lowerEmbeddingBag(NodeContext &context) {
  Value weight = context.tensor("weight"), indices = context.tensor("indices"),
        offsets = context.tensor("offsets");
  std::optional<int64_t> number = context.findInt("mode");
  Type element = getElementType(weight);
  // The inner form says -1 where there is none.
  bool isPadded =
      context.has("padding_idx") && (!context.name().starts_with("_") ||
                                     context.findInt("padding_idx") != -1);
  if (!number || *number < 0 || *number > 2 || isPadded ||
      NodeContext::rankOf(indices) != 1 || NodeContext::rankOf(offsets) != 1 ||
      !isa<FloatType>(element))
    return context.unsupported();
  Mode mode = Mode(*number);
  bool includesLast = context.getBool("include_last_offset");
  Value rows = context.make<mp::EmbeddingOp>(weight, indices, IntegerAttr());
  if (context.has("per_sample_weights"))
    rows = context.make<mp::MulOp>(
        rows,
        unsqueeze(context,
                  context.cast(context.tensor("per_sample_weights"), element),
                  1));
  std::optional<int64_t> count = staticDim(indices, 0),
                         width = staticDim(weight, 1);
  std::optional<SmallVector<int64_t>> known =
      context.facts().constants(offsets);
  Value result;
  std::optional<int64_t> size;
  if (known && count && width)
    size = findBagSize(*known, *count, includesLast);
  if (size) {
    result = reduceRows(
        context, reshape(context, rows, {*count / *size, *size, *width}), mode);
  } else {
    Type i64 = context.builder().getI64Type();
    if (includesLast)
      offsets = slice(context, offsets, 0, 0, -1);
    offsets = context.cast(offsets, i64);
    result = scatterRows(context, rows, offsets, mode);
  }
  context.setOutput(0, result);
  // The other outputs (bags, their sizes, indices of maxima) serve backward:
  // the saved program reads none of them.
  for (unsigned output = 1; output < context.numOutputs(); ++output)
    context.setOutput(output, offsets);
  return success();
}

void aten::registerEmbedding(LoweringRegistry &registry) {
  registry.add("embedding", lowerEmbedding);
  registry.add(
      {"embedding_bag", "_embedding_bag", "_embedding_bag_forward_only"},
      lowerEmbeddingBag);
  registry.add("one_hot", lowerOneHot);
}
