//===- SampledLayers.h - Layers of a step on drawn inputs -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_EFFECTS_SAMPLEDLAYERS_H
#define MPOPT_LIB_EFFECTS_SAMPLEDLAYERS_H

#include "SampledStep.h"

namespace mpopt {

struct ScaledLayers::Sample {
  Sample(mlir::ModuleOp module, llvm::ArrayRef<Layer> layers,
         llvm::ArrayRef<ParameterGradient> parameters)
      : step(module, layers, parameters) {}

  SampledStep step;
  /// By parameter, under the recipe that was sampled; NaN where not known.
  std::vector<double> errors;
};

} // namespace mpopt

#endif // MPOPT_LIB_EFFECTS_SAMPLEDLAYERS_H
