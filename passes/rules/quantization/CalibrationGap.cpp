//===- CalibrationGap.cpp - MP621: a calibration did not see what is met
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/rules/Rules.h"

#include "mpopt/Dialect/Calibration.h"
#include "mpopt/Dialect/ProductOperands.h"
#include "mpopt/Dialect/StorageTypes.h"
#include "mpopt/Hazards/RangeSupport.h"
#include "mpopt/Propagate/QuantizationErrors.h"

#include <cmath>

namespace mpopt {
#define GEN_PASS_DEF_CALIBRATIONGAP
#include "passes/rules/Rules.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

namespace {
struct CalibrationGap
    : RangeRule<CalibrationGap, mpopt::impl::CalibrationGapBase> {
  void check(ModuleOp module) override {
    errors.emplace(getAnalysis<RangeAnalysis>());
    RangeRule::check(module);
  }
  void judge(Operation *op, const RangeAnalysis &ranges);

private:
  void judgeExpected(Operation *op, Value numbers, const Interval &seen,
                     const RangeAnalysis &ranges);
  void judgeCodes(mp::QuantizeOp op, const Interval &seen,
                  const RangeAnalysis &ranges);

  std::optional<QuantizationErrors> errors;
};
} // namespace

static std::string describe(const Interval &range) {
  return "[" + formatNumber(range.lo) + ", " + formatNumber(range.hi) + "]";
}

/// How many times as far as `ends` `range` reaches, on the worse side; a side
/// that is 0 in `ends` counts by the other.
static double excessOf(const Interval &range, const Interval &ends) {
  double most = std::max(ends.maxAbs(), 1e-300);
  auto side = [&](double reach, double end) {
    return reach > 0 ? reach / (end > 0 ? end : most) : 0;
  };
  return std::max(side(range.hi, ends.hi), side(-range.lo, -ends.lo));
}

/// Numbers that are expected and that no calibration saw are clipped.
void CalibrationGap::judgeExpected(Operation *op, Value numbers,
                                   const Interval &seen,
                                   const RangeAnalysis &ranges) {
  const AbstractValue &x = ranges.preRounding(numbers);
  if (!x.hasLikely())
    return;
  Cell hull = x.hull();
  Interval expected = {hull.likelyLo, hull.likelyHi};
  double excess = excessOf(expected, seen);
  if (!(excess > 1 / threshold("calibrated-share")))
    return;
  // A range that exceeds the codes by the error of estimates clips nothing.
  auto error = errors->errorOf(op->getResult(0));
  bool isClipped = error && error->clipped > 0;
  FindingBuilder finding =
      report(op, op->getResult(0),
             isClipped ? Certainty::Likely : Certainty::Possible);
  if (isClipped)
    finding.partOfError(error->clipped);
  finding.tensor(numbers)
      .watchDomain(numbers, seen.lo, seen.hi, /*open=*/false)
      .message("the calibration saw " + describe(seen) + ", and " +
               describe(expected) + " is expected, " +
               formatNumber(std::round(excess * 10) / 10) +
               " times as far: codes for what was seen clip the rest")
      .likely(expected.lo, expected.hi);
}

/// The scale of the file clips what the calibration saw.
void CalibrationGap::judgeCodes(mp::QuantizeOp op, const Interval &seen,
                                const RangeAnalysis &ranges) {
  auto format = storageFormatOf(op);
  double scale = std::fabs(ranges.of(op.getScale()).hull().mean);
  double zero =
      op.getZeroPoint() ? ranges.of(op.getZeroPoint()).hull().mean : 0;
  if (!format || !(scale > 0))
    return;
  Interval ends = format->scaled(scale, zero).ends(), met = seen;
  if (rectifies(op.getInput(), op.getZeroPoint(), *format))
    met.lo = std::max(met.lo, 0.0);
  if (!(excessOf(met, ends) > 1 / threshold("calibrated-share")))
    return;
  report(op, op.getResult())
      .tensor(op.getInput())
      .message("the calibration saw " + describe(seen) +
               ", and the codes of the file end at " + describe(ends) +
               ": its scale is not that of this calibration")
      .cause(op.getScale(), "is the scale");
}

void CalibrationGap::judge(Operation *op, const RangeAnalysis &ranges) {
  if (auto quantize = dyn_cast<mp::QuantizeOp>(op)) {
    if (auto seen = getCalibrated(quantize.getInput())) {
      judgeExpected(op, quantize.getInput(), *seen, ranges);
      judgeCodes(quantize, *seen, ranges);
    }
    return;
  }
  auto operand = op->getNumResults() == 1 ? getScaledOperand(op->getResult(0))
                                          : std::nullopt;
  if (!operand || operand->isWeight)
    return;
  if (auto seen = getCalibrated(operand->input))
    judgeExpected(op, operand->input, *seen, ranges);
}
