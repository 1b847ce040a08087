//===- PoolingOps.cpp - Pooling -------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Dialect/Ops/PoolingOps.h"

#include "mpopt/Dialect/WindowSupport.h"

#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::mp;

#define GET_OP_CLASSES
#include "mpopt/Dialect/Ops/PoolingOps.cpp.inc"

void MPDialect::registerPoolingOps() {
  addOperations<
#define GET_OP_LIST
#include "mpopt/Dialect/Ops/PoolingOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Sliding windows
//===----------------------------------------------------------------------===//

/// `input` is [N, C, spatial...] or, as PyTorch allows, [C, spatial...].
static LogicalResult verifyPoolRank(Operation *op, Value input,
                                    int64_t spatial) {
  MaybeShape shape = getShape(input);
  if (spatial < 1)
    return op->emitOpError("needs at least one spatial dim");
  int64_t rank = shape ? int64_t(shape->size()) : 0;
  if (shape && rank != spatial + 1 && rank != spatial + 2)
    return op->emitOpError("has ")
           << spatial << " spatial dims, which does not fit "
           << input.getType();
  return success();
}

template <typename OpT> static LogicalResult verifyPool(OpT op) {
  ArrayRef<int64_t> kernel = op.getKernelShape();
  if (failed(verifyPoolRank(op, op.getInput(), kernel.size())))
    return failure();
  for (int64_t size : kernel)
    if (size < 1)
      return op.emitOpError("kernel_shape has entry ")
             << size << ", the least is 1";
  return verifyWindow(op, kernel.size(), op.getStrides(), op.getDilations(),
                      op.getPads(), op.getAutoPad());
}

/// `legacyCeil`: the number of windows may be disputed.
template <typename OpT>
static LogicalResult inferPool(OpT op, SmallVectorImpl<Type> &types,
                               bool legacyCeil = false) {
  if (failed(op.verify()))
    return failure();
  Type element = getElementType(op.getInput());
  MaybeShape shape = getShape(op.getInput());
  ArrayRef<int64_t> kernel = op.getKernelShape();
  if (!shape) {
    types.push_back(getTensorType(std::nullopt, element));
    return success();
  }
  Window window = Window::get(kernel, op.getStrides(), op.getDilations(),
                              op.getPads(), op.getAutoPad(), op.getCeilMode());
  size_t leading = shape->size() - kernel.size();
  for (size_t index = 0; index < kernel.size(); ++index) {
    int64_t &dim = (*shape)[leading + index];
    int64_t input = dim;
    std::optional<int64_t> output = window.outputDim(index, input);
    if (!output)
      return op.emitOpError("a window of ")
             << window.dims[index].extent() << " does not fit dim "
             << leading + index << " of " << op.getInput().getType();
    dim = *output;
    if (!legacyCeil || !op.getCeilMode() || input < 0)
      continue;
    // Did the rule drop a window that the older one keeps?
    const WindowDim &entry = window.dims[index];
    CheckedDim past = CheckedDim(dim) * entry.stride -
                      (CheckedDim(input) + entry.padBegin + entry.padEnd -
                       entry.extent() + entry.stride);
    if (!window.autoPad.starts_with("SAME") && !(past.isKnown() && *past >= 0))
      dim = kDynamic;
  }
  types.push_back(getTensorType(shape, element));
  return success();
}

/// Names by spatial rank, of which the tables list some only.
static ArrayRef<StringRef> byRank(size_t rank, ArrayRef<StringRef> names) {
  return rank >= 1 && rank <= 3 ? names.slice(rank - 1, 1)
                                : ArrayRef<StringRef>();
}

LogicalResult MaxPoolOp::verify() {
  if (getStorageOrder() > 1)
    return emitOpError("storage_order must be 0 or 1");
  return verifyPool(*this);
}

LogicalResult MaxPoolOp::inferResultTypes(const ShapeFacts &,
                                          SmallVectorImpl<Type> &types) {
  if (failed(inferPool(*this, types)))
    return failure();
  if (getIndices())
    types.push_back(getTensorType(getShape(types.front()),
                                  IntegerType::get(getContext(), 64)));
  return success();
}

ArrayRef<StringRef> MaxPoolOp::getFrameworkNames(Framework framework) {
  static const StringRef kTorch[] = {"max_pool1d", "max_pool2d", "max_pool3d"};
  // An op of its own in PyTorch, which CPU autocast does not list.
  static const StringRef kWithIndices[] = {"max_pool1d_with_indices",
                                           "max_pool2d_with_indices",
                                           "max_pool3d_with_indices"};
  static const StringRef kTensorFlow[] = {"MaxPool", "MaxPool", "MaxPool3D"};
  static const StringRef kOnnx[] = {"MaxPool"};
  if (framework == Framework::Onnx)
    return kOnnx;
  if (framework == Framework::PyTorch && getIndices())
    return byRank(getKernelShape().size(), kWithIndices);
  return byRank(getKernelShape().size(), framework == Framework::PyTorch
                                             ? ArrayRef(kTorch)
                                             : ArrayRef(kTensorFlow));
}

LogicalResult AveragePoolOp::verify() { return verifyPool(*this); }

LogicalResult AveragePoolOp::inferResultTypes(const ShapeFacts &,
                                              SmallVectorImpl<Type> &types) {
  return inferPool(*this, types, getLegacyCeil());
}

ArrayRef<StringRef> AveragePoolOp::getFrameworkNames(Framework framework) {
  static const StringRef kTorch[] = {"avg_pool1d", "avg_pool2d", "avg_pool3d"};
  static const StringRef kTensorFlow[] = {"AvgPool", "AvgPool", "AvgPool3D"};
  static const StringRef kOnnx[] = {"AveragePool"};
  if (framework == Framework::Onnx)
    return kOnnx;
  return byRank(getKernelShape().size(), framework == Framework::PyTorch
                                             ? ArrayRef(kTorch)
                                             : ArrayRef(kTensorFlow));
}

LogicalResult LpPoolOp::verify() {
  if (!(getP().convertToDouble() > 0))
    return emitOpError("p must be positive");
  return verifyPool(*this);
}

LogicalResult LpPoolOp::inferResultTypes(const ShapeFacts &,
                                         SmallVectorImpl<Type> &types) {
  return inferPool(*this, types);
}

LogicalResult MaxUnpoolOp::verify() {
  ArrayRef<int64_t> kernel = getKernelShape();
  if (failed(verifyPoolRank(*this, getInput(), kernel.size())))
    return failure();
  return verifyWindow(*this, kernel.size(), getStrides(), {}, getPads());
}

LogicalResult MaxUnpoolOp::inferResultTypes(const ShapeFacts &facts,
                                            SmallVectorImpl<Type> &types) {
  if (failed(verify()))
    return failure();
  Type element = getElementType(getInput());
  MaybeShape shape = getShape(getInput());
  ArrayRef<int64_t> kernel = getKernelShape();
  if (Value wanted = getOutputShape()) {
    if (std::optional<SmallVector<int64_t>> dims = facts.constants(wanted))
      shape = Shape(ArrayRef(*dims));
    else if (shape)
      llvm::fill(*shape, kDynamic);
    types.push_back(getTensorType(shape, element));
    return success();
  }
  if (shape) {
    Window window = Window::get(kernel, getStrides(), {}, getPads());
    size_t leading = shape->size() - kernel.size();
    for (auto [index, entry] : llvm::enumerate(window.dims)) {
      int64_t &dim = (*shape)[leading + index];
      if (dim < 0)
        continue;
      CheckedDim length = (CheckedDim(dim) - 1) * entry.stride + entry.kernel -
                          entry.padBegin - entry.padEnd;
      dim = length.get();
      if (length.isKnown() && dim < 0)
        return emitOpError("pads leave nothing of spatial dim ") << index;
    }
  }
  types.push_back(getTensorType(shape, element));
  return success();
}

//===----------------------------------------------------------------------===//
// All spatial dims, or as many windows as asked for
//===----------------------------------------------------------------------===//

static LogicalResult inferGlobalPool(Operation *op,
                                     SmallVectorImpl<Type> &types) {
  MaybeShape shape = getShape(op->getOperand(0));
  if (shape && shape->size() < 2)
    return op->emitOpError("needs a batch and a channel dim, got ")
           << op->getOperand(0).getType();
  if (shape)
    std::fill(shape->begin() + 2, shape->end(), 1);
  types.push_back(getTensorType(shape, getElementType(op->getOperand(0))));
  return success();
}

LogicalResult
GlobalAveragePoolOp::inferResultTypes(const ShapeFacts &,
                                      SmallVectorImpl<Type> &types) {
  return inferGlobalPool(*this, types);
}
LogicalResult GlobalMaxPoolOp::inferResultTypes(const ShapeFacts &,
                                                SmallVectorImpl<Type> &types) {
  return inferGlobalPool(*this, types);
}
LogicalResult GlobalLpPoolOp::inferResultTypes(const ShapeFacts &,
                                               SmallVectorImpl<Type> &types) {
  return inferGlobalPool(*this, types);
}

template <typename OpT> static LogicalResult verifyAdaptive(OpT op) {
  ArrayRef<int64_t> sizes = op.getOutputSize();
  if (failed(verifyPoolRank(op, op.getInput(), sizes.size())))
    return failure();
  for (int64_t size : sizes)
    if (size < -1)
      return op.emitOpError("output_size has entry ") << size;
  return success();
}

template <typename OpT>
static LogicalResult inferAdaptive(OpT op, SmallVectorImpl<Type> &types) {
  if (failed(op.verify()))
    return failure();
  MaybeShape shape = getShape(op.getInput());
  ArrayRef<int64_t> sizes = op.getOutputSize();
  if (shape)
    for (auto [index, size] : llvm::enumerate(sizes))
      if (size >= 0)
        (*shape)[shape->size() - sizes.size() + index] = size;
  types.push_back(getTensorType(shape, getElementType(op.getInput())));
  return success();
}

LogicalResult AdaptiveAvgPoolOp::verify() { return verifyAdaptive(*this); }

LogicalResult
AdaptiveAvgPoolOp::inferResultTypes(const ShapeFacts &,
                                    SmallVectorImpl<Type> &types) {
  return inferAdaptive(*this, types);
}

ArrayRef<StringRef> AdaptiveAvgPoolOp::getFrameworkNames(Framework framework) {
  static const StringRef kTorch[] = {
      "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d"};
  if (framework != Framework::PyTorch)
    return {};
  return byRank(getOutputSize().size(), kTorch);
}

LogicalResult AdaptiveMaxPoolOp::verify() { return verifyAdaptive(*this); }

LogicalResult
AdaptiveMaxPoolOp::inferResultTypes(const ShapeFacts &,
                                    SmallVectorImpl<Type> &types) {
  if (failed(inferAdaptive(*this, types)))
    return failure();
  if (getIndices())
    types.push_back(getTensorType(getShape(types.front()),
                                  IntegerType::get(getContext(), 64)));
  return success();
}

ArrayRef<StringRef> AdaptiveMaxPoolOp::getFrameworkNames(Framework framework) {
  static const StringRef kTorch[] = {
      "adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d"};
  if (framework != Framework::PyTorch)
    return {};
  return byRank(getOutputSize().size(), kTorch);
}

//===----------------------------------------------------------------------===//
// Regions of interest
//===----------------------------------------------------------------------===//

/// `input` [N, C, H, W] and `rois` [R, columns].
static LogicalResult checkRegions(Operation *op, Value input, Value rois,
                                  int64_t columns) {
  MaybeShape shape = getShape(input), boxes = getShape(rois);
  if (shape && shape->size() != 4)
    return op->emitOpError("input must have four dims, got ")
           << input.getType();
  if (boxes &&
      (boxes->size() != 2 || ((*boxes)[1] >= 0 && (*boxes)[1] != columns)))
    return op->emitOpError("rois must be [R, ")
           << columns << "], got " << rois.getType();
  return success();
}

static void inferRegions(Value input, Value rois, int64_t height, int64_t width,
                         SmallVectorImpl<Type> &types) {
  MaybeShape shape = getShape(input), boxes = getShape(rois);
  Shape result{boxes ? (*boxes)[0] : kDynamic, shape ? (*shape)[1] : kDynamic,
               height, width};
  types.push_back(getTensorType(result, getElementType(input)));
}

LogicalResult MaxRoiPoolOp::verify() {
  ArrayRef<int64_t> pooled = getPooledShape();
  if (pooled.size() != 2 || pooled[0] < 1 || pooled[1] < 1)
    return emitOpError("pooled_shape must be two positive sizes");
  return checkRegions(*this, getInput(), getRois(), 5);
}

LogicalResult MaxRoiPoolOp::inferResultTypes(const ShapeFacts &,
                                             SmallVectorImpl<Type> &types) {
  if (failed(verify()))
    return failure();
  inferRegions(getInput(), getRois(), getPooledShape()[0], getPooledShape()[1],
               types);
  return success();
}

LogicalResult RoiAlignOp::verify() {
  if (int64_t(getOutputHeight()) < 1 || int64_t(getOutputWidth()) < 1)
    return emitOpError("output size must be positive");
  if (!symbolizeRegionMode(getMode()))
    return emitOpError("unknown mode '") << getMode() << "'";
  return checkRegions(*this, getInput(), getRois(), 4);
}

LogicalResult RoiAlignOp::inferResultTypes(const ShapeFacts &,
                                           SmallVectorImpl<Type> &types) {
  if (failed(verify()))
    return failure();
  inferRegions(getInput(), getRois(), getOutputHeight(), getOutputWidth(),
               types);
  return success();
}
