//===- ScaleGroups.h - The elements that share a scale ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_PROPAGATE_SCALEGROUPS_H
#define MPOPT_LIB_PROPAGATE_SCALEGROUPS_H

#include "mpopt/Propagate/OperandErrors.h"

namespace mpopt {

/// Which groups of an operand's numbers share scales.
struct ScaleGroups {
  ScaleGroups(const ScaledOperand &operand, llvm::ArrayRef<int64_t> dims,
              TransferContext &ctx);

  /// By group of numbers, the index of its scale.
  llvm::SmallVector<size_t> scaleOf;
  /// Indices of scales, each of which stands for many where groups do not tell
  /// them apart.
  size_t count = 0;
  /// The elements of a group of numbers that share one scale.
  double each = 1;
};

/// Sets `along` from the groups of the operand.
void setAlong(OperandError &result, const ScaledOperand &operand,
              llvm::ArrayRef<NumberAndError> numbers);

/// The error of an operand that is the gradient of a cross entropy.
OperandError errorOfTargets(const ScaledOperand &operand,
                            const ExpectedNumbers &expected,
                            TransferContext &ctx);

} // namespace mpopt

#endif // MPOPT_LIB_PROPAGATE_SCALEGROUPS_H
