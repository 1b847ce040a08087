//===- Opset.h - Models of later opsets -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_CONVERT_OPSET_H
#define MPOPT_LIB_CONVERT_OPSET_H

#include "Graph.h"

#include "llvm/Support/Error.h"

namespace mpopt::convert {

/// Raises ONNX's own domain to `opset`, in functions, too. The error is one
/// line; then the model is of no use.
llvm::Error raiseOpset(onnx::ModelProto &model, int64_t opset);

} // namespace mpopt::convert

#endif // MPOPT_LIB_CONVERT_OPSET_H
