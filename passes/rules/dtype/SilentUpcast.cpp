//===- SilentUpcast.cpp - MP103: a wide operand widens what follows
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two forms of the same fact. In the file's own dtypes (`as-is`) an op has
// float operands of different width. After a precision policy the narrow ones
// went through an `mp.cast` of origin `promotion`.
//
// One finding an op where the width starts: an op whose wide operand is itself
// the result of such a promotion only carries on and is not reported again.
//
//===----------------------------------------------------------------------===//

#include "passes/rules/Rules.h"

#include "mpopt/Dialect/Interfaces/Interfaces.h"
#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/TypeSupport.h"

namespace mpopt {
#define GEN_PASS_DEF_SILENTUPCAST
#include "passes/rules/Rules.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

static bool is16Bit(Type type) { return isa<Float16Type, BFloat16Type>(type); }
static bool isWide(Type type) { return isa<Float32Type, Float64Type>(type); }

namespace {
struct Mix {
  Value narrow;
  Value wide;
  unsigned narrowOperand = 0;
};

struct SilentUpcast : mpopt::impl::SilentUpcastBase<SilentUpcast> {
  void check(ModuleOp module) override;

private:
  static std::optional<Mix> findMix(Operation *op);
};
} // namespace

// The first 16-bit and the first wide float operand that `op` computes with.
std::optional<Mix> SilentUpcast::findMix(Operation *op) {
  auto precision = dyn_cast<PrecisionOpInterface>(op);
  // A tensor that is changed in place keeps its dtype.
  if (!precision || op->getNumOperands() < 2 || op->getNumResults() == 0 ||
      op->hasAttr("mp.keeps"))
    return std::nullopt;
  Mix mix;
  for (OpOperand &operand : op->getOpOperands()) {
    if (!precision.isPrecisionOperand(operand.getOperandNumber()))
      continue;
    Value value = peel(operand.get(), Peel::PromotionCasts);
    Type type = getElementType(value);
    if (!mix.narrow && is16Bit(type)) {
      mix.narrow = value;
      mix.narrowOperand = operand.getOperandNumber();
    }
    if (!mix.wide && isWide(type))
      mix.wide = value;
  }
  if (!mix.narrow || !mix.wide)
    return std::nullopt;
  return mix;
}

// Else a policy asked for the narrow type: nothing is promoted by accident.
static bool widens(Operation *op) {
  Type type = getElementType(op->getResult(0));
  return isWide(type) || isUnknown(type);
}

// True if every user of `op`'s result reads it wide or narrows it: an FP32 mask
// that is added to 16-bit scores in front of an FP32 softmax spreads nowhere.
static bool endsHere(Operation *op) {
  Value result = op->getResult(0);
  return !result.use_empty() &&
         llvm::all_of(result.getUsers(), [](Operation *user) {
           if (auto cast = dyn_cast<mp::CastOp>(user))
             return is16Bit(getElementType(cast.getResult()));
           auto category = user->getAttrOfType<StringAttr>("mp.category");
           return category && category.getValue() == "fp32";
         });
}

void SilentUpcast::check(ModuleOp module) {
  auto precision = module->getAttrOfType<StringAttr>("mp.precision");
  bool isAutocast = precision && precision.getValue().starts_with("autocast");
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    std::optional<Mix> mix = findMix(op);
    if (!mix)
      return;
    if (!widens(op))
      return;
    Operation *maker = mix->wide.getDefiningOp();
    // Such an op only carries on.
    if ((maker && findMix(maker) && widens(maker)) || endsHere(op))
      return;
    std::string narrow = getDtypeName(getElementType(mix->narrow));
    std::string wide = getDtypeName(getElementType(mix->wide));
    // The policy put the maker into FP32 on purpose, or autocast let a float
    // stream of activations be (a residual sum, rotary tables): worth knowing,
    // hardly worth a change. A constant or an input is easily made narrow.
    auto category =
        maker ? maker->getAttrOfType<StringAttr>("mp.category") : StringAttr();
    bool isPolicy = category && category.getValue() == "fp32";
    bool isFromFile = !maker || isa<mp::ConstantOp>(maker);
    bool meant = isPolicy || (isAutocast && !isFromFile);
    report(op, op->getResult(0))
        .severity(meant ? Severity::Note : Severity::Warning)
        .dtype(getElementType(mix->wide))
        .message("mixes " + narrow + " and " + wide + " operands, so " + wide +
                 " spreads from here")
        .cause(mix->wide, "brings " + wide +
                              (isPolicy ? " (the policy computes it so)" : ""))
        .cause(mix->narrow, "is " + narrow)
        .fix("explicit-cast",
             "if " + wide + " is meant, cast the " + narrow +
                 " operand explicitly in front of the op",
             {FixAction::Kind::WidenExplicitly, {op}})
        .fix("change-dtype",
             "cast the " + wide + " operand to " + narrow +
                 " in front of the op, or where it comes from",
             {FixAction::Kind::NarrowExplicitly, {op}, {mix->narrowOperand}});
  });
}
