//===- QuantizationOps.cpp - Quantisation ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Dialect/Ops/QuantizationOps.h"

#include "mpopt/Dialect/ElementSupport.h"
#include "mpopt/Dialect/InferenceSupport.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::mp;

#define GET_OP_CLASSES
#include "mpopt/Dialect/Ops/QuantizationOps.cpp.inc"

void MPDialect::registerQuantizationOps() {
  addOperations<
#define GET_OP_LIST
#include "mpopt/Dialect/Ops/QuantizationOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Scales and zero points
//===----------------------------------------------------------------------===//

/// A scale: a scalar, a list of `axis`'s length, or one a block of `axis`.
static LogicalResult verifyScale(Operation *op, Value input, Value scale,
                                 Value zeroPoint, int64_t axis,
                                 int64_t blockSize) {
  if (blockSize < 0)
    return op->emitOpError("block_size must not be negative");
  MaybeShape shape = getShape(input), scales = getShape(scale);
  if (MaybeShape zeros = zeroPoint ? getShape(zeroPoint) : std::nullopt;
      zeros && scales && zeros->size() != scales->size() &&
      (getNumElements(zeros) != 1 || getNumElements(scales) != 1))
    return op->emitOpError("scale has rank ")
           << scales->size() << ", zero point " << zeros->size();
  // One element is a scalar, whatever the rank.
  if (!shape || !scales || getNumElements(scales) == 1)
    return success();
  std::optional<int64_t> at = normalizeAxis(axis, shape->size());
  if (!scales->empty() && !at)
    return op->emitOpError("axis ")
           << axis << " is out of range of " << input.getType();
  if (blockSize == 0) {
    if (scales->size() > 1)
      return op->emitOpError("scale must be a scalar or a list");
    if (!scales->empty() && (*scales)[0] != kDynamic &&
        (*shape)[*at] != kDynamic && (*scales)[0] != (*shape)[*at])
      return op->emitOpError("has ")
             << (*scales)[0] << " scales for " << (*shape)[*at] << " channels";
    return success();
  }
  if (scales->size() != shape->size())
    return op->emitOpError("scale of blocks must have the input's rank");
  for (auto [index, dim] : llvm::enumerate(*shape)) {
    if (dim == kDynamic || (*scales)[index] == kDynamic)
      continue;
    int64_t want =
        int64_t(index) == *at ? llvm::divideCeil(dim, blockSize) : dim;
    if ((*scales)[index] != want)
      return op->emitOpError("scale ")
             << scale.getType() << " does not fit " << input.getType()
             << " in blocks of " << blockSize;
  }
  return success();
}

/// The codes in use are some of those of their type.
static LogicalResult verifyCodes(Operation *op, Type element,
                                 std::optional<ArrayRef<int64_t>> codes) {
  if (!codes)
    return success();
  auto type = dyn_cast<IntegerType>(element);
  if (codes->size() != 2 || (*codes)[0] >= (*codes)[1])
    return op->emitOpError("codes must be a lower and a higher one");
  unsigned width = type ? type.getWidth() : 0;
  bool isSigned = type && !type.isUnsigned();
  int64_t lo = isSigned ? llvm::minIntN(width) : 0;
  int64_t hi = isSigned ? llvm::maxIntN(width) : int64_t(llvm::maxUIntN(width));
  if (type && ((*codes)[0] < lo || (*codes)[1] > hi))
    return op->emitOpError("codes ") << (*codes)[0] << " to " << (*codes)[1]
                                     << " are not all of " << type;
  return success();
}

LogicalResult QuantizeOp::inferResultTypes(const ShapeFacts &,
                                           SmallVectorImpl<Type> &types) {
  Type element = getElementType(getZeroPoint() ? getZeroPoint() : getResult());
  if (isUnknown(element) && !getZeroPoint())
    element = IntegerType::get(getContext(), 8, IntegerType::Unsigned);
  types.push_back(getTensorType(getShape(getInput()), element));
  return success();
}

LogicalResult QuantizeOp::verify() {
  Type element = getElementType(getResult());
  if (isa<FloatType>(element) && element.getIntOrFloatBitWidth() > 8)
    return emitOpError("cannot quantize to ") << element;
  if (failed(verifyCodes(*this, element, getCodes())))
    return failure();
  return verifyScale(*this, getInput(), getScale(), getZeroPoint(), getAxis(),
                     getBlockSize());
}

LogicalResult DequantizeOp::inferResultTypes(const ShapeFacts &,
                                             SmallVectorImpl<Type> &types) {
  types.push_back(
      getTensorType(getShape(getInput()),
                    getOutputType().value_or(getElementType(getScale()))));
  return success();
}

LogicalResult DequantizeOp::verify() {
  if (failed(verifyCodes(*this, getElementType(getInput()), getCodes())))
    return failure();
  return verifyScale(*this, getInput(), getScale(), getZeroPoint(), getAxis(),
                     getBlockSize());
}

LogicalResult
DynamicQuantizeOp::inferResultTypes(const ShapeFacts &,
                                    SmallVectorImpl<Type> &types) {
  int64_t block = getBlockSize();
  Type byte = IntegerType::get(
      getContext(), 8,
      int64_t(getCodeLo()) < 0 ? IntegerType::Signless : IntegerType::Unsigned);
  MaybeShape shape = getShape(getInput()), scales = Shape();
  if (block > 0) {
    scales = shape;
    if (scales && scales->empty())
      return emitOpError("blocks need an axis");
    if (scales && scales->back() != kDynamic)
      scales->back() = llvm::divideCeil(scales->back(), block);
  }
  types.push_back(getTensorType(shape, byte));
  types.push_back(getTensorType(scales, Float32Type::get(getContext())));
  types.push_back(getTensorType(scales, byte));
  return success();
}

LogicalResult FakeQuantizeOp::inferResultTypes(const ShapeFacts &,
                                               SmallVectorImpl<Type> &types) {
  types.push_back(getInput().getType());
  return success();
}

LogicalResult FakeQuantizeOp::verify() {
  if (int64_t(getQuantMin()) >= int64_t(getQuantMax()))
    return emitOpError("quant_min must be below quant_max");
  MaybeShape scales = getShape(getScale());
  if (!getAxis() && scales && getNumElements(scales).value_or(1) != 1)
    return emitOpError("a scale a channel needs an axis");
  return verifyScale(*this, getInput(), getScale(), getZeroPoint(),
                     getAxis().value_or(0), /*blockSize=*/0);
}

//===----------------------------------------------------------------------===//
// Packed weights
//===----------------------------------------------------------------------===//

LogicalResult MatMulNBitsOp::inferResultTypes(const ShapeFacts &,
                                              SmallVectorImpl<Type> &types) {
  MaybeShape shape = getShape(getInput());
  if (shape && shape->empty())
    return emitOpError("input needs an axis");
  if (shape && shape->back() != kDynamic && shape->back() != int64_t(getK()))
    return emitOpError("input has ")
           << shape->back() << " columns, k is " << getK();
  if (shape)
    shape->back() = getN();
  types.push_back(getTensorType(shape, getElementType(getInput())));
  return success();
}

LogicalResult MatMulNBitsOp::verify() {
  if (!llvm::is_contained({"int", "fp4", "nf4"}, getCode()))
    return emitOpError("code must be int, fp4 or nf4, is ") << getCode();
  if (getCode() != "int" && (getBits() != 4 || getZeroPoints()))
    return emitOpError("a table of values has 4 bits and no zero points");
  if (getBits() < 2 || getBits() > 8)
    return emitOpError("bits must lie between 2 and 8, is ")
           << int64_t(getBits());
  if (int64_t(getK()) <= 0 || int64_t(getN()) <= 0 ||
      int64_t(getBlockSize()) <= 0)
    return emitOpError("k, n and block_size must be positive");
  return success();
}

bool MatMulNBitsOp::isPrecisionOperand(unsigned index) {
  return index == 0 ||
         (getBias() && index + 1 == getOperation()->getNumOperands());
}

LogicalResult
GatherBlockQuantizedOp::inferResultTypes(const ShapeFacts &,
                                         SmallVectorImpl<Type> &types) {
  MaybeShape data = getShape(getData()), indices = getShape(getIndices());
  Type element = getElementType(getScales());
  if (!data || !indices) {
    types.push_back(getTensorType(std::nullopt, element));
    return success();
  }
  std::optional<int64_t> axis = normalizeAxis(getAxis(), data->size());
  if (!axis)
    return emitOpError("axis ") << int64_t(getAxis()) << " is out of range of "
                                << getData().getType();
  if (getElementType(getData()).isUnsignedInteger(8) && getBits() > 0 &&
      getBits() < 8)
    data->back() = multiplyDims(data->back(), 8 / int64_t(getBits()));
  Shape result(data->begin(), data->begin() + *axis);
  result.append(indices->begin(), indices->end());
  result.append(data->begin() + *axis + 1, data->end());
  types.push_back(getTensorType(result, element));
  return success();
}
