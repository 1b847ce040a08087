//===- CollapsedChannels.cpp - MP604: one scale for unlike numbers
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Hazards/QuantizationScale.h"
#include "passes/rules/Rules.h"

#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/IndexingOps.h"
#include "mpopt/Dialect/Ops/QuantizationOps.h"
#include "mpopt/Dialect/StorageTypes.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Hazards/ConstantText.h"
#include "mpopt/Propagate/IntegerProduct.h"
#include "mpopt/Propagate/Masks.h"
#include "mpopt/Propagate/QuantizationErrors.h"
#include "mpopt/Ranges/Value/TransferContext.h"

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
  void judgeWeight(Operation *op, Value weight, Value scale, Value zeroPoint,
                   int64_t axis, const RangeAnalysis &ranges);
};
} // namespace

void CollapsedChannels::judgeScores(mp::QuantizeOp op,
                                    const RangeAnalysis &ranges) {
  std::optional<MaskedScores> scores = findMaskedScores(op.getInput(), ranges);
  double step = std::fabs(ranges.of(op.getScale()).hull().mean);
  // A mask alone has 0 for what it lets pass, which is a code.
  if (!scores || scores->live.variance == 0 ||
      !(std::sqrt(scores->live.variance) < step))
    return;
  // A masked score is then less than 2^-16 of a row.
  double width = scores->live.likelyHi - scores->live.likelyLo,
         mask = std::ceil(width + 16 * M_LN2);
  // Where all scores are equal, their first-order effect says little.
  report(op, op.getResult(), Certainty::Likely)
      .unexpected()
      .tensor(op.getInput())
      .message("scores are quantised behind their mask of " +
               formatNumber(scores->masked) + ": a step is " +
               formatNumber(step) +
               ", more than the deviation of the scores that are not masked, " +
               formatNumber(std::sqrt(scores->live.variance)) + "; with " +
               formatNumber(-mask) + " for a mask 256 codes are steps of " +
               formatNumber((mask + width) / 255))
      .cause(op.getScale(), "is the scale");
}

void CollapsedChannels::judgeWeight(Operation *op, Value weight, Value scale,
                                    Value zeroPoint, int64_t at,
                                    const RangeAnalysis &ranges) {
  auto format = storageFormatOf(getElementType(weight));
  std::optional<WeightView> view = ranges.context().weights(weight);
  std::optional<int64_t> axis =
      view ? normalizeAxis(at, int64_t(view->shape.size())) : std::nullopt;
  double zero = zeroPoint ? ranges.of(zeroPoint).hull().mean : 0;
  if (!format || format->floats || !axis || view->splat ||
      view->shape[*axis] < 2)
    return;
  std::vector<double> largest(view->shape[*axis]);
  int64_t inner = 1;
  for (int64_t dim : ArrayRef(view->shape).drop_front(*axis + 1))
    inner *= dim;
  // Elements read at a time: 8 KiB on the stack.
  constexpr int64_t kPiece = 1 << 10;
  double piece[kPiece];
  for (int64_t first = 0; first < view->size(); first += kPiece) {
    MutableArrayRef<double> read(piece, std::min(kPiece, view->size() - first));
    view->read(first, read);
    for (auto [offset, code] : llvm::enumerate(read)) {
      double &most =
          largest[(first + int64_t(offset)) / inner % int64_t(largest.size())];
      most = std::max(most, std::fabs(code - zero));
    }
  }
  size_t groups = largest.size();
  size_t collapsed =
      llvm::count_if(largest, [](double most) { return most <= 1; });
  if (double(collapsed) < double(groups) * threshold("collapsed-share"))
    return;
  bool isTable = llvm::any_of(op->getUsers(), [](Operation *user) {
    return isa<mp::GatherOp, mp::EmbeddingOp>(user);
  });
  // Its errors are those of the numbers, where an op gives these.
  report(op, isa<mp::DequantizeOp>(op) ? op->getResult(0) : weight)
      .tensor(weight)
      .message(std::to_string(collapsed) + " of " + std::to_string(groups) +
               (isTable ? " rows of the table" : " channels of the weight") +
               " have no code past 1: they share the scale of the largest")
      .cause(scale, isTable ? "is the scale of all rows"
                            : "is the scale of all channels");
}

void CollapsedChannels::judge(Operation *op, const RangeAnalysis &ranges) {
  if (auto quantize = dyn_cast<mp::QuantizeOp>(op))
    return judgeScores(quantize, ranges);
  if (auto dequantize = dyn_cast<mp::DequantizeOp>(op)) {
    if (std::optional<int64_t> axis = findSharedAxis(dequantize))
      judgeWeight(op, dequantize.getInput(), dequantize.getScale(),
                  dequantize.getZeroPoint(), *axis, ranges);
    return;
  }
  std::optional<IntegerProduct> product = findIntegerProduct(op);
  if (product && isConstant(product->rhs) &&
      getNumElements(getShape(product->rhsScale)) == 1)
    judgeWeight(op, product->rhs, product->rhsScale, product->rhsZeroPoint,
                product->axis, ranges);
}
