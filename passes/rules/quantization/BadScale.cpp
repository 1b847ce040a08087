//===- BadScale.cpp - MP601: a scale or zero point that no number has
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One finding a constant, at the first op that reads it.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Hazards/QuantizationScale.h"
#include "passes/rules/Rules.h"

#include "mpopt/Dialect/Ops/LinearOps.h"
#include "mpopt/Dialect/Ops/QuantizationOps.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Hazards/ConstantText.h"
#include "mpopt/Numerics/StorageFormat.h"

#include "llvm/ADT/DenseSet.h"

#include <cmath>

namespace mpopt {
#define GEN_PASS_DEF_BADSCALE
#include "passes/rules/Rules.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

namespace {
struct BadScale : RangeRule<BadScale, mpopt::impl::BadScaleBase> {
  void check(ModuleOp module) override {
    seen.clear();
    RangeRule::check(module);
  }
  void judge(Operation *op, const RangeAnalysis &ranges);

private:
  void judgeZeroPoints(Operation *op, const RangeAnalysis &ranges);

  llvm::DenseSet<Value> seen;
};
} // namespace

/// A scale of a block without a zero point may be negative: quantisers write
/// the number of the largest magnitude as the least code, of which there is one
/// more. With a zero point it is a range over the codes.
static bool isBad(double scale, const QuantizationScale &parameters) {
  bool maySwap = parameters.isOfBlocks && !parameters.zeroPoint;
  return !(maySwap ? scale != 0 : scale > 0) || !std::isfinite(scale);
}

/// Kernels that flush subnormal numbers read 0, and its reciprocal is Inf from
/// half of them on. Scales stored in 16 bits are widened first.
static bool isSubnormal(double scale) {
  return scale != 0 && std::fabs(scale) < std::numeric_limits<float>::min();
}

/// Zero points that are stored as codes cannot be past them, while those of
/// blocks may be floats.
void BadScale::judgeZeroPoints(Operation *op, const RangeAnalysis &ranges) {
  auto product = dyn_cast<mp::MatMulNBitsOp>(op);
  if (!product || !product.getZeroPoints() || product.getCode() != "int" ||
      !isa<FloatType>(getElementType(product.getZeroPoints())))
    return;
  auto zeros = readElements(product.getZeroPoints(), ranges);
  StorageFormat codes = StorageFormat::integers(product.getBits(), false);
  auto isPast = [&](double zero) {
    return !(zero >= codes.codes.lo && zero <= codes.codes.hi);
  };
  if (!zeros || llvm::none_of(*zeros, isPast))
    return;
  auto farthest = llvm::max_element(*zeros, [](double lhs, double rhs) {
    return std::fabs(lhs) < std::fabs(rhs);
  });
  report(op, product.getZeroPoints())
      .message(std::to_string(llvm::count_if(*zeros, isPast)) + " of " +
               std::to_string(zeros->size()) +
               " zero points are past the codes, 0 to " +
               formatNumber(codes.codes.hi) + ", the farthest is " +
               formatNumber(*farthest) +
               ": all numbers of those blocks have one sign");
}

void BadScale::judge(Operation *op, const RangeAnalysis &ranges) {
  judgeZeroPoints(op, ranges);
  std::optional<QuantizationScale> parameters = findScale(op);
  if (!parameters || !seen.insert(parameters->scale).second)
    return;
  auto scales = readElements(parameters->scale, ranges);
  if (!scales)
    return;
  auto isBad = [&](double scale) {
    return ::isBad(scale, *parameters) || isSubnormal(scale);
  };
  auto first = llvm::find_if(*scales, isBad);
  if (first == scales->end())
    return;
  size_t count = llvm::count_if(*scales, isBad);
  std::string where = scales->size() == 1
                          ? "the scale is "
                          : "the scale at index " +
                                std::to_string(first - scales->begin()) +
                                " is ";
  std::string more = count > 1
                         ? ", and " + std::to_string(count - 1) + " more of " +
                               std::to_string(scales->size()) +
                               " are no positive "
                               "numbers"
                         : "";
  std::string effect = *first == 0 ? ": all quantised values become 0"
                       : isSubnormal(*first)
                           ? ": it is subnormal, and 0 where kernels flush "
                             "such numbers"
                       : *first < 0 ? ": codes and numbers have opposite signs"
                                    : ": quantised values are undefined";
  FindingBuilder finding = report(op, parameters->scale);
  finding.message(where + formatNumber(*first) + effect + more);
  const FloatFormat *format = getFloatFormat(getElementType(parameters->scale));
  if (*first == 0 && format && format->digits < 24)
    finding.fix("keep-fp32", "store the scales in f32, or none below " +
                                 formatNumber(format->minSubnormal) + ": " +
                                 Twine(format->name) +
                                 " makes 0 of numbers up to " +
                                 formatNumber(format->flushAt));
}
