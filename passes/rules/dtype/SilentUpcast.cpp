//===- SilentUpcast.cpp - MP103: a wide operand widens what follows
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two forms of the same fact. In the file's own dtypes (`as-is`) an op has
// float operands of different width. After a precision policy the narrow ones
// went through an `mp.cast` of origin `promotion`.
//
// One finding an op where the width starts: an op whose wide operand is itself
// the result of such a promotion only carries on and is not reported again.
//
// Nothing is lost but speed and memory, so that a finding is a note unless the
// ops that are widened do a good share of the model's arithmetic.
//
//===----------------------------------------------------------------------===//

#include "passes/rules/Rules.h"

#include "mpopt/Hazards/Arithmetic.h"

#include "mpopt/Dialect/Interfaces/Interfaces.h"
#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Settings.h"
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

// True if the op's result is wide because an operand is: not a policy's choice.
static bool carriesOn(Operation *op) {
  auto category = op->getAttrOfType<StringAttr>("mp.category");
  return op->getNumResults() != 0 &&
         (!category || category.getValue() != "fp32") &&
         isWide(getElementType(op->getResult(0)));
}

// The arithmetic that each of `starts` widens: its own, and that of the ops
// after it that compute wide because it does. An op behind several belongs to
// the first. All that carry on lie behind a start in the order of the module.
static std::vector<double> countWidened(ModuleOp module,
                                        ArrayRef<Operation *> starts) {
  llvm::DenseMap<Operation *, size_t> owners;
  for (auto [index, start] : llvm::enumerate(starts))
    owners[start] = index;
  std::vector<double> counts(starts.size());
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    auto owner = owners.find(op);
    if (owner == owners.end() && carriesOn(op))
      for (Value operand : op->getOperands())
        if (auto maker = owners.find(operand.getDefiningOp());
            maker != owners.end()) {
          size_t index = maker->second;
          owner = owners.try_emplace(op, index).first;
          owner->second = std::min(owner->second, index);
        }
    if (owner != owners.end())
      counts[owner->second] += countArithmetic(op);
  });
  return counts;
}

void SilentUpcast::check(ModuleOp module) {
  bool isAutocast = getPrecision(module).byPolicy;
  SmallVector<Operation *> starts;
  SmallVector<Mix> mixes;
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    std::optional<Mix> mix = findMix(op);
    if (!mix || !widens(op))
      return;
    Operation *maker = mix->wide.getDefiningOp();
    // Such an op only carries on.
    if ((maker && findMix(maker) && widens(maker)) || endsHere(op))
      return;
    starts.push_back(op);
    mixes.push_back(*mix);
  });
  if (starts.empty())
    return;
  double all = countArithmetic(module);
  for (auto [op, mix, widened] :
       llvm::zip_equal(starts, mixes, countWidened(module, starts))) {
    Operation *maker = mix.wide.getDefiningOp();
    std::string narrow = getDtypeName(getElementType(mix.narrow));
    std::string wide = getDtypeName(getElementType(mix.wide));
    // The policy put the maker into FP32 on purpose, or autocast let a float
    // stream of activations be (a residual sum, rotary tables): worth knowing,
    // hardly worth a change. A constant or an input is easily made narrow.
    auto category =
        maker ? maker->getAttrOfType<StringAttr>("mp.category") : StringAttr();
    bool isPolicy = category && category.getValue() == "fp32";
    bool isFromFile = !maker || isa<mp::ConstantOp>(maker);
    bool meant = isPolicy || (isAutocast && !isFromFile);
    bool counts = !meant && widened >= threshold("speed-share") * all;
    report(op, op->getResult(0))
        .severity(counts ? Severity::Warning : Severity::Note)
        .dtype(getElementType(mix.wide))
        .message("mixes " + narrow + " and " + wide + " operands, so " + wide +
                 " spreads from here")
        .cause(mix.wide, "brings " + wide +
                             (isPolicy ? " (the policy computes it so)" : ""))
        .cause(mix.narrow, "is " + narrow)
        .fix("explicit-cast",
             "if " + wide + " is meant, cast the " + narrow +
                 " operand explicitly in front of the op",
             {FixAction::Kind::WidenExplicitly, {op}})
        .fix("change-dtype",
             "cast the " + wide + " operand to " + narrow +
                 " in front of the op, or where it comes from",
             {FixAction::Kind::NarrowExplicitly, {op}, {mix.narrowOperand}});
  }
}
