//===- GradientOps.cpp - Gradients of composites
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Dialect/Ops/GradientOps.h"

#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::mp;

#define GET_OP_CLASSES
#include "mpopt/Dialect/Ops/GradientOps.cpp.inc"

LogicalResult mp::inferGradients(Operation *op, ArrayRef<int64_t> wanted,
                                 SmallVectorImpl<Type> &types) {
  for (int64_t number : wanted)
    types.push_back(op->getOperand(number).getType());
  return success();
}

LogicalResult mp::verifyGradients(Operation *op, ArrayRef<int64_t> wanted) {
  if (wanted.size() != op->getNumResults())
    return op->emitOpError("has ") << op->getNumResults() << " results for "
                                   << wanted.size() << " wanted operands";
  int64_t last = -1;
  for (int64_t number : wanted) {
    if (number <= last || number >= op->getNumOperands())
      return op->emitOpError("has no operand ")
             << number << ", or names it out of order";
    last = number;
  }
  return success();
}
