//===- Calibration.h - Tables of a calibration ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_DRIVER_CALIBRATION_H
#define MPOPT_LIB_DRIVER_CALIBRATION_H

#include "mpopt/Numerics/Interval.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <map>
#include <string>
#include <vector>

namespace mpopt {

/// The ranges of tensors, by name.
using CalibrationTable = std::map<std::string, Interval>;

/// Reads ONNX Runtime's calibration.json and calibration.cache, TensorRT's
/// cache, AIMET's encodings, a JSON object of magnitudes or [lo, hi], or an
/// .npz archive of ranges or samples. The error is a phrase for after the
/// file's name.
llvm::Expected<CalibrationTable> parseCalibration(llvm::StringRef bytes);

/// Notes on the tensors of a module what the table in `file` says of them. Adds
/// to `warnings` how many of its names the model lacks.
llvm::Error noteCalibration(llvm::StringRef file, mlir::ModuleOp module,
                            std::vector<std::string> &warnings);

} // namespace mpopt

#endif // MPOPT_LIB_DRIVER_CALIBRATION_H
