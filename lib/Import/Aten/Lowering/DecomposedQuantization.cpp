//===- DecomposedQuantization.cpp - Quantisation of exported programs -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops of `quantized_decomposed` and `torchao` make integers of floats and
// floats of integers by scales that are operands. Not covered: scales for
// blocks along several axes at once, floats as codes, zero points in the
// floating-point domain, and codes that a view rearranges between the two.
//
//===----------------------------------------------------------------------===//

#include "ShapeValues.h"
#include "Subfamilies.h"

#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/QuantizationOps.h"
#include "mpopt/Dialect/StorageTypes.h"
#include "mpopt/Dialect/TypeSupport.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::aten;

namespace {
/// Which elements have a scale in common, as mp.quantize has it.
struct Grouping {
  /// That of the scales: one, a list along the axis, or one a block.
  Shape shape;
  int64_t axis = 0, block = 0;
};

struct Codes {
  Type element;
  int64_t lo, hi;
  bool isAll = true;
};

struct Parameters {
  Value scale, zeroPoint;
  Grouping grouping;
};
} // namespace

/// `blocks`: how many elements along each axis share a scale.
static std::optional<Grouping> findGrouping(const Shape &dims,
                                            ArrayRef<int64_t> blocks) {
  if (blocks.size() != dims.size())
    return std::nullopt;
  Grouping result;
  SmallVector<int64_t> each, wide;
  for (auto [axis, dim] : llvm::enumerate(dims)) {
    int64_t block = blocks[axis];
    bool isWhole = block <= 0 || block == dim;
    if (dim == 1)
      result.shape.push_back(1);
    else if (block == 1) {
      each.push_back(int64_t(axis));
      result.shape.push_back(dim);
    } else if (dim == kDynamic && !isWhole)
      return std::nullopt;
    else {
      wide.push_back(int64_t(axis));
      result.shape.push_back(isWhole ? 1 : llvm::divideCeil(dim, block));
    }
  }
  bool isSplit =
      llvm::any_of(wide, [&](int64_t axis) { return result.shape[axis] != 1; });
  if (!isSplit && each.empty()) {
    result.shape.clear();
    return result;
  }
  if (!isSplit && each.size() == 1) {
    result.axis = each.front();
    result.shape = {dims[result.axis]};
    return result;
  }
  if (wide.size() != 1)
    return std::nullopt;
  result.axis = wide.front();
  result.block =
      blocks[result.axis] > 0 ? blocks[result.axis] : dims[result.axis];
  if (result.block <= 0)
    return std::nullopt;
  return result;
}

/// The elements that share a scale, by the op's attributes.
static std::optional<Grouping> groupingOf(NodeContext &context, Value like) {
  MaybeShape dims = getShape(like);
  if (!dims)
    return std::nullopt;
  StringRef name = context.name();
  if (auto blocks = context.findInts("block_size"))
    return findGrouping(*dims, *blocks);
  SmallVector<int64_t> blocks(dims->size(), 0);
  if (name.contains("per_channel_group") || name.contains("per_token")) {
    llvm::fill(blocks, 1);
    if (!blocks.empty())
      blocks.back() = context.getInt("group_size", 0);
  } else if (name.contains("per_channel")) {
    std::optional<int64_t> axis = context.findInt("axis");
    axis = axis ? NodeContext::axisOf(like, *axis) : std::nullopt;
    if (!axis || dims->empty())
      return std::nullopt;
    blocks[*axis] = 1;
  }
  return findGrouping(*dims, blocks);
}

/// The type of the codes, and those in use.
static std::optional<Codes> codesOf(NodeContext &context, StringRef dtype) {
  auto element =
      dyn_cast_if_present<IntegerType>(context.findElementType(dtype));
  if (!element || element.getWidth() > 32)
    return std::nullopt;
  StorageFormat format = *storageFormatOf(element);
  Codes codes = {element, int64_t(format.codes.lo), int64_t(format.codes.hi)};
  for (StringRef limit : {"quant_min", "quant_max"})
    if (context.isDynamic(limit))
      return std::nullopt;
  int64_t lo = context.getInt("quant_min", codes.lo),
          hi = context.getInt("quant_max", codes.hi);
  if (lo >= hi || lo < codes.lo || hi > codes.hi)
    return std::nullopt;
  codes.isAll = lo == codes.lo && hi == codes.hi;
  codes.lo = lo;
  codes.hi = hi;
  return codes;
}

static DenseI64ArrayAttr attributeOf(NodeContext &context, const Codes &codes) {
  if (codes.isAll)
    return {};
  return context.builder().getDenseI64ArrayAttr({codes.lo, codes.hi});
}

