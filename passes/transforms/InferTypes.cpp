//===- InferTypes.cpp - Shapes and dtypes of a whole module
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/transforms/Passes.h"

#include "mpopt/Dialect/TypeInference.h"

namespace mpopt {
#define GEN_PASS_DEF_INFERTYPES
#include "passes/transforms/Passes.h.inc"
} // namespace mpopt

using namespace mlir;

namespace {
struct InferTypes : mpopt::impl::InferTypesBase<InferTypes> {
  void runOnOperation() override {
    if (failed(mpopt::inferAllTypes(getOperation())))
      signalPassFailure();
  }
};
} // namespace
