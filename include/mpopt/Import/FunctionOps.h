//===- FunctionOps.h - Ops that nodes are by name alone ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A function of one number needs no lowering of its own: importers make it of
// every node whose name its record has. It is an op with a row in
// Numerics/FunctionTable.h and without attributes; one with attributes is
// lowered by hand, as frameworks differ in their names and defaults.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_IMPORT_FUNCTIONOPS_H
#define MPOPT_IMPORT_FUNCTIONOPS_H

#include "mpopt/Dialect/Ops/ActivationOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Numerics/FunctionTable.h"

#include <type_traits>

namespace mpopt {

namespace detail {
template <typename OpT, typename VisitT> void visitIfFunction(VisitT &visit) {
  if constexpr (OpT::template hasTrait<mlir::OpTrait::OneOperand>()) {
    llvm::StringRef mnemonic = OpT::getOperationName().split('.').second;
    std::optional<UnaryFunction> function = parseUnaryFunction(mnemonic);
    if (function && OpT::getAttributeNames().empty())
      visit(std::type_identity<OpT>(), *function);
  }
}

template <typename... OpTs, typename VisitT>
void visitFunctions(VisitT &visit) {
  (visitIfFunction<OpTs>(visit), ...);
}
} // namespace detail

/// Calls `visit(std::type_identity<OpT>(), function)` for each such op. Its
/// names are `OpT::getStaticNames(framework)`.
template <typename VisitT> void visitFunctionOps(VisitT visit) {
  detail::visitFunctions<
#define GET_OP_LIST
#include "mpopt/Dialect/Ops/ElementwiseOps.cpp.inc"
      ,
#define GET_OP_LIST
#include "mpopt/Dialect/Ops/ActivationOps.cpp.inc"
      >(visit);
}

} // namespace mpopt

#endif // MPOPT_IMPORT_FUNCTIONOPS_H
