//===- QLinear.h - Ops on quantised tensors, from ONNX ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_IMPORT_ONNX_LOWERING_QLINEAR_H
#define MPOPT_IMPORT_ONNX_LOWERING_QLINEAR_H

#include "mpopt/Import/Onnx/Lowering.h"

namespace mpopt::onnx_import {

/// QLinear* and the other ops that dequantise, compute and quantise in one.
void addQLinearOps(LoweringRegistry &registry);

} // namespace mpopt::onnx_import

#endif // MPOPT_IMPORT_ONNX_LOWERING_QLINEAR_H
