//===- WeightErrors.h - The error of weights in codes -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_PROPAGATE_WEIGHTERRORS_H
#define MPOPT_LIB_PROPAGATE_WEIGHTERRORS_H

#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/QuantizationOps.h"
#include "mpopt/Numerics/Likely.h"
#include "mpopt/Numerics/StorageError.h"
#include "mpopt/Propagate/QuantizationErrors.h"

#include <algorithm>

namespace mpopt {

inline Likely toLikely(const StorageError &error) {
  Likely result;
  result.mean = error.mean;
  result.variance = std::max(0.0, error.square - error.mean * error.mean);
  result.lo = result.hi = error.mean;
  return result;
}

/// The error of a constant that is dequantised, after the tried fix; nothing
/// for other numbers.
std::optional<QuantizationError> errorOfCodes(mp::DequantizeOp op,
                                              const RangeAnalysis &ranges,
                                              llvm::StringRef tried = {});

/// The error of the codes of a weight, or of a view of it, that products at run
/// time read; nothing of other values.
std::optional<QuantizationError> errorOfConstant(mlir::Value codes,
                                                 const RangeAnalysis &ranges);

/// The error of a weight whose codes a cast turns into numbers: their scale is
/// a factor behind it.
std::optional<QuantizationError> errorOfCast(mp::CastOp op,
                                             const RangeAnalysis &ranges);

} // namespace mpopt

#endif // MPOPT_LIB_PROPAGATE_WEIGHTERRORS_H
