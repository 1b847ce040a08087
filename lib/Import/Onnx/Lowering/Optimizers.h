//===- Optimizers.h - Optimiser steps, from ONNX ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_IMPORT_ONNX_LOWERING_OPTIMIZERS_H
#define MPOPT_IMPORT_ONNX_LOWERING_OPTIMIZERS_H

#include "mpopt/Import/Onnx/Lowering.h"

namespace mpopt::onnx_import {

/// Optimisers of ai.onnx.preview.training and of ONNX Runtime's training
/// graphs.
void addOptimizers(LoweringRegistry &registry);

} // namespace mpopt::onnx_import

#endif // MPOPT_IMPORT_ONNX_LOWERING_OPTIMIZERS_H
