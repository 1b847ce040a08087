//===- ControlFlowOps.cpp - Branches, loops and their yield ---------------===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpopt/Dialect/Ops/ControlFlowOps.h"

#include "mpopt/Dialect/ElementSupport.h"

#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::mp;

#define GET_OP_CLASSES
#include "mpopt/Dialect/Ops/ControlFlowOps.cpp.inc"

void MPDialect::registerControlFlowOps() {
  addOperations<
#define GET_OP_LIST
#include "mpopt/Dialect/Ops/ControlFlowOps.cpp.inc"
      >();
}
