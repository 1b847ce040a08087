//===- RecognizeIdioms.cpp - Mark the members of decomposed composites
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/transforms/Passes.h"

#include "passes/transforms/idioms/Idioms.h"

#include "mpopt/Dialect/MPDialect.h"

namespace mpopt {
#define GEN_PASS_DEF_RECOGNIZEIDIOMS
#include "passes/transforms/Passes.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

namespace {
struct RecognizeIdioms : mpopt::impl::RecognizeIdiomsBase<RecognizeIdioms> {
  void runOnOperation() override {
    idioms::Marker marker;
    getOperation()->walk([&](Operation *op) {
      if (!isa_and_present<mp::MPDialect>(op->getDialect()))
        return;
      // Each family has anchors of its own, but softmax and softplus, which
      // share the exponential.
      if (idioms::matchNormalization(op, marker) ||
          idioms::matchSoftmax(op, marker) || idioms::matchLoss(op, marker))
        return;
      idioms::matchActivation(op, marker);
    });
  }
};
} // namespace
