//===- Arithmetic.cpp - How much of a model's work an op does
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Hazards/Arithmetic.h"

#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Propagate/AddedTerms.h"
#include "mpopt/Propagate/ErrorMoments.h"

#include <algorithm>

using namespace mlir;
using namespace mpopt;

double mpopt::countArithmetic(Operation *op) {
  if (!isa_and_present<mp::MPDialect>(op->getDialect()) ||
      isa<mp::ConstantOp, mp::CastOp>(op) || op->getNumRegions() != 0)
    return 0;
  double elements = 0;
  for (Value result : op->getResults())
    if (isa<FloatType>(getElementType(result)))
      elements += countElements(result);
  return elements * double(std::max<int64_t>(countProducts(op).value_or(1), 1));
}

double mpopt::countArithmetic(ModuleOp module) {
  double all = 0;
  module.walk([&](Operation *op) { all += countArithmetic(op); });
  return all;
}

/// A cell multiplies all its weights by each of the vectors that the first two
/// dims of operand 0 count.
static double countRecurrent(Operation *op) {
  double weights = 0, vectors = 1;
  for (Value operand : llvm::drop_begin(op->getOperands()))
    if (MaybeShape shape = getShape(operand); shape && shape->size() > 1)
      weights += countElements(operand);
  if (MaybeShape shape = getShape(op->getOperand(0)))
    for (int64_t dim : ArrayRef(*shape).take_front(2))
      vectors *= double(std::max<int64_t>(dim, 1));
  return weights * vectors;
}

double mpopt::countMultiplications(Operation *op) {
  if (hasRole(op, Role::Recurrent))
    return countRecurrent(op);
  std::optional<int64_t> terms = countProducts(op);
  return terms ? countElements(op->getResult(0)) * double(*terms) : 0;
}
