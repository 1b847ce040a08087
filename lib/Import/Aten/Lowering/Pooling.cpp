//===- Pooling.cpp - Pooling, from aten -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Not covered: fractional_max_pool.
//
//===----------------------------------------------------------------------===//

#include "Operands.h"
#include "ShapeValues.h"

#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/PoolingOps.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::aten;

/// Spatial dims by the op's name (`max_pool2d_with_indices`).
static size_t countSpatial(const NodeContext &context) {
  StringRef name = context.name();
  for (size_t count = 1; count <= 3; ++count)
    if (name.contains(std::to_string(count) + "d"))
      return count;
  return 0;
}

namespace {
struct Window {
  SmallVector<int64_t> kernel, strides, dilations, pads;
  bool ceil = false;
};
} // namespace

/// Strides are the kernel's sizes unless given. Nothing if something is
/// computed at run time.
static std::optional<Window> readWindow(NodeContext &context) {
  size_t count = countSpatial(context);
  auto kernel = spatialInts(context, "kernel_size", count, 1),
       dilations = spatialInts(context, "dilation", count, 1),
       pads = spatialInts(context, "padding", count, 0);
  if (!kernel || !dilations || !pads || !context.has("kernel_size") ||
      context.isDynamic("ceil_mode"))
    return std::nullopt;
  auto strides = spatialInts(context, "stride", count, 0);
  if (!strides)
    return std::nullopt;
  if (llvm::all_of(*strides, [](int64_t stride) { return stride == 0; }))
    strides = kernel;
  SmallVector<int64_t> once = *pads;
  pads->append(once.begin(), once.end());
  dropDefault(*strides, 1);
  dropDefault(*dilations, 1);
  dropDefault(*pads, 0);
  return Window{*kernel, *strides, *dilations, *pads,
                context.getBool("ceil_mode")};
}

/// Number of elements in the last `count` dims, computed if need be; null if
/// the rank is not known.
static Value makePlane(NodeContext &context, Value input, size_t count) {
  std::optional<int64_t> rank = NodeContext::rankOf(input);
  if (!rank || *rank < int64_t(count))
    return {};
  int64_t known = 1;
  Value computed;
  for (int64_t axis = *rank - count; axis < *rank; ++axis) {
    if (std::optional<int64_t> dim = staticDim(input, axis)) {
      known *= *dim;
      continue;
    }
    Value dim = dimValue(context, input, axis);
    computed = computed ? context.make<mp::MulOp>(computed, dim) : dim;
  }
  if (!computed)
    return makeInt(context, known);
  return known == 1
             ? computed
             : context.make<mp::MulOp>(computed, makeInt(context, known));
}

/// Positions are counted in a channel's plane, in mp.max_pool in the whole
/// input.
static LogicalResult lowerMaxPool(NodeContext &context) {
  Value input = context.tensor("self");
  std::optional<Window> window = readWindow(context);
  if (!input || !window)
    return context.unsupported();
  bool indices = context.numOutputs() == 2;
  Value plane =
      indices ? makePlane(context, input, window->kernel.size()) : Value();
  if (indices && !plane)
    return context.unsupported();
  auto op = context.makeTyped<mp::MaxPoolOp>(
      context.unknownTypes(indices ? 2 : 1), input, window->kernel,
      window->strides, window->dilations, window->pads, window->ceil, "NOTSET",
      /*storage_order=*/0);
  context.setOutput(0, op.getResult());
  if (indices)
    context.setOutput(
        1, context.make<mp::ModOp>(op.getIndices(), plane, /*fmod=*/false));
  return success();
}

/// With a divisor of its own the mean becomes the sum by it.
static LogicalResult lowerAveragePool(NodeContext &context) {
  Value input = context.tensor("self");
  std::optional<Window> window = readWindow(context);
  std::optional<int64_t> divisor = context.findInt("divisor_override");
  if (!input || !window || context.isDynamic("count_include_pad") ||
      (context.has("divisor_override") && !divisor) ||
      (divisor && (window->ceil || *divisor == 0)))
    return context.unsupported();
  Value result = context.make<mp::AveragePoolOp>(
      input, window->kernel, window->strides, window->dilations, window->pads,
      window->ceil, "NOTSET",
      divisor || context.getBool("count_include_pad", true),
      /*legacy_ceil=*/false);
  if (divisor) {
    double elements = 1;
    for (int64_t size : window->kernel)
      elements *= size;
    Value factor = constantLike(context, elements / *divisor, result);
    if (!factor || isIntegral(result))
      return context.unsupported();
    result = context.make<mp::MulOp>(result, factor);
  }
  context.setOutput(0, requantize(context, result, context.tensor("self")));
  return success();
}

