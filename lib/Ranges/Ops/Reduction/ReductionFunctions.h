//===- ReductionFunctions.h - What becomes of one row -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_RANGES_OPS_REDUCTION_REDUCTIONFUNCTIONS_H
#define MPOPT_LIB_RANGES_OPS_REDUCTION_REDUCTIONFUNCTIONS_H

#include "ReductionRows.h"

namespace mpopt::reduction {

// ReductionSums.cpp
Cell sumRow(const Row &row, Reducing &state);
Cell meanRow(const Row &row, Reducing &state);
Cell logSumRow(const Row &row, Reducing &state);
Cell logSumExpRow(const Row &row, Reducing &state);

// ReductionNorms.cpp; `parameter` is the norm's order, the variance's
// correction
Cell sumSquareRow(const Row &row, Reducing &state);
Cell absSumRow(const Row &row, Reducing &state);
Cell l2Row(const Row &row, Reducing &state);
Cell normRow(const Row &row, Reducing &state);
Cell varianceRow(const Row &row, Reducing &state);
Cell stdRow(const Row &row, Reducing &state);

// ReductionProduct.cpp
Cell productRow(const Row &row, Reducing &state);

// ReductionExtremes.cpp
Cell maxRow(const Row &row, Reducing &state);
Cell minRow(const Row &row, Reducing &state);
Cell allRow(const Row &row, Reducing &state);
Cell anyRow(const Row &row, Reducing &state);
Cell countRow(const Row &row, Reducing &state);
/// The maximum of the elements; the caller sets the flags.
Cell maximumOf(const Row &row, const AbstractValue &input);

} // namespace mpopt::reduction

#endif // MPOPT_LIB_RANGES_OPS_REDUCTION_REDUCTIONFUNCTIONS_H
