//===- Slicing.cpp - Slices, positions and diagonals of a tensor ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Slices, single positions, diagonals and lists of parts: views, each of which
// can be written back.
//
//===----------------------------------------------------------------------===//

#include "ShapeValues.h"
#include "Subfamilies.h"
#include "ViewSteps.h"

#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::aten;

/// More parts than this stay one opaque op.
static constexpr int64_t kMaxParts = 1024;

/// The axis that the input `dim` names; the rank must be known if it counts
/// from the end.
static std::optional<int64_t> findAxis(NodeContext &context, StringRef input,
                                       int64_t otherwise = 0) {
  if (context.isDynamic(input))
    return std::nullopt;
  return NodeContext::axisOf(context.tensor("self"),
                             context.getInt(input, otherwise));
}

//===----------------------------------------------------------------------===//
// One part
//===----------------------------------------------------------------------===//

static bool isPlace(const Position &position) {
  return position.known || position.computed;
}

static std::optional<ViewStep> findSlice(NodeContext &context) {
  std::optional<int64_t> axis = findAxis(context, "dim");
  std::optional<int64_t> step =
      context.has("step") ? context.findInt("step") : 1;
  Position start = findPosition(context, "start", 0),
           end = findPosition(context, "end", LLONG_MAX);
  if (!axis || !step || *step < 1 || !isPlace(start) || !isPlace(end))
    return std::nullopt;
  if (start.known == 0 && end.known == LLONG_MAX && *step == 1)
    return sameView();
  return sliceStep(*axis, start, end, *step);
}

/// x[start:end:step] with a step that only the run tells: a view of which
/// nothing is known after a write to it.
static LogicalResult sliceByOpenStep(NodeContext &context) {
  std::optional<int64_t> axis = findAxis(context, "dim");
  Position start = findPosition(context, "start", 0),
           end = findPosition(context, "end", LLONG_MAX),
           step = findPosition(context, "step", 1);
  if (!axis || !isPlace(start) || !isPlace(end) || !isPlace(step))
    return context.unsupported();
  auto list = [](NodeContext &inner, const Position &position) {
    return position.known ? inner.makeInts({*position.known})
                          : reshape(inner, position.computed, {1});
  };
  auto derive = [=, axis = *axis](NodeContext &inner, Value base) -> Value {
    return inner.make<mp::SliceOp>(base, list(inner, start), list(inner, end),
                                   inner.makeInts({axis}), list(inner, step),
                                   DenseI64ArrayAttr(), DenseI64ArrayAttr(),
                                   DenseI64ArrayAttr(), DenseI64ArrayAttr());
  };
  return giveView(context, "self", {derive, nullptr});
}

static LogicalResult lowerSlice(NodeContext &context) {
  if (std::optional<ViewStep> step = findSlice(context))
    return giveView(context, "self", *step);
  return context.isDynamic("step") ? sliceByOpenStep(context)
                                   : context.unsupported();
}

static std::optional<ViewStep> findSelect(NodeContext &context) {
  std::optional<int64_t> axis = findAxis(context, "dim");
  Position index = findPosition(context, "index", 0);
  if (!axis || !isPlace(index))
    return std::nullopt;
  return selectStep(*axis, index);
}

static LogicalResult lowerSelect(NodeContext &context) {
  std::optional<ViewStep> step = findSelect(context);
  return step ? giveView(context, "self", *step) : context.unsupported();
}

static LogicalResult lowerNarrow(NodeContext &context) {
  std::optional<int64_t> axis = findAxis(context, "dim");
  Position start = findPosition(context, "start", 0),
           length = findPosition(context, "length", 0);
  if (!axis || !isPlace(start) || !isPlace(length))
    return context.unsupported();
  Position end;
  if (start.known && length.known) {
    end.known = *start.known + *length.known;
    if (*start.known < 0 && *end.known == 0)
      end.known = LLONG_MAX;
  } else {
    auto value = [&](const Position &position) {
      return position.known ? makeInt(context, *position.known)
                            : position.computed;
    };
    end.computed = context.make<mp::AddOp>(value(start), value(length));
  }
  return giveView(context, "self", sliceStep(*axis, start, end));
}

