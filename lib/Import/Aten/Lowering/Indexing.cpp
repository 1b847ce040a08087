//===- Indexing.cpp - Reading by index ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Advanced indexing follows NumPy: the indices broadcast against each other;
// their dims take the place of the indexed ones if those are next to each
// other, else they come first.
//
//===----------------------------------------------------------------------===//

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
// Indices
//===----------------------------------------------------------------------===//

static bool isMask(Value value) {
  Type element = getElementType(value);
  return element.isSignlessInteger(1) || element.isUnsignedInteger(8);
}

Value aten::toMask(NodeContext &context, Value value) {
  return context.cast(value, context.builder().getI1Type());
}

SmallVector<Value> aten::nonZero(NodeContext &context, Value mask,
                                 int64_t rank) {
  Value all = context.make<mp::NonZeroOp>(mask);
  SmallVector<Value> lists;
  for (int64_t dim = 0; dim < rank; ++dim)
    lists.push_back(gather(context, all, makeInt(context, dim), 0));
  return lists;
}

std::optional<AdvancedIndex> aten::findIndex(NodeContext &context, Value self) {
  std::optional<SmallVector<Value>> given = context.tensors("indices");
  std::optional<int64_t> rank = NodeContext::rankOf(self);
  if (!given || !rank)
    return std::nullopt;
  unsigned present = llvm::count_if(*given, [](Value v) { return bool(v); });
  AdvancedIndex index;
  for (Value value : *given) {
    if (!value) {
      index.indices.push_back({});
      continue;
    }
    std::optional<int64_t> valueRank = NodeContext::rankOf(value);
    if (!valueRank || isUnknown(getElementType(value)))
      return std::nullopt;
    if (!isMask(value)) {
      index.indices.push_back(value);
      continue;
    }
    if (*valueRank == 0)
      return std::nullopt;
    value = toMask(context, value);
    if (present == 1) {
      index.mask = value;
      index.maskDim = index.indices.size();
      index.maskRank = *valueRank;
      index.indices.append(*valueRank, Value());
      continue;
    }
    index.indices.append(nonZero(context, value, *valueRank));
  }
  if (int64_t(index.indices.size()) > *rank)
    return std::nullopt;
  index.indices.resize(*rank);
  return index;
}

SmallVector<int64_t> aten::indexedDims(const AdvancedIndex &index) {
  SmallVector<int64_t> dims;
  for (auto [dim, value] : llvm::enumerate(index.indices))
    if (value)
      dims.push_back(dim);
  return dims;
}

Value aten::makeTuples(NodeContext &context, const AdvancedIndex &index) {
  Type i64 = context.builder().getI64Type();
  SmallVector<Value> values;
  for (Value value : index.indices)
    if (value)
      values.push_back(context.cast(value, i64));
  int64_t rank = 0;
  for (Value value : values)
    rank = std::max(rank, *NodeContext::rankOf(value));
  // Broadcasting by adding zeros keeps it independent of known sizes.
  bool differ = llvm::any_of(values, [&](Value value) {
    MaybeShape shape = getShape(value);
    return shape != getShape(values.front()) ||
           llvm::is_contained(*shape, kDynamic);
  });
  if (differ && values.size() > 1) {
    Value zeros;
    for (Value value : values) {
      Value zero = context.make<mp::MulOp>(value, makeInt(context, 0));
      zeros = zeros ? Value(context.make<mp::AddOp>(zeros, zero)) : zero;
    }
    for (Value &value : values)
      value = context.make<mp::AddOp>(value, zeros);
  }
  for (Value &value : values)
    value = unsqueeze(context, value, rank);
  return concat(context, values, rank);
}

//===----------------------------------------------------------------------===//
// x[...]
//===----------------------------------------------------------------------===//

/// Slices where a mask holds. One over several dims counts them as one.
static Value selectByMask(NodeContext &context, Value self, Value mask,
                          int64_t dim, int64_t maskRank) {
  if (maskRank > 1) {
    SmallVector<Value> sizes;
    int64_t rank = *NodeContext::rankOf(self);
    auto part = [&](int64_t begin, int64_t end) -> Value {
      return context.make<mp::ShapeOp>(
          self, begin, context.builder().getI64IntegerAttr(end));
    };
    if (dim > 0)
      sizes.push_back(part(0, dim));
    sizes.push_back(context.makeInts({-1}));
    if (dim + maskRank < rank)
      sizes.push_back(part(dim + maskRank, rank));
    self = reshape(context, self, concat(context, sizes, 0));
    mask = reshape(context, mask, ArrayRef<int64_t>{-1});
  }
  return context.make<mp::CompressOp>(self, mask,
                                      context.builder().getI64IntegerAttr(dim));
}

