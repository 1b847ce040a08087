//===- Families.h - What each family of transfer functions offers --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_RANGES_OPS_FAMILIES_H
#define MPOPT_LIB_RANGES_OPS_FAMILIES_H

namespace mlir {
class MLIRContext;
} // namespace mlir

namespace mpopt {

#define MPOPT_TRANSFER_FAMILY(Name)                                            \
  void attach##Name##Transfers(mlir::MLIRContext *context);
#include "Families.inc"

} // namespace mpopt

#endif // MPOPT_LIB_RANGES_OPS_FAMILIES_H
