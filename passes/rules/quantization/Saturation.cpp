//===- Saturation.cpp - MP602: values are clipped at the ends of codes
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/rules/Rules.h"

#include "mpopt/Dialect/Ops/QuantizationOps.h"
#include "mpopt/Dialect/StorageTypes.h"
#include "mpopt/Hazards/RangeSupport.h"
#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Numerics/Normal.h"
#include "mpopt/Propagate/QuantizationErrors.h"

#include <cmath>

namespace mpopt {
#define GEN_PASS_DEF_SATURATION
#include "passes/rules/Rules.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

namespace {
struct Saturation : RangeRule<Saturation, mpopt::impl::SaturationBase> {
  void check(ModuleOp module) override {
    errors.emplace(getAnalysis<RangeAnalysis>());
    RangeRule::check(module);
  }
  void judge(Operation *op, const RangeAnalysis &ranges);

private:
  std::optional<QuantizationErrors> errors;

  void judgeNumbers(mp::QuantizeOp op, const RangeAnalysis &ranges);
  void judgeUnsaturated(mp::QuantizeOp op, const StorageFormat &scaled,
                        const Cell &x);
  void judgeWeight(mp::DequantizeOp op, const RangeAnalysis &ranges);
};
} // namespace

static std::string percentOf(double share) {
  return formatNumber(std::round(share * 1000) / 10) + " %";
}

/// One element past the ends is enough, so no share is asked for.
void Saturation::judgeUnsaturated(mp::QuantizeOp op,
                                  const StorageFormat &scaled, const Cell &x) {
  Interval edges = scaled.overflowFrom();
  if (!(x.likelyHi > edges.hi || x.likelyLo < edges.lo))
    return;
  report(op, op.getResult(), Certainty::Likely)
      .severity(Severity::Error)
      .tensor(op.getInput())
      .watchDomain(op.getInput(), edges.lo, edges.hi, /*open=*/false)
      .message("values past [" + formatNumber(edges.lo) + ", " +
               formatNumber(edges.hi) + "] become " +
               (scaled.floats->hasInf ? "Inf" : "NaN") +
               ", as `saturate` is 0: the largest one is expected at " +
               formatNumber(std::max(x.likelyHi, -x.likelyLo)))
      .likely(x.likelyLo, x.likelyHi)
      .cause(op.getScale(), "is the scale");
}

void Saturation::judgeNumbers(mp::QuantizeOp op, const RangeAnalysis &ranges) {
  auto format = storageFormatOf(op);
  const AbstractValue &x = ranges.preRounding(op.getInput());
  if (!format || !x.hasLikely())
    return;
  auto error = errors->errorOf(op.getResult());
  if (!error)
    return;
  Cell scale = ranges.of(op.getScale()).hull(), hull = x.hull();
  double zero =
      op.getZeroPoint() ? ranges.of(op.getZeroPoint()).hull().mean : 0;
  StorageFormat scaled = format->scaled(std::fabs(scale.mean), zero);
  if (!scaled.saturates)
    return judgeUnsaturated(op, scaled, hull);
  if (!(error->clipped > 0))
    return;
  Interval ends = scaled.ends();
  double deviation = std::sqrt(hull.variance);
  auto past = [&](double end, double sign) {
    double distance = sign * (end - hull.mean);
    return deviation > 0 ? normalShareBelow(-distance / deviation)
                         : double(distance < 0);
  };
  double share = past(ends.hi, 1);
  if (!rectifies(op.getInput(), op.getZeroPoint(), *format))
    share += past(ends.lo, -1);
  if (share < threshold("clipped-share"))
    return;
  Interval edges = scaled.overflowFrom();
  if (rectifies(op.getInput(), op.getZeroPoint(), *format))
    edges.lo = -kInfinity;
  FindingBuilder finding = report(op, op.getResult(), Certainty::Likely);
  finding.tensor(op.getInput())
      .watchDomain(op.getInput(), edges.lo, edges.hi, /*open=*/false)
      .partOfError(error->clipped)
      .message(percentOf(share) + " of the values are clipped at [" +
               formatNumber(ends.lo) + ", " + formatNumber(ends.hi) +
               "], the numbers for which the first and the last code stand")
      .likely(hull.likelyLo, hull.likelyHi)
      .cause(op.getScale(),
             "is the scale, for " + formatNumber(hull.likelyLo) + " to " +
                 formatNumber(hull.likelyHi) + " too small by a factor of " +
                 formatNumber(
                     std::max(hull.likelyHi / std::max(ends.hi, 1e-300),
                              hull.likelyLo / std::min(ends.lo, -1e-300))));
}

void Saturation::judgeWeight(mp::DequantizeOp op, const RangeAnalysis &ranges) {
  double reach = reachBeforeClipping(op, ranges);
  if (!(reach > 0))
    return;
  report(op, op.getResult(), Certainty::Likely)
      .tensor(op.getInput())
      .message("the codes of the weight are the last ones too often: its "
               "numbers had a deviation of " +
               formatNumber(std::round(reach * 10) / 10) +
               " times the number at which they are clipped")
      .cause(op.getScale(), "is the scale");
}

void Saturation::judge(Operation *op, const RangeAnalysis &ranges) {
  if (auto quantize = dyn_cast<mp::QuantizeOp>(op))
    judgeNumbers(quantize, ranges);
  else if (auto dequantize = dyn_cast<mp::DequantizeOp>(op))
    judgeWeight(dequantize, ranges);
}
