//===- BadScale.cpp - MP601: a scale is no positive number
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One finding a constant, at the first op that reads it.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Hazards/QuantizationScale.h"
#include "passes/rules/Rules.h"

#include "mpopt/Hazards/ConstantText.h"

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
  llvm::DenseSet<Value> seen;
};
} // namespace

/// A scale of a block may be negative: quantisers write the number of the
/// largest magnitude as the least code, of which there is one more.
static bool isBad(double scale, bool isOfBlocks) {
  return !(isOfBlocks ? scale != 0 : scale > 0) || !std::isfinite(scale);
}

void BadScale::judge(Operation *op, const RangeAnalysis &ranges) {
  std::optional<QuantizationScale> parameters = findScale(op);
  if (!parameters || !seen.insert(parameters->scale).second)
    return;
  auto scales = readElements(parameters->scale, ranges);
  if (!scales)
    return;
  auto isBad = [&](double scale) {
    return ::isBad(scale, parameters->isOfBlocks);
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
  std::string effect = *first == 0  ? ": nothing is left of what it quantises"
                       : *first < 0 ? ": codes and numbers have opposite signs"
                                    : ": what it quantises has no value";
  report(op, parameters->scale)
      .message(where + formatNumber(*first) + effect + more);
}
