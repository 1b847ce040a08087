//===- Shape.cpp - The same elements under another shape ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// view, reshape, flatten, squeeze, expand and their kin: all views. Copies are
// in Copies.cpp, parts of a tensor in Slicing.cpp, other orders in Layout.cpp,
// several tensors in Joining.cpp, sliding windows in Windows.cpp.
//
//===----------------------------------------------------------------------===//

#include "ShapeValues.h"
#include "Subfamilies.h"
#include "ViewSteps.h"

#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::aten;

/// True if `reshape` copies: the dims of its input are not in memory order.
/// `view` of such a tensor fails in most programs.
static bool copies(NodeContext &context) {
  Operation *made = context.tensor("self").getDefiningOp();
  return isa_and_nonnull<mp::TransposeOp, mp::ExpandOp>(made);
}

/// A view, or a new tensor where PyTorch copies.
static LogicalResult giveReshaped(NodeContext &context, ViewStep step) {
  if (!copies(context))
    return giveView(context, "self", std::move(step));
  context.setOutput(0, step.derive(context, context.tensor("self")));
  return success();
}

/// The shape that `size` or `shape` gives, as a step.
static LogicalResult lowerReshape(NodeContext &context) {
  StringRef input = context.has("size") ? "size" : "shape";
  bool copiesZero = true;
  if (std::optional<SmallVector<int64_t>> known = context.findInts(input))
    copiesZero = !llvm::is_contained(*known, 0);
  Value shape = context.shapeOf(input);
  if (!shape)
    return context.unsupported();
  ViewStep step = shapeStep([=](NodeContext &inner, Value base) {
    return inner.make<mp::ReshapeOp>(base, shape, !copiesZero);
  });
  if (context.name() == "reshape")
    return giveReshaped(context, std::move(step));
  return giveView(context, "self", std::move(step));
}

static LogicalResult lowerViewDtype(NodeContext &context) {
  Type element = context.findElementType();
  Value value = context.tensor("self");
  Type before = getElementType(value);
  if (!element || !before.isIntOrFloat() || !element.isIntOrFloat() ||
      before.getIntOrFloatBitWidth() != element.getIntOrFloatBitWidth())
    return context.unsupported();
  auto read = [](NodeContext &inner, Value from, Type as) -> Value {
    return inner.makeTyped<mp::BitCastOp>({getTensorType(getShape(from), as)},
                                          from);
  };
  return giveView(context, "self",
                  {[=](NodeContext &inner, Value base) {
                     return read(inner, base, element);
                   },
                   [=](NodeContext &inner, Value, Value updated) {
                     return read(inner, updated, before);
                   }});
}

static LogicalResult lowerReshapeAs(NodeContext &context) {
  Value shape = shapeValue(context, context.tensor("other"));
  return giveView(context, "self",
                  shapeStep([=](NodeContext &inner, Value base) {
                    return reshape(inner, base, shape);
                  }));
}

/// Dims from `first` to `last` in place of the ones that `middle` gives.
static Value replaceDims(NodeContext &context, Value base, int64_t first,
                         int64_t last, Value middle) {
  auto part = [&](int64_t begin, int64_t end) -> Value {
    return context.make<mp::ShapeOp>(base, begin,
                                     context.builder().getI64IntegerAttr(end));
  };
  int64_t rank = *NodeContext::rankOf(base);
  SmallVector<Value> parts;
  if (first > 0)
    parts.push_back(part(0, first));
  parts.push_back(middle);
  if (last + 1 < rank)
    parts.push_back(part(last + 1, rank));
  return reshape(context, base, concat(context, parts, 0));
}

