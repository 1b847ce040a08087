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

private:
  void checkScale(mp::DequantizeOp bias, Operation *op,
                  const RangeAnalysis &ranges);
};
} // namespace

/// Scales that are a product in one order and dtype or another.
static constexpr double kSame = 1e-3;

/// The op that adds the numbers to the sum of products that it computes; null
/// if there is none.
static Operation *findSum(mp::DequantizeOp bias) {
  for (OpOperand &use : bias.getResult().getUses())
    if (hasRole(use.getOwner(), Role::Contraction) &&
        use.getOperandNumber() == 2)
      return use.getOwner();
  return nullptr;
}

void BiasClip::checkScale(mp::DequantizeOp bias, Operation *op,
                          const RangeAnalysis &ranges) {
  auto x = getMaker<mp::DequantizeOp>(op->getOperand(0)),
       w = getMaker<mp::DequantizeOp>(op->getOperand(1));
  if (!x || !w)
    return;
  auto own = readElements(bias.getScale(), ranges),
       ofX = readElements(x.getScale(), ranges),
       ofW = readElements(w.getScale(), ranges);
  if (!own || !ofX || !ofW || ofX->size() != 1)
    return;
  size_t size = std::max(own->size(), ofW->size());
  if (size % own->size() != 0 || size % ofW->size() != 0)
    return;
  for (size_t index = 0; index < size; ++index) {
    double scale = (*own)[index % own->size()];
    double product = ofX->front() * (*ofW)[index % ofW->size()];
    if (!(product > 0) || !(scale > 0) ||
        std::fabs(scale - product) <= kSame * product)
      continue;
    report(bias, bias.getScale())
        .message("the bias has the scale " + formatNumber(scale) +
                 ", and the sum to which an integer kernel adds it " +
                 formatNumber(product) +
                 ", the product of the scales of input and weight")
        .cause(op, "adds it");
    return;
  }
}

void BiasClip::judge(Operation *op, const RangeAnalysis &ranges) {
  auto bias = dyn_cast<mp::DequantizeOp>(op);
  if (!bias || !getElementType(bias.getInput()).isInteger(32))
    return;
  Operation *sum = findSum(bias);
  auto codes = readElements(bias.getInput(), ranges);
  if (!sum || !codes)
    return;
  auto isClipped = [](double code) {
    return code >= 0x1p31 - 1 || code <= -0x1p31;
  };
  if (size_t count = llvm::count_if(*codes, isClipped))
    report(bias, bias.getInput())
        .message(std::to_string(count) + " of " +
                 std::to_string(codes->size()) +
                 " values of the bias are clipped at the ends of 32 bits")
        .cause(sum, "adds it");
  auto zeros = readElements(bias.getZeroPoint(), ranges);
  if (zeros && llvm::any_of(*zeros, [](double zero) { return zero != 0; }))
    report(bias, bias.getZeroPoint())
        .message("the bias has a zero point, which an integer kernel does not "
                 "subtract")
        .cause(sum, "adds it");
  checkScale(bias, sum, ranges);
}
