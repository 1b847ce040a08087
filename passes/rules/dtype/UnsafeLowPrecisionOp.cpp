//===- UnsafeLowPrecisionOp.cpp - MP101: an FP32 op computes in 16 bits
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of a recognised composite one finding, at its result. Losses and statistics
// have rules of their own. The list says what is dangerous in general; ranges
// say what is here: a note where they prove it harmless, a reason where they
// expect what the list is there to avoid.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Hazards/DtypeSupport.h"
#include "mpopt/Hazards/RangeVerdict.h"
#include "passes/rules/Rules.h"

#include "mpopt/Dialect/MPDialect.h"
#include "mpopt/Dialect/TypeSupport.h"

#include "llvm/ADT/StringSwitch.h"

namespace mpopt {
#define GEN_PASS_DEF_UNSAFELOWPRECISIONOP
#include "passes/rules/Rules.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

/// What goes wrong in 16 bits with ops of this kind.
static StringRef getHazard(StringRef kind, bool bf16) {
  enum {
    Exp,
    Log,
    Square,
    Sum,
    Product,
    Soft,
    Angle,
    Other
  } hazard =
      llvm::StringSwitch<decltype(hazard)>(kind)
          .Cases({"exp", "expm1", "exp2", "sinh", "cosh", "softplus"}, Exp)
          .Cases({"log", "log2", "log10", "log1p", "reciprocal", "rsqrt"}, Log)
          .Cases({"pow", "square", "layer_norm", "rms_norm"}, Square)
          .Cases({"group_norm", "instance_norm", "norm", "dist"}, Square)
          .Cases({"reduce_l2", "reduce_sum_square", "cdist", "pdist"}, Square)
          .Cases({"reduce_sum", "cum_sum", "reduce_l1", "add_n"}, Sum)
          .Cases({"reduce_prod", "cum_prod"}, Product)
          .Cases({"softmax", "softmin", "log_softmax"}, Soft)
          .Cases({"reduce_log_sum_exp", "reduce_log_sum"}, Exp)
          .Cases({"tan", "acos", "asin", "erfinv"}, Angle)
          .Default(Other);
  if (bf16)
    return hazard == Sum ? "a running sum stops growing at 256 times an addend"
           : hazard == Soft ? "probabilities keep 2 decimal digits"
                            : "8 significant bits are left";
  switch (hazard) {
  case Exp:
    return "an exponential is Inf above 11.09";
  case Log:
    return "arguments below 3e-8 are already 0 there";
  case Square:
    return "the square of 256 is already Inf";
  case Sum:
    return "a sum past 65504 is Inf, and stops growing at 2048 times an addend";
  case Product:
    return "a product leaves the range after a few factors";
  case Soft:
    return "probabilities below 3e-8 are 0, and their logarithm -Inf";
  case Angle:
    return "11 significant bits are left where the function is steep";
  case Other:
    return "its results leave the range or lose most of their digits";
  }
  llvm_unreachable("unknown hazard");
}

/// A normalisation as one op: frameworks sum in FP32 inside, unless the model
/// says otherwise.
static bool hasWideStatistics(Operation *op) {
  if (op->hasAttr("mp.idiom"))
    return false;
  if (auto stash = op->getAttrOfType<TypeAttr>("stash_type"))
    return isWide(stash.getValue());
  return llvm::StringSwitch<bool>(op->getName().stripDialect())
      .Cases({"layer_norm", "rms_norm", "group_norm", "instance_norm"}, true)
      .Default(false);
}

namespace {
struct UnsafeLowPrecisionOp
    : mpopt::impl::UnsafeLowPrecisionOpBase<UnsafeLowPrecisionOp> {
  void check(ModuleOp module) override {
    collectMembers(module);
    module.walk([&](Operation *op) {
      if (isKeptWide(op) && !isLoss(op) && !isStatistic(op))
        if (Type type = get16BitCompute(op))
          judge(op, type);
    });
  }

private:
  void collectMembers(ModuleOp module);
  RangeVerdict getVerdict(Operation *op);
  void judge(Operation *op, Type type);

  /// Of each recognised composite, in program order.
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
      : widened   ? "safe only where the kernel keeps its sums in f32"
                  : getHazard(kind, type.isBF16()).str();
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
