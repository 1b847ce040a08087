//===- ConvOps.cpp - Convolutions -----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Dialect/Ops/LinearOps.h"

#include "mpopt/Dialect/WindowSupport.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::mp;

static bool differ(int64_t lhs, int64_t rhs) {
  return lhs >= 0 && rhs >= 0 && lhs != rhs;
}

/// Number of spatial dims, from whichever operand has a rank.
static std::optional<int64_t> getSpatialRank(Value input, Value filter) {
  for (Value operand : {filter, input})
    if (MaybeShape shape = getShape(operand))
      return int64_t(shape->size()) - 2;
  return std::nullopt;
}

/// Ranks and channels. `outputDim` is the filter dim of output channels (1 for
/// transposed convolutions, whose dim 0 are the input's).
static LogicalResult verifyConv(Operation *op, Value input, Value filter,
                                Value bias, int64_t group, bool transposed) {
  if (group < 1)
    return op->emitOpError("group is ") << group;
  MaybeShape in = getShape(input), taps = getShape(filter);
  if ((in && in->size() < 3) || (taps && taps->size() < 3))
    return op->emitOpError("needs at least one spatial dim: ")
           << op->getOperandTypes();
  if (in && taps && in->size() != taps->size())
    return op->emitOpError("input ") << input.getType() << " and filter "
                                     << filter.getType() << " differ in rank";
  if (!taps)
    return success();
  int64_t first = (*taps)[0], second = (*taps)[1];
  if (first > 0 && first % group)
    return op->emitOpError("group ")
           << group << " does not divide the filter's " << first << " channels";
  int64_t perAll = (CheckedDim(second) * group).get();
  int64_t wanted = transposed ? first : perAll;
  if (in && differ((*in)[1], wanted))
    return op->emitOpError("input has ")
           << (*in)[1] << " channels where the filter has " << wanted;
  int64_t outputs = transposed ? perAll : first;
  if (!bias)
    return success();
  MaybeShape shape = getShape(bias);
  if (shape && (shape->size() != 1 || differ((*shape)[0], outputs)))
    return op->emitOpError("bias ")
           << bias.getType() << " is not one number per output channel";
  return success();
}

/// Kernel sizes from the filter; dynamic ones if it has no rank.
static SmallVector<int64_t> getKernel(Value filter, int64_t spatialRank) {
  if (MaybeShape taps = getShape(filter))
    return SmallVector<int64_t>(ArrayRef(*taps).drop_front(2));
  return SmallVector<int64_t>(spatialRank, kDynamic);
}

/// The types of a convolution's result, in whatever elements.
template <typename OpT>
static LogicalResult inferConv(OpT op, StringRef autoPad, Type element,
                               SmallVectorImpl<Type> &types) {
  if (failed(op.verify()))
    return failure();
  Value input = op.getInput(), filter = op.getFilter();
  std::optional<int64_t> rank = getSpatialRank(input, filter);
  if (!rank) {
    types.push_back(getTensorType(std::nullopt, element));
    return success();
  }
  Window window = Window::get(getKernel(filter, *rank), op.getStrides(),
                              op.getDilations(), op.getPads(), autoPad);
  MaybeShape in = getShape(input), taps = getShape(filter);
  Shape result{in ? (*in)[0] : kDynamic, taps ? (*taps)[0] : kDynamic};
  for (unsigned index = 0; index < window.dims.size(); ++index) {
    int64_t size = in ? (*in)[2 + index] : kDynamic;
    std::optional<int64_t> dim = window.outputDim(index, size);
    if (!dim)
      return op.emitOpError("a window of ")
             << window.dims[index].extent() << " does not fit dim " << 2 + index
             << " of " << input.getType();
    result.push_back(*dim);
  }
  types.push_back(getTensorType(result, element));
  return success();
}

//===----------------------------------------------------------------------===//
// ConvOp, ConvIntegerOp, DeformConvOp
//===----------------------------------------------------------------------===//

LogicalResult ConvOp::verify() {
  if (failed(verifyConv(*this, getInput(), getFilter(), getBias(), getGroup(),
                        false)))
    return failure();
  return verifyWindow(*this, getSpatialRank(getInput(), getFilter()),
                      getStrides(), getDilations(), getPads(), getAutoPad());
}

LogicalResult ConvOp::inferResultTypes(const ShapeFacts &,
                                       SmallVectorImpl<Type> &types) {
  return inferConv(*this, getAutoPad(),
                   promoteElementTypes(getElementType(getInput()),
                                       getElementType(getFilter())),
                   types);
}

LogicalResult ConvIntegerOp::verify() {
  if (failed(verifyConv(*this, getInput(), getFilter(), {}, getGroup(), false)))
    return failure();
  return verifyWindow(*this, getSpatialRank(getInput(), getFilter()),
                      getStrides(), getDilations(), getPads(), getAutoPad());
}

LogicalResult ConvIntegerOp::inferResultTypes(const ShapeFacts &,
                                              SmallVectorImpl<Type> &types) {
  return inferConv(*this, getAutoPad(), IntegerType::get(getContext(), 32),
                   types);
}

