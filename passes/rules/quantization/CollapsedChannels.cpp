//===- CollapsedChannels.cpp - MP604: one scale for unlike numbers
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Hazards/QuantizationScale.h"
#include "passes/rules/Rules.h"

#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/QuantizationOps.h"
#include "mpopt/Dialect/StorageTypes.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Hazards/ConstantText.h"
#include "mpopt/Propagate/Masks.h"
#include "mpopt/Ranges/Value/CellSupport.h"

#include <cmath>

namespace mpopt {
#define GEN_PASS_DEF_COLLAPSEDCHANNELS
#include "passes/rules/Rules.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

namespace {
struct CollapsedChannels
    : RangeRule<CollapsedChannels, mpopt::impl::CollapsedChannelsBase> {
  void judge(Operation *op, const RangeAnalysis &ranges);

private:
  void judgeScores(mp::QuantizeOp op, const RangeAnalysis &ranges);
  void judgeWeight(mp::DequantizeOp op, const RangeAnalysis &ranges);
};
} // namespace

void CollapsedChannels::judgeScores(mp::QuantizeOp op,
                                    const RangeAnalysis &ranges) {
  std::optional<MaskedScores> scores = findMaskedScores(op.getInput(), ranges);
  double step = std::fabs(ranges.of(op.getScale()).hull().mean);
  if (!scores || !(std::sqrt(scores->live.variance) < step))
    return;
  // Where all scores are equal, their first-order effect says little.
  report(op, op.getResult(), Certainty::Likely)
      .unexpected()
      .tensor(op.getInput())
      .message("scores are quantised behind their mask of " +
               formatNumber(scores->masked) + ": a step is " +
               formatNumber(step) +
               ", more than the deviation of the scores that are not masked, " +
               formatNumber(std::sqrt(scores->live.variance)))
      .cause(op.getScale(), "is the scale");
}

void CollapsedChannels::judgeWeight(mp::DequantizeOp op,
                                    const RangeAnalysis &ranges) {
  auto format = storageFormatOf(op);
  MaybeShape scales = getShape(op.getScale());
  if (!format || format->floats || !isConstant(op.getInput()) || !scales ||
      getNumElements(scales) != 1)
    return;
  const AbstractValue &codes = ranges.of(op.getInput());
  double zero =
      op.getZeroPoint() ? ranges.of(op.getZeroPoint()).hull().mean : 0;
  std::optional<int64_t> axis;
  for (OpOperand &use : op.getResult().getUses())
    if (!axis)
      axis = findChannelAxis(use, int64_t(codes.rank()));
  if (!axis || codes.dims()[*axis] < 2)
    return;
  std::vector<double> largest(codes.dims()[*axis]);
  size_t inner = countGroups(codes.dims().drop_front(*axis + 1));
  for (size_t group = 0; group < codes.groups(); ++group) {
    Interval bound = cells::bound(codes.cell(group));
    double &most = largest[group / inner % largest.size()];
    most = std::max(
        {most, std::fabs(bound.lo - zero), std::fabs(bound.hi - zero)});
  }
  size_t groups = largest.size();
  size_t collapsed =
      llvm::count_if(largest, [](double most) { return most <= 1; });
  if (double(collapsed) < double(groups) * threshold("collapsed-share"))
    return;
  report(op, op.getResult())
      .tensor(op.getInput())
      .message(std::to_string(collapsed) + " of " + std::to_string(groups) +
               " channels of the weight have no code past 1: they share the "
               "scale of the largest")
      .cause(op.getScale(), "is the scale of all channels");
}

void CollapsedChannels::judge(Operation *op, const RangeAnalysis &ranges) {
  if (auto quantize = dyn_cast<mp::QuantizeOp>(op))
    judgeScores(quantize, ranges);
  else if (auto dequantize = dyn_cast<mp::DequantizeOp>(op))
    judgeWeight(dequantize, ranges);
}