/// With `src` in place of the part.
static LogicalResult scatterPart(NodeContext &context,
                                 std::optional<ViewStep> step) {
  if (!step)
    return context.unsupported();
  Value self = context.tensor("self");
  Value source = context.cast(context.tensor("src"), getElementType(self));
  Value result = step->writeBack(context, self, source);
  if (!result)
    return context.unsupported();
  context.setOutput(0, result);
  return success();
}

static LogicalResult lowerSliceScatter(NodeContext &context) {
  return scatterPart(context, findSlice(context));
}

static LogicalResult lowerSelectScatter(NodeContext &context) {
  return scatterPart(context, findSelect(context));
}

//===----------------------------------------------------------------------===//
// Diagonals
//===----------------------------------------------------------------------===//

/// Both dims last and merged, every (columns + 1)-th element.
static std::optional<ViewStep> diagonalStep(Value self, int64_t offset,
                                            int64_t dim1, int64_t dim2) {
  MaybeShape shape = getShape(self);
  if (!shape || shape->size() < 2)
    return std::nullopt;
  std::optional<int64_t> first = NodeContext::axisOf(self, dim1),
                         second = NodeContext::axisOf(self, dim2);
  if (!first || !second || *first == *second)
    return std::nullopt;
  int64_t rows = (*shape)[*first], columns = (*shape)[*second];
  if (rows == kDynamic || columns == kDynamic)
    return std::nullopt;
  int64_t length = offset >= 0 ? std::min(rows, columns - offset)
                               : std::min(rows + offset, columns);
  if (length <= 0)
    return std::nullopt;
  SmallVector<int64_t> perm, dims;
  for (int64_t dim = 0; dim < int64_t(shape->size()); ++dim)
    if (dim != *first && dim != *second) {
      perm.push_back(dim);
      dims.push_back((*shape)[dim] == kDynamic ? -1 : (*shape)[dim]);
    }
  if (llvm::count(dims, -1) > 1)
    return std::nullopt;
  int64_t last = perm.size();
  perm.append({*first, *second});
  dims.push_back(rows * columns);
  int64_t start = offset >= 0 ? offset : -offset * columns;
  ViewStep step = shapeStep([dims](NodeContext &context, Value base) {
    return reshape(context, base, dims);
  });
  if (!llvm::is_sorted(perm))
    step = compose(transposeStep(perm), step);
  return compose(step, sliceStep(last, {start, {}},
                                 {start + (length - 1) * (columns + 1) + 1, {}},
                                 columns + 1));
}

static LogicalResult lowerDiagonal(NodeContext &context) {
  std::optional<ViewStep> step =
      diagonalStep(context.tensor("self"), context.getInt("offset", 0),
                   context.getInt("dim1", 0), context.getInt("dim2", 1));
  return step ? giveView(context, "self", *step) : context.unsupported();
}

/// Vectors as diagonals of zero matrices.
static LogicalResult embedDiagonal(NodeContext &context, int64_t offset,
                                   int64_t dim1, int64_t dim2) {
  Value self = context.tensor("self");
  MaybeShape shape = getShape(self);
  if (!shape || shape->empty() || llvm::is_contained(*shape, kDynamic))
    return context.unsupported();
  int64_t rank = shape->size() + 1;
  std::optional<int64_t> first = normalizeAxis(dim1, rank),
                         second = normalizeAxis(dim2, rank);
  if (!first || !second || *first == *second)
    return context.unsupported();
  int64_t size = shape->back() + std::abs(offset);
  SmallVector<int64_t> dims(shape->begin(), std::prev(shape->end()));
  for (int64_t dim : {std::min(*first, *second), std::max(*first, *second)})
    dims.insert(dims.begin() + dim, size);
  Value zeros = fill(context, context.makeInts(dims), 0, getElementType(self));
  if (!zeros)
    return context.unsupported();
  std::optional<ViewStep> step = diagonalStep(zeros, offset, *first, *second);
  if (!step)
    return context.unsupported();
  context.setOutput(0, step->writeBack(context, zeros, self));
  return success();
}

