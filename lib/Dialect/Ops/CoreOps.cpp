//===- CoreOps.cpp - Constants, casts and ops without a lowering
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Dialect/Ops/CoreOps.h"

#include "mpopt/Dialect/CheckedDim.h"
#include "mpopt/Dialect/ElementSupport.h"
#include "mpopt/Dialect/Ops/CustomOps.h"

#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::mp;

#define GET_OP_CLASSES
#include "mpopt/Dialect/Ops/CoreOps.cpp.inc"

void MPDialect::registerCoreOps() {
  addOperations<
#define GET_OP_LIST
#include "mpopt/Dialect/Ops/CoreOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "mpopt/Dialect/Ops/CustomOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// ConstantOp
//===----------------------------------------------------------------------===//

LogicalResult ConstantOp::inferResultTypes(const ShapeFacts &,
                                           SmallVectorImpl<Type> &types) {
  types.push_back(getType());
  return success();
}

LogicalResult ConstantOp::verify() {
  auto type = dyn_cast<RankedTensorType>(getType());
  if (!type || !type.hasStaticShape())
    return emitOpError("needs a static shape");
  if (auto dense = dyn_cast<ElementsAttr>(getValue())) {
    if (dense.getShapedType() != type)
      return emitOpError("value has type ") << dense.getShapedType();
    return success();
  }
  auto weight = dyn_cast<WeightAttr>(getValue());
  if (!weight)
    return emitOpError("value must be elements or #mp.weight");
  Type element = type.getElementType();
  unsigned bits = 0;
  if (element.isIntOrFloat())
    // Booleans take a byte each, as in ONNX.
    bits = element.isInteger(1) ? 8 : element.getIntOrFloatBitWidth();
  else if (auto complex = dyn_cast<ComplexType>(element))
    bits = 2 * complex.getElementType().getIntOrFloatBitWidth();
  else
    return emitOpError("elements of type ") << element << " have no bytes";
  std::optional<int64_t> count = getNumElements(getShape(type));
  CheckedDim size = CheckedDim(count) * bits + 7;
  if (!size.isKnown() || *size / 8 != weight.getLength())
    return emitOpError("weight of ")
           << weight.getLength() << " bytes does not fit the type";
  return success();
}

/// `file("model.onnx", 4096:1024)`: an extended attribute would swallow the
/// type that follows it.
static ParseResult parseWeight(OpAsmParser &parser, Attribute &value) {
  std::string file;
  int64_t offset, length;
  if (parser.parseLParen() || parser.parseString(&file) ||
      parser.parseComma() || parser.parseInteger(offset) ||
      parser.parseColon() || parser.parseInteger(length) ||
      parser.parseRParen())
    return failure();
  MLIRContext *context = parser.getContext();
  auto emitError = [&] { return parser.emitError(parser.getNameLoc()); };
  value = WeightAttr::getChecked(
      emitError, context, StringAttr::get(context, file), offset, length);
  return success(value != nullptr);
}

ParseResult ConstantOp::parse(OpAsmParser &parser, OperationState &result) {
  Attribute value;
  Type type;
  if (parser.parseOptionalAttrDict(result.attributes))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("file"))) {
    if (parseWeight(parser, value) || parser.parseColonType(type))
      return failure();
  } else {
    ElementsAttr elements;
    if (parser.parseAttribute(elements))
      return failure();
    value = elements;
    type = elements.getType();
  }
  result.getOrAddProperties<Properties>().value = value;
  result.addTypes(type);
  return success();
}

void ConstantOp::print(OpAsmPrinter &printer) {
  printer.printOptionalAttrDict((*this)->getAttrs(), {"value"});
  if (auto weight = dyn_cast<WeightAttr>(getValue())) {
    printer << " file(";
    printer.printString(weight.getFile().getValue());
    printer << ", " << weight.getOffset() << ':' << weight.getLength()
            << ") : " << getType();
    return;
  }
  printer << ' ' << getValue();
}

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

//===----------------------------------------------------------------------===//
// CastOp, IdentityOp, OpaqueOp
//===----------------------------------------------------------------------===//

LogicalResult CastOp::inferResultTypes(const ShapeFacts &,
                                       SmallVectorImpl<Type> &types) {
  types.push_back(
      getTensorType(getShape(getInput()), getElementType(getResult())));
  return success();
}

Elements CastOp::inferElements(const ShapeFacts &facts) {
  Type to = getElementType(getResult());
  return combineElements(
      getInput(), to, facts,
      [&](ArrayRef<std::optional<int64_t>> value) -> std::optional<int64_t> {
        return value[0] && to.isInteger(1) ? *value[0] != 0 : value[0];
      });
}

LogicalResult CastOp::verify() {
  if (getSaturate() && isa<IntegerType>(getElementType(getResult())))
    return emitOpError("saturates to 8-bit floats only, not to ")
           << getElementType(getResult());
  std::optional<StringRef> mode = getRoundMode();
  if (mode && *mode != "up" && *mode != "down" && *mode != "nearest")
    return emitOpError("unknown round mode '") << *mode << "'";
  return success();
}

LogicalResult IdentityOp::inferResultTypes(const ShapeFacts &,
                                           SmallVectorImpl<Type> &types) {
  types.push_back(getInput().getType());
  return success();
}

Elements IdentityOp::inferElements(const ShapeFacts &facts) {
  return facts.elements(getInput());
}

LogicalResult OpaqueOp::inferResultTypes(const ShapeFacts &,
                                         SmallVectorImpl<Type> &types) {
  llvm::append_range(types, getResultTypes());
  return success();
}