LogicalResult DeformConvOp::verify() {
  if (failed(verifyConv(*this, getInput(), getFilter(), getBias(), getGroup(),
                        false)))
    return failure();
  int64_t offsetGroup = getOffsetGroup();
  if (offsetGroup < 1)
    return emitOpError("offset_group is ") << offsetGroup;
  std::optional<int64_t> rank = getSpatialRank(getInput(), getFilter());
  if (failed(
          verifyWindow(*this, rank, getStrides(), getDilations(), getPads())))
    return failure();
  MaybeShape taps = getShape(getFilter()), offset = getShape(getOffset());
  if (!taps || !offset)
    return success();
  std::optional<int64_t> count =
      getNumElements(Shape(ArrayRef(*taps).drop_front(2)));
  if (offset->size() != taps->size() ||
      (count && differ((*offset)[1], (CheckedDim(*count) * offsetGroup *
                                      int64_t(taps->size() - 2))
                                         .get())))
    return emitOpError("offset ")
           << getOffset().getType() << " does not fit filter "
           << getFilter().getType();
  return success();
}

LogicalResult DeformConvOp::inferResultTypes(const ShapeFacts &,
                                             SmallVectorImpl<Type> &types) {
  return inferConv(*this, "NOTSET",
                   promoteElementTypes(getElementType(getInput()),
                                       getElementType(getFilter())),
                   types);
}

//===----------------------------------------------------------------------===//
// ConvTransposeOp
//===----------------------------------------------------------------------===//

ArrayRef<StringRef> ConvTransposeOp::getFrameworkNames(Framework framework) {
  static const StringRef kAny[] = {"conv_transpose2d.input", "convolution",
                                   "cudnn_convolution_transpose"};
  static const StringRef kOne[] = {"conv_transpose1d", "convolution",
                                   "cudnn_convolution_transpose"};
  static const StringRef kThree[] = {"conv_transpose3d.input", "convolution",
                                     "cudnn_convolution_transpose"};
  static const StringRef kTensorFlow[] = {"Conv2DBackpropInput",
                                          "Conv3DBackpropInputV2"};
  static const StringRef kOnnx[] = {"ConvTranspose"};
  if (framework == Framework::TensorFlow)
    return kTensorFlow;
  if (framework == Framework::Onnx)
    return kOnnx;
  std::optional<int64_t> rank = getSpatialRank(getInput(), getFilter());
  if (rank == 1)
    return kOne;
  return rank == 3 ? ArrayRef(kThree) : ArrayRef(kAny);
}

LogicalResult ConvTransposeOp::verify() {
  if (failed(verifyConv(*this, getInput(), getFilter(), getBias(), getGroup(),
                        true)))
    return failure();
  std::optional<int64_t> rank = getSpatialRank(getInput(), getFilter());
  for (ArrayRef<int64_t> list : {getOutputPadding(), getOutputShape()})
    if (rank && !list.empty() && int64_t(list.size()) != *rank)
      return emitOpError("output_padding or output_shape has ")
             << list.size() << " entries for " << *rank << " spatial dims";
  return verifyWindow(*this, rank, getStrides(), getDilations(), getPads(),
                      getAutoPad());
}

LogicalResult ConvTransposeOp::inferResultTypes(const ShapeFacts &,
                                                SmallVectorImpl<Type> &types) {
  if (failed(verify()))
    return failure();
  Type element = promoteElementTypes(getElementType(getInput()),
                                     getElementType(getFilter()));
  MaybeShape in = getShape(getInput()), taps = getShape(getFilter());
  std::optional<int64_t> rank = getSpatialRank(getInput(), getFilter());
  if (!rank) {
    types.push_back(getTensorType(std::nullopt, element));
    return success();
  }
  Shape result{in ? (*in)[0] : kDynamic, kDynamic};
  if (taps && (*taps)[1] >= 0)
    result[1] = (CheckedDim((*taps)[1]) * int64_t(getGroup())).get();
  SmallVector<int64_t> kernel = getKernel(getFilter(), *rank);
  Window window = Window::get(kernel, getStrides(), getDilations(), getPads(),
                              getAutoPad());
  bool same = getAutoPad().starts_with("SAME");
  for (auto [index, dim] : llvm::enumerate(window.dims)) {
    int64_t size = in ? (*in)[2 + index] : kDynamic;
    if (!getOutputShape().empty()) {
      result.push_back(getOutputShape()[index]);
      continue;
    }
    if (size < 0 || dim.extent() < 0) {
      result.push_back(kDynamic);
      continue;
    }
    int64_t extra = getOutputPadding().empty() ? 0 : getOutputPadding()[index];
    if (same) {
      // The standard and runtimes differ for a window below its stride.
      result.push_back(dim.extent() < dim.stride || extra
                           ? kDynamic
                           : (CheckedDim(size) * dim.stride).get());
      continue;
    }
    CheckedDim length = (CheckedDim(size) - 1) * dim.stride + extra +
                        dim.extent() - dim.padBegin - dim.padEnd;
    if (length.isKnown() && *length < 0)
      return emitOpError("pads leave nothing of spatial dim ") << index;
    result.push_back(length.get());
  }
  types.push_back(getTensorType(result, element));
  return success();
}
