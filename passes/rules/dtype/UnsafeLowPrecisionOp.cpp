//===- UnsafeLowPrecisionOp.cpp - MP101: an FP32 op computes in 16 bits
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A recognised composite has one finding, at its result. Losses and statistics
// have rules of their own. The policy's list says which ops are dangerous in
// general; ranges say whether this one is: the finding is a note where they
// prove it harmless, and has a reason where they expect the hazard.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Hazards/DtypeSupport.h"
#include "mpopt/Hazards/KindHazard.h"
#include "mpopt/Hazards/RangeVerdict.h"
#include "passes/rules/Rules.h"

#include "mpopt/Dialect/Composite.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"

namespace mpopt {
#define GEN_PASS_DEF_UNSAFELOWPRECISIONOP
#include "passes/rules/Rules.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

/// A normalisation as one op: frameworks sum in FP32 inside, unless the model
/// says otherwise.
static bool hasWideStatistics(Operation *op) {
  if (getIdiom(op))
    return false;
  if (auto stash = op->getAttrOfType<TypeAttr>("stash_type"))
    return isWide(stash.getValue());
  return hasRole(op, Role::RowNorm);
}

namespace {
struct UnsafeLowPrecisionOp
    : mpopt::impl::UnsafeLowPrecisionOpBase<UnsafeLowPrecisionOp> {
  void check(ModuleOp module) override {
    composites.emplace(module);
    forEachOp<WalkOrder::PostOrder>([&](Operation *op) {
      if (isKeptWide(op) && !hasRole(op, Role::Loss | Role::Statistic))
        if (Type type = get16BitCompute(op))
          judge(op, type);
    });
  }

private:
  SmallVector<Operation *> getMembers(Operation *op) const;
  RangeVerdict getVerdict(Operation *op);
  void judge(Operation *op, Type type);

  std::optional<Composites> composites;
};
} // namespace

/// All ops of the composite that the op belongs to, or the op.
SmallVector<Operation *> UnsafeLowPrecisionOp::getMembers(Operation *op) const {
  const Composite *composite = composites->get(op);
  return composite ? SmallVector<Operation *>(ArrayRef(composite->members))
                   : SmallVector<Operation *>{op};
}

RangeVerdict UnsafeLowPrecisionOp::getVerdict(Operation *op) {
  const auto &sites = getAnalysis<OverflowSites>();
  return judgeByRanges(getKind(op), getMembers(op), op,
                       threshold("unsafe-op-error"), sites,
                       getAnalysis<FlushedShares>());
}

/// The member of a composite that is spoken of, if it is not the result.
static std::string nameMember(Value where, Operation *result) {
  Operation *op = where.getDefiningOp();
  return !op || op == result ? "" : "at its " + getKind(op).str() + " ";
}

void UnsafeLowPrecisionOp::judge(Operation *op, Type type) {
  mp::IdiomAttr idiom = getIdiom(op);
  if (idiom && !idiom.getResult())
    return;
  StringRef kind = getKind(op);
  std::string dtype = getDtypeName(type);
  bool widened = hasWideStatistics(op);
  RangeVerdict verdict = getVerdict(op);
  bool harmless = verdict.kind == RangeVerdict::Harmless;
  bool confirmed = verdict.kind == RangeVerdict::Confirmed;
  const OpMeaning *meaning = getMeaning(kind, op->getContext());
  std::string why =
      harmless    ? verdict.why
      : confirmed ? "and here its ranges confirm the danger: " +
                        nameMember(verdict.where, op) + verdict.why
      : widened
          ? "safe only where the kernel keeps its sums in f32"
          : describeKindHazard(meaning ? meaning->roles : static_cast<Role>(0),
                               getMembers(op), type,
                               getAnalysis<RangeAnalysis>());
  FindingBuilder finding = report(op, op->getResult(0));
  watchOps(finding, getMembers(op), type, Decision::LossOfRange,
           Decision::LossOfRange);
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
