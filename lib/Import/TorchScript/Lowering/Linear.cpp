//===- Linear.cpp - Matrix products and convolutions ----------------------===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpopt/Import/TorchScript/Lowering.h"

#include "mpopt/Dialect/Ops/LinearOps.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::torchscript;

static LogicalResult lowerLinear(NodeContext &context) {
  context.setOutput(0, context.make<mp::LinearOp>(context.tensor("input"),
                                                  context.tensor("weight"),
                                                  context.tensor("bias")));
  return success();
}

void mpopt::torchscript::registerLinear(LoweringRegistry &registry) {
  registry.add("linear", lowerLinear);
}
