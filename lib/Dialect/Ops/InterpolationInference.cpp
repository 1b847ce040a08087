//===- InterpolationInference.cpp - Types of resampled images -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Dialect/InferenceSupport.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::mp;

//===----------------------------------------------------------------------===//
// ResizeOp
//===----------------------------------------------------------------------===//

ArrayRef<StringRef> ResizeOp::getFrameworkNames(Framework framework) {
  static const StringRef nearest[] = {
      "upsample_nearest2d",        "upsample_nearest1d",
      "upsample_nearest3d",        "_upsample_nearest_exact2d",
      "_upsample_nearest_exact1d", "_upsample_nearest_exact3d"};
  static const StringRef linear[] = {"upsample_bilinear2d", "upsample_linear1d",
                                     "upsample_trilinear3d",
                                     "_upsample_bilinear2d_aa"};
  static const StringRef cubic[] = {"upsample_bicubic2d",
                                    "_upsample_bicubic2d_aa"};
  static const StringRef tfNearest[] = {"ResizeNearestNeighbor"};
  static const StringRef tfLinear[] = {"ResizeBilinear"};
  static const StringRef tfCubic[] = {"ResizeBicubic"};
  static const StringRef onnx[] = {"Resize", "Upsample"};
  if (framework == Framework::Onnx)
    return onnx;
  bool torch = framework == Framework::PyTorch;
  std::optional<Interpolation> mode = symbolizeInterpolation(getMode());
  if (mode == Interpolation::Nearest)
    return torch ? ArrayRef<StringRef>(nearest) : tfNearest;
  if (mode == Interpolation::Linear)
    return torch ? ArrayRef<StringRef>(linear) : tfLinear;
  return torch ? ArrayRef<StringRef>(cubic) : tfCubic;
}

/// floor(dim · scale), as ONNX multiplies: in float.
static int64_t scaleDim(int64_t dim, double scale) {
  if (dim == kDynamic)
    return kDynamic;
  double scaled = std::floor(float(dim) * float(scale));
  // A dim above 2^53 is not exact in a double, and not a real one.
  return scaled >= 0 && scaled < 9007199254740992.0 ? int64_t(scaled)
                                                    : kDynamic;
}

/// Sizes under keep_aspect_ratio_policy: one scale for all axes, the smallest
/// or largest of the wanted ones, and each dim rounded half up.
static void keepAspectRatio(StringRef policy, ArrayRef<int64_t> dims,
                            MutableArrayRef<int64_t> sizes) {
  float scale = 0;
  for (auto [index, size] : llvm::enumerate(sizes)) {
    if (dims[index] <= 0 || size == kDynamic)
      return llvm::fill(sizes, kDynamic);
    float own = float(size) / float(dims[index]);
    if (index == 0 || (policy == "not_larger" ? own < scale : own > scale))
      scale = own;
  }
  for (auto [index, size] : llvm::enumerate(sizes))
    size = scaleDim(1, std::floor(scale * float(dims[index]) + 0.5f));
}

static LogicalResult checkOperands(ResizeOp op) {
  if (failed(checkWord<Interpolation>(op, "mode", op.getMode(),
                                      getMaxEnumValForInterpolation())) ||
      failed(checkOneOf(op, "coordinate_transformation",
                        op.getCoordinateTransformation(),
                        {"half_pixel", "half_pixel_symmetric",
                         "pytorch_half_pixel", "align_corners", "asymmetric",
                         "tf_crop_and_resize", "tf_half_pixel_for_nn"})) ||
      failed(checkWord<NearestMode>(op, "nearest_mode", op.getNearestMode(),
                                    getMaxEnumValForNearestMode())) ||
      failed(checkOneOf(op, "keep_aspect_ratio_policy",
                        op.getKeepAspectRatioPolicy(),
                        {"stretch", "not_larger", "not_smaller"})) ||
      failed(checkRank(op, "scales", op.getScales(), {1})) ||
      failed(checkRank(op, "sizes", op.getSizes(), {1})))
    return failure();
  if (!op.getScales() == !op.getSizes())
    return op.emitOpError("needs either scales or sizes");
  return success();
}

