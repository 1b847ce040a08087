//===- LostRectifier.cpp - MP620: codes do not replace a rectifier
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/rules/Rules.h"

#include "mpopt/Dialect/FloatTwin.h"
#include "mpopt/Dialect/Ops/QuantizationOps.h"
#include "mpopt/Dialect/StorageTypes.h"
#include "mpopt/Hazards/ConstantText.h"

#include <cmath>

namespace mpopt {
#define GEN_PASS_DEF_LOSTRECTIFIER
#include "passes/rules/Rules.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

namespace {
struct LostRectifier
    : RangeRule<LostRectifier, mpopt::impl::LostRectifierBase> {
  void judge(Operation *op, const RangeAnalysis &ranges);
};
} // namespace

/// Codes that begin at 0 rectify what they quantise.
void LostRectifier::judge(Operation *op, const RangeAnalysis &ranges) {
  auto name = op->getAttrOfType<StringAttr>(kLostRectifierAttr);
  if (!name)
    return;
  double least = 0;
  for (Operation *user : op->getResult(0).getUsers()) {
    auto quantize = dyn_cast<mp::QuantizeOp>(user);
    auto format = quantize ? storageFormatOf(quantize) : std::nullopt;
    if (!format)
      continue;
    double scale = std::fabs(ranges.of(quantize.getScale()).hull().mean);
    double zero = quantize.getZeroPoint()
                      ? ranges.of(quantize.getZeroPoint()).hull().mean
                      : 0;
    if (scale > 0)
      least = std::min(least, format->scaled(scale, zero).ends().lo);
  }
  if (!(least < 0))
    return;
  report(op, op->getResult(0))
      .message("the float model rectifies this by `" + name.getValue() +
               "`, which is missing here, and codes begin at " +
               formatNumber(least) + ": negative numbers stay");
}
