//===- CheckedOp.td - Ops whose inference is their verifier -----*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_DIALECT_OPS_CHECKEDOP_TD
#define MPOPT_DIALECT_OPS_CHECKEDOP_TD

include "mpopt/Dialect/MPDialect.td"

// An op that moves data is legal if its inference accepts it: one place for the
// checks, run by the verifier without known elements. Units that include the
// generated definitions include InferenceSupport.h.
class MP_CheckedOp<string mnemonic, list<Trait> traits = []>
    : MP_Op<mnemonic, traits> {
  let hasVerifier = 1;
  let moreDefinitions = [{
    ::llvm::LogicalResult $cppClass::verify() {
      return ::mpopt::verifyByInference(*this);
    }
  }];
}

// The same, and followed in arithmetic on shapes.
class MP_FollowedOp<string mnemonic, list<Trait> traits = []>
    : MP_CheckedOp<mnemonic, !listconcat(traits,
        [DeclareOpInterfaceMethods<ElementInferenceOpInterface>])>;

#endif // MPOPT_DIALECT_OPS_CHECKEDOP_TD
