//===- ScaledOperands.h - Operands of products in FP8 -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_CONVERT_SCALEDOPERANDS_H
#define MPOPT_LIB_CONVERT_SCALEDOPERANDS_H

#include "Graph.h"
#include "Tensors.h"

#include "mpopt/Convert/Convert.h"

namespace mpopt::convert {

/// Puts QuantizeLinear and DequantizeLinear in front of the operands of
/// products, stores their weights as codes, and returns the scales. The error
/// is one line.
llvm::Expected<std::vector<TensorInFp8>>
scaleOperands(onnx::ModelProto &model, TensorSource &source,
              const ScaledProducts &products);

} // namespace mpopt::convert

#endif // MPOPT_LIB_CONVERT_SCALEDOPERANDS_H
