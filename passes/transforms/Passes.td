//===- Passes.td - Passes that change the IR --------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

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

def ApplyPrecision : Pass<"mp-apply-precision", "::mlir::ModuleOp"> {
  let summary = "Give every value the dtype it would have in another arithmetic";
  let description = [{
    Inserts `mp.cast` (its origin says why: `policy`, `promotion`, `storage`),
    re-infers every type, and leaves `mp.category` on the ops and `mp.precision`,
    `mp.policy` and `mp.low_type` on the module. Idioms should be recognised
    before, since a member is judged as the composite.

    - `as-is` only annotates, but for ops in an autocast region of the model's
      own (`mp.autocast`: the dtype, or `false` where it is switched off), which
      get what autocast gives them there;
    - `fp16`, `bf16`: every float input, constant and result is stored so;
    - `autocast-fp16`, `autocast-bf16`: what the policy does, PyTorch op by op,
      TensorFlow by painting the graph, a converter by its block list.
  }];
  let options = [
    Option<"mode", "mode", "std::string", "\"auto\"",
      "as-is, fp16, bf16, autocast-fp16, autocast-bf16, or auto">,
    Option<"policy", "policy", "std::string", "\"\"",
      "a built-in policy or a file; PyTorch's for CUDA by default, or for the "
      "CPU where the model's own autocast regions are for it">,
  ];
  let dependentDialects = ["::mpopt::mp::MPDialect"];
}

def AttachLoss : Pass<"mp-attach-loss", "::mlir::ModuleOp"> {
  let summary = "Append the loss of a model's outputs";
  let description = [{
    A result named `loss`, the sum of terms in FP32, and a further argument for
    each target. Runs after precision was applied, so that the loss stays in
    FP32. A remark says what was left to choose, and the function's attribute
    `mp.loss` lists the terms. Kinds and formulas: docs/adjoint.md.
  }];
  let options = [
    Option<"terms", "terms", "std::string", "\"\"",
      "KIND[:PREDICTION[,TARGET]][:weight=W][:reduction=R][:ignore=I]"
      "[:class_axis=A][:positions=last][:margin=M][:label_smoothing=S]"
      "[:share_counted=S], separated by semicolons; by default by the outputs">,
  ];
  let dependentDialects = ["::mpopt::mp::MPDialect"];
}

def MarkLoss : Pass<"mp-mark-loss", "::mlir::ModuleOp"> {
  let summary = "Find the ops that only the model's own loss depends on";
  let description = [{
    They get `mp.loss_part`, and compute in FP32 under every precision, as a
    framework's loss does, which exporters write out op by op. Ops behind a
    product are part of it only up to the product. Runs before precision is
    applied.
  }];
  let options = [
    Option<"loss", "loss", "std::string", "\"\"",
      "the result that is the loss; by default by the outputs">,
    ListOption<"targets", "targets", "std::string",
      "inputs that are targets; asked for where the loss is the only result">,
  ];
  let dependentDialects = ["::mpopt::mp::MPDialect"];
}

def Differentiate : Pass<"mp-differentiate", "::mlir::ModuleOp"> {
  let summary = "Append the backward graph of a result";
  let description = [{
    Gradients of a value with respect to others, as further results of the main
    function named `grad(NAME)`. A value of more than one element is projected on
    a cotangent, which is a further argument `seed(NAME)`, or ones. Runs after
    precision was applied: the gradient of a cast is a cast, and each gradient has
    the dtype of its value.

    Ops that have a gradient but no formula here get a remark, and are counted by
    name in the function's attribute `mp.lacks_gradient`. `mp.detached` lists the
    parameters and inputs asked for that no gradient reaches.
  }];
  let options = [
    Option<"of", "of", "std::string", "\"\"",
      "name of the value to differentiate; by default the first float result">,
    Option<"wrt", "wrt", "std::string", "\"parameters\"",
      "parameters (named float constants that an op computes with), inputs, all "
      "(every named float value), or names, separated by semicolons">,
    Option<"seed", "seed", "std::string", "\"auto\"",
      "ones or argument; by default ones for a single element">,
    Option<"mark", "mark", "bool", "false",
      "set mp.backward on the ops, and name the gradient of each value, as --train "
      "does">,
  ];
  let dependentDialects = ["::mpopt::mp::MPDialect"];
}

def PrintEffects : Pass<"mp-print-effects", "::mlir::ModuleOp"> {
  let summary = "Print the effects of roundings on outputs";
  let description = [{
    A remark for every float output of a module to which a precision was applied:
    the expected error against FP32, of the largest magnitude, and its root mean
    square; with a note at each tensor that causes a share of it. No rule has run,
    so that an overflow that a rule would find does not make Inf here. Changes
    nothing.
  }];
  let options = [
    Option<"least", "least", "double", "0.1",
           "share of an output's error from which on a tensor is named">,
  ];
}

def Evaluate : Pass<"mp-evaluate", "::mlir::ModuleOp"> {
  let summary = "Print the results of functions on given arguments";
  let description = [{
    Evaluates each function in FP32 on the arguments' `mp.value` (a dense tensor)
    and prints a line of JSON for it: its results, null where one is not known,
    and the ops that are not evaluated.
  }];
}

def PrintGradients : Pass<"mp-print-gradients", "::mlir::ModuleOp"> {
  let summary = "Print the estimates of gradients";
  let description = [{
    A remark for every result of the backward graph that depends on the gradient
    of the loss: root mean square and largest magnitude expected over a batch,
    the share of exact zeros, that of others which are stored as 0 at the loss
    scale 1, and the greatest exponent of a loss scale at which nothing on the way
    overflows. With `json` one line of JSON for each named gradient on standard
    output instead. Changes nothing.
  }];
  let options = [
    Option<"json", "json", "bool", "false",
           "print the gradients that have a name as lines of JSON">,
  ];
}

def PrintRanges : Pass<"mp-print-ranges", "::mlir::ModuleOp"> {
  let summary = "Print the range of every result";
  let description = [{
    A remark per argument and result: the bounds before the result is rounded to
    its dtype, group by group in row-major order (the groups' dims in front
    where there are several), NaN and infinities that may be stored, facts, and
    the likely tier. Changes nothing. An op without a transfer function gets one
    remark that says so.
  }];
  let options = [
    Option<"likely", "likely", "bool", "false", "print the likely tier, too">,
    Option<"elements", "elements", "bool", "false",
           "print all groups, not only the first few, and all digits">,
  ];
}

#endif // MPOPT_PASSES_TRANSFORMS_PASSES_TD
