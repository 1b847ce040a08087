//===- LossInLowPrecision.cpp - MP106: a loss in FP16 or BF16
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The loss op, or the sum or mean over what an unreduced loss gives. A loss
// written out in primitives is not recognised.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Hazards/DtypeSupport.h"
#include "passes/rules/Rules.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Ops/ReductionOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"

namespace mpopt {
#define GEN_PASS_DEF_LOSSINLOWPRECISION
#include "passes/rules/Rules.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

namespace {
struct LossInLowPrecision
    : mpopt::impl::LossInLowPrecisionBase<LossInLowPrecision> {
  void check(ModuleOp module) override {
    module.walk([&](Operation *op) {
      if (hasRole(op, Role::Loss))
        judgeLoss(op);
      else if (isa<mp::ReduceSumOp, mp::ReduceMeanOp>(op))
        judgeReduction(op);
    });
  }

private:
  void judgeLoss(Operation *op);
  void judgeReduction(Operation *op);
  FindingBuilder add(Operation *op, Type type, const Twine &what);
};
} // namespace

FindingBuilder LossInLowPrecision::add(Operation *op, Type type,
                                       const Twine &what) {
  FindingBuilder finding = report(op, op->getResult(0));
  watchOps(finding, {op}, type, Decision::Overflow, Decision::Overflow);
  return finding.dtype(type)
      .message(what + " in " + getDtypeName(type) + ": " +
               (type.isBF16()
                    ? "5.00 and 5.01 are the same loss, so training goes blind"
                    : "a batch's sum passes 65504 and small losses are 0"))
      .fix("keep-fp32",
           "cast the predictions to f32 before the loss; its cost is nothing");
}

void LossInLowPrecision::judgeLoss(Operation *op) {
  // BannedUnderAutocast says more about those.
  auto category = op->getAttrOfType<StringAttr>("mp.category");
  if ((category && category.getValue() == "banned") ||
      op->getNumOperands() == 0)
    return;
  Type operand = getElementType(op->getOperand(0));
  Type result = getElementType(op->getResult(0));
  if (is16Bit(operand))
    add(op, operand, "loss computed")
        .cause(op->getOperand(0), "is " + getDtypeName(operand));
  else if (is16Bit(result))
    add(op, result, "loss stored");
}

void LossInLowPrecision::judgeReduction(Operation *op) {
  Type type = getElementType(op->getOperand(0));
  Operation *loss = peel(peel(op->getOperand(0), Peel::Views)).getDefiningOp();
  if (!is16Bit(type) || !loss || !hasRole(loss, Role::Loss))
    return;
  // One finding for a loss that is in 16 bits already.
  if (is16Bit(getElementType(loss->getOperand(0))) ||
      is16Bit(getElementType(loss->getResult(0))))
    return;
  add(op, type, "loss reduced")
      .cause(loss, "is the loss, before it was rounded");
}
