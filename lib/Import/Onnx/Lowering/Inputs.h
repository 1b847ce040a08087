//===- Inputs.h - Lowerings of nodes that must have inputs ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops outside ONNX's own domain have no schema that the checker could hold a
// node against: one with too few inputs comes as far as its lowering.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_IMPORT_ONNX_LOWERING_INPUTS_H
#define MPOPT_IMPORT_ONNX_LOWERING_INPUTS_H

#include "mpopt/Import/Onnx/Lowering.h"

namespace mpopt::onnx_import {

/// `lower`, of a node whose first `count` inputs are there.
template <Lowering lower, unsigned count>
llvm::LogicalResult withInputs(NodeContext &ctx) {
  for (unsigned index = 0; index < count; ++index)
    if (!ctx.hasInput(index))
      return ctx.error("has no input " + llvm::Twine(index));
  return lower(ctx);
}

} // namespace mpopt::onnx_import

#endif // MPOPT_IMPORT_ONNX_LOWERING_INPUTS_H
