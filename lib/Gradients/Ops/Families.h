//===- Families.h - What each family of spread functions offers ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_GRADIENTS_OPS_FAMILIES_H
#define MPOPT_LIB_GRADIENTS_OPS_FAMILIES_H

#include "mpopt/Gradients/BackwardSpreadContext.h"

namespace mlir {
class MLIRContext;
} // namespace mlir

namespace mpopt {

#define MPOPT_SPREAD_FAMILY(Name)                                              \
  void attach##Name##Spreads(mlir::MLIRContext *context);
#include "Families.inc"

} // namespace mpopt

#endif // MPOPT_LIB_GRADIENTS_OPS_FAMILIES_H
