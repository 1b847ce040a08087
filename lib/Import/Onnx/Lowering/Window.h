//===- Window.h - Window attributes of an ONNX node -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Convolutions and pools spell their windows alike. Read once: defaults become
// empty lists, and `auto_pad` becomes pads where the dims are known.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_IMPORT_ONNX_LOWERING_WINDOW_H
#define MPOPT_IMPORT_ONNX_LOWERING_WINDOW_H

#include "mpopt/Import/Onnx/Lowering.h"

namespace mpopt::onnx_import {

struct WindowAttributes {
  llvm::SmallVector<int64_t> strides, dilations, pads;
  llvm::StringRef autoPad = "NOTSET";
};

/// `kernel` has the spatial dims' sizes, dynamic ones too; empty if not even
/// their number is known. `resolve` is false where `auto_pad` has another
/// meaning (transposed convolutions).
WindowAttributes readWindow(const NodeContext &ctx, mlir::Value input,
                            llvm::ArrayRef<int64_t> kernel,
                            bool resolve = true);

/// The activation that com.microsoft's fused ops apply to their result; null if
/// `name` is none that they have.
mlir::Value makeFusedActivation(NodeContext &ctx, llvm::StringRef name,
                                llvm::ArrayRef<double> parameters,
                                mlir::Value value);

} // namespace mpopt::onnx_import

#endif // MPOPT_IMPORT_ONNX_LOWERING_WINDOW_H
