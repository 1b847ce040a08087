//===- AttachLoss.cpp - Append the loss of a model's outputs
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/transforms/Passes.h"

#include "mpopt/Adjoint/Loss.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mpopt {
#define GEN_PASS_DEF_ATTACHLOSS
#define GEN_PASS_DEF_MARKLOSS
#include "passes/transforms/Passes.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

namespace {
struct AttachLoss : mpopt::impl::AttachLossBase<AttachLoss> {
  using AttachLossBase::AttachLossBase;

  void runOnOperation() override;
};

struct MarkLoss : mpopt::impl::MarkLossBase<MarkLoss> {
  using MarkLossBase::MarkLossBase;

  void runOnOperation() override;
};
} // namespace

void AttachLoss::runOnOperation() {
  SmallVector<LossTerm, 1> losses;
  SmallVector<StringRef> texts;
  StringRef(terms).split(texts, ';', -1, /*KeepEmpty=*/false);
  for (StringRef text : texts) {
    llvm::Expected<LossTerm> term = parseLossTerm(text.trim());
    if (!term) {
      getOperation().emitError() << llvm::toString(term.takeError());
      return signalPassFailure();
    }
    losses.push_back(std::move(*term));
  }
  for (auto function : getOperation().getOps<func::FuncOp>())
    if (!function.isExternal() && failed(attachLosses(function, losses)))
      return signalPassFailure();
}

void MarkLoss::runOnOperation() {
  for (auto function : getOperation().getOps<func::FuncOp>()) {
    if (function.isExternal())
      continue;
    LossTerm term = chooseLossTerm(function);
    if (!loss.empty()) {
      term.kind = LossKind::Sum;
      term.predictions = {loss};
    }
    markLossPart(function, term, llvm::to_vector(targets));
  }
}
