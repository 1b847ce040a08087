//===- AccumulatorOverflow.cpp - MP606: a sum of products leaves 32 bits
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Integer kernels add products of codes in 32 bits, or as many as the target
// has, which wrap. The extremes of a sum are those of its terms added up: each
// code at the end that the sign of its weight asks for. Not covered: weights
// that a run computes.
//
//===----------------------------------------------------------------------===//

#include "passes/rules/Rules.h"

#include "mpopt/Hazards/ConstantText.h"
#include "mpopt/Propagate/CodeSums.h"

#include <cmath>

namespace mpopt {
#define GEN_PASS_DEF_ACCUMULATOROVERFLOW
#include "passes/rules/Rules.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

namespace {
struct AccumulatorOverflow
    : RangeRule<AccumulatorOverflow, mpopt::impl::AccumulatorOverflowBase> {
  void judge(Operation *op, const RangeAnalysis &ranges);
};
} // namespace

void AccumulatorOverflow::judge(Operation *op, const RangeAnalysis &ranges) {
  const CodeArithmetic &target = ranges.target().codes();
  std::optional<IntegerOperands> product = findCodes(op, target.widestBits);
  if (!product)
    return;
  double limit = std::ldexp(1.0, int(target.accumulatorBits) - 1);
  std::vector<ChannelSum> sums = addUpCodes(*product, ranges, limit);
  size_t reachable = 0, expected = 0, worst = 0;
  auto leaves = [&](double sum) { return sum >= limit || sum < -limit; };
  for (auto [channel, sum] : llvm::enumerate(sums)) {
    reachable += leaves(sum.most) || leaves(sum.least);
    expected += leaves(sum.expected);
    if (sum.reach() > sums[worst].reach())
      worst = channel;
  }
  if (reachable == 0)
    return;
  const ChannelSum &most = sums[worst];
  bool upper = most.most >= -most.least;
  report(op, op->getResult(0),
         expected ? Certainty::Likely : Certainty::Possible)
      .severity(Severity::Error)
      .message((expected ? std::to_string(expected) + " output channels are "
                                                      "expected to leave "
                         : std::to_string(reachable) +
                               " output channels can leave ") +
               std::to_string(target.accumulatorBits) +
               " bits where products of codes are added, up to " +
               formatNumber(most.reach()))
      .cause(product->rhs,
             "has the weights; in channel " + std::to_string(worst) + " the " +
                 (upper ? "greatest" : "least") + " code at the " +
                 std::to_string(most.positive) + " weights above 0 and the " +
                 (upper ? "least" : "greatest") + " at the " +
                 std::to_string(most.negative) + " below it attain the sum");
}
