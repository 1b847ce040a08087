//===- Creation.cpp - New tensors -----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The dtype is the argument's, else the one of the tensor that it is like, else
// what the numbers say: floats are f32, PyTorch's default. Memory that is not
// filled (empty) counts as zeros: a program that reads it before writing has no
// numerics to speak of.
//
//===----------------------------------------------------------------------===//

#include "ShapeValues.h"

#include "mpopt/Dialect/MPDialect.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::aten;

/// The dtype of what numbers are made into.
static Type defaultOf(Type element) {
  return element.isF64() ? Type(Float32Type::get(element.getContext()))
                         : element;
}

/// A shape filled with the input `value`, or with `number` without one.
static LogicalResult giveFilled(NodeContext &context, Value shape, Type element,
                                double number, StringRef value) {
  if (!shape || isUnknown(element))
    return context.unsupported();
  std::optional<double> known =
      value.empty() ? number : context.findNumber(value);
  Value result = known ? fill(context, shape, *known, element) : Value();
  if (!result) {
    Value source =
        value.empty()
            ? context.makeScalar(number, context.builder().getF32Type())
            : context.tensor(value);
    if (!source)
      return context.unsupported();
    result = expand(context, context.cast(source, element, false), shape);
  }
  context.setOutput(0, result);
  return success();
}

template <int Number> static LogicalResult lowerNew(NodeContext &context) {
  // new_zeros(self, size) takes the dtype of self.
  Type element = context.findElementType();
  if (!element && context.has("dtype"))
    return context.unsupported();
  if (!element)
    element = context.has("self") ? getElementType(context.tensor("self"))
                                  : context.builder().getF32Type();
  return giveFilled(context, context.shapeOf("size"), element, Number, "");
}

template <int Number> static LogicalResult lowerLike(NodeContext &context) {
  Value self = context.tensor("self");
  Type element = context.findElementType();
  if (!element && context.has("dtype"))
    return context.unsupported();
  return giveFilled(context, shapeValue(context, self),
                    element ? element : getElementType(self), Number, "");
}

static LogicalResult lowerFull(NodeContext &context) {
  Type element = context.findElementType();
  if (!element && context.has("dtype"))
    return context.unsupported();
  Value number = context.tensor("fill_value");
  if (!number)
    return context.unsupported();
  if (!element)
    element = context.has("self") ? getElementType(context.tensor("self"))
                                  : defaultOf(getElementType(number));
  Value shape = context.name() == "full_like"
                    ? shapeValue(context, context.tensor("self"))
                    : context.shapeOf("size");
  return giveFilled(context, shape, element, 0, "fill_value");
}

//===----------------------------------------------------------------------===//
// From numbers
//===----------------------------------------------------------------------===//

static LogicalResult lowerTensor(NodeContext &context) {
  StringRef input = context.has("t") ? "t" : "data";
  Value value = context.array(input);
  bool isNumbers = bool(value);
  if (!value)
    value = context.tensor(input);
  if (!value)
    return context.unsupported();
  Type element = context.findElementType();
  if (!element && context.has("dtype"))
    return context.unsupported();
  if (!element)
    element =
        isNumbers ? defaultOf(getElementType(value)) : getElementType(value);
  if (isUnknown(element))
    return context.unsupported();
  if (isNumbers && context.isScalar(input) && element.isIntOrFloat())
    if (std::optional<double> number = context.findNumber(input)) {
      context.setOutput(0, context.makeScalar(*number, element));
      return success();
    }
  // A list that is known stays a constant in its dtype.
  auto constant = value.getDefiningOp<mp::ConstantOp>();
  auto elements =
      constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : nullptr;
  if (elements && isa<FloatType>(element) &&
      isa<FloatType>(elements.getElementType())) {
    const llvm::fltSemantics &semantics =
        cast<FloatType>(element).getFloatSemantics();
    SmallVector<APFloat> numbers;
    for (APFloat number : elements.getValues<APFloat>()) {
      bool loses = false;
      number.convert(semantics, APFloat::rmNearestTiesToEven, &loses);
      numbers.push_back(number);
    }
    auto type = RankedTensorType::get(
        cast<ShapedType>(elements.getType()).getShape(), element);
    context.setOutput(0, context
                             .makeTyped<mp::ConstantOp>(
                                 {type}, DenseElementsAttr::get(type, numbers))
                             .getResult());
    return success();
  }
  context.setOutput(0, context.cast(value, element, /*promotion=*/false));
  return success();
}

static LogicalResult lowerScalarTensor(NodeContext &context) {
  Type element = context.findElementType();
  if (!element)
    element = context.builder().getF32Type();
  Value value = context.tensor("s");
  if (!value)
    return context.unsupported();
  if (std::optional<double> number = context.findNumber("s");
      number && element.isIntOrFloat())
    value = context.makeScalar(*number, element);
  context.setOutput(0, context.cast(value, element, /*promotion=*/false));
  return success();
}

//===----------------------------------------------------------------------===//
// Sequences
//===----------------------------------------------------------------------===//

/// A number in the given dtype; `otherwise` where it is absent.
static Value numberAs(NodeContext &context, StringRef input, double otherwise,
                      Type element) {
  if (!context.has(input))
    return context.makeScalar(otherwise, element);
  if (std::optional<double> known = context.findNumber(input))
    return context.makeScalar(*known, element);
  Value value = context.tensor(input);
  return value ? context.cast(value, element, /*promotion=*/false) : Value();
}