//===----------------------------------------------------------------------===//
// As many windows as asked for
//===----------------------------------------------------------------------===//

static std::optional<SmallVector<int64_t>> readSizes(NodeContext &context) {
  if (!context.has("output_size"))
    return std::nullopt;
  return spatialInts(context, "output_size", countSpatial(context), 1);
}

static LogicalResult lowerAdaptiveAverage(NodeContext &context) {
  Value input = context.tensor("self");
  auto sizes = readSizes(context);
  if (!input || !sizes)
    return context.unsupported();
  bool global = NodeContext::rankOf(input) == int64_t(sizes->size()) + 2 &&
                llvm::all_of(*sizes, [](int64_t size) { return size == 1; });
  Value result = global ? Value(context.make<mp::GlobalAveragePoolOp>(input))
                        : context.make<mp::AdaptiveAvgPoolOp>(input, *sizes);
  context.setOutput(0, requantize(context, result, input));
  return success();
}

static LogicalResult lowerAdaptiveMax(NodeContext &context) {
  Value input = context.tensor("self");
  auto sizes = readSizes(context);
  if (!input || !sizes)
    return context.unsupported();
  auto op = context.makeTyped<mp::AdaptiveMaxPoolOp>(context.unknownTypes(2),
                                                     input, *sizes);
  context.setOutput(0, op.getResult());
  context.setOutput(1, op.getIndices());
  return success();
}

//===----------------------------------------------------------------------===//
// Back to where the maxima were
//===----------------------------------------------------------------------===//

/// The indices become positions in the whole tensor first, which are mp's.
static LogicalResult lowerMaxUnpool(NodeContext &context) {
  Value input = context.tensor("self"), indices = context.tensor("indices");
  size_t count = countSpatial(context);
  auto sizes = context.findInts("output_size");
  MaybeShape shape = input ? getShape(input) : std::nullopt;
  if (!shape || !indices || !sizes || sizes->size() != count ||
      shape->size() < count)
    return context.unsupported();
  Shape full(shape->begin(), shape->end() - count);
  std::optional<int64_t> planes = getNumElements(full);
  int64_t plane = 1;
  for (int64_t size : *sizes)
    plane *= size;
  if (!planes)
    return context.unsupported();
  Shape base = full;
  base.append(count, 1);
  full.append(sizes->begin(), sizes->end());
  Type i64 = context.builder().getI64Type();
  Value starts =
      context.make<mp::MulOp>(iota(context, context.makeScalar(*planes, i64)),
                              context.makeScalar(plane, i64));
  indices = context.make<mp::AddOp>(indices, reshape(context, starts, base));
  context.setOutput(0, context.make<mp::MaxUnpoolOp>(
                           input, indices, context.makeInts(full),
                           SmallVector<int64_t>(count, 1), ArrayRef<int64_t>(),
                           ArrayRef<int64_t>()));
  return success();
}

void mpopt::aten::registerPooling(LoweringRegistry &registry) {
  registry.add({"max_pool1d", "max_pool2d", "max_pool3d",
                "max_pool1d_with_indices", "max_pool2d_with_indices",
                "max_pool3d_with_indices", "mkldnn_max_pool2d",
                "mkldnn_max_pool3d"},
               lowerMaxPool);
  registry.add({"avg_pool1d", "avg_pool2d", "avg_pool3d"}, lowerAveragePool);
  registry.add({"adaptive_avg_pool1d", "adaptive_avg_pool2d",
                "adaptive_avg_pool3d", "_adaptive_avg_pool2d",
                "_adaptive_avg_pool3d"},
               lowerAdaptiveAverage);
  registry.add(
      {"adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d"},
      lowerAdaptiveMax);
  registry.add({"max_unpool2d", "max_unpool3d"}, lowerMaxUnpool);
}
