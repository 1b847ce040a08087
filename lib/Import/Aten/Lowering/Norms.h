//===- Norms.h - Norms of vectors -------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_IMPORT_ATEN_LOWERING_NORMS_H
#define MPOPT_LIB_IMPORT_ATEN_LOWERING_NORMS_H

#include "mpopt/Import/Aten/Lowering.h"

namespace mpopt::aten {

/// (sum |x|^order)^(1/order), with the ops that orders 1 and 2 have.
mlir::Value makeVectorNorm(NodeContext &context, mlir::Value input,
                           double order, mlir::DenseI64ArrayAttr axes,
                           bool keepDims);

} // namespace mpopt::aten

#endif // MPOPT_LIB_IMPORT_ATEN_LOWERING_NORMS_H
