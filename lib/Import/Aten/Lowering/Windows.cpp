//===- Windows.cpp - Padding and sliding windows --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ShapeValues.h"
#include "Subfamilies.h"
#include "ViewSteps.h"

#include "mpopt/Dialect/InferenceSupport.h"
#include "mpopt/Dialect/Ops/IndexingOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::aten;

//===----------------------------------------------------------------------===//
// Padding
//===----------------------------------------------------------------------===//

/// PyTorch's pads are pairs, the last dim's first.
static LogicalResult givePadded(NodeContext &context, StringRef input,
                                StringRef mode) {
  Value self = context.tensor("self");
  std::optional<int64_t> rank = NodeContext::rankOf(self);
  std::optional<SmallVector<int64_t>> pads = context.findInts(input);
  if (!pads || pads->size() % 2 || (rank && int64_t(pads->size() / 2) > *rank))
    return context.unsupported();
  SmallVector<int64_t> axes, begins, ends;
  for (int64_t pair = pads->size() / 2; pair-- > 0;) {
    // From the end where the rank is open.
    axes.push_back(rank.value_or(0) - 1 - pair);
    begins.push_back((*pads)[2 * pair]);
    ends.push_back((*pads)[2 * pair + 1]);
  }
  begins.append(ends);
  Value value;
  if (mode == "constant" && context.has("value")) {
    Type element = getElementType(self);
    std::optional<double> number = context.findNumber("value");
    if (number && element.isIntOrFloat() && !isUnknown(element))
      value = context.makeScalar(*number, element);
    else if (!isUnknown(element))
      value = context.cast(context.tensor("value"), element);
    else
      return context.unsupported();
  }
  Builder &builder = context.builder();
  context.setOutput(
      0, context.make<mp::PadOp>(self, Value(), value, Value(),
                                 builder.getDenseI64ArrayAttr(begins),
                                 builder.getDenseI64ArrayAttr(axes), mode));
  return success();
}

static LogicalResult lowerPad(NodeContext &context) {
  StringRef mode = context.findString("mode").value_or("constant");
  if (mode == "replicate")
    mode = "edge";
  else if (mode == "circular")
    mode = "wrap";
  return givePadded(context, "pad", mode);
}

