//===- IndexWrites.cpp - Writing by index ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Index.h"
#include "ShapeValues.h"
#include "Subfamilies.h"

#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/IndexingOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::aten;

//===----------------------------------------------------------------------===//
// x[...] = y
//===----------------------------------------------------------------------===//

/// A mask with dims of size 1 for those of the tensor that it does not cover.
static Value alignMask(NodeContext &context, const AdvancedIndex &index,
                       int64_t rank) {
  Value mask = index.mask;
  for (int64_t dim = index.maskDim + index.maskRank; dim < rank; ++dim)
    mask = unsqueeze(context, mask, *NodeContext::rankOf(mask));
  return mask;
}

/// Values [before, indices, after] as [indices, before, after], which is how
/// the tuples lie; `resultRank` axes with those that are missing in front.
static Value moveIndicesFirst(NodeContext &context, Value values, int64_t first,
                              int64_t newDims, int64_t resultRank) {
  for (int64_t rank = *NodeContext::rankOf(values); rank < resultRank; ++rank)
    values = unsqueeze(context, values, 0);
  SmallVector<int64_t> order;
  for (int64_t dim = 0; dim < newDims; ++dim)
    order.push_back(first + dim);
  for (int64_t dim = 0; dim < resultRank; ++dim)
    if (dim < first || dim >= first + newDims)
      order.push_back(dim);
  return transpose(context, values, order);
}

/// The axes of a tensor with those that are indexed in front.
static SmallVector<int64_t> indexedFirst(ArrayRef<int64_t> dims, int64_t rank) {
  SmallVector<int64_t> perm(dims);
  for (int64_t dim = 0; dim < rank; ++dim)
    if (!llvm::is_contained(dims, dim))
      perm.push_back(dim);
  return perm;
}

/// The sizes of updates: [indices, the dims behind those that are indexed].
static SmallVector<Value> updateSizes(NodeContext &context, Value tuples,
                                      int64_t newDims, Value base,
                                      int64_t indexed) {
  SmallVector<Value> sizes;
  if (newDims > 0)
    sizes.push_back(context.make<mp::ShapeOp>(
        tuples, 0, context.builder().getI64IntegerAttr(newDims)));
  if (*NodeContext::rankOf(base) > indexed)
    sizes.push_back(context.make<mp::ShapeOp>(base, indexed, IntegerAttr()));
  return sizes;
}

static LogicalResult lowerIndexPut(NodeContext &context) {
  Value self = context.tensor("self");
  std::optional<AdvancedIndex> index = findIndex(context, self);
  if (!index || (context.has("accumulate") && !context.findInt("accumulate")))
    return context.unsupported();
  bool adds = context.getBool("accumulate");
  int64_t rank = *NodeContext::rankOf(self);
  Type element = getElementType(self);
  if (isUnknown(element))
    return context.unsupported();
  Value values = context.cast(context.tensor("values"), element);
  auto changed = [&](Value by) {
    return adds ? Value(context.make<mp::AddOp>(self, by)) : by;
  };
  auto give = [&](Value result) {
    context.setOutput(0, result);
    return success();
  };
  if (index->mask) {
    std::optional<int64_t> count = getNumElements(getShape(values));
    int64_t tail = rank - index->maskDim - index->maskRank;
    std::optional<int64_t> valuesRank = NodeContext::rankOf(values);
    // Values without an axis along the places that the mask selects.
    if (count == 1 || (valuesRank && *valuesRank <= tail)) {
      if (count == 1)
        values = reshape(context, values, ArrayRef<int64_t>());
      Value all = changed(values);
      return give(context.make<mp::WhereOp>(alignMask(context, *index, rank),
                                            all, self));
    }
    SmallVector<Value> lists = nonZero(context, index->mask, index->maskRank);
    for (auto [dim, list] : llvm::enumerate(lists))
      index->indices[index->maskDim + dim] = list;
  }
  SmallVector<int64_t> dims = indexedDims(*index);
  if (dims.empty())
    return give(changed(expandLike(context, values, self)));
  SmallVector<int64_t> perm = indexedFirst(dims, rank);
  // Indexed dims after others that are not would need the values turned, too.
  bool moves = !llvm::is_sorted(perm);
  Value tuples = makeTuples(context, *index);
  int64_t newDims = *NodeContext::rankOf(tuples) - 1;
  Value base = moves ? transpose(context, self, perm) : self;
  SmallVector<Value> sizes =
      updateSizes(context, tuples, newDims, base, int64_t(dims.size()));
  bool adjacent = dims.back() - dims.front() + 1 == int64_t(dims.size());
  if (moves && adjacent && newDims > 0 &&
      NodeContext::rankOf(values).value_or(2) > 0 &&
      getNumElements(getShape(values)) != 1) {
    if (!NodeContext::rankOf(values))
      return context.unsupported();
    values = moveIndicesFirst(context, values, dims.front(), newDims,
                              newDims + rank - int64_t(dims.size()));
  }
  if (!sizes.empty())
    values = expand(context, values, concat(context, sizes, 0));
  Value result = context.make<mp::ScatterNDOp>(
      base, tuples, values, adds ? StringRef("add") : StringRef("none"));
  return give(moves ? transpose(context, result, invert(perm)) : result);
}