static LogicalResult lowerDiagEmbed(NodeContext &context) {
  return embedDiagonal(context, context.getInt("offset", 0),
                       context.getInt("dim1", -2), context.getInt("dim2", -1));
}

static LogicalResult lowerDiag(NodeContext &context) {
  int64_t offset = context.getInt("diagonal", 0);
  if (NodeContext::rankOf(context.tensor("self")) == 1)
    return embedDiagonal(context, offset, 0, 1);
  std::optional<ViewStep> step =
      diagonalStep(context.tensor("self"), offset, 0, 1);
  if (!step)
    return context.unsupported();
  context.setOutput(0, step->derive(context, context.tensor("self")));
  return success();
}

//===----------------------------------------------------------------------===//
// Lists of parts
//===----------------------------------------------------------------------===//

/// Parts of the given sizes, made by one mp.split.
static LogicalResult giveParts(NodeContext &context, int64_t axis,
                               ArrayRef<int64_t> sizes) {
  if (sizes.empty() || int64_t(sizes.size()) > kMaxParts)
    return context.unsupported();
  Value self = context.tensor("self");
  SmallVector<ViewStep> steps;
  int64_t start = 0;
  for (int64_t size : sizes) {
    if (size < 0)
      return context.error("a part has size " + Twine(size));
    steps.push_back(sliceStep(axis, {start, {}}, {start + size, {}}));
    start += size;
  }
  std::optional<int64_t> dim = staticDim(self, axis);
  if (dim && *dim != start)
    return context.error("parts of " + Twine(start) +
                         " elements together do not make a dim of " +
                         Twine(*dim));
  auto split = context.makeTyped<mp::SplitOp>(
      context.unknownTypes(sizes.size()), self, Value(), axis,
      context.builder().getDenseI64ArrayAttr(sizes));
  SmallVector<Value> parts(split->getResults());
  return giveViews(context, "self", steps, parts);
}

/// Sizes of parts of `size` elements, the last one smaller.
static SmallVector<int64_t> equalParts(int64_t dim, int64_t size) {
  SmallVector<int64_t> sizes;
  for (int64_t start = 0; start < dim; start += size)
    sizes.push_back(std::min(size, dim - start));
  if (sizes.empty())
    sizes.push_back(0);
  return sizes;
}

static LogicalResult lowerSplit(NodeContext &context) {
  std::optional<int64_t> axis = findAxis(context, "dim");
  if (!axis)
    return context.unsupported();
  StringRef input = context.has("split_sizes") ? "split_sizes" : "split_size";
  std::optional<SmallVector<int64_t>> sizes = context.findInts(input);
  if (!sizes)
    return context.unsupported();
  if (context.overload() != "Tensor")
    return giveParts(context, *axis, *sizes);
  std::optional<int64_t> dim = staticDim(context.tensor("self"), *axis);
  int64_t size = sizes->empty() ? 0 : sizes->front();
  if (!dim || size <= 0 || *dim / size > kMaxParts)
    return context.unsupported();
  return giveParts(context, *axis, equalParts(*dim, size));
}

static LogicalResult lowerChunk(NodeContext &context) {
  std::optional<int64_t> axis = findAxis(context, "dim");
  std::optional<int64_t> chunks = context.findInt("chunks");
  if (!axis || !chunks || *chunks < 1)
    return context.unsupported();
  std::optional<int64_t> dim = staticDim(context.tensor("self"), *axis);
  if (!dim || *chunks > kMaxParts)
    return context.unsupported();
  int64_t size = std::max<int64_t>((*dim + *chunks - 1) / *chunks, 1);
  return giveParts(context, *axis, equalParts(*dim, size));
}

