//===- LinearOps.cpp - Matrix products and convolutions -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Dialect/Ops/LinearOps.h"

#include "mpopt/Dialect/ElementSupport.h"

#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::mp;

#define GET_OP_CLASSES
#include "mpopt/Dialect/Ops/LinearOps.cpp.inc"

void MPDialect::registerLinearOps() {
  addOperations<
#define GET_OP_LIST
#include "mpopt/Dialect/Ops/LinearOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Matrix products
//===----------------------------------------------------------------------===//

/// NumPy's matmul of two shapes; failure if they contradict each other.
static FailureOr<MaybeShape> getProductShape(Operation *op, MaybeShape lhs,
                                             MaybeShape rhs, bool transA,
                                             bool transB) {
  if ((lhs && lhs->empty()) || (rhs && rhs->empty()))
    return op->emitOpError("operands must have at least one dim");
  if (!lhs || !rhs)
    return MaybeShape();
  bool row = lhs->size() == 1, column = rhs->size() == 1;
  if (row)
    lhs->insert(lhs->begin(), 1);
  else if (transA)
    std::swap(lhs->back(), (*lhs)[lhs->size() - 2]);
  if (column)
    rhs->push_back(1);
  else if (transB)
    std::swap(rhs->back(), (*rhs)[rhs->size() - 2]);
  int64_t left = lhs->pop_back_val(), rows = lhs->pop_back_val();
  int64_t columns = rhs->pop_back_val(), right = rhs->pop_back_val();
  if (left >= 0 && right >= 0 && left != right)
    return op->emitOpError("sums over ")
           << left << " elements of the left operand but " << right
           << " of the right";
  FailureOr<MaybeShape> shape = broadcastShapes(lhs, rhs);
  if (failed(shape))
    return op->emitOpError("batch dims do not broadcast: ")
           << op->getOperandTypes();
  if (!row)
    (*shape)->push_back(rows);
  if (!column)
    (*shape)->push_back(columns);
  return shape;
}

LogicalResult MatMulOp::inferResultTypes(const ShapeFacts &,
                                         SmallVectorImpl<Type> &types) {
  FailureOr<MaybeShape> shape = getProductShape(
      *this, getShape(getLhs()), getShape(getRhs()), getTransA(), getTransB());
  if (failed(shape))
    return failure();
  types.push_back(
      getTensorType(*shape, promoteElementTypes(getElementType(getLhs()),
                                                getElementType(getRhs()))));
  return success();
}

LogicalResult MatMulIntegerOp::inferResultTypes(const ShapeFacts &,
                                                SmallVectorImpl<Type> &types) {
  FailureOr<MaybeShape> shape = getProductShape(
      *this, getShape(getLhs()), getShape(getRhs()), false, false);
  if (failed(shape))
    return failure();
  types.push_back(getTensorType(*shape, IntegerType::get(getContext(), 32)));
  return success();
}

LogicalResult GemmOp::verify() {
  for (Value operand : {getLhs(), getRhs()})
    if (MaybeShape shape = getShape(operand); shape && shape->size() != 2)
      return emitOpError("needs matrices, got ") << operand.getType();
  if (Value bias = getBias())
    if (MaybeShape shape = getShape(bias); shape && shape->size() > 2)
      return emitOpError("bias has more than two dims: ") << bias.getType();
  return success();
}

LogicalResult GemmOp::inferResultTypes(const ShapeFacts &,
                                       SmallVectorImpl<Type> &types) {
  if (failed(verify()))
    return failure();
  MaybeShape lhs = getShape(getLhs()), rhs = getShape(getRhs());
  // The result is a matrix even where nothing else is known.
  if (!lhs)
    lhs = Shape{kDynamic, kDynamic};
  if (!rhs)
    rhs = Shape{kDynamic, kDynamic};
  FailureOr<MaybeShape> shape =
      getProductShape(*this, lhs, rhs, getTransA(), getTransB());
  if (failed(shape))
    return failure();
  Type element =
      promoteElementTypes(getElementType(getLhs()), getElementType(getRhs()));
  if (Value bias = getBias()) {
    // One way: the bias broadcasts to the product, which tells its dynamic dims
    // nothing unless the bias' dim is above 1.
    MaybeShape extra = getShape(bias);
    FailureOr<MaybeShape> sum = broadcastShapes(*shape, extra);
    if (failed(sum))
      return emitOpError("bias ") << bias.getType() << " does not broadcast to "
                                  << getTensorType(*shape, element);
    if (extra)
      shape = sum;
    element = promoteElementTypes(element, getElementType(bias));
  }
  types.push_back(getTensorType(*shape, element));
  return success();
}

LogicalResult LinearOp::inferResultTypes(const ShapeFacts &,
                                         SmallVectorImpl<Type> &types) {
  MaybeShape weight = getShape(getWeight());
  if (weight && weight->size() != 1 && weight->size() != 2)
    return emitOpError("weight must have one or two dims, got ")
           << getWeight().getType();
  FailureOr<MaybeShape> shape =
      getProductShape(*this, getShape(getInput()), weight, false,
                      weight && weight->size() == 2);
  if (failed(shape))
    return failure();
  types.push_back(
      getTensorType(*shape, promoteElementTypes(getElementType(getInput()),
                                                getElementType(getWeight()))));
  return success();
}

LogicalResult BilinearOp::inferResultTypes(const ShapeFacts &,
                                           SmallVectorImpl<Type> &types) {
  MaybeShape lhs = getShape(getLhs()), rhs = getShape(getRhs()),
             weight = getShape(getWeight());
  if (weight && weight->size() != 3)
    return emitOpError("weight must have three dims, got ")
           << getWeight().getType();
  auto differ = [](int64_t a, int64_t b) { return a >= 0 && b >= 0 && a != b; };
  if (weight && ((lhs && !lhs->empty() && differ(lhs->back(), (*weight)[1])) ||
                 (rhs && !rhs->empty() && differ(rhs->back(), (*weight)[2]))))
    return emitOpError("operands do not fit the weight: ") << getOperandTypes();
  MaybeShape shape = lhs ? lhs : rhs;
  if (shape && !shape->empty())
    shape->back() = weight ? (*weight)[0] : kDynamic;
  Type element =
      promoteElementTypes(getElementType(getLhs()), getElementType(getRhs()));
  types.push_back(getTensorType(
      shape, promoteElementTypes(element, getElementType(getWeight()))));
  return success();
}
