//===- UnsafeLowPrecisionOp.cpp - MP101: an FP32 op computes in 16 bits
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A recognised composite has one finding, at its result. Losses and statistics
// have rules of their own. The policy's list says which ops are dangerous in
// general; ranges say whether this one is: the finding is a note where they
// prove it harmless, and has a reason where they expect the hazard.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Hazards/DtypeSupport.h"
#include "mpopt/Hazards/RangeVerdict.h"
#include "passes/rules/Rules.h"

#include "mpopt/Dialect/MPDialect.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"

namespace mpopt {
#define GEN_PASS_DEF_UNSAFELOWPRECISIONOP
#include "passes/rules/Rules.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

/// The hazard of ops of this kind in 16 bits.
static StringRef getHazard(const OpMeaning *kind, bool bf16) {
  Role squares =
      Role::Square | Role::SumOfSquares | Role::InnerSquares | Role::Power;
  // A mean loses as much, but stays among its elements.
  bool sums = hasRole(kind, Role::Sum | Role::MagnitudeSum | Role::Addition) &&
              !hasRole(kind, squares | Role::Mean);
  bool soft = hasRole(kind, Role::Softmax);
  if (bf16)
    return sums   ? "a running sum stops growing at 256 times an addend"
           : soft ? "probabilities keep 2 decimal digits"
                  : "8 significant bits are left";
  if (soft)
    return "probabilities below 3e-8 are 0, and their logarithm -Inf";
  if (hasRole(kind, Role::Exponential | Role::InnerExponential))
    return "an exponential is Inf above 11.09";
  if (hasRole(kind, Role::Logarithm | Role::Reciprocal))
    return "arguments below 3e-8 are already 0 there";
  if (hasRole(kind, squares))
    return "the square of 256 is already Inf";
  if (sums)
    return "a sum past 65504 is Inf, and stops growing at 2048 times an addend";
  if (hasRole(kind, Role::LongProduct))
    return "a product leaves the range after a few factors";
  if (hasRole(kind, Role::Steep))
    return "11 significant bits are left where the function is steep";
  return "its results leave the range or lose most of their digits";
}

/// A normalisation as one op: frameworks sum in FP32 inside, unless the model
/// says otherwise.
static bool hasWideStatistics(Operation *op) {
  if (op->hasAttr("mp.idiom"))
    return false;
  if (auto stash = op->getAttrOfType<TypeAttr>("stash_type"))
    return isWide(stash.getValue());
  return hasRole(op, Role::RowNorm);
}

namespace {
struct UnsafeLowPrecisionOp
    : mpopt::impl::UnsafeLowPrecisionOpBase<UnsafeLowPrecisionOp> {
  void check(ModuleOp module) override {
    collectMembers(module);
    module.walk([&](Operation *op) {
      if (isKeptWide(op) && !hasRole(op, Role::Loss | Role::Statistic))
        if (Type type = get16BitCompute(op))
          judge(op, type);
    });
  }

private:
  void collectMembers(ModuleOp module);
  RangeVerdict getVerdict(Operation *op);
  void judge(Operation *op, Type type);

  /// The members of each recognised composite, in program order.
  llvm::DenseMap<int64_t, SmallVector<Operation *>> members;
};
} // namespace

void UnsafeLowPrecisionOp::collectMembers(ModuleOp module) {
  members.clear();
  module.walk([&](Operation *op) {
    if (auto idiom = op->getAttrOfType<mp::IdiomAttr>("mp.idiom"))
      members[idiom.getId()].push_back(op);
  });
}

RangeVerdict UnsafeLowPrecisionOp::getVerdict(Operation *op) {
  const auto &sites = getAnalysis<OverflowSites>();
  double tolerance = threshold("unsafe-op-error");
  if (auto idiom = op->getAttrOfType<mp::IdiomAttr>("mp.idiom"))
    return judgeByRanges(getKind(op), members[idiom.getId()], op, tolerance,
                         sites);
  return judgeByRanges(getKind(op), op, op, tolerance, sites);
}

void UnsafeLowPrecisionOp::judge(Operation *op, Type type) {
  auto idiom = op->getAttrOfType<mp::IdiomAttr>("mp.idiom");
  if (idiom && !idiom.getResult())
    return;
  StringRef kind = getKind(op);
  std::string dtype = getDtypeName(type);
  bool widened = hasWideStatistics(op);
  RangeVerdict verdict = getVerdict(op);
  bool harmless = verdict.kind == RangeVerdict::Harmless;
  bool confirmed = verdict.kind == RangeVerdict::Confirmed;
  std::string why =
      harmless    ? verdict.why
      : confirmed ? "and here its ranges confirm the danger: " + verdict.why
      : widened
          ? "safe only where the kernel keeps its sums in f32"
          : getHazard(getMeaning(kind, op->getContext()), type.isBF16()).str();
  FindingBuilder finding = report(op, op->getResult(0));
  watchOps(finding,
           idiom ? ArrayRef<Operation *>(members[idiom.getId()])
                 : ArrayRef<Operation *>(op),
           type, Decision::LossOfRange, Decision::LossOfRange);
  finding
      .severity(harmless || (widened && !confirmed) ? Severity::Note
                                                    : Severity::Warning)
      .message((idiom ? "decomposed " : "") + Twine(kind) + " computes in " +
               dtype + ", which " + getPolicyName(op) + " keeps in f32" +
               (confirmed ? ", " : ": ") + why);
  addRange(finding, op->getResult(0), getAnalysis<RangeAnalysis>());
  if (confirmed) {
    finding.cause(verdict.where, "leaves " + Twine(dtype));
    finding.follows(verdict.root);
  }
  if (!harmless)
    finding.fix("keep-fp32",
                "compute it in f32 and cast the result to " + dtype);
}
