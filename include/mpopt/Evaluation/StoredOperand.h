//===- StoredOperand.h - Operands of products as codes ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_EVALUATION_STOREDOPERAND_H
#define MPOPT_EVALUATION_STOREDOPERAND_H

#include "mpopt/Evaluation/Matrices.h"
#include "mpopt/Numerics/Precision.h"

#include <optional>

namespace mpopt {

/// The shares of the non-zero elements past the last number, and of those that
/// are read as 0; of the groups with one scale those that are all zeros.
struct StoredShares {
  double clipped = 0, flushed = 0, zeroGroups = 0;
};

/// Replaces the elements of an operand by the numbers that are read of it.
/// `largest`: the magnitude that gave the scale of the tensor before.
StoredShares storeOperand(Matrices &operand, const OperandScaling &scaling,
                          std::optional<double> largest = std::nullopt);

} // namespace mpopt

#endif // MPOPT_EVALUATION_STOREDOPERAND_H
