//===- OpMaker.cpp - What lowerings of every format make ops with ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Import/OpMaker.h"

#include "mpopt/Dialect/Ops/CoreOps.h"

using namespace mlir;
using namespace mpopt;

Value OpMaker::makeScalar(double value, Type elementType) {
  auto type = RankedTensorType::get({}, elementType);
  Attribute element;
  if (isa<FloatType>(elementType))
    element = opBuilder.getFloatAttr(elementType, value);
  else
    element = opBuilder.getIntegerAttr(elementType, int64_t(value));
  return makeTyped<mp::ConstantOp>({type},
                                   DenseElementsAttr::get(type, element))
      .getResult();
}

Value OpMaker::makeInts(ArrayRef<int64_t> values) {
  auto type =
      RankedTensorType::get({int64_t(values.size())}, opBuilder.getI64Type());
  return makeTyped<mp::ConstantOp>({type},
                                   DenseIntElementsAttr::get(type, values))
      .getResult();
}
