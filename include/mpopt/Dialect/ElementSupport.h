//===- ElementSupport.h - Arithmetic on known elements ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_DIALECT_ELEMENTSUPPORT_H
#define MPOPT_DIALECT_ELEMENTSUPPORT_H

#include "mpopt/Dialect/Interfaces/ShapeFacts.h"

#include "mlir/IR/Operation.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace mpopt {

/// An integer result as elements of `elementType` hold it: wrapped to the width
/// of an integer type, nothing where a float type may have rounded it.
std::optional<int64_t> fitElement(int64_t value, mlir::Type elementType);

/// Applies `function` to each tuple of elements of `operands`, known or not,
/// with NumPy broadcasting; fits results to `elementType`. Nothing if a shape
/// is unknown, or an operand of which `function` needs every element has none
/// that is known (`needsAll`; else if no operand has one): most tensors of a
/// model are data. Signed arithmetic wraps: callers compute in uint64_t where
/// overflow is possible.
Elements combineElements(mlir::ValueRange operands, mlir::Type elementType,
                         const ShapeFacts &facts,
                         llvm::function_ref<std::optional<int64_t>(
                             llvm::ArrayRef<std::optional<int64_t>>)>
                             function,
                         bool needsAll = true);

/// The same on the known pairs of a binary op's operands; where `function`
/// gives nothing (a division by zero) the element is unknown.
Elements zipElements(
    mlir::Operation *op, const ShapeFacts &facts,
    llvm::function_ref<std::optional<int64_t>(int64_t, int64_t)> function);

} // namespace mpopt

#endif // MPOPT_DIALECT_ELEMENTSUPPORT_H
