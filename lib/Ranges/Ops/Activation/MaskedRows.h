//===- MaskedRows.h - Rows of scores that keep an element -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_RANGES_OPS_ACTIVATION_MASKEDROWS_H
#define MPOPT_LIB_RANGES_OPS_ACTIVATION_MASKEDROWS_H

#include "mpopt/Ranges/Value/TransferContext.h"

namespace mpopt {

/// True if the rows of the result along the last axis are rows of the operand,
/// or elements of it again and again.
bool keepsRows(mlir::Operation *op);

/// True if no row along the last axis can be -Inf throughout: a mask, constant
/// or of known elements, keeps an element of each. It may be NaN.
bool keepsElementOfEveryRow(mlir::Value value, TransferContext &ctx);

} // namespace mpopt

#endif // MPOPT_LIB_RANGES_OPS_ACTIVATION_MASKEDROWS_H
