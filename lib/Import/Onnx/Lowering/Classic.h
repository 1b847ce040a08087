//===- Classic.h - ai.onnx.ml -----------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_IMPORT_ONNX_LOWERING_CLASSIC_H
#define MPOPT_LIB_IMPORT_ONNX_LOWERING_CLASSIC_H

#include "mpopt/Import/Onnx/Lowering.h"

namespace mpopt::onnx_import {

/// A constant of f32.
mlir::Value makeFloats(NodeContext &ctx, llvm::ArrayRef<double> numbers,
                       llvm::ArrayRef<int64_t> shape);

// Parts of the Elementwise family: lowerings of Features.cpp and Trees.cpp.
void registerFeatureLowerings(LoweringRegistry &registry);
void registerTreeLowerings(LoweringRegistry &registry);

} // namespace mpopt::onnx_import

#endif // MPOPT_LIB_IMPORT_ONNX_LOWERING_CLASSIC_H