static LogicalResult lowerFlatten(NodeContext &context) {
  Value value = context.tensor("self");
  int64_t begin = context.getInt("start_dim", 0),
          end = context.getInt("end_dim", -1);
  std::optional<int64_t> rank = NodeContext::rankOf(value);
  if (!rank) {
    if (begin == 0 && end == -1)
      return giveReshaped(context,
                          shapeStep([](NodeContext &inner, Value base) {
                            return reshape(inner, base, ArrayRef<int64_t>{-1});
                          }));
    return context.unsupported();
  }
  std::optional<int64_t> first = NodeContext::axisOf(value, begin),
                         last = NodeContext::axisOf(value, end);
  if (!first || !last || *first > *last)
    return context.error("dims " + Twine(begin) + " to " + Twine(end) +
                         " do not exist");
  if (*first == *last && *rank > 0)
    return giveView(context, "self", sameView());
  if (*first == 1 && *last == *rank - 1)
    return giveReshaped(context, shapeStep([](NodeContext &inner, Value base) {
                          return inner.make<mp::FlattenOp>(base, 1);
                        }));
  MaybeShape shape = getShape(value);
  return giveReshaped(
      context, shapeStep([shape, first = *first,
                          last = *last](NodeContext &inner, Value base) {
        // One dim may be left open; the merged one, or another.
        Shape dims(shape->begin(), shape->begin() + first);
        int64_t merged = 1;
        if (first < int64_t(shape->size()))
          for (int64_t dim : ArrayRef(*shape).slice(first, last - first + 1))
            merged = dim == kDynamic || merged < 0 ? -1 : merged * dim;
        dims.push_back(merged);
        if (last + 1 < int64_t(shape->size()))
          dims.append(shape->begin() + last + 1, shape->end());
        unsigned open = 0;
        for (int64_t &dim : dims)
          if (dim < 0) {
            dim = -1;
            ++open;
          }
        if (open <= 1)
          return reshape(inner, base, dims);
        return replaceDims(inner, base, first, last, inner.makeInts({-1}));
      }));
}

static LogicalResult lowerRavel(NodeContext &context) {
  return giveReshaped(context, shapeStep([](NodeContext &inner, Value base) {
                        return reshape(inner, base, ArrayRef<int64_t>{-1});
                      }));
}

static LogicalResult lowerUnflatten(NodeContext &context) {
  Value value = context.tensor("self");
  std::optional<int64_t> dim =
      NodeContext::axisOf(value, context.getInt("dim", 0));
  Value sizes = context.shapeOf("sizes");
  if (!dim || !sizes || !NodeContext::rankOf(value))
    return context.unsupported();
  return giveView(context, "self",
                  shapeStep([=, dim = *dim](NodeContext &inner, Value base) {
                    return replaceDims(inner, base, dim, dim, sizes);
                  }));
}

//===----------------------------------------------------------------------===//
// Dims of size 1
//===----------------------------------------------------------------------===//

/// Which dims go away, and with them the rank, only the run tells.
static LogicalResult squeezeOpen(NodeContext &context) {
  return giveView(
      context, "self", shapeStep([](NodeContext &inner, Value base) -> Value {
        return inner.make<mp::SqueezeOp>(base, Value(), DenseI64ArrayAttr());
      }));
}

static LogicalResult lowerSqueeze(NodeContext &context) {
  Value value = context.tensor("self");
  MaybeShape shape = getShape(value);
  SmallVector<int64_t> axes;
  if (context.has("dim")) {
    std::optional<SmallVector<int64_t>> dims = context.findInts("dim");
    if (!dims)
      return context.unsupported();
    // Programs squeeze dims that are 1; without a rank nothing is lost if one
    // is not.
    if (!shape)
      axes.assign(dims->begin(), dims->end());
    for (int64_t dim : shape ? *dims : SmallVector<int64_t>()) {
      std::optional<int64_t> axis = NodeContext::axisOf(value, dim);
      if (!axis)
        return context.error("dim " + Twine(dim) + " does not exist");
      if (shape->empty())
        continue;
      if ((*shape)[*axis] == kDynamic)
        return squeezeOpen(context);
      if ((*shape)[*axis] == 1 && !llvm::is_contained(axes, *axis))
        axes.push_back(*axis);
    }
  } else {
    if (!shape || llvm::is_contained(*shape, kDynamic))
      return squeezeOpen(context);
    for (auto [axis, dim] : llvm::enumerate(*shape))
      if (dim == 1)
        axes.push_back(axis);
  }
  if (axes.empty())
    return giveView(context, "self", sameView());
  llvm::sort(axes);
  return giveView(
      context, "self", shapeStep([axes](NodeContext &inner, Value base) {
        return inner.make<mp::SqueezeOp>(
            base, Value(), inner.builder().getDenseI64ArrayAttr(axes));
      }));
}

