//===- ConstantOverflow.cpp - MP202: a constant becomes Inf
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One finding a constant and dtype. Infinities that the file has itself are the
// model's intention.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Hazards/ConstantText.h"
#include "mpopt/Hazards/ConstantUses.h"
#include "mpopt/Repair/Scaling.h"
#include "passes/rules/Rules.h"

#include "mpopt/Dialect/MaskUse.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Numerics/Masking.h"
#include "mpopt/Propagate/Masks.h"

#include <cmath>

namespace mpopt {
#define GEN_PASS_DEF_CONSTANTOVERFLOW
#include "passes/rules/Rules.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

namespace {
struct ConstantOverflow : mpopt::impl::ConstantOverflowBase<ConstantOverflow> {
  void check(ModuleOp module) override {
    for (const ConstantUse &use : getAnalysis<ConstantUses>().losses)
      if (use.stats.overflows)
        judge(use);
      else if (use.isReduced())
        judgeReduced(use);
  }

private:
  void judge(const ConstantUse &use);
  void judgeReduced(const ConstantUse &use);
};
} // namespace

namespace {
/// How a mask is applied to scores. `Multiplied`: as a number times 0 or 1, and
/// 0 times -Inf is NaN.
enum class MaskUse { None, Added, Multiplied };
} // namespace

/// The worst that the constant does as a mask.
static std::pair<MaskUse, OpOperand *> getMaskUse(const ConstantUse &use) {
  std::pair<MaskUse, OpOperand *> worst = {MaskUse::None, use.uses.front()};
  // Masks are large negative numbers, or multiplied by what makes them so.
  for (OpOperand *operand : ArrayRef(use.uses).take_front(16))
    if (MaskUse mask = hasRole(operand->getOwner(), Role::Multiplication)
                           ? MaskUse::Multiplied
                           : MaskUse::Added;
        mask > worst.first && reachesSoftmax(*operand))
      worst = {mask, operand};
  return worst;
}

/// The consequence for an op that reads the Inf.
static std::string describeConsequence(OpOperand &use, bool number,
                                       const RangeAnalysis &ranges) {
  Operation *op = use.getOwner();
  std::string it = number ? "it" : "them";
  // A branch may yield it.
  std::optional<MaskedScores> scores =
      op->getNumResults() > 0 ? findMaskedScores(op->getResult(0), ranges)
                              : std::nullopt;
  if (scores && scores->isDropped)
    return "the functions that read results that use " + it +
           " are flat there and give the same";
  if (hasRole(op, Role::Division) &&
      use.getOperandNumber() == divisorOperand(op))
    return "every finite value divided by " + it + " is 0";
  if (hasRole(op, Role::BatchNorm))
    return "their channels are normalised to 0, Inf or NaN";
  return "results that use " + it + " are Inf or NaN";
}

/// The op that puts the mask into the scores, and those from there to the
/// softmax.
static FixAction keepToSoftmax(Operation *op) {
  llvm::SetVector<Operation *> kept;
  kept.insert(op);
  reachesSoftmax(op->getResult(0),
                 [&](OpOperand &use) { kept.insert(use.getOwner()); });
  return FixAction::keepTogether(kept.getArrayRef());
}

/// -Inf among scores.
static void describeAdded(FindingBuilder &finding, const std::string &what,
                          OpOperand &operand, const ConstantUse &use,
                          const FixAction &limit) {
  Operation *op = operand.getOwner();
  if (hidesOwnRow(op->getResult(0))) {
    // No estimate has padding, as outputs do without it.
    finding.severity(Severity::Error)
        .unexpected()
        .message(what + ": each masked position has a row that is masked as a "
                        "whole, whose softmax is NaN")
        .fix("keep-fp32",
             "compute the mask, its sum with the scores and the softmax in f32",
             keepToSoftmax(op));
  } else {
    finding.severity(Severity::Warning)
        .message(what + ": as a mask it works until a whole row is masked, "
                        "which makes that row's softmax NaN");
  }
  finding.cause(op, "puts it into the scores")
      .fix("change-constant",
           "mask with a value that " + getDtypeName(use.type) +
               " holds and that leaves room for the scores, such as " +
               formatNumber(-largestMask(*getFloatFormat(use.type))) +
               " (finfo.min / 2)",
           limit);
}

void ConstantOverflow::judge(const ConstantUse &use) {
  const FloatFormat &format = *getFloatFormat(use.type);
  std::string dtype = getDtypeName(use.type);
  const WeightStats &stats = use.stats;
  std::string becomes = format.hasInf   ? "Inf"
                        : format.hasNaN ? "NaN"
                                        : "clamped";
  auto [mask, operand] = getMaskUse(use);

  FindingBuilder finding =
      describe(report(operand->getOwner(), operand->get()), use);
  finding.cause(use.value(),
                describeLoss(stats, stats.overflows, stats.firstOverflow,
                             "past the largest " + dtype + " value, " +
                                 formatNumber(format.maxFinite)));
  std::string what = stats.elements == 1
                         ? "constant " + formatNumber(stats.min) + " becomes " +
                               (stats.min < 0 && format.hasInf ? "-" : "") +
                               becomes
                         : "values of the constant become " + becomes;
  what += " in " + dtype;
  auto limit = FixAction::onConstants(FixAction::Kind::LimitConstant,
                                      {use.value().getDefiningOp()},
                                      largestMask(format));
  if (mask == MaskUse::Added)
    return describeAdded(finding, what, *operand, use, limit);
  if (mask == MaskUse::Multiplied) {
    finding
        .message(what + ": times a mask's 0 it is NaN, at every position that "
                        "is not masked")
        .cause(operand->getOwner(), "multiplies the mask with it")
        .fix("change-constant",
             "multiply with a value that " + dtype +
                 " holds and that leaves room for the scores, such as " +
                 formatNumber(-largestMask(format)) + " (finfo.min / 2)",
             limit);
    return;
  }
  finding
      .message(what + ": " +
               describeConsequence(*operand, stats.elements == 1,
                                   getAnalysis<RangeAnalysis>()))
      .cause(operand->getOwner(), "computes with it in " + dtype)
      .fix("keep-fp32", "keep the op that uses it in f32");
  int shift =
      std::ilogb(std::max(-stats.min, stats.max) / format.maxFinite) + 2;
  fixConstantByScaling(finding, use.value().getDefiningOp(), use.type, -shift,
                       getAnalysis<RangeAnalysis>());
}

/// A converter wrote a smaller number, which is finite.
void ConstantOverflow::judgeReduced(const ConstantUse &use) {
  auto [mask, operand] = getMaskUse(use);
  // It masks scores as before.
  if (mask != MaskUse::None && -use.limits.most < maskedBelow())
    return;
  std::string change = use.stats.elements == 1
                           ? "constant " + formatNumber(use.stats.min) +
                                 " becomes " + (use.stats.min < 0 ? "-" : "")
                           : "values of the constant, of magnitudes up to " +
                                 formatNumber(use.stats.absMax) + ", become ";
  describeLimited(report(operand->getOwner(), operand->get()), use,
                  change + formatNumber(use.limits.most))
      .severity(Severity::Warning)
      .about(operand->get());
}
