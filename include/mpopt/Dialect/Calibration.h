//===- Calibration.h - What a calibration saw of tensors --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_DIALECT_CALIBRATION_H
#define MPOPT_DIALECT_CALIBRATION_H

#include "mpopt/Numerics/Interval.h"

#include "mlir/IR/Value.h"

#include <optional>

namespace mpopt {

/// Notes the range that a calibration saw of a tensor on the op that makes it,
/// or on the function whose argument it is.
void setCalibrated(mlir::Value value, const Interval &seen);

/// Nothing where no calibration saw the tensor.
std::optional<Interval> getCalibrated(mlir::Value value);

} // namespace mpopt

#endif // MPOPT_DIALECT_CALIBRATION_H
