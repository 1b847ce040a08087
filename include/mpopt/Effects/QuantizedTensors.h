//===- QuantizedTensors.h - The codes of a model, by tensor -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_EFFECTS_QUANTIZEDTENSORS_H
#define MPOPT_EFFECTS_QUANTIZEDTENSORS_H

#include "mpopt/Effects/OutputEffects.h"
#include "mpopt/Numerics/Interval.h"

#include <cmath>
#include <string>
#include <vector>

namespace mpopt {

/// A tensor that a model quantises, or has in codes.
struct QuantizedTensor {
  std::string tensor, codes; ///< Its name, and the type of its codes.
  /// The least and the greatest of its scales, and how many there are.
  Interval scale;
  size_t scales = 1;
  double zeroPoint = 0; ///< The mean of several.
  /// The largest error of an output by it alone; NaN if that is not known.
  double error = NAN;
};

/// Each tensor once, in the model's order. `effects` are those of the module.
std::vector<QuantizedTensor> listQuantized(mlir::ModuleOp module,
                                           const RangeAnalysis &ranges,
                                           const OutputEffects &effects);

} // namespace mpopt

#endif // MPOPT_EFFECTS_QUANTIZEDTENSORS_H
