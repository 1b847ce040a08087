//===- Joining.cpp - Several tensors in one, and repetition ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ShapeValues.h"
#include "Subfamilies.h"

#include "mpopt/Dialect/Ops/IndexingOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::aten;

/// The tensors of the input in their common dtype; nothing if one of them, or
/// how many there are, is not known.
static std::optional<SmallVector<Value>> findTensors(NodeContext &context,
                                                     bool promotes = true) {
  std::optional<SmallVector<Value>> values = context.tensors("tensors");
  if (!values || values->empty() || llvm::is_contained(*values, Value()))
    return std::nullopt;
  Type common;
  for (Value value : *values) {
    Type element = getElementType(value);
    if (isUnknown(element))
      return values;
    common = common ? promoteElementTypes(common, element) : element;
  }
  if (promotes)
    for (Value &value : *values)
      value = context.cast(value, common);
  return values;
}

static LogicalResult giveConcat(NodeContext &context, SmallVector<Value> values,
                                int64_t dim) {
  // An empty list counts for nothing, whatever the others' rank.
  if (llvm::any_of(values, [](Value value) {
        return NodeContext::rankOf(value).value_or(1) != 1;
      }))
    llvm::erase_if(values, [](Value value) {
      return getShape(value) == MaybeShape(Shape{0});
    });
  std::optional<int64_t> axis = dim;
  if (dim < 0) {
    axis = std::nullopt;
    for (Value value : values)
      if (!axis && NodeContext::rankOf(value))
        axis = NodeContext::axisOf(value, dim);
  }
  if (!axis || values.empty())
    return context.unsupported();
  context.setOutput(0, context.make<mp::ConcatOp>(values, *axis));
  return success();
}

static LogicalResult lowerCat(NodeContext &context) {
  std::optional<SmallVector<Value>> values = findTensors(context);
  if (!values || context.isDynamic("dim"))
    return context.unsupported();
  return giveConcat(context, std::move(*values), context.getInt("dim", 0));
}

static LogicalResult lowerStack(NodeContext &context) {
  std::optional<SmallVector<Value>> values = findTensors(context);
  if (!values || context.isDynamic("dim"))
    return context.unsupported();
  int64_t axis = context.getInt("dim", 0);
  if (axis < 0) {
    std::optional<int64_t> rank = NodeContext::rankOf(values->front());
    if (!rank)
      return context.unsupported();
    axis += *rank + 1;
  }
  for (Value &value : *values)
    value = unsqueeze(context, value, axis);
  return giveConcat(context, std::move(*values), axis);
}

/// hstack, vstack, dstack, column_stack: along an axis after rows of lists or
/// columns were made.
static LogicalResult lowerStackAlong(NodeContext &context) {
  std::optional<SmallVector<Value>> values = findTensors(context);
  if (!values)
    return context.unsupported();
  StringRef name = context.name();
  int64_t axis = name == "vstack" || name == "row_stack" ? 0
                 : name == "dstack"                      ? 2
                                                         : 1;
  for (Value &value : *values) {
    std::optional<int64_t> rank = NodeContext::rankOf(value);
    if (!rank)
      return context.unsupported();
    if (name == "hstack") {
      if (*rank == 0)
        value = unsqueeze(context, value, 0);
      if (*rank <= 1)
        axis = 0;
    } else if (name == "column_stack") {
      if (*rank == 0)
        value = unsqueeze(context, value, 0);
      if (*rank <= 1)
        value = unsqueeze(context, value, 1);
    } else {
      for (int64_t now = *rank; now < 2; ++now)
        value = unsqueeze(context, value, 0);
      if (name == "dstack" && *rank < 3)
        value = unsqueeze(context, value, 2);
    }
  }
  return giveConcat(context, std::move(*values), axis);
}

//===----------------------------------------------------------------------===//
// Repetition
//===----------------------------------------------------------------------===//

/// repeat (at least as many numbers as dims) and tile (any number).
static LogicalResult lowerRepeat(NodeContext &context) {
  StringRef input = context.name() == "tile" ? "dims" : "repeats";
  Value self = context.tensor("self");
  std::optional<int64_t> rank = NodeContext::rankOf(self);
  Value repeats = context.shapeOf(input);
  if (!repeats || !rank)
    return context.unsupported();
  std::optional<int64_t> count = staticDim(repeats, 0);
  if (!count)
    return context.unsupported();
  for (int64_t now = *rank; now < *count; ++now)
    self = unsqueeze(context, self, 0);
  if (*count < *rank)
    repeats = concat(
        context,
        {context.makeInts(SmallVector<int64_t>(*rank - *count, 1)), repeats},
        0);
  context.setOutput(0, *rank == 0 && *count == 0
                           ? self
                           : Value(context.make<mp::TileOp>(self, repeats)));
  return success();
}