/// x[:, i] of a tensor whose rank is open; null if it is another form.
static Value gatherFromOpen(NodeContext &context, Value self) {
  std::optional<SmallVector<Value>> given = context.tensors("indices");
  if (!given)
    return {};
  Value index;
  int64_t axis = 0;
  for (auto [dim, value] : llvm::enumerate(*given)) {
    if (!value)
      continue;
    if (index || isMask(value) || !isa<IntegerType>(getElementType(value)))
      return {};
    index = value;
    axis = dim;
  }
  return index ? gather(context, self, index, axis) : Value();
}

static LogicalResult lowerIndex(NodeContext &context) {
  Value self = context.tensor("self");
  std::optional<AdvancedIndex> index = findIndex(context, self);
  if (!index) {
    Value picked = gatherFromOpen(context, self);
    if (!picked)
      return context.unsupported();
    context.setOutput(0, picked);
    return success();
  }
  if (index->mask) {
    context.setOutput(0, selectByMask(context, self, index->mask,
                                      index->maskDim, index->maskRank));
    return success();
  }
  SmallVector<int64_t> dims = indexedDims(*index);
  if (dims.empty()) {
    context.setOutput(0, self);
    return success();
  }
  if (dims.size() == 1) {
    context.setOutput(
        0, gather(context, self, index->indices[dims.front()], dims.front()));
    return success();
  }
  int64_t rank = *NodeContext::rankOf(self), first = dims.front();
  bool adjacent = dims.back() - first + 1 == int64_t(dims.size());
  SmallVector<int64_t> perm(dims);
  for (int64_t dim = 0; dim < rank; ++dim)
    if (!llvm::is_contained(dims, dim))
      perm.push_back(dim);
  if (!llvm::is_sorted(perm))
    self = transpose(context, self, perm);
  Value tuples = makeTuples(context, *index);
  Value result = context.make<mp::GatherNDOp>(self, tuples, 0);
  int64_t newDims = *NodeContext::rankOf(tuples) - 1;
  if (adjacent && first > 0 && newDims > 0) {
    // [indices, before, after] to [before, indices, after].
    SmallVector<int64_t> back;
    for (int64_t dim = 0; dim < first; ++dim)
      back.push_back(newDims + dim);
    for (int64_t dim = 0; dim < newDims; ++dim)
      back.push_back(dim);
    int64_t resultRank = newDims + rank - int64_t(dims.size());
    for (int64_t dim = newDims + first; dim < resultRank; ++dim)
      back.push_back(dim);
    result = transpose(context, result, back);
  }
  context.setOutput(0, result);
  return success();
}

static std::optional<int64_t> findAxis(NodeContext &context) {
  if (context.isDynamic("dim"))
    return std::nullopt;
  return NodeContext::axisOf(context.tensor("self"), context.getInt("dim", 0));
}

static LogicalResult lowerIndexSelect(NodeContext &context) {
  std::optional<int64_t> axis = findAxis(context);
  Value self = context.tensor("self"), index = context.tensor("index");
  std::optional<int64_t> rank = NodeContext::rankOf(index);
  if (!axis || !rank)
    return context.unsupported();
  if (*rank == 0)
    index = reshape(context, index, {1});
  context.setOutput(0, gather(context, self, index, *axis));
  return success();
}

static LogicalResult lowerGather(NodeContext &context) {
  std::optional<int64_t> axis = findAxis(context);
  if (!axis)
    return context.unsupported();
  context.setOutput(
      0, context.make<mp::GatherElementsOp>(context.tensor("self"),
                                            context.tensor("index"), *axis));
  return success();
}

static LogicalResult lowerTake(NodeContext &context) {
  Value flat = reshape(context, context.tensor("self"), ArrayRef<int64_t>{-1});
  context.setOutput(0, gather(context, flat, context.tensor("index"), 0));
  return success();
}

