//===- DoubleRounding.cpp - MP610: codes are quantised again, more coarsely
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/rules/Rules.h"

#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/QuantizationOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/StorageTypes.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Hazards/ConstantText.h"

#include <cmath>

namespace mpopt {
#define GEN_PASS_DEF_DOUBLEROUNDING
#include "passes/rules/Rules.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

namespace {
struct DoubleRounding
    : RangeRule<DoubleRounding, mpopt::impl::DoubleRoundingBase> {
  void judge(Operation *op, const RangeAnalysis &ranges);

private:
  void compare(mp::QuantizeOp op, mp::DequantizeOp from,
               const RangeAnalysis &ranges);
  bool judgePart(mp::QuantizeOp op, Value part, const RangeAnalysis &ranges);
};
} // namespace

static double stepOf(Value scale, const RangeAnalysis &ranges) {
  return std::fabs(ranges.of(scale).hull().mean);
}

/// Codes that are quantised again with another scale have both roundings; the
/// one that counts is the coarser.
void DoubleRounding::compare(mp::QuantizeOp op, mp::DequantizeOp from,
                             const RangeAnalysis &ranges) {
  auto format = storageFormatOf(from);
  if (!format || format->floats || isConstant(from.getInput()))
    return;
  double before = stepOf(from.getScale(), ranges),
         after = stepOf(op.getScale(), ranges);
  double ratio = after / before;
  if (!(before > 0) || !(ratio > threshold("requantised")))
    return;
  report(op, op.getResult(), Certainty::Likely)
      .tensor(op.getInput())
      .message(
          "numbers that are quantised in steps of " + formatNumber(before) +
          " are quantised again in steps of " + formatNumber(after) + ", " +
          formatNumber(std::round(ratio * 10) / 10) + " times as coarse: " +
          formatNumber(std::round(std::log2(ratio) * 10) / 10) +
          " of their bits are lost")
      .cause(from.getScale(), "is the first scale")
      .cause(op.getScale(), "is the second");
}

/// A part of a concatenation that is small beside the step of all parts: of its
/// own numbers nothing is left, however little that is of the whole.
bool DoubleRounding::judgePart(mp::QuantizeOp op, Value part,
                               const RangeAnalysis &ranges) {
  auto numbers = getMaker<mp::DequantizeOp>(part, Peel::Identities);
  auto codes = numbers ? numbers.getInput().getDefiningOp<mp::QuantizeOp>()
                       : mp::QuantizeOp();
  Value exact = codes ? codes.getInput() : part;
  const AbstractValue &x = ranges.preRounding(exact);
  double step = stepOf(op.getScale(), ranges);
  if (!x.hasLikely() || isConstant(exact) || x.constant() == 0.0)
    return false;
  Cell hull = x.hull();
  double largest = std::max(hull.likelyHi, -hull.likelyLo);
  if (!(largest < step))
    return false;
  report(op, op.getResult(), Certainty::Likely)
      .unexpected()
      .tensor(op.getInput())
      .message("a part of the concatenation reaches " + formatNumber(largest) +
               ", less than a step of the scale that all parts share, " +
               formatNumber(step) + ": nothing of it is left")
      .cause(exact, "is the part")
      .cause(op.getScale(), "is the scale");
  return true;
}

void DoubleRounding::judge(Operation *op, const RangeAnalysis &ranges) {
  auto quantize = dyn_cast<mp::QuantizeOp>(op);
  auto format = quantize ? storageFormatOf(quantize) : std::nullopt;
  if (!format || format->floats)
    return;
  Operation *maker =
      getMaker(quantize.getInput(), Peel::Identities | Peel::Views);
  if (auto from = dyn_cast_if_present<mp::DequantizeOp>(maker))
    return compare(quantize, from, ranges);
  if (!hasRole(maker, Role::Concatenation))
    return;
  for (Value part : maker->getOperands()) {
    if (judgePart(quantize, part, ranges))
      continue;
    if (auto from =
            getMaker<mp::DequantizeOp>(part, Peel::Identities | Peel::Views))
      compare(quantize, from, ranges);
  }
}
