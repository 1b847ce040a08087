//===- CustomOps.cpp - Ops as projects state them
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Dialect/Ops/CustomOps.h"

#include "mpopt/Dialect/Ops/GradientOps.h"
#include "mpopt/Dialect/TypeSupport.h"

#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::mp;

#define GET_OP_CLASSES
#include "mpopt/Dialect/Ops/CustomOps.cpp.inc"

LogicalResult CustomOp::inferResultTypes(const ShapeFacts &,
                                         SmallVectorImpl<Type> &types) {
  Value like = getInputs()[getLike()];
  MaybeShape shape = getShape(like);
  if (auto stated = getSizesAttr()) {
    shape.emplace();
    for (int64_t size : stated.asArrayRef())
      shape->push_back(size < 0 ? kDynamic : size);
  }
  types.push_back(
      getTensorType(shape, getDtype() ? *getDtype() : getElementType(like)));
  return success();
}

LogicalResult CustomOp::verify() {
  if (getLike() >= getInputs().size())
    return emitOpError("has no operand ") << getLike();
  size_t slopes = getSlopes().size();
  if (slopes != 1 && slopes != getInputs().size())
    return emitOpError("has ")
           << slopes << " slopes and " << getInputs().size() << " operands";
  return success();
}

Type CustomOp::getComputedType() {
  return getElementType(getInputs()[getLike()]);
}

bool CustomOp::isWrong() {
  Type type = getComputedType();
  return isa<FloatType>(type) &&
         llvm::none_of(getDtypes().getAsRange<TypeAttr>(), [&](TypeAttr right) {
           return right.getValue() == type;
         });
}

int64_t CustomOp::countTerms() {
  if (std::optional<uint64_t> terms = getTerms())
    return int64_t(*terms);
  MaybeShape shape = getShape(getInputs().front());
  return shape && !shape->empty() && shape->back() > 0 ? shape->back() : 0;
}

LogicalResult CustomGradOp::inferResultTypes(const ShapeFacts &,
                                             SmallVectorImpl<Type> &types) {
  return inferGradients(*this, getWanted(), types);
}

LogicalResult CustomGradOp::verify() {
  return verifyGradients(*this, getWanted());
}
