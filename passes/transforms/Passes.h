//===- Passes.h - Passes that change the IR
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_PASSES_TRANSFORMS_PASSES_H
#define MPOPT_PASSES_TRANSFORMS_PASSES_H

#include "mpopt/Dialect/MPDialect.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mpopt {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/transforms/Passes.h.inc"

} // namespace mpopt

#endif // MPOPT_PASSES_TRANSFORMS_PASSES_H