static LogicalResult lowerMaskedScatter(NodeContext &context) {
  Value self = context.tensor("self"),
        mask = toMask(context, context.tensor("mask")),
        source = context.tensor("source");
  std::optional<int64_t> rank = NodeContext::rankOf(self);
  if (!rank || *rank == 0)
    return context.unsupported();
  mask = expandLike(context, mask, self);
  Value places = transpose(context, context.make<mp::NonZeroOp>(mask), {1, 0});
  Value flat = reshape(context, source, ArrayRef<int64_t>{-1});
  Value count = context.make<mp::ShapeOp>(
      places, 0, context.builder().getI64IntegerAttr(1));
  Builder &builder = context.builder();
  Value used = context.make<mp::SliceOp>(
      flat, context.makeInts({0}), count, Value(), Value(), DenseI64ArrayAttr(),
      DenseI64ArrayAttr(), builder.getDenseI64ArrayAttr(0),
      DenseI64ArrayAttr());
  context.setOutput(
      0, context.make<mp::ScatterNDOp>(self, places, used, StringRef("none")));
  return success();
}

//===----------------------------------------------------------------------===//
// scatter
//===----------------------------------------------------------------------===//

static std::optional<int64_t> findAxis(NodeContext &context) {
  if (context.isDynamic("dim"))
    return std::nullopt;
  return NodeContext::axisOf(context.tensor("self"), context.getInt("dim", 0));
}

/// `src` may be larger than the index: what is beyond it is not read.
static Value sliceToIndex(NodeContext &context, Value source, Value index) {
  MaybeShape shape = getShape(source), wanted = getShape(index);
  if (!shape || !wanted || shape->size() != wanted->size())
    return source;
  for (auto [axis, dim] : llvm::enumerate(*wanted))
    if (dim != kDynamic && (*shape)[axis] != dim)
      source = slice(context, source, axis, 0, dim);
  return source;
}

static LogicalResult lowerScatter(NodeContext &context) {
  std::optional<int64_t> axis = findAxis(context);
  StringRef reduction = "none";
  if (context.name() == "scatter_add")
    reduction = "add";
  else if (std::optional<StringRef> name = context.findString("reduce"))
    reduction = *name == "sum" || *name == "add"         ? "add"
                : *name == "prod" || *name == "multiply" ? "mul"
                : *name == "amax"                        ? "max"
                : *name == "amin"                        ? "min"
                                                         : "";
  else if (context.has("reduce"))
    return context.unsupported();
  // A mean, and results that leave out what was there, have no counterpart.
  if (!axis || reduction.empty() || !context.getBool("include_self", true))
    return context.unsupported();
  Value self = context.tensor("self"), index = context.tensor("index");
  Type element = getElementType(self);
  if (isUnknown(element))
    return context.unsupported();
  Value updates;
  if (context.has("src")) {
    updates = sliceToIndex(context,
                           context.cast(context.tensor("src"), element), index);
  } else {
    std::optional<double> number = context.findNumber("value");
    Value value = number && element.isIntOrFloat()
                      ? context.makeScalar(*number, element)
                      : context.cast(context.tensor("value"), element);
    updates = expandLike(context, value, index);
  }
  context.setOutput(0, context.make<mp::ScatterElementsOp>(self, index, updates,
                                                           *axis, reduction));
  return success();
}

//===----------------------------------------------------------------------===//
// index_add, index_copy, index_fill
//===----------------------------------------------------------------------===//

static LogicalResult lowerIndexWrite(NodeContext &context) {
  std::optional<int64_t> axis = findAxis(context);
  Value self = context.tensor("self"), index = context.tensor("index");
  std::optional<int64_t> rank = NodeContext::rankOf(self);
  Type element = getElementType(self);
  if (!axis || !rank || *rank == 0 || isUnknown(element))
    return context.unsupported();
  index = reshape(context, index, {-1, 1});
  SmallVector<int64_t> perm = moveDim(*rank, *axis, 0);
  bool moves = *axis != 0;
  Value base = moves ? transpose(context, self, perm) : self;
  Value updates;
  StringRef reduction = context.name() == "index_add" ? "add" : "none";
  if (context.name() == "index_fill") {
    std::optional<double> number = context.findNumber("value");
    Value value = number && element.isIntOrFloat()
                      ? context.makeScalar(*number, element)
                      : context.cast(context.tensor("value"), element);
    SmallVector<Value> sizes = {context.make<mp::ShapeOp>(
        index, 0, context.builder().getI64IntegerAttr(1))};
    if (*rank > 1)
      sizes.push_back(context.make<mp::ShapeOp>(base, 1, IntegerAttr()));
    updates = expand(context, value, concat(context, sizes, 0));
  } else {
    updates = context.cast(context.tensor("source"), element);
    if (NodeContext::rankOf(updates) != rank)
      return context.unsupported();
    if (moves)
      updates = transpose(context, updates, perm);
    std::optional<double> alpha =
        context.has("alpha") ? context.findNumber("alpha") : 1;
    if (!alpha || (*alpha != 1 && !element.isIntOrFloat()))
      return context.unsupported();
    if (*alpha != 1)
      updates =
          context.make<mp::MulOp>(updates, context.makeScalar(*alpha, element));
  }
  Value result = context.make<mp::ScatterNDOp>(base, index, updates, reduction);
  context.setOutput(0,
                    moves ? transpose(context, result, invert(perm)) : result);
  return success();
}

void aten::registerIndexWrites(LoweringRegistry &registry) {
  registry.add({"index_put", "_index_put_impl", "_unsafe_index_put"},
               lowerIndexPut);
  registry.add("masked_scatter", lowerMaskedScatter);
  registry.add({"scatter", "scatter_add", "scatter_reduce"}, lowerScatter);
  registry.add({"index_add", "index_copy", "index_fill"}, lowerIndexWrite);
}
