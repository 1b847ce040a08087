//===- Families.h - What each family of gradients offers ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_ADJOINT_OPS_FAMILIES_H
#define MPOPT_LIB_ADJOINT_OPS_FAMILIES_H

namespace mlir {
class MLIRContext;
} // namespace mlir

namespace mpopt {

#define MPOPT_GRADIENT_FAMILY(Name)                                            \
  void attach##Name##Gradients(mlir::MLIRContext *context);
#include "Families.inc"

} // namespace mpopt

#endif // MPOPT_LIB_ADJOINT_OPS_FAMILIES_H
