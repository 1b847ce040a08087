//===- DequantiseOverflow.cpp - MP608: codes leave the target's float format
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Not covered: codes of 16 bits themselves, which some kernels read as 32-bit
// numbers, and biases, which are folded before the model runs.
//
//===----------------------------------------------------------------------===//

#include "passes/rules/Rules.h"

#include "mpopt/Dialect/Ops/QuantizationOps.h"
#include "mpopt/Hazards/ConstantText.h"
#include "mpopt/Hazards/QuantizationScale.h"
#include "mpopt/Propagate/CodeSums.h"

#include <cmath>

namespace mpopt {
#define GEN_PASS_DEF_DEQUANTISEOVERFLOW
#include "passes/rules/Rules.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

namespace {
struct DequantiseOverflow
    : RangeRule<DequantiseOverflow, mpopt::impl::DequantiseOverflowBase> {
  void judge(Operation *op, const RangeAnalysis &ranges);

private:
  void judgeZeroPoint(mp::DequantizeOp op, const FloatFormat &format,
                      const RangeAnalysis &ranges);
  void judgeProduct(Operation *op, const FloatFormat &format,
                    const RangeAnalysis &ranges);
};
} // namespace

void DequantiseOverflow::judgeZeroPoint(mp::DequantizeOp op,
                                        const FloatFormat &format,
                                        const RangeAnalysis &ranges) {
  auto zeros = readElements(op.getZeroPoint(), ranges);
  auto isPast = [&](double zero) {
    return std::fabs(zero) >= format.overflowFrom;
  };
  if (!zeros || llvm::none_of(*zeros, isPast))
    return;
  report(op, op.getResult())
      .tensor(op.getZeroPoint())
      .message("the zero point " +
               formatNumber(*llvm::find_if(*zeros, isPast)) + " is Inf in " +
               format.name + ", in which " + ranges.target().name() +
               " subtracts it")
      .cause(op.getZeroPoint(), "is the zero point");
}

/// The sum of products of codes is multiplied by the weight's scale first.
void DequantiseOverflow::judgeProduct(Operation *op, const FloatFormat &format,
                                      const RangeAnalysis &ranges) {
  auto product = findCodes(op, ranges.target().codes().widestBits);
  if (!product || !product->lhsScale || !product->rhsScale)
    return;
  double scale = std::fabs(ranges.of(product->lhsScale).hull().mean);
  Value numbers = op->getResult(0);
  if (auto found = findIntegerProduct(op))
    numbers = found->numbers;
  const AbstractValue &y = ranges.preRounding(numbers);
  if (!(scale > 0) || !y.hasLikely())
    return;
  Cell hull = y.hull();
  double expected = std::max(hull.likelyHi, -hull.likelyLo) / scale;
  const AbstractValue &scales = ranges.of(product->rhsScale);
  double largest = 0, reach = 0;
  for (const Cell &cell : scales.cells())
    largest = std::max(largest, std::fabs(cell.mean));
  for (const ChannelSum &sum :
       addUpCodes(*product, ranges, format.overflowFrom / largest))
    reach = std::max(reach, sum.reach() * largest);
  bool isLikely = expected >= format.overflowFrom;
  if (!isLikely && !(reach >= format.overflowFrom))
    return;
  report(op, op->getResult(0),
         isLikely ? Certainty::Likely : Certainty::Possible)
      .message("a sum of products of codes times the scale of the weight " +
               std::string(isLikely ? "is expected to reach " : "is at most ") +
               formatNumber(isLikely ? expected : reach) + ", past " +
               formatNumber(format.maxFinite) + ", the largest " + format.name +
               " number, in which " + ranges.target().name() +
               " multiplies it: Inf before the scale of the input makes it "
               "small")
      .cause(product->rhsScale, "is the scale of the weight");
}

void DequantiseOverflow::judge(Operation *op, const RangeAnalysis &ranges) {
  const FloatFormat *format = ranges.target().codes().dequantised;
  if (!format)
    return;
  if (auto dequantize = dyn_cast<mp::DequantizeOp>(op))
    judgeZeroPoint(dequantize, *format, ranges);
  else if (op->getNumResults() == 1)
    judgeProduct(op, *format, ranges);
}
