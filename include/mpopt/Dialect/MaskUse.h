//===- MaskUse.h - Masks of attention scores --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_DIALECT_MASKUSE_H
#define MPOPT_DIALECT_MASKUSE_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <optional>
#include <string>

namespace mpopt {

/// An input of integers, truth values or floats that is a mask of zeros and
/// ones.
struct MaskInput {
  /// The use that says so: `a mask: 1 - x is scaled by -10000`.
  std::string why;
  /// The element that masks nothing, 0 or 1.
  int kept = 1;
};

/// Nothing if no use says that it is a mask, or if one contradicts it.
///
/// An integer is a mask if it only selects, counts and weighs. A float
/// is a mask only where its complement is scaled by a penalty or picks one.
std::optional<MaskInput> findMaskUse(mlir::Value input);

/// True if the value is read as scores of a softmax or as a mask of them, also
/// through arithmetic, limits, selections and views. `onPath` sees the uses
/// that lead there, the last one first.
bool reachesSoftmax(
    mlir::Value value,
    llvm::function_ref<void(mlir::OpOperand &)> onPath = nullptr);
bool reachesSoftmax(mlir::OpOperand &use);

} // namespace mpopt

#endif // MPOPT_DIALECT_MASKUSE_H
