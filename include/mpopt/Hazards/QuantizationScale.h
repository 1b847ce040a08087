//===- QuantizationScale.h - Scales and zero points of a file ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_HAZARDS_QUANTIZATIONSCALE_H
#define MPOPT_HAZARDS_QUANTIZATIONSCALE_H

#include "mpopt/Propagate/CodeMismatch.h"

#include "mlir/IR/Operation.h"

#include <optional>

namespace mpopt {

/// The scale and zero point of an op that quantises or dequantises.
struct QuantizationScale {
  /// The zero point may be null.
  mlir::Value scale, zeroPoint;
  /// Each is one of a block of elements.
  bool isOfBlocks = false;
};

/// Nothing for ops that read no scale.
std::optional<QuantizationScale> findScale(mlir::Operation *op);

/// The root mean square of the middle one of the value's groups: of a typical
/// channel, whatever outliers others have.
double sizeOfMiddle(const AbstractValue &value);

} // namespace mpopt

#endif // MPOPT_HAZARDS_QUANTIZATIONSCALE_H