static LogicalResult splitAt(NodeContext &context, int64_t axis,
                             std::optional<SmallVector<int64_t>> indices,
                             std::optional<int64_t> sections) {
  std::optional<int64_t> dim = staticDim(context.tensor("self"), axis);
  if (!dim || (!indices && !sections))
    return context.unsupported();
  SmallVector<int64_t> sizes;
  if (sections) {
    if (*sections < 1 || *sections > kMaxParts)
      return context.unsupported();
    for (int64_t part = 0; part < *sections; ++part)
      sizes.push_back(*dim / *sections + (part < *dim % *sections));
    return giveParts(context, axis, sizes);
  }
  int64_t before = 0;
  for (int64_t index : *indices) {
    int64_t at = std::clamp<int64_t>(index < 0 ? index + *dim : index, 0, *dim);
    // Parts that overlap have no counterpart in mp.split.
    if (at < before)
      return context.unsupported();
    sizes.push_back(at - before);
    before = at;
  }
  sizes.push_back(*dim - before);
  return giveParts(context, axis, sizes);
}

static LogicalResult lowerTensorSplit(NodeContext &context) {
  std::optional<int64_t> axis = findAxis(context, "dim");
  if (!axis)
    return context.unsupported();
  if (context.has("sections"))
    return splitAt(context, *axis, std::nullopt, context.findInt("sections"));
  return splitAt(context, *axis, context.findInts("indices"), std::nullopt);
}

/// hsplit, vsplit, dsplit.
static LogicalResult lowerSplitAlong(NodeContext &context) {
  std::optional<int64_t> rank = NodeContext::rankOf(context.tensor("self"));
  if (!rank)
    return context.unsupported();
  int64_t axis = context.name() == "vsplit"   ? 0
                 : context.name() == "dsplit" ? 2
                                              : (*rank == 1 ? 0 : 1);
  if (context.has("sections"))
    return splitAt(context, axis, std::nullopt, context.findInt("sections"));
  return splitAt(context, axis, context.findInts("indices"), std::nullopt);
}

static LogicalResult lowerUnbind(NodeContext &context) {
  std::optional<int64_t> axis = findAxis(context, "dim");
  if (!axis)
    return context.unsupported();
  Value self = context.tensor("self");
  std::optional<int64_t> dim = staticDim(self, *axis);
  if (!dim || *dim > kMaxParts)
    return context.unsupported();
  SmallVector<ViewStep> steps;
  SmallVector<Value> values;
  for (int64_t index = 0; index < *dim; ++index) {
    steps.push_back(selectStep(*axis, {index, {}}));
    values.push_back(steps.back().derive(context, self));
  }
  return giveViews(context, "self", steps, values);
}

void aten::registerSlicing(LoweringRegistry &registry) {
  registry.add("slice", lowerSlice);
  registry.add("select", lowerSelect);
  registry.add({"narrow", "narrow_copy"}, lowerNarrow);
  registry.add("slice_scatter", lowerSliceScatter);
  registry.add("select_scatter", lowerSelectScatter);
  registry.add({"diagonal", "linalg_diagonal"}, lowerDiagonal);
  registry.add("diag_embed", lowerDiagEmbed);
  registry.add("diag", lowerDiag);
  registry.add(
      {"split", "split_with_sizes", "unsafe_split", "unsafe_split_with_sizes"},
      lowerSplit);
  registry.add({"chunk", "unsafe_chunk"}, lowerChunk);
  registry.add("tensor_split", lowerTensorSplit);
  registry.add({"hsplit", "vsplit", "dsplit"}, lowerSplitAlong);
  registry.add("unbind", lowerUnbind);
}
