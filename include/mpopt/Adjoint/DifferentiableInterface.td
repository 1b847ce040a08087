//===- DifferentiableInterface.td - Gradients of ops ------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_ADJOINT_DIFFERENTIABLEINTERFACE_TD
#define MPOPT_ADJOINT_DIFFERENTIABLEINTERFACE_TD

include "mlir/IR/OpBase.td"

def DifferentiableOpInterface : OpInterface<"DifferentiableOpInterface"> {
  let cppNamespace = "::mpopt";
  let description = [{
    The vector-Jacobian product of an op, written as mp ops. Attached to the ops by
    external models (lib/Adjoint/Ops). An op without it lacks a gradient, which is
    counted wherever one is asked for.
  }];
  let methods = [
    InterfaceMethod<[{
        Gives the gradient of each operand that `ctx.wants`, by `ctx.give`. An
        operand that gets none has none: the op is constant in it.
      }],
      "void", "buildGradient", (ins "::mpopt::GradientContext &":$ctx)>,
    InterfaceMethod<[{
        Whether the op's results do not depend on its operands smoothly, or only
        in steps: comparisons, positions, rounding. Its gradient is zero or not
        defined, as autograd has it.
      }],
      "bool", "endsGradient", (ins), [{}], [{ return false; }]>,
  ];
}

#endif // MPOPT_ADJOINT_DIFFERENTIABLEINTERFACE_TD
