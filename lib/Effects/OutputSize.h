//===- OutputSize.h - What an output's error is relative to -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_EFFECTS_OUTPUTSIZE_H
#define MPOPT_LIB_EFFECTS_OUTPUTSIZE_H

#include "mlir/IR/Value.h"

#include <optional>

namespace mpopt {

class RangeAnalysis;

/// The size of an output: root mean square, largest magnitude and elements, and
/// how many of these hold nearly all of the error.
struct OutputSize {
  double rms = 0, most = 0, count = 1, moving = 1;
  /// The sum of squares that errors are relative to.
  double normal = 0;

  /// The expected largest error, in units of its root mean square.
  double peak() const;
};

/// The size that is expected of an output; nothing if it is not known. It is 0
/// of one that holds nothing else: weights that training starts from.
std::optional<OutputSize> sizeOf(mlir::Value output,
                                 const RangeAnalysis &ranges);

} // namespace mpopt

#endif // MPOPT_LIB_EFFECTS_OUTPUTSIZE_H
