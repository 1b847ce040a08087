//===- Convolution.cpp - Convolutions, from aten --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pads are the same at both ends, or a name: `valid` (none), `same`. An input
// without a batch gets one of size 1.
//
//===----------------------------------------------------------------------===//

#include "Operands.h"
#include "ShapeValues.h"
#include "Subfamilies.h"

#include "mpopt/Dialect/Ops/ActivationOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/LinearOps.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::aten;

/// How many spatial dims: from the filter, the input's rank, the op's name.
static std::optional<size_t> countSpatial(NodeContext &context, Value filter) {
  if (std::optional<int64_t> rank = NodeContext::rankOf(filter)) {
    if (*rank < 3)
      return std::nullopt;
    return *rank - 2;
  }
  StringRef name = context.name();
  if (name.consume_back("d") && !name.empty() && name.back() >= '1' &&
      name.back() <= '3')
    return name.back() - '0';
  auto strides = context.findInts("stride");
  if (strides && strides->size() > 1)
    return strides->size();
  return std::nullopt;
}

/// All begins, then all ends; `same` puts the odd element at the end. Nothing
/// if it is not known.
static std::optional<SmallVector<int64_t>>
readPads(NodeContext &context, Value filter, size_t count,
         ArrayRef<int64_t> dilations) {
  if (std::optional<StringRef> mode = context.findString("padding")) {
    SmallVector<int64_t> pads(2 * count, 0);
    if (*mode == "valid")
      return pads;
    MaybeShape shape = getShape(filter);
    if (*mode != "same" || !shape)
      return std::nullopt;
    for (size_t dim = 0; dim < count; ++dim) {
      int64_t kernel = (*shape)[2 + dim];
      if (kernel == kDynamic)
        return std::nullopt;
      int64_t total = dilations[dim] * (kernel - 1);
      pads[dim] = total / 2;
      pads[count + dim] = total - total / 2;
    }
    return pads;
  }
  auto pads = spatialInts(context, "padding", count, 0);
  if (!pads)
    return std::nullopt;
  SmallVector<int64_t> once = *pads;
  pads->append(once.begin(), once.end());
  return pads;
}

/// Null if this form is not covered.
static Value makeConvolution(NodeContext &context) {
  Value input = context.tensor(oneOf(context, "input", "self")),
        filter = context.tensor("weight"), bias = context.tensor("bias");
  if (!input || !filter)
    return {};
  bool transposed =
      context.getBool("transposed") || context.name().contains("transpose");
  std::optional<size_t> count = countSpatial(context, filter);
  if (!count || context.isDynamic("transposed") || context.isDynamic("groups"))
    return {};
  auto strides = spatialInts(context, "stride", *count, 1),
       dilations = spatialInts(context, "dilation", *count, 1),
       outputPads = spatialInts(context, "output_padding", *count, 0);
  if (!strides || !dilations || !outputPads)
    return {};
  auto pads = readPads(context, filter, *count, *dilations);
  if (!pads)
    return {};
  dropDefault(*strides, 1);
  dropDefault(*dilations, 1);
  dropDefault(*pads, 0);
  dropDefault(*outputPads, 0);
  bool unbatched = NodeContext::rankOf(input) == int64_t(*count) + 1;
  if (unbatched)
    input = unsqueeze(context, input, 0);
  int64_t groups = context.getInt("groups", 1);
  Value result =
      transposed
          ? context.make<mp::ConvTransposeOp>(
                input, filter, bias, *strides, *dilations, *pads, *outputPads,
                ArrayRef<int64_t>(), groups, "NOTSET")
          : context.make<mp::ConvOp>(input, filter, bias, *strides, *dilations,
                                     *pads, groups, "NOTSET");
  return unbatched ? squeeze(context, result, 0) : result;
}

static LogicalResult lowerConvolution(NodeContext &context) {
  Value result = makeConvolution(context);
  if (!result)
    return context.unsupported();
  context.setOutput(0, result);
  return success();
}

/// relu(conv(x) + alpha * z)
static LogicalResult lowerConvolutionRelu(NodeContext &context) {
  Value result = makeConvolution(context);
  if (!result)
    return context.unsupported();
  if (Value addend = context.tensor("z")) {
    if (context.has("alpha") && context.findNumber("alpha") != 1)
      return context.unsupported();
    result = context.make<mp::AddOp>(result, addend);
  }
  context.setOutput(0, context.make<mp::ReluOp>(result));
  return success();
}

void mpopt::aten::registerConvolution(LoweringRegistry &registry) {
  registry.add({"conv1d", "conv2d", "conv3d", "convolution", "_convolution",
                "_convolution_mode", "convolution_overrideable",
                "conv_transpose1d", "conv_transpose2d", "conv_transpose3d",
                "cudnn_convolution", "cudnn_convolution_transpose",
                "thnn_conv2d", "conv_depthwise3d"},
               lowerConvolution);
  registry.add({"cudnn_convolution_relu", "cudnn_convolution_add_relu"},
               lowerConvolutionRelu);
}
