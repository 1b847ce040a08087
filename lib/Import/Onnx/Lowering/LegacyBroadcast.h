//===- LegacyBroadcast.h - Broadcasting before opset 7 -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_IMPORT_ONNX_LOWERING_LEGACYBROADCAST_H
#define MPOPT_LIB_IMPORT_ONNX_LOWERING_LEGACYBROADCAST_H

#include "mpopt/Import/Onnx/Lowering.h"

namespace mpopt::onnx_import {

/// The second operand of a binary node, in a shape that broadcasts as NumPy
/// does. Before opset 7 the attribute `axis` says which dim of the first
/// operand the second one's first dim belongs to. Null if a rank that is needed
/// is unknown, failure if the node is wrong.
llvm::FailureOr<mlir::Value> getBroadcastOperand(NodeContext &ctx);

/// `operand` with `count` dims of size 1 behind its own.
mlir::Value appendUnitDims(NodeContext &ctx, mlir::Value operand,
                           int64_t count);

} // namespace mpopt::onnx_import

#endif // MPOPT_LIB_IMPORT_ONNX_LOWERING_LEGACYBROADCAST_H
