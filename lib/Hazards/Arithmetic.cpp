//===- Arithmetic.cpp - How much of a model's work an op does
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Hazards/Arithmetic.h"

#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Propagate/AddedTerms.h"

#include <algorithm>

using namespace mlir;
using namespace mpopt;

static double countElements(Value value) {
  MaybeShape shape = getShape(value);
  double count = 1;
  if (shape)
    for (int64_t dim : *shape)
      count *= double(std::max<int64_t>(dim, 1));
  return count;
}

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
