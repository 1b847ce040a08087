//===- PairSaturation.cpp - MP607: pairs of products saturate in 16 bits
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/rules/Rules.h"

#include "mpopt/Hazards/ConstantText.h"
#include "mpopt/Propagate/CodeSums.h"

namespace mpopt {
#define GEN_PASS_DEF_PAIRSATURATION
#include "passes/rules/Rules.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

namespace {
struct PairSaturation
    : RangeRule<PairSaturation, mpopt::impl::PairSaturationBase> {
  void check(ModuleOp module) override {
    exact.clear();
    saturates = false;
    RangeRule::check(module);
    if (!saturates && !exact.empty())
      reportNone(getAnalysis<RangeAnalysis>());
  }
  void judge(Operation *op, const RangeAnalysis &ranges);

private:
  void reportNone(const RangeAnalysis &ranges);

  /// Products none of whose pairs can saturate, and if there are others.
  SmallVector<Operation *> exact;
  bool saturates = false;
};
} // namespace

/// A share in percent, by two digits.
static std::string percentOf(double share) {
  char text[32];
  snprintf(text, sizeof text, share < 0.1 ? "%.2g" : "%.0f", share * 100);
  return std::string(text) + " %";
}

void PairSaturation::reportNone(const RangeAnalysis &ranges) {
  report(exact.front(), exact.front()->getResult(0))
      .severity(Severity::Note)
      .message("no pair of products saturates on " + ranges.target().name() +
               " for any codes in this and " +
               std::to_string(exact.size() - 1) +
               " other products: weights of 7 bits (reduce_range) gain "
               "nothing");
}

void PairSaturation::judge(Operation *op, const RangeAnalysis &ranges) {
  const CodeArithmetic &target = ranges.target().codes();
  if (target.pairBits == 0)
    return;
  auto product = findCodes(op, target.widestBits);
  auto pairs = product ? findPairs(op, *product, ranges, target) : std::nullopt;
  if (!pairs)
    return;
  if (pairs->possible == 0) {
    exact.push_back(op);
    return;
  }
  saturates = true;
  double share = pairs->expected / pairs->count;
  // One pair in so many is none that a row of activations meets.
  constexpr double kRare = 1e-7;
  report(op, op->getResult(0),
         share > kRare ? Certainty::Likely : Certainty::Possible)
      .message(percentOf(pairs->possible / pairs->count) +
               " of the pairs of products can pass " +
               std::to_string(target.pairBits) + " bits, in which " +
               ranges.target().name() + " adds them, and " +
               (share > kRare ? percentOf(share) + " are expected to"
                              : "none is expected to") +
               ": the part past the end is lost")
      .cause(product->rhs,
             "has neighbouring weights that are large and of one sign");
}