static LogicalResult lowerTakeAlongDim(NodeContext &context) {
  Value self = context.tensor("self"), indices = context.tensor("indices");
  if (!context.has("dim")) {
    self = reshape(context, self, ArrayRef<int64_t>{-1});
    indices = reshape(context, indices, ArrayRef<int64_t>{-1});
    context.setOutput(0, context.make<mp::GatherElementsOp>(self, indices, 0));
    return success();
  }
  std::optional<int64_t> axis = findAxis(context);
  MaybeShape shape = getShape(self), other = getShape(indices);
  if (!axis || !shape || !other || shape->size() != other->size() ||
      llvm::is_contained(*shape, kDynamic) ||
      llvm::is_contained(*other, kDynamic))
    return context.unsupported();
  // The other dims broadcast against each other.
  Shape own = *shape, wanted = *other;
  for (int64_t dim = 0; dim < int64_t(own.size()); ++dim)
    if (dim != *axis)
      own[dim] = wanted[dim] = std::max(own[dim], wanted[dim]);
  if (own != *shape)
    self = expand(context, self, context.makeInts(own));
  if (wanted != *other)
    indices = expand(context, indices, context.makeInts(wanted));
  context.setOutput(0,
                    context.make<mp::GatherElementsOp>(self, indices, *axis));
  return success();
}

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

static LogicalResult lowerMaskedFill(NodeContext &context) {
  Value self = context.tensor("self");
  Type element = getElementType(self);
  Value value = context.tensor("value");
  std::optional<double> number =
      context.isScalar("value") ? context.findNumber("value") : std::nullopt;
  // A number stays what the program wrote, so that -1e9 in a half tensor is
  // seen; the op converts it.
  if (number && isa<FloatType>(element))
    value = context.makeScalar(
        *number,
        element.isF64() ? element : Type(context.builder().getF32Type()));
  else if (number && isa<IntegerType>(element))
    value = context.makeScalar(*number, element);
  context.setOutput(0,
                    context.make<mp::MaskedFillOp>(
                        self, toMask(context, context.tensor("mask")), value));
  return success();
}

static LogicalResult lowerMaskedSelect(NodeContext &context) {
  Value self = context.tensor("self"),
        mask = toMask(context, context.tensor("mask"));
  MaybeShape shape = getShape(self), maskShape = getShape(mask);
  if (!shape || !maskShape)
    return context.unsupported();
  if (shape != maskShape) {
    FailureOr<MaybeShape> common = broadcastShapes(shape, maskShape);
    if (failed(common) || !*common || llvm::is_contained(**common, kDynamic))
      return context.unsupported();
    Value wanted = context.makeInts(**common);
    self = expand(context, self, wanted);
    mask = expand(context, mask, wanted);
  }
  context.setOutput(0, context.make<mp::CompressOp>(
                           reshape(context, self, ArrayRef<int64_t>{-1}),
                           reshape(context, mask, ArrayRef<int64_t>{-1}),
                           context.builder().getI64IntegerAttr(0)));
  return success();
}

/// Each position as a row.
static LogicalResult lowerNonZero(NodeContext &context) {
  context.setOutput(
      0, transpose(context, context.make<mp::NonZeroOp>(context.tensor("self")),
                   {1, 0}));
  return success();
}

/// A list of positions for each dim; where(condition) is the same.
static LogicalResult lowerNonZeroLists(NodeContext &context) {
  Value self = context.tensor(context.has("self") ? "self" : "condition");
  std::optional<int64_t> rank = NodeContext::rankOf(self);
  if (!rank || *rank == 0)
    return context.unsupported();
  context.setOutputTensors(0, nonZero(context, self, *rank));
  return success();
}

void aten::registerIndexing(LoweringRegistry &registry) {
  registry.add({"index.Tensor", "index.Tensor_hacked_twin", "_unsafe_index"},
               lowerIndex);
  registry.add("index_select", lowerIndexSelect);
  registry.add("gather", lowerGather);
  registry.add("take", lowerTake);
  registry.add("take_along_dim", lowerTakeAlongDim);
  registry.add("masked_fill", lowerMaskedFill);
  registry.add("masked_select", lowerMaskedSelect);
  registry.add({"nonzero", "argwhere"}, lowerNonZero);
  // The overload without a name.
  registry.add({"nonzero_numpy", "where."}, lowerNonZeroLists);
  registerIndexWrites(registry);
  registerEmbedding(registry);
  registerSearch(registry);
}
