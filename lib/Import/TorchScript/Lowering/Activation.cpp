//===- Activation.cpp - Activations and softmax ---------------------------===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpopt/Import/TorchScript/Lowering.h"

#include "mpopt/Dialect/Ops/ActivationOps.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::torchscript;

template <typename OpT> static LogicalResult lowerPlain(NodeContext &context) {
  context.setOutput(0, context.make<OpT>(context.tensor("self")));
  return success();
}

static LogicalResult lowerElu(NodeContext &context) {
  // scale * (x < 0 ? alpha * (e^(input_scale * x) - 1) : x); ELU has both 1.
  if (context.getNumber("scale", 1) != 1 ||
      context.getNumber("input_scale", 1) != 1)
    return context.unsupported();
  context.setOutput(
      0, context.make<mp::EluOp>(
             context.tensor("self"),
             context.builder().getF64FloatAttr(context.getNumber("alpha", 1))));
  return success();
}

void mpopt::torchscript::registerActivation(LoweringRegistry &registry) {
  registry.add("relu", lowerPlain<mp::ReluOp>);
  registry.add("elu", lowerElu);
}
