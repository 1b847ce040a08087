//===- SavingInterface.td - What autograd saves of ops ----------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_ADJOINT_SAVINGINTERFACE_TD
#define MPOPT_ADJOINT_SAVINGINTERFACE_TD

include "mlir/IR/OpBase.td"

def SavingOpInterface : OpInterface<"SavingOpInterface"> {
  let cppNamespace = "::mpopt";
  let description = [{
    The tensors that PyTorch's autograd saves when it runs the op, where they are
    not those that the op's gradient here reads: statistics of a norm, positions
    of maxima, gates of a recurrent network. Attached to the ops by external
    models (lib/Adjoint/Saved/Rules.cpp); of an op without it what its gradient
    reads is saved.
  }];
  let methods = [
    InterfaceMethod<"Names what is saved, by the `keep` methods of `ctx`.",
      "void", "save", (ins "::mpopt::SavingContext &":$ctx)>,
  ];
}

#endif // MPOPT_ADJOINT_SAVINGINTERFACE_TD
