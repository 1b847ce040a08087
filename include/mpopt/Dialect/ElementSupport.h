//===- ElementSupport.h - Arithmetic on known elements
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_DIALECT_ELEMENTSUPPORT_H
#define MPOPT_DIALECT_ELEMENTSUPPORT_H

#include "mpopt/Interfaces/ShapeFacts.h"

#include "mlir/IR/Operation.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace mpopt {

/// `function` of each known element.
Elements mapElements(Elements input,
                     llvm::function_ref<int64_t(int64_t)> function);

/// `function` of each pair of known elements of a binary op's operands, with
/// NumPy broadcasting; where `function` gives nothing (a division by zero) the
/// element is unknown. Nothing if a shape is unknown. Signed arithmetic wraps:
/// callers compute in uint64_t where overflow is possible.
Elements
zipElements(mlir::Operation *op, const ShapeFacts &facts,
            llvm::function_ref<std::optional<int64_t>(int64_t, int64_t)>
                function);

} // namespace mpopt

#endif // MPOPT_DIALECT_ELEMENTSUPPORT_H