/// A parameter in the shape that the grouping asks for; null where it has
/// another number of elements or one that is not known.
static Value parameterOf(NodeContext &context, StringRef input, Type element,
                         const Shape &shape) {
  if (context.isScalar(input))
    if (std::optional<double> known = context.findNumber(input))
      return shape.empty() ? context.makeScalar(*known, element) : Value();
  Value value = context.tensor(input);
  MaybeShape own = value ? getShape(value) : std::nullopt;
  if (!own)
    return {};
  if (*own != shape) {
    std::optional<int64_t> count = getNumElements(own);
    if (!count || count != getNumElements(shape))
      return {};
    value = reshape(context, value, shape);
  }
  return context.cast(value, element, /*promotion=*/false);
}

static std::optional<Parameters> parametersOf(NodeContext &context, Value like,
                                              const Codes &codes) {
  std::optional<Grouping> grouping = groupingOf(context, like);
  if (!grouping)
    return std::nullopt;
  bool isList = context.has("scales");
  StringRef scale = isList ? "scales" : "scale",
            zero = isList ? "zero_points" : "zero_point";
  Parameters result;
  result.grouping = *grouping;
  result.scale = parameterOf(context, scale, context.builder().getF32Type(),
                             grouping->shape);
  if (!result.scale)
    return std::nullopt;
  if (context.has(zero)) {
    result.zeroPoint =
        parameterOf(context, zero, codes.element, grouping->shape);
    if (!result.zeroPoint)
      return std::nullopt;
  }
  return result;
}

/// The op that measured the range of `input` for the scale that is an operand.
static mp::DynamicQuantizeOp findMeasured(NodeContext &context) {
  for (StringRef name : {"scale", "scales"})
    if (context.has(name) && !context.isScalar(name))
      return getMaker<mp::DynamicQuantizeOp>(context.tensor(name),
                                             Peel::CastsAndViews);
  return {};
}

//===----------------------------------------------------------------------===//
// Lowerings
//===----------------------------------------------------------------------===//

static LogicalResult lowerQuantize(NodeContext &context) {
  Value input = context.tensor("input");
  std::optional<Codes> codes =
      codesOf(context, context.has("dtype") ? "dtype" : "output_dtype");
  if (!input || !codes)
    return context.unsupported();
  if (auto measured = findMeasured(context);
      measured && measured.getInput() == input &&
      getElementType(measured.getValues()) == codes->element) {
    context.setOutput(0, measured.getValues());
    return success();
  }
  std::optional<Parameters> parameters = parametersOf(context, input, *codes);
  if (!parameters)
    return context.unsupported();
  Builder &builder = context.builder();
  // Without a zero point the result's own type is that of the codes.
  if (!parameters->zeroPoint)
    parameters->zeroPoint = context.makeScalar(0, codes->element);
  context.setOutput(0,
                    context.make<mp::QuantizeOp>(
                        input, parameters->scale, parameters->zeroPoint,
                        builder.getI64IntegerAttr(parameters->grouping.axis),
                        builder.getI64IntegerAttr(parameters->grouping.block),
                        builder.getBoolAttr(true), TypeAttr(),
                        attributeOf(context, *codes)));
  return success();
}

static LogicalResult lowerDequantize(NodeContext &context) {
  Value input = context.tensor("input");
  std::optional<Codes> codes =
      codesOf(context, context.has("dtype") ? "dtype" : "input_dtype");
  if (!input || !codes || getElementType(input) != codes->element)
    return context.unsupported();
  std::optional<Parameters> parameters;
  if (auto measured = findMeasured(context);
      measured && measured.getValues() == input) {
    Grouping own;
    own.axis = -1;
    own.block = int64_t(measured.getBlockSize());
    parameters = Parameters{measured.getScale(), measured.getZeroPoint(), own};
  } else {
    parameters = parametersOf(context, input, *codes);
  }
  if (!parameters)
    return context.unsupported();
  Type output;
  for (StringRef name : {"out_dtype", "output_dtype"})
    if (context.has(name))
      output = context.findElementType(name);
  Builder &builder = context.builder();
  context.setOutput(0,
                    context.make<mp::DequantizeOp>(
                        input, parameters->scale, parameters->zeroPoint,
                        builder.getI64IntegerAttr(parameters->grouping.axis),
                        builder.getI64IntegerAttr(parameters->grouping.block),
                        output ? TypeAttr::get(output) : TypeAttr(),
                        attributeOf(context, *codes)));
  return success();
}

