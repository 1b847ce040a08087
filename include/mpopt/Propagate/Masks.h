//===- Masks.h - Scores that softmax drops ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Huge negative numbers are added to scores, or put in their place, that
// softmax is to drop. Those are rounded by far more than the others, and no
// output depends on them, unless a whole row is masked: then they are all there
// is.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PROPAGATE_MASKS_H
#define MPOPT_PROPAGATE_MASKS_H

#include "mpopt/Ranges/Analysis/RangeAnalysis.h"

#include <optional>

namespace mpopt {

struct MaskedScores {
  /// The elements that are not masked: their estimate.
  Cell live;
  /// The others are near this number.
  double masked = 0;
  /// The expected share of rows all of whose elements are masked, and their
  /// number in a batch.
  double fullRows = 0, expectedRows = 0;
  /// Only functions that are flat at the masked elements read them.
  bool isDropped = false;
};

/// Nothing if no element is masked, if neither a softmax nor a function that is
/// flat there reads the value, or if the two kinds of elements are not told
/// apart.
std::optional<MaskedScores> findMaskedScores(mlir::Value value,
                                             const RangeAnalysis &ranges);

/// True if a mask x x^T of a declared input x takes part in the value: each
/// position that x masks has a row of its own, in which all are masked.
bool hidesOwnRow(mlir::Value value);

} // namespace mpopt

#endif // MPOPT_PROPAGATE_MASKS_H
