//===- BiasClip.cpp - MP605: a bias of 32 bits that its sum does not hold
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Hazards/QuantizationScale.h"
#include "passes/rules/Rules.h"

#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/QuantizationOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Hazards/ConstantText.h"

#include <cmath>

namespace mpopt {
#define GEN_PASS_DEF_BIASCLIP
#include "passes/rules/Rules.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

namespace {
struct BiasClip : RangeRule<BiasClip, mpopt::impl::BiasClipBase> {
  void judge(Operation *op, const RangeAnalysis &ranges);
};
} // namespace

void BiasClip::judge(Operation *op, const RangeAnalysis &ranges) {
  auto bias = dyn_cast<mp::DequantizeOp>(op);
  if (!bias || !getElementType(bias.getInput()).isInteger(32))
    return;
  Operation *sum = findBiasedSum(bias);
  auto codes = readElements(bias.getInput(), ranges);
  if (!sum || !codes)
    return;
  if (size_t count = llvm::count_if(*codes, isClippedBias))
    report(bias, bias.getInput())
        .message(std::to_string(count) + " of " +
                 std::to_string(codes->size()) +
                 " values of the bias are clipped at the ends of 32 bits")
        .cause(sum, "adds it");
  std::optional<BiasMismatch> mismatch = findBiasMismatch(bias, ranges);
  if (mismatch && mismatch->hasZeroPoint)
    report(bias, bias.getZeroPoint())
        .message("the bias has a zero point, which an integer kernel does not "
                 "subtract")
        .cause(sum, "adds it");
  if (mismatch && mismatch->scale)
    report(bias, bias.getScale())
        .message("the bias has the scale " +
                 formatNumber(mismatch->scale->first) +
                 ", and the sum to which an integer kernel adds it " +
                 formatNumber(mismatch->scale->second) +
                 ", the product of the scales of input and weight")
        .cause(sum, "adds it");
}
