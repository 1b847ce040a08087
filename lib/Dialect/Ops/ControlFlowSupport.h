//===- ControlFlowSupport.h - The edges of bodies ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// While a body is being built its region is empty: inference then gives what it
// knows without it, and is asked again. The verifier wants the body.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_DIALECT_OPS_CONTROLFLOWSUPPORT_H
#define MPOPT_LIB_DIALECT_OPS_CONTROLFLOWSUPPORT_H

#include "mpopt/Dialect/Ops/ControlFlowOps.h"

namespace mpopt::mp {

/// A body's yield; null while the body is being built.
YieldOp getYield(mlir::Region &region);

/// Values that meet where control enters or leaves bodies. Shapes may differ
/// (the result has their join) and so may float types: a precision policy works
/// op by op, and the result has the wider type.
bool mayMeet(mlir::Type lhs, mlir::Type rhs, bool sameRank);

} // namespace mpopt::mp

#endif // MPOPT_LIB_DIALECT_OPS_CONTROLFLOWSUPPORT_H