LogicalResult ResizeOp::inferResultTypes(const ShapeFacts &facts,
                                         SmallVectorImpl<Type> &types) {
  if (failed(checkOperands(*this)))
    return failure();
  Type element = getElementType(getInput());
  MaybeShape input = getShape(getInput());
  if (!input) {
    types.push_back(getTensorType(std::nullopt, element));
    return success();
  }
  SmallVector<int64_t> order =
      getAxes() ? SmallVector<int64_t>(*getAxes())
                : llvm::to_vector(llvm::seq<int64_t>(0, input->size()));
  FailureOr<SmallVector<int64_t>> axes = checkAxes(*this, order, input->size());
  if (failed(axes))
    return failure();

  SmallVector<int64_t> dims, sizes(axes->size(), kDynamic);
  for (int64_t axis : *axes)
    dims.push_back((*input)[axis]);
  if (getScales() && getCoordinateTransformation() == "tf_crop_and_resize") {
    // Dims are scaled after the crop to `roi`, which is not looked into.
  } else if (auto scales = getScales() ? floatElements(facts, getScales())
                                       : std::nullopt) {
    if (scales->size() != axes->size())
      return emitOpError("has ")
             << scales->size() << " scales for " << axes->size() << " axes";
    for (auto [index, scale] : llvm::enumerate(*scales)) {
      if (scale && !(*scale > 0))
        return emitOpError("has a scale that is not positive");
      if (scale)
        sizes[index] = scaleDim(dims[index], *scale);
    }
  } else if (Elements wanted =
                 getSizes() ? elementsOf(facts, getSizes()) : Elements();
             wanted) {
    if (wanted->size() != axes->size())
      return emitOpError("has ")
             << wanted->size() << " sizes for " << axes->size() << " axes";
    for (auto [index, size] : llvm::enumerate(*wanted)) {
      if (size && *size < 0)
        return emitOpError("has the negative size ") << *size;
      sizes[index] = size.value_or(kDynamic);
    }
    if (getKeepAspectRatioPolicy() != "stretch")
      keepAspectRatio(getKeepAspectRatioPolicy(), dims, sizes);
  }
  for (auto [axis, size] : llvm::zip(*axes, sizes))
    (*input)[axis] = size;
  types.push_back(getTensorType(input, element));
  return success();
}

//===----------------------------------------------------------------------===//
// Grids
//===----------------------------------------------------------------------===//

LogicalResult GridSampleOp::inferResultTypes(const ShapeFacts &,
                                             SmallVectorImpl<Type> &types) {
  if (failed(checkWord<Interpolation>(*this, "mode", getMode(),
                                      getMaxEnumValForInterpolation())) ||
      failed(checkOneOf(*this, "padding_mode", getPaddingMode(),
                        {"zeros", "border", "reflection"})))
    return failure();
  MaybeShape input = getShape(getInput()), grid = getShape(getGrid()), result;
  if (input && grid && input->size() != grid->size())
    return emitOpError("input has rank ")
           << input->size() << ", grid " << grid->size();
  if ((input && input->size() < 3) || (grid && grid->size() < 3))
    return emitOpError("needs a batch, channels and dims");
  if (grid && grid->back() != kDynamic &&
      grid->back() != int64_t(grid->size()) - 2)
    return emitOpError("grid holds positions of ")
           << grid->back() << " coordinates for " << grid->size() - 2
           << " dims";
  if (input || grid) {
    result = Shape(input ? input->size() : grid->size(), kDynamic);
    if (input)
      std::copy_n(input->begin(), 2, result->begin());
    if (grid) {
      if (result->front() == kDynamic)
        result->front() = grid->front();
      std::copy(grid->begin() + 1, grid->end() - 1, result->begin() + 2);
    }
  }
  types.push_back(getTensorType(result, getElementType(getInput())));
  return success();
}

LogicalResult AffineGridOp::inferResultTypes(const ShapeFacts &facts,
                                             SmallVectorImpl<Type> &types) {
  FailureOr<MaybeShape> size = shapeFrom(*this, facts, getSize());
  if (failed(size) || failed(checkRank(*this, "theta", getTheta(), {3})))
    return failure();
  MaybeShape result;
  if (*size) {
    if ((*size)->size() != 4 && (*size)->size() != 5)
      return emitOpError("size has ")
             << (*size)->size() << " elements, not 4 or 5";
    result = Shape{(**size)[0]};
    result->append((*size)->begin() + 2, (*size)->end());
    result->push_back((*size)->size() - 2);
  }
  types.push_back(getTensorType(result, getElementType(getTheta())));
  return success();
}

//===----------------------------------------------------------------------===//
// Blocks and windows
//===----------------------------------------------------------------------===//

/// dim / divisor; an error if there is a rest.
static FailureOr<int64_t> divideDim(Operation *op, int64_t dim,
                                    int64_t divisor) {
  if (dim == kDynamic || divisor <= 0)
    return kDynamic;
  if (dim % divisor)
    return op->emitOpError("dim of size ")
           << dim << " is not a multiple of " << divisor;
  return dim / divisor;
}

/// Requirements of both ops: a block, and four dims.
template <typename OpT> static LogicalResult checkBlocks(OpT op) {
  if (int64_t block = op.getBlockSize(); block < 1)
    return op.emitOpError("has block_size ") << block;
  if (failed(checkOneOf(op, "mode", op.getMode(), {"DCR", "CRD"})))
    return failure();
  return checkRank(op, "input", op.getInput(), {4});
}

