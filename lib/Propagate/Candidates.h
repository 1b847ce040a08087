//===- Candidates.h - Rows of which errors decide ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_PROPAGATE_CANDIDATES_H
#define MPOPT_LIB_PROPAGATE_CANDIDATES_H

#include "mpopt/Propagate/ErrorMoments.h"

#include <optional>

namespace mpopt {

/// The dim of an axis that is counted from the last one; nothing if it is open.
std::optional<double> getDim(mlir::Value value, int64_t fromLast);

/// The variance and the errors by which candidates of a row differ.
struct Candidates {
  double variance = 0, error = 0;
};

/// Those of a value along an axis that is counted from the last one.
Candidates candidatesAlong(mlir::Value value, int64_t fromLast,
                           const ErrorMoments &moments, unsigned depth = 8);

/// True for the op that keeps the boxes which overlap no better one.
bool suppressesBoxes(mlir::Operation *op);
/// The share of its boxes that are kept, or not, by errors of edges; nothing
/// where errors are not known.
std::optional<double> shareOfSuppressed(mlir::Operation *suppression,
                                        const ErrorMoments &moments);

} // namespace mpopt

#endif // MPOPT_LIB_PROPAGATE_CANDIDATES_H
