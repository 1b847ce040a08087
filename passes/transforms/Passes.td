//===- Passes.td - Passes that change the IR --------------------*- tablegen -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PASSES_TRANSFORMS_PASSES_TD
#define MPOPT_PASSES_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def InferTypes : Pass<"mp-infer-types", "::mlir::ModuleOp"> {
  let summary = "Set every result's shape and dtype from its operands";
  let description = [{
    Runs the dialect's own inference over the module. Static dims that are
    already there and that inference does not know stay.
  }];
}

#endif // MPOPT_PASSES_TRANSFORMS_PASSES_TD