/// Every element (slice of `dim`) some times in a row.
static LogicalResult lowerRepeatInterleave(NodeContext &context) {
  Value self = context.tensor("self");
  if (!self)
    return context.unsupported();
  if (!context.has("dim")) {
    self = reshape(context, self, ArrayRef<int64_t>{-1});
  } else if (!context.findInt("dim") || !NodeContext::rankOf(self)) {
    return context.unsupported();
  }
  std::optional<int64_t> axis =
      NodeContext::axisOf(self, context.getInt("dim", 0));
  std::optional<int64_t> dim =
      axis ? staticDim(self, *axis) : std::optional<int64_t>();
  if (!dim)
    return context.unsupported();
  SmallVector<int64_t> times;
  if (context.isScalar("repeats")) {
    std::optional<int64_t> repeats = context.findInt("repeats");
    if (!repeats || *repeats < 0)
      return context.unsupported();
    times.assign(*dim, *repeats);
  } else {
    std::optional<SmallVector<int64_t>> known =
        context.facts().constants(context.tensor("repeats"));
    if (!known)
      return context.unsupported();
    times = known->size() == 1 ? SmallVector<int64_t>(*dim, known->front())
                               : *known;
  }
  // Bounds what a number of a file makes: indices of 8 bytes, 8 MiB.
  constexpr int64_t kMaxIndices = 1 << 20;
  SmallVector<int64_t> indices;
  for (auto [index, count] : llvm::enumerate(times)) {
    if (count < 0 || count + int64_t(indices.size()) > kMaxIndices)
      return context.unsupported();
    indices.append(count, index);
  }
  context.setOutput(0, gather(context, self, context.makeInts(indices), *axis));
  return success();
}

//===----------------------------------------------------------------------===//
// Lists
//===----------------------------------------------------------------------===//

static LogicalResult lowerBroadcastTensors(NodeContext &context) {
  std::optional<SmallVector<Value>> values = findTensors(context, false);
  if (!values)
    return context.unsupported();
  MaybeShape common = Shape{};
  for (Value value : *values) {
    FailureOr<MaybeShape> both = broadcastShapes(common, getShape(value));
    if (failed(both))
      return context.error("shapes do not broadcast");
    common = *both;
  }
  if (common && !llvm::is_contained(*common, kDynamic)) {
    Value shape = context.makeInts(*common);
    for (Value &value : *values)
      value = expand(context, value, shape);
  } else {
    // Against the shape of each other one.
    SmallVector<Value> given = *values;
    for (Value &value : *values)
      for (Value other : given)
        if (other != given[&value - values->begin()])
          value = expand(context, value, shapeValue(context, other));
  }
  context.setOutputTensors(0, *values);
  return success();
}

/// Coordinates of a grid: each list along a dim of its own, expanded.
static LogicalResult lowerMeshgrid(NodeContext &context) {
  std::optional<SmallVector<Value>> values = findTensors(context, false);
  if (!values)
    return context.unsupported();
  bool swapsFirst = context.findString("indexing").value_or("ij") == "xy" &&
                    values->size() > 1;
  int64_t rank = values->size();
  SmallVector<Value> sizes(rank);
  auto axisOf = [&](int64_t index) {
    return swapsFirst && index < 2 ? 1 - index : index;
  };
  for (auto [index, value] : llvm::enumerate(*values)) {
    value = reshape(context, value, ArrayRef<int64_t>{-1});
    sizes[axisOf(index)] = shapeValue(context, value);
  }
  Value shape = concat(context, sizes, 0);
  for (auto [index, value] : llvm::enumerate(*values)) {
    SmallVector<int64_t> dims(rank, 1);
    dims[axisOf(index)] = -1;
    value = expand(context, reshape(context, value, dims), shape);
  }
  context.setOutputTensors(0, *values);
  return success();
}

void aten::registerJoining(LoweringRegistry &registry) {
  registry.add({"cat", "concat", "concatenate"}, lowerCat);
  registry.add("stack", lowerStack);
  registry.add({"hstack", "vstack", "row_stack", "dstack", "column_stack"},
               lowerStackAlong);
  registry.add({"repeat", "tile"}, lowerRepeat);
  registry.add("repeat_interleave", lowerRepeatInterleave);
  registry.add("broadcast_tensors", lowerBroadcastTensors);
  registry.add("meshgrid", lowerMeshgrid);
}