static LogicalResult lowerUnsqueeze(NodeContext &context) {
  Value value = context.tensor("self");
  std::optional<int64_t> dim = context.findInt("dim");
  if (!dim)
    return context.unsupported();
  int64_t axis = *dim;
  if (std::optional<int64_t> rank = NodeContext::rankOf(value)) {
    std::optional<int64_t> place = normalizeAxis(axis, *rank + 1);
    if (!place)
      return context.error("dim " + Twine(axis) + " does not exist");
    axis = *place;
  }
  return giveView(context, "self",
                  shapeStep([axis](NodeContext &inner, Value base) {
                    return unsqueeze(inner, base, axis);
                  }));
}

template <int64_t Rank>
static Value atLeast(NodeContext &context, Value value) {
  int64_t rank = *NodeContext::rankOf(value);
  // A list becomes a row, a matrix a volume of depth 1.
  while (rank < Rank) {
    value = unsqueeze(context, value, rank == 2 ? 2 : 0);
    ++rank;
  }
  return value;
}

template <int64_t Rank>
static LogicalResult lowerAtLeast(NodeContext &context) {
  if (context.overload() == "Sequence") {
    std::optional<SmallVector<Value>> values = context.tensors("tensors");
    if (!values)
      return context.unsupported();
    for (Value &value : *values) {
      if (!value || !NodeContext::rankOf(value))
        return context.unsupported();
      value = atLeast<Rank>(context, value);
    }
    context.setOutputTensors(0, *values);
    return success();
  }
  if (!NodeContext::rankOf(context.tensor("self")))
    return context.unsupported();
  return giveView(context, "self", shapeStep(atLeast<Rank>));
}

//===----------------------------------------------------------------------===//
// Broadcasting
//===----------------------------------------------------------------------===//

static LogicalResult giveExpanded(NodeContext &context, Value shape) {
  // Several elements of the view are one of the base: PyTorch refuses most
  // writes.
  return giveView(context, "self",
                  {[shape](NodeContext &inner, Value base) {
                     return expand(inner, base, shape);
                   },
                   {}});
}

static LogicalResult lowerExpand(NodeContext &context) {
  Value shape = context.shapeOf("size");
  return shape ? giveExpanded(context, shape) : context.unsupported();
}

static LogicalResult lowerExpandAs(NodeContext &context) {
  return giveExpanded(context, shapeValue(context, context.tensor("other")));
}

static LogicalResult lowerShapeAsTensor(NodeContext &context) {
  context.setOutput(0, shapeValue(context, context.tensor("self")));
  return success();
}

void aten::registerShape(LoweringRegistry &registry) {
  registry.add({"view", "reshape", "_unsafe_view", "_reshape_alias"},
               lowerReshape);
  registry.add("view.dtype", lowerViewDtype);
  registry.add({"view_as", "reshape_as"}, lowerReshapeAs);
  registry.add("flatten", lowerFlatten);
  registry.add("ravel", lowerRavel);
  registry.add("unflatten", lowerUnflatten);
  registry.add("squeeze", lowerSqueeze);
  registry.add("unsqueeze", lowerUnsqueeze);
  registry.add("atleast_1d", lowerAtLeast<1>);
  registry.add("atleast_2d", lowerAtLeast<2>);
  registry.add("atleast_3d", lowerAtLeast<3>);
  registry.add({"expand", "broadcast_to"}, lowerExpand);
  registry.add("expand_as", lowerExpandAs);
  registry.add("_shape_as_tensor", lowerShapeAsTensor);
  registerCopies(registry);
  registerSlicing(registry);
  registerLayout(registry);
  registerJoining(registry);
  registerWindows(registry);
}
