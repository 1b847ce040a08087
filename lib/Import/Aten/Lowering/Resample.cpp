//===- Resample.cpp - Resizing and sampling of images, from aten ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `interpolate` is one op in a scripted model (`aten::__interpolate`) and an
// `upsample_*` in a traced one. Sizes are the spatial dims'. Not covered:
// Lanczos, pixel shuffles of other ranks than 4.
//
//===----------------------------------------------------------------------===//

#include "Operands.h"
#include "ShapeValues.h"

#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/PoolingOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"

#include "llvm/ADT/StringSwitch.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::aten;

//===----------------------------------------------------------------------===//
// Resizing
//===----------------------------------------------------------------------===//

namespace {
/// The extent of a resize: either `sizes` or `scales`, one entry a spatial dim.
struct Extent {
  Value sizes;
  SmallVector<double> scales;
};
} // namespace

static Value makeFloats(NodeContext &context, ArrayRef<double> values) {
  auto type = RankedTensorType::get({int64_t(values.size())},
                                    context.builder().getF32Type());
  SmallVector<float> floats(values.begin(), values.end());
  ElementsAttr elements =
      DenseFPElementsAttr::get(type, ArrayRef<float>(floats));
  return context.makeTyped<mp::ConstantOp>({type}, elements).getResult();
}

/// Sizes from scales where the dims are known: PyTorch multiplies in double.
static Value scaledSizes(NodeContext &context, Value input,
                         ArrayRef<double> scales) {
  MaybeShape shape = getShape(input);
  if (!shape || shape->size() != scales.size() + 2)
    return {};
  SmallVector<int64_t> sizes;
  for (auto [dim, scale] : llvm::zip(ArrayRef(*shape).drop_front(2), scales)) {
    if (dim == kDynamic)
      return {};
    sizes.push_back(int64_t(std::floor(double(dim) * scale)));
  }
  return context.makeInts(sizes);
}

/// `mode` is PyTorch's name without the number of dims: nearest, nearest-exact,
/// linear, cubic.
static LogicalResult makeResize(NodeContext &context, Value input,
                                const Extent &extent, size_t count,
                                StringRef mode, bool alignCorners,
                                bool antialias) {
  Value sizes = extent.sizes, scales;
  if (!sizes) {
    sizes = scaledSizes(context, input, extent.scales);
    if (!sizes)
      scales = makeFloats(context, extent.scales);
  }
  SmallVector<int64_t> axes;
  for (size_t dim = 0; dim < count; ++dim)
    axes.push_back(int64_t(dim) + 2);
  // The pixel below, or the nearest one with ties upward.
  bool exact = mode == "nearest-exact", nearest = mode == "nearest" || exact;
  StringRef coordinates = mode == "nearest" ? "asymmetric"
                          : alignCorners    ? "align_corners"
                                            : "half_pixel";
  Builder &builder = context.builder();
  context.setOutput(
      0, context.make<mp::ResizeOp>(
             input, Value(), scales, sizes,
             builder.getStringAttr(nearest ? "nearest" : mode),
             builder.getStringAttr(coordinates),
             builder.getStringAttr(mode == "nearest" ? "floor"
                                   : exact           ? "round_prefer_ceil"
                                                     : "round_prefer_floor"),
             builder.getStringAttr("stretch"), builder.getF64FloatAttr(-0.75),
             builder.getF64FloatAttr(0), UnitAttr(),
             antialias ? builder.getUnitAttr() : UnitAttr(),
             builder.getDenseI64ArrayAttr(axes)));
  return success();
}

/// Sizes, which go first, or scales; nothing if neither is known.
static std::optional<Extent> readExtent(NodeContext &context, StringRef sizes,
                                        StringRef scales, size_t count) {
  Extent extent;
  if (context.has(sizes)) {
    if (auto known = spatialInts(context, sizes, count, 1)) {
      extent.sizes = context.makeInts(*known);
      return extent;
    }
    extent.sizes = context.shapeOf(sizes);
    if (!extent.sizes || staticDim(extent.sizes, 0) != int64_t(count))
      return std::nullopt;
    return extent;
  }
  if (!context.has(scales))
    return std::nullopt;
  if (auto known = context.findNumbers(scales))
    extent.scales = *known;
  else if (auto single = context.findNumber(scales))
    extent.scales.assign(count, *single);
  if (extent.scales.size() == 1)
    extent.scales.assign(count, extent.scales.front());
  if (extent.scales.size() != count ||
      llvm::any_of(extent.scales, [](double scale) { return !(scale > 0); }))
    return std::nullopt;
  return extent;
}

/// upsample_linear1d, _upsample_nearest_exact2d, _upsample_bicubic2d_aa, ...
static LogicalResult lowerUpsample(NodeContext &context) {
  Value input = context.tensor(oneOf(context, "input", "self"));
  StringRef name = context.name();
  size_t count = name.contains("1d") ? 1 : name.contains("2d") ? 2 : 3;
  StringRef mode = name.contains("nearest_exact") ? "nearest-exact"
                   : name.contains("nearest")     ? "nearest"
                   : name.contains("cubic")       ? "cubic"
                                                  : "linear";
  std::optional<Extent> extent =
      readExtent(context, "output_size", "scale_factors", count);
  if (!input || !extent || context.isDynamic("align_corners"))
    return context.unsupported();
  return makeResize(context, input, *extent, count, mode,
                    context.getBool("align_corners"), name.ends_with("_aa"));
}

