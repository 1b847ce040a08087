//===- ElementwiseOps.cpp - Elementwise arithmetic
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpopt/Dialect/Ops/ElementwiseOps.h"

#include "mpopt/Dialect/ElementSupport.h"

#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::mp;

#define GET_OP_CLASSES
#include "mpopt/Dialect/Ops/ElementwiseOps.cpp.inc"

void MPDialect::registerElementwiseOps() {
  addOperations<
#define GET_OP_LIST
#include "mpopt/Dialect/Ops/ElementwiseOps.cpp.inc"
      >();
}

Elements NegOp::inferElements(const ShapeFacts &facts) {
  return mapElements(facts.elements(getInput()),
                     [](int64_t value) { return -value; });
}

Elements AddOp::inferElements(const ShapeFacts &facts) {
  return zipElements(*this, facts, [](int64_t lhs, int64_t rhs) {
    return std::optional<int64_t>(lhs + rhs);
  });
}