static LogicalResult lowerConstantPad(NodeContext &context) {
  return givePadded(context, "pad", "constant");
}
static LogicalResult lowerReflectionPad(NodeContext &context) {
  return givePadded(context, "padding", "reflect");
}
static LogicalResult lowerReplicationPad(NodeContext &context) {
  return givePadded(context, "padding", "edge");
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

/// More index elements than this are not written out.
static constexpr int64_t kMaxIndices = 1 << 20;

static Value makeIndex(NodeContext &context, ArrayRef<int64_t> elements,
                       ArrayRef<int64_t> shape) {
  return reshape(context, context.makeInts(elements), shape);
}

/// Every window of `size` along a dim, a new last dim.
static LogicalResult lowerUnfold(NodeContext &context) {
  Value self = context.tensor("self");
  std::optional<int64_t> rank = NodeContext::rankOf(self),
                         size = context.findInt("size"),
                         step = context.findInt("step");
  std::optional<int64_t> axis =
      NodeContext::axisOf(self, context.getInt("dimension", 0));
  if (!rank || *rank == 0 || !size || !step || *step < 1 || !axis)
    return context.unsupported();
  std::optional<int64_t> dim = staticDim(self, *axis);
  if (!dim || *size > *dim || *size < 0)
    return context.unsupported();
  int64_t count = (*dim - *size) / *step + 1;
  if (count > kMaxIndices / std::max<int64_t>(*size, 1))
    return context.unsupported();
  SmallVector<int64_t> indices;
  for (int64_t window = 0; window < count; ++window)
    for (int64_t place = 0; place < *size; ++place)
      indices.push_back(window * *step + place);
  return giveView(context, "self",
                  {[=, axis = *axis, size = *size,
                    rank = *rank](NodeContext &inner, Value base) {
                     Value windows =
                         gather(inner, base,
                                makeIndex(inner, indices, {count, size}), axis);
                     return axis + 1 == rank
                                ? windows
                                : transpose(inner, windows,
                                            moveDim(rank + 1, axis + 1, rank));
                   },
                   // Windows may overlap.
                   {}});
}

namespace {
/// Windows of an image: kernel place by window, as flat places of the padded
/// image.
struct Patches {
  SmallVector<int64_t> indices;
  int64_t places = 0, windows = 0;
  int64_t paddedHeight = 0, paddedWidth = 0;
  SmallVector<int64_t> padding;
};
} // namespace

static std::optional<Patches> findPatches(NodeContext &context, int64_t height,
                                          int64_t width) {
  auto pair =
      [&](StringRef input) -> std::optional<std::pair<int64_t, int64_t>> {
    std::optional<SmallVector<int64_t>> values = context.findInts(input);
    if (!values || values->empty())
      return std::nullopt;
    return std::pair(values->front(), values->back());
  };
  auto kernel = pair("kernel_size"), dilation = pair("dilation"),
       padding = pair("padding"), stride = pair("stride");
  if (!kernel || !dilation || !padding || !stride || stride->first < 1 ||
      stride->second < 1)
    return std::nullopt;
  Patches patches;
  patches.padding = {padding->first, padding->second};
  patches.paddedHeight = addDims(height, multiplyDims(2, padding->first));
  patches.paddedWidth = addDims(width, multiplyDims(2, padding->second));
  auto count = [](int64_t size, int64_t taps, int64_t gap, int64_t by) {
    int64_t span = addDims(multiplyDims(gap, taps - 1), 1);
    return span < 0 || size < span ? 0 : (size - span) / by + 1;
  };
  int64_t rows = count(patches.paddedHeight, kernel->first, dilation->first,
                       stride->first),
          columns = count(patches.paddedWidth, kernel->second, dilation->second,
                          stride->second);
  patches.places = multiplyDims(kernel->first, kernel->second);
  patches.windows = multiplyDims(rows, columns);
  if (patches.places <= 0 || patches.windows <= 0 ||
      patches.places > kMaxIndices / patches.windows)
    return std::nullopt;
  for (int64_t y = 0; y < kernel->first; ++y)
    for (int64_t x = 0; x < kernel->second; ++x)
      for (int64_t row = 0; row < rows; ++row)
        for (int64_t column = 0; column < columns; ++column)
          patches.indices.push_back(
              (row * stride->first + y * dilation->first) *
                  patches.paddedWidth +
              column * stride->second + x * dilation->second);
  return patches;
}

/// [N, C, H, W] to [N, C kernel, windows].
static LogicalResult lowerIm2Col(NodeContext &context) {
  Value self = context.tensor("self");
  MaybeShape shape = getShape(self);
  if (!shape || shape->size() != 4 || llvm::is_contained(*shape, kDynamic))
    return context.unsupported();
  std::optional<Patches> patches =
      findPatches(context, (*shape)[2], (*shape)[3]);
  if (!patches)
    return context.unsupported();
  Builder &builder = context.builder();
  SmallVector<int64_t> pads = patches->padding;
  pads.append(patches->padding);
  if (llvm::any_of(pads, [](int64_t pad) { return pad != 0; }))
    self = context.make<mp::PadOp>(
        self, Value(), Value(), Value(), builder.getDenseI64ArrayAttr(pads),
        builder.getDenseI64ArrayAttr({2, 3}), StringRef("constant"));
  Value flat = reshape(
      context, self,
      {(*shape)[0], (*shape)[1], patches->paddedHeight * patches->paddedWidth});
  Value index =
      makeIndex(context, patches->indices, {patches->places, patches->windows});
  context.setOutput(0, reshape(context, gather(context, flat, index, 2),
                               {(*shape)[0], (*shape)[1] * patches->places,
                                patches->windows}));
  return success();
}

/// The sums of what falls on each place.
static LogicalResult lowerCol2Im(NodeContext &context) {
  Value self = context.tensor("self");
  MaybeShape shape = getShape(self);
  std::optional<SmallVector<int64_t>> size = context.findInts("output_size");
  if (!shape || shape->size() != 3 || llvm::is_contained(*shape, kDynamic) ||
      !size || size->size() != 2)
    return context.unsupported();
  std::optional<Patches> patches =
      findPatches(context, size->front(), size->back());
  if (!patches || (*shape)[1] % patches->places ||
      (*shape)[2] != patches->windows)
    return context.unsupported();
  int64_t batch = (*shape)[0], channels = (*shape)[1] / patches->places,
          taps = patches->places * patches->windows;
  Value zeros =
      fill(context,
           context.makeInts(
               {batch, channels, patches->paddedHeight * patches->paddedWidth}),
           0, getElementType(self));
  if (!zeros)
    return context.unsupported();
  Value index =
      expand(context, makeIndex(context, patches->indices, {1, 1, taps}),
             context.makeInts({batch, channels, taps}));
  Value sums = context.make<mp::ScatterElementsOp>(
      zeros, index, reshape(context, self, {batch, channels, taps}), 2,
      StringRef("add"));
  Value image =
      reshape(context, sums,
              {batch, channels, patches->paddedHeight, patches->paddedWidth});
  for (int64_t dim : {0, 1})
    if (int64_t pad = patches->padding[dim])
      image = slice(context, image, dim + 2, pad, pad + (*size)[dim]);
  context.setOutput(0, image);
  return success();
}

void aten::registerWindows(LoweringRegistry &registry) {
  registry.add("pad", lowerPad);
  registry.add("constant_pad_nd", lowerConstantPad);
  registry.add({"reflection_pad1d", "reflection_pad2d", "reflection_pad3d"},
               lowerReflectionPad);
  registry.add({"replication_pad1d", "replication_pad2d", "replication_pad3d"},
               lowerReplicationPad);
  registry.add("unfold", lowerUnfold);
  registry.add("im2col", lowerIm2Col);
  registry.add("col2im", lowerCol2Im);
}
