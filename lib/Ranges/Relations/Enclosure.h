//===- Enclosure.h - Bounds of functions of one number ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_RANGES_RELATIONS_ENCLOSURE_H
#define MPOPT_LIB_RANGES_RELATIONS_ENCLOSURE_H

#include "mpopt/Ranges/Value/Expression.h"
#include "mpopt/Ranges/Value/TransferContext.h"

namespace mpopt::relations {

/// Cuts the result of an op to the bounds of the function of one value that it
/// is: x clip(x + 3, 0, 6) >= -2.25, x - x^3 <= 0.385 for x in [0, 1].
void encloseExpression(const Expression &expression, mlir::Operation *op,
                       AbstractValue &value, TransferContext &ctx);

} // namespace mpopt::relations

#endif // MPOPT_LIB_RANGES_RELATIONS_ENCLOSURE_H