/// Scale and zero point of a range that is measured at run time, in the shapes
/// that the op gives them.
static LogicalResult giveMeasured(NodeContext &context, const Codes &codes,
                                  int64_t block, bool isSymmetric, double least,
                                  const Shape &shape) {
  Builder &builder = context.builder();
  Value input = context.tensor("input");
  auto measured = context.makeTyped<mp::DynamicQuantizeOp>(
      context.unknownTypes(3), input, builder.getI64IntegerAttr(block),
      builder.getI64IntegerAttr(codes.lo), builder.getI64IntegerAttr(codes.hi),
      builder.getBoolAttr(isSymmetric), builder.getF64FloatAttr(least));
  unsigned index = 0;
  for (Value value :
       {Value(measured.getScale()), Value(measured.getZeroPoint())}) {
    if (getShape(value) != MaybeShape(shape))
      value = reshape(context, value, shape);
    context.setOutput(index++, value);
  }
  return success();
}

/// quantized_decomposed::choose_qparams(_symmetric): of the whole tensor.
static LogicalResult lowerChoose(NodeContext &context) {
  std::optional<Codes> codes = codesOf(context, "dtype");
  if (!codes || !context.has("input") ||
      codes->element.getIntOrFloatBitWidth() != 8)
    return context.unsupported();
  return giveMeasured(context, *codes, /*block=*/0,
                      context.name().contains("symmetric"),
                      context.getNumber("eps", 0), {1});
}

/// The input's shape with one element for the last axis; nothing where an axis
/// but the first is open, since a view of it would have to be computed.
static std::optional<Shape> tokensOf(Value input) {
  MaybeShape shape = input ? getShape(input) : std::nullopt;
  if (!shape || shape->empty() || shape->back() == kDynamic)
    return std::nullopt;
  shape->back() = 1;
  return *shape;
}

/// One for each row of the last axis; symmetric ones leave out the least code.
static LogicalResult lowerChooseToken(NodeContext &context) {
  Value input = context.tensor("input");
  std::optional<Shape> shape = tokensOf(input);
  std::optional<Codes> codes = codesOf(context, "dtype");
  if (!shape || !codes || codes->lo != -128)
    return context.unsupported();
  bool isSymmetric = !context.name().contains("asymmetric");
  // Source: torch/ao/quantization/fx/_decomposed.py.
  constexpr double kLeastSymmetric = 1e-5 / 127, kLeast = 0x1p-23;
  codes->lo += isSymmetric;
  return giveMeasured(context, *codes, getShape(input)->back(), isSymmetric,
                      isSymmetric ? kLeastSymmetric : kLeast, *shape);
}

/// torchao::choose_qparams_affine: of the whole tensor or of each row of the
/// last axis.
static LogicalResult lowerChooseAffine(NodeContext &context) {
  Value input = context.tensor("input");
  std::optional<Codes> codes = codesOf(context, "target_dtype");
  std::optional<StringRef> mapping = context.findString("mapping_type");
  auto blocks = context.findInts("block_size");
  MaybeShape dims = input ? getShape(input) : std::nullopt;
  if (!codes || !mapping || !blocks || !dims || dims->empty() ||
      codes->element.getIntOrFloatBitWidth() != 8 ||
      (*mapping != "SYMMETRIC" && *mapping != "ASYMMETRIC"))
    return context.unsupported();
  std::optional<Grouping> grouping = findGrouping(*dims, *blocks);
  bool isRow = dims->back() != kDynamic && blocks->back() == dims->back() &&
               llvm::all_of(ArrayRef(*blocks).drop_back(),
                            [](int64_t block) { return block == 1; });
  if (!grouping || (!isRow && !grouping->shape.empty()))
    return context.unsupported();
  Shape shape(dims->size(), 1);
  if (isRow) {
    shape = *dims;
    shape.back() = 1;
  }
  if (!context.getBool("keepdim"))
    shape.resize(isRow ? shape.size() - 1 : 0);
  return giveMeasured(context, *codes, isRow ? dims->back() : 0,
                      *mapping == "SYMMETRIC",
                      // The least step of binary32, unless it is given.
                      context.getNumber("eps", 0x1p-23), shape);
}

void aten::registerDecomposedQuantization(LoweringRegistry &registry) {
  for (StringRef kind :
       {"per_tensor", "per_channel", "per_token", "per_channel_group"}) {
    registry.add(("quantized_decomposed::quantize_" + kind).str(),
                 lowerQuantize);
    registry.add(("quantized_decomposed::dequantize_" + kind).str(),
                 lowerDequantize);
  }
  registry.add({"quantized_decomposed::choose_qparams",
                "quantized_decomposed::choose_qparams_symmetric"},
               lowerChoose);
  registry.add({"quantized_decomposed::choose_qparams_per_token",
                "quantized_decomposed::choose_qparams_per_token_asymmetric",
                "quantized_decomposed::_choose_qparams_per_token_asymmetric_"
                "impl"},
               lowerChooseToken);
  registry.add("torchao::quantize_affine", lowerQuantize);
  registry.add("torchao::dequantize_affine", lowerDequantize);
  registry.add("torchao::choose_qparams_affine", lowerChooseAffine);
}