static LogicalResult lowerInterpolate(NodeContext &context) {
  Value input = context.tensor("input");
  StringRef mode = "nearest";
  if (context.name() == "__upsample_bilinear")
    mode = "bilinear";
  else if (context.has("mode"))
    mode = context.findString("mode").value_or("");
  std::optional<int64_t> rank =
      input ? NodeContext::rankOf(input) : std::nullopt;
  size_t count = rank               ? std::max<int64_t>(*rank - 2, 0)
                 : mode == "linear" ? 1
                 : mode == "bilinear" || mode == "bicubic" ? 2
                 : mode == "trilinear"                     ? 3
                                                           : 0;
  if (count < 1 || count > 3 || context.isDynamic("align_corners") ||
      context.isDynamic("antialias"))
    return context.unsupported();
  std::optional<Extent> extent =
      readExtent(context, "size", "scale_factor", count);
  if (!extent)
    return context.unsupported();
  if (mode == "area") {
    // Means of evenly divided windows.
    Value sizes = extent->sizes ? extent->sizes
                                : scaledSizes(context, input, extent->scales);
    std::optional<SmallVector<int64_t>> known =
        sizes ? context.facts().constants(sizes) : std::nullopt;
    if (!known)
      return context.unsupported();
    context.setOutput(0, context.make<mp::AdaptiveAvgPoolOp>(input, *known));
    return success();
  }
  StringRef plain = llvm::StringSwitch<StringRef>(mode)
                        .Cases({"linear", "bilinear", "trilinear"}, "linear")
                        .Case("bicubic", "cubic")
                        .Case("nearest", "nearest")
                        .Case("nearest-exact", "nearest-exact")
                        .Default("");
  if (plain.empty())
    return context.unsupported();
  bool corners =
      context.getBool("align_corners", context.name() == "__upsample_bilinear");
  return makeResize(context, input, *extent, count, plain, corners,
                    context.getBool("antialias"));
}

//===----------------------------------------------------------------------===//
// Sampling
//===----------------------------------------------------------------------===//

static LogicalResult lowerGridSampler(NodeContext &context) {
  static constexpr StringLiteral modes[] = {"linear", "nearest", "cubic"};
  static constexpr StringLiteral paddings[] = {"zeros", "border", "reflection"};
  Value input = context.tensor("input"), grid = context.tensor("grid");
  int64_t mode = context.getInt("interpolation_mode", -1),
          padding = context.getInt("padding_mode", -1);
  if (!input || !grid || mode < 0 || mode > 2 || padding < 0 || padding > 2 ||
      context.isDynamic("align_corners"))
    return context.unsupported();
  context.setOutput(0, context.make<mp::GridSampleOp>(
                           input, grid, modes[mode], paddings[padding],
                           context.getBool("align_corners")));
  return success();
}

static LogicalResult lowerAffineGrid(NodeContext &context) {
  Value theta = context.tensor("theta"), size = context.shapeOf("size");
  if (!theta || !size || context.isDynamic("align_corners"))
    return context.unsupported();
  context.setOutput(0, context.make<mp::AffineGridOp>(
                           theta, size, context.getBool("align_corners")));
  return success();
}

//===----------------------------------------------------------------------===//
// Channels and pixels
//===----------------------------------------------------------------------===//

template <typename OpT>
static LogicalResult makeShuffle(NodeContext &context, StringRef factor) {
  Value input = context.tensor("self");
  std::optional<int64_t> block = context.findInt(factor);
  if (!input || !block || NodeContext::rankOf(input).value_or(4) != 4)
    return context.unsupported();
  context.setOutput(0, context.make<OpT>(input, *block, "CRD"));
  return success();
}

static LogicalResult lowerPixelShuffle(NodeContext &context) {
  return makeShuffle<mp::DepthToSpaceOp>(context, "upscale_factor");
}
static LogicalResult lowerPixelUnshuffle(NodeContext &context) {
  return makeShuffle<mp::SpaceToDepthOp>(context, "downscale_factor");
}

void mpopt::aten::registerResample(LoweringRegistry &registry) {
  registry.add({"upsample_nearest1d", "upsample_nearest2d",
                "upsample_nearest3d", "_upsample_nearest_exact1d",
                "_upsample_nearest_exact2d", "_upsample_nearest_exact3d",
                "upsample_linear1d", "upsample_bilinear2d",
                "upsample_trilinear3d", "upsample_bicubic2d",
                "_upsample_bilinear2d_aa", "_upsample_bicubic2d_aa"},
               lowerUpsample);
  registry.add({"__interpolate", "__upsample", "__upsample_nearest",
                "__upsample_bilinear"},
               lowerInterpolate);
  registry.add({"grid_sampler", "grid_sampler_2d", "grid_sampler_3d"},
               lowerGridSampler);
  registry.add("affine_grid_generator", lowerAffineGrid);
  registry.add("pixel_shuffle", lowerPixelShuffle);
  registry.add("pixel_unshuffle", lowerPixelUnshuffle);
}
