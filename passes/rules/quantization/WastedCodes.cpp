//===- WastedCodes.cpp - MP603: a tensor takes few of its codes
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Not covered: codes that are floats, whose steps shrink with the numbers.
//
//===----------------------------------------------------------------------===//

#include "passes/rules/Rules.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/QuantizationOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"
#include "mpopt/Dialect/StorageTypes.h"
#include "mpopt/Hazards/RangeSupport.h"
#include "mpopt/Ranges/Value/CellSupport.h"

#include <cmath>

namespace mpopt {
#define GEN_PASS_DEF_WASTEDCODES
#include "passes/rules/Rules.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

namespace {
struct WastedCodes : RangeRule<WastedCodes, mpopt::impl::WastedCodesBase> {
  void judge(Operation *op, const RangeAnalysis &ranges);

private:
  void report(Operation *op, Value numbers, Value scale, double used,
              const StorageFormat &format);
};
} // namespace

void WastedCodes::report(Operation *op, Value numbers, Value scale, double used,
                         const StorageFormat &format) {
  double all = format.codes.hi - format.codes.lo + 1;
  if (!(used < all * threshold("used-codes")))
    return;
  RulePass::report(op, op->getResult(0), Certainty::Likely)
      .tensor(numbers)
      .message("takes " + formatNumber(std::max(1.0, std::round(used))) +
               " of " + formatNumber(all) + " codes: " +
               formatNumber(
                   std::round(std::log2(all / std::max(used, 1.0)) * 10) / 10) +
               " bits are lost")
      .cause(scale, "is the scale");
}

/// The numbers inside of a border that lies far from all of them; the distance
/// takes no more than two codes.
static std::optional<Cell> withoutBorder(Value x, const RangeAnalysis &ranges) {
  auto pad = getMaker<mp::PadOp>(x, Peel::Identities);
  std::optional<double> number =
      pad && pad.getValue() ? getSplatConstant(pad.getValue()) : std::nullopt;
  if (!number || !ranges.preRounding(pad.getInput()).hasLikely())
    return std::nullopt;
  Cell inner = ranges.preRounding(pad.getInput()).hull();
  double reach = inner.likelyHi - inner.likelyLo;
  bool isFar =
      *number < inner.likelyLo - reach || *number > inner.likelyHi + reach;
  return isFar ? std::optional(inner) : std::nullopt;
}

void WastedCodes::judge(Operation *op, const RangeAnalysis &ranges) {
  if (auto quantize = dyn_cast<mp::QuantizeOp>(op)) {
    auto format = storageFormatOf(quantize);
    const AbstractValue &x = ranges.preRounding(quantize.getInput());
    double scale = std::fabs(ranges.of(quantize.getScale()).hull().mean);
    if (!format || format->floats || !x.hasLikely() || !(scale > 0) ||
        isConstant(quantize.getInput()))
      return;
    Cell hull = withoutBorder(quantize.getInput(), ranges).value_or(x.hull());
    report(op, quantize.getInput(), quantize.getScale(),
           (hull.likelyHi - hull.likelyLo) / scale, *format);
    return;
  }
  auto dequantize = dyn_cast<mp::DequantizeOp>(op);
  auto format = dequantize ? storageFormatOf(dequantize) : std::nullopt;
  // A bias of 32 bits takes what its sum's scale gives it.
  if (!format || format->floats || format->codes.hi > 0x1p16 ||
      !isConstant(dequantize.getInput()))
    return;
  Interval bound = cells::bound(ranges.of(dequantize.getInput()).hull());
  if (!bound.isEmpty() && !bound.isPoint())
    report(op, dequantize.getInput(), dequantize.getScale(),
           bound.hi - bound.lo + 1, *format);
}
