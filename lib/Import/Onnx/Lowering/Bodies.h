//===- Bodies.h - Ops whose bodies are imported after them ------*- C++ -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_IMPORT_ONNX_LOWERING_BODIES_H
#define MPOPT_IMPORT_ONNX_LOWERING_BODIES_H

#include "mpopt/Import/Onnx/Lowering.h"

namespace mpopt::onnx_import {

/// A NodeContext infers an op when it makes it. One with bodies has none then:
/// this infers it once more.
inline void inferAgain(NodeContext &ctx, mlir::Operation *op) {
  struct Access : NodeContext {
    static void run(NodeContext &ctx, mlir::Operation *op) {
      (ctx.*(&Access::finish))(op);
    }
  };
  Access::run(ctx, op);
}

} // namespace mpopt::onnx_import

#endif // MPOPT_IMPORT_ONNX_LOWERING_BODIES_H