static LogicalResult lowerArange(NodeContext &context) {
  Type element = context.findElementType();
  if (!element) {
    // An int is a float where one of them is.
    element = context.builder().getI64Type();
    for (StringRef input : {"start", "end", "step"})
      if (context.has(input) &&
          isa<FloatType>(getElementType(context.tensor(input))))
        element = context.builder().getF32Type();
  }
  if (!element.isIntOrFloat())
    return context.unsupported();
  // Numbers that are no integers count before they are cut.
  Type computed = element;
  if (isa<IntegerType>(element))
    for (StringRef input : {"start", "end", "step"})
      if (std::optional<double> known = context.findNumber(input);
          known && *known != std::floor(*known))
        computed = context.builder().getF32Type();
  Value start = numberAs(context, "start", 0, computed),
        end = numberAs(context, "end", 0, computed),
        step = numberAs(context, "step", 1, computed);
  if (!start || !end || !step)
    return context.unsupported();
  Value range = context.make<mp::RangeOp>(start, end, step);
  context.setOutput(0, context.cast(range, element, /*promotion=*/false));
  return success();
}

/// start + i (end - start) / (steps - 1), constants where they are known.
static LogicalResult lowerLinspace(NodeContext &context) {
  Type element = context.findElementType();
  if (!element)
    element = context.builder().getF32Type();
  std::optional<int64_t> steps = context.findInt("steps");
  std::optional<double> start = context.findNumber("start"),
                        end = context.findNumber("end");
  // Bounds what three numbers of a file make: an attribute an element.
  constexpr int64_t kMaxElements = 1 << 16;
  auto floating = dyn_cast<FloatType>(element);
  if (!steps || *steps < 0 || *steps > kMaxElements || !start || !end ||
      !floating)
    return context.unsupported();
  double step = *steps > 1 ? (*end - *start) / double(*steps - 1) : 0;
  SmallVector<Attribute> elements;
  for (int64_t index = 0; index < *steps; ++index) {
    // From the nearer end, as PyTorch's kernel.
    double value = index < *steps / 2
                       ? *start + step * double(index)
                       : *end - step * double(*steps - 1 - index);
    if (*steps == 1)
      value = *start;
    if (context.name() == "logspace")
      value = std::pow(context.getNumber("base", 10), value);
    elements.push_back(context.builder().getFloatAttr(element, value));
  }
  auto type = RankedTensorType::get({*steps}, element);
  context.setOutput(0, context
                           .makeTyped<mp::ConstantOp>(
                               {type}, DenseElementsAttr::get(type, elements))
                           .getResult());
  return success();
}

//===----------------------------------------------------------------------===//
// Matrices
//===----------------------------------------------------------------------===//

static LogicalResult lowerEye(NodeContext &context) {
  Type element = context.findElementType();
  if (!element)
    element = context.builder().getF32Type();
  Value rows = context.shapeOf("n");
  Value columns = context.has("m") ? context.shapeOf("m") : rows;
  if (!rows && context.has("n")) {
    rows = reshape(context, context.tensor("n"), {1});
    columns =
        context.has("m") ? reshape(context, context.tensor("m"), {1}) : rows;
  }
  if (!rows || !columns)
    return context.unsupported();
  Value zeros = fill(context, concat(context, {rows, columns}, 0), 0, element);
  if (!zeros)
    return context.unsupported();
  context.setOutput(0, context.make<mp::EyeLikeOp>(zeros, 0));
  return success();
}

/// Rows and columns of the places of a triangle.
template <bool Upper>
static LogicalResult lowerTriangleIndices(NodeContext &context) {
  std::optional<int64_t> rows = context.findInt("row"),
                         columns = context.findInt("col"),
                         offset = context.has("offset")
                                      ? context.findInt("offset")
                                      : 0;
  // Bounds what two numbers of a file make: two indices of 8 bytes an element,
  // 16 MiB.
  constexpr int64_t kMaxElements = 1 << 20;
  if (!rows || !columns || !offset || *rows < 0 || *columns < 0 ||
      *rows > kMaxElements / std::max<int64_t>(*columns, 1))
    return context.unsupported();
  SmallVector<int64_t> indices, second;
  for (int64_t row = 0; row < *rows; ++row)
    for (int64_t column = 0; column < *columns; ++column)
      if (Upper ? column - row >= *offset : column - row <= *offset) {
        indices.push_back(row);
        second.push_back(column);
      }
  int64_t count = indices.size();
  indices.append(second);
  Value value = reshape(context, context.makeInts(indices), {2, count});
  if (Type element = context.findElementType())
    value = context.cast(value, element, /*promotion=*/false);
  context.setOutput(0, value);
  return success();
}

void aten::registerCreation(LoweringRegistry &registry) {
  registry.add({"zeros", "new_zeros", "empty", "new_empty", "empty_strided",
                "new_empty_strided"},
               lowerNew<0>);
  registry.add({"ones", "new_ones"}, lowerNew<1>);
  registry.add({"zeros_like", "empty_like"}, lowerLike<0>);
  registry.add("ones_like", lowerLike<1>);
  registry.add({"full", "full_like", "new_full"}, lowerFull);
  registry.add({"tensor", "as_tensor", "new_tensor"}, lowerTensor);
  registry.add("scalar_tensor", lowerScalarTensor);
  registry.add("arange", lowerArange);
  registry.add({"linspace", "logspace"}, lowerLinspace);
  registry.add("eye", lowerEye);
  registry.add("tril_indices", lowerTriangleIndices<false>);
  registry.add("triu_indices", lowerTriangleIndices<true>);
}