LogicalResult DepthToSpaceOp::inferResultTypes(const ShapeFacts &,
                                               SmallVectorImpl<Type> &types) {
  if (failed(checkBlocks(*this)))
    return failure();
  int64_t block = getBlockSize();
  Shape result(4, kDynamic);
  if (MaybeShape input = getShape(getInput())) {
    FailureOr<int64_t> channels =
        divideDim(*this, (*input)[1], multiplyDims(block, block));
    if (failed(channels))
      return failure();
    result = {(*input)[0], *channels, multiplyDims((*input)[2], block),
              multiplyDims((*input)[3], block)};
  }
  types.push_back(getTensorType(result, getElementType(getInput())));
  return success();
}

LogicalResult SpaceToDepthOp::inferResultTypes(const ShapeFacts &,
                                               SmallVectorImpl<Type> &types) {
  if (failed(checkBlocks(*this)))
    return failure();
  int64_t block = getBlockSize();
  Shape result(4, kDynamic);
  if (MaybeShape input = getShape(getInput())) {
    FailureOr<int64_t> height = divideDim(*this, (*input)[2], block);
    FailureOr<int64_t> width = divideDim(*this, (*input)[3], block);
    if (failed(height) || failed(width))
      return failure();
    result = {(*input)[0], multiplyDims({(*input)[1], block, block}), *height,
              *width};
  }
  types.push_back(getTensorType(result, getElementType(getInput())));
  return success();
}

/// Attributes of sliding windows over `rank` dims: lengths and signs.
static LogicalResult checkWindows(Operation *op, size_t rank,
                                  std::optional<ArrayRef<int64_t>> dilations,
                                  std::optional<ArrayRef<int64_t>> pads,
                                  std::optional<ArrayRef<int64_t>> strides) {
  auto check = [&](StringRef name, std::optional<ArrayRef<int64_t>> values,
                   size_t length, int64_t least) -> LogicalResult {
    if (values && values->size() != length)
      return op->emitOpError("has ")
             << values->size() << ' ' << name << " for " << rank << " dims";
    if (values && llvm::any_of(*values, [&](int64_t v) { return v < least; }))
      return op->emitOpError("has ") << name << " below " << least;
    return success();
  };
  if (failed(check("dilations", dilations, rank, 1)) ||
      failed(check("pads", pads, 2 * rank, 0)))
    return failure();
  return check("strides", strides, rank, 1);
}

LogicalResult Im2ColOp::inferResultTypes(const ShapeFacts &,
                                         SmallVectorImpl<Type> &types) {
  ArrayRef<int64_t> kernel = getKernelShape();
  size_t rank = kernel.size();
  if (failed(
          checkWindows(*this, rank, getDilations(), getPads(), getStrides())) ||
      failed(checkRank(*this, "input", getInput(), {int64_t(rank) + 2})))
    return failure();
  if (llvm::any_of(kernel, [](int64_t size) { return size < 1; }))
    return emitOpError("has kernel_shape below 1");
  Shape result(3, kDynamic);
  if (MaybeShape input = getShape(getInput())) {
    int64_t windows = 1;
    for (size_t i = 0; i < rank; ++i) {
      int64_t dilation = getDilations() ? (*getDilations())[i] : 1;
      int64_t stride = getStrides() ? (*getStrides())[i] : 1;
      int64_t padded = (*input)[i + 2];
      if (getPads())
        padded =
            addDims(addDims(padded, (*getPads())[i]), (*getPads())[i + rank]);
      int64_t extent = addDims(multiplyDims(dilation, kernel[i] - 1), 1);
      if (padded == kDynamic || extent == kDynamic) {
        windows = kDynamic;
        continue;
      }
      if (padded < extent)
        return emitOpError("window of ")
               << extent << " does not fit a dim of " << padded;
      windows = multiplyDims(windows, (padded - extent) / stride + 1);
    }
    result = {(*input)[0], multiplyDims((*input)[1], multiplyDims(kernel)),
              windows};
  }
  types.push_back(getTensorType(result, getElementType(getInput())));
  return success();
}

LogicalResult Col2ImOp::inferResultTypes(const ShapeFacts &facts,
                                         SmallVectorImpl<Type> &types) {
  FailureOr<MaybeShape> image = shapeFrom(*this, facts, getImageShape());
  FailureOr<MaybeShape> block = shapeFrom(*this, facts, getBlockShape());
  if (failed(image) || failed(block) ||
      failed(checkRank(*this, "input", getInput(), {3})))
    return failure();
  if (*image && *block && (*image)->size() != (*block)->size())
    return emitOpError("image_shape has ")
           << (*image)->size() << " dims, block_shape " << (*block)->size();
  if (*image && failed(checkWindows(*this, (*image)->size(), getDilations(),
                                    getPads(), getStrides())))
    return failure();
  MaybeShape input = getShape(getInput()), result;
  if (*image) {
    result = Shape{kDynamic, kDynamic};
    if (input)
      result->front() = input->front();
    if (input && *block) {
      FailureOr<int64_t> channels =
          divideDim(*this, (*input)[1], multiplyDims(**block));
      if (failed(channels))
        return failure();
      (*result)[1] = *channels;
    }
    result->append(**image);
  }
  types.push_back(getTensorType(result, getElementType(getInput())));
  return success();
}
