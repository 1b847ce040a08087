//===- DenseElements.h - ONNX's packed bytes to MLIR's elements
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_IMPORT_ONNX_DENSEELEMENTS_H
#define MPOPT_LIB_IMPORT_ONNX_DENSEELEMENTS_H

#include "mlir/IR/BuiltinAttributes.h"

namespace mpopt::onnx_import {

/// `packed` holds exactly the bytes that `type` takes in raw data.
mlir::DenseElementsAttr makeDenseElements(mlir::RankedTensorType type,
                                          llvm::ArrayRef<char> packed);

} // namespace mpopt::onnx_import

#endif // MPOPT_LIB_IMPORT_ONNX_DENSEELEMENTS_H
