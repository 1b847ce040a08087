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

def RecognizeIdioms : Pass<"mp-recognize-idioms", "::mlir::ModuleOp"> {
  let summary = "Mark the members of decomposed composites";
  let description = [{
    Exporters write LayerNorm, RMSNorm, InstanceNorm, GroupNorm, softmax,
    log-softmax, GELU, SiLU and softplus out as primitives. Each op of such a
    group gets `mp.idiom = #mp.idiom<KIND, ID, RESULT>` and stays as it is. The
    kind is the mnemonic of the mp op that the group stands for; precision
    policies then treat the group as the framework treats that op.
  }];
}

#endif // MPOPT_PASSES_TRANSFORMS_PASSES_TD
