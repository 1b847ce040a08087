//===- BannedUnderAutocast.cpp - MP102: what autocast refuses to run
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Hazards/DtypeSupport.h"
#include "passes/rules/Rules.h"

#include "mpopt/Dialect/Composite.h"
#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Ops/ActivationOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/LossOps.h"
#include "mpopt/Dialect/Settings.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Numerics/Infinity.h"

#include <cmath>

namespace mpopt {
#define GEN_PASS_DEF_BANNEDUNDERAUTOCAST
#include "passes/rules/Rules.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

namespace {
struct BannedUnderAutocast
    : mpopt::impl::BannedUnderAutocastBase<BannedUnderAutocast> {
  void check(ModuleOp module) override;

private:
  void reportRounded(Operation *op, Value probabilities, Type type);
  void reportRefused(Operation *op, Type type);
  void reportMissing(Operation *op, Type type);
};
} // namespace

/// Where a sigmoid in front has them.
static FixAction takeLogits(Operation *op) {
  Operation *maker = peel(op->getOperand(0)).getDefiningOp();
  if (!isa<mp::BinaryCrossEntropyOp>(op) ||
      !isa_and_present<mp::SigmoidOp>(maker))
    return {};
  return {FixAction::Kind::LossOfLogits, {op, maker}};
}

static bool isRefused(Operation *op) { return op->hasAttr("mp.refused"); }

static constexpr StringLiteral kTakeLogits =
    "take the logits instead (binary_cross_entropy_with_logits, without the "
    "sigmoid in front)";

void BannedUnderAutocast::reportRounded(Operation *op, Value probabilities,
                                        Type type) {
  FindingBuilder finding = report(op, op->getResult(0));
  finding.dtype(type)
      .watch(Decision::Zero, probabilities, "probabilities")
      .watchDomain(probabilities, -kInfinity, 1, /*open=*/true)
      .message("binary cross-entropy of probabilities in " +
               getDtypeName(type) +
               ": a probability that rounds to 0 or 1 makes the loss infinite"
               ", and autocast refuses to run it")
      .cause(probabilities,
             "are probabilities rounded to " + getDtypeName(type))
      .fix("change-op", kTakeLogits.str(), takeLogits(op));
  if (!isRefused(op))
    finding.fix("keep-fp32", "compute sigmoid and loss in f32 from logits that "
                             "were not rounded");
}

/// PyTorch looks at no dtype: inside of a region its error comes for FP32, too.
void BannedUnderAutocast::reportRefused(Operation *op, Type type) {
  report(op, op->getResult(0))
      .dtype(type)
      .message("binary cross-entropy of probabilities inside of an autocast "
               "region: autocast refuses to run it, in " +
               getDtypeName(type) +
               ", too; move it out of the region, or take logits")
      .fix("change-op", kTakeLogits.str(), takeLogits(op));
}

void BannedUnderAutocast::reportMissing(Operation *op, Type type) {
  report(op, op->getResult(0))
      .dtype(type)
      .message("PyTorch has no kernel of " + getMissingKernel(op) + " in " +
               getDtypeName(type) +
               ": the call ends with an error; cast its operands to f32");
}

static bool isPart(const Composite &written, Value value) {
  return value.getDefiningOp() && written.contains(value.getDefiningOp());
}

void BannedUnderAutocast::check(ModuleOp module) {
  Composites composites(module);
  // In a training step only the loss counts, which the model does not have.
  bool trains = module
                    .walk([](Operation *op) {
                      return op->hasAttr(kBackwardAttr)
                                 ? WalkResult::interrupt()
                                 : WalkResult::advance();
                    })
                    .wasInterrupted();
  module.walk([&](Operation *op) {
    if (!getMissingKernel(op).empty() && op->getNumOperands() &&
        op->getNumResults())
      if (Type type = getElementType(op->getOperand(0)); type && is16Bit(type))
        reportMissing(op, type);
    auto category = op->getAttrOfType<StringAttr>("mp.category");
    // The probabilities are enough: a target of another dtype changes nothing.
    if (!category || category.getValue() != "banned" ||
        op->getNumOperands() == 0 || (trains && !op->hasAttr(kLossPartAttr)))
      return;
    // A loss that is written out is reported once, by its probabilities.
    Value probabilities = op->getOperand(0);
    if (mp::IdiomAttr idiom = getIdiom(op)) {
      const Composite *written = composites.get(op);
      if (!idiom.getResult() || !written)
        return;
      probabilities = written->members.front()->getOperand(0);
      for (Operation *member : written->members)
        if (isa<mp::LogOp>(member) && !isPart(*written, member->getOperand(0)))
          probabilities = member->getOperand(0);
    }
    Type type = getElementType(probabilities);
    if (type && is16Bit(type))
      reportRounded(op, probabilities, type);
    else if (isRefused(op))
      reportRefused(op, type);
  });
}
