//===- ExplodingGradient.cpp - MP405: gradients grow on their way
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/rules/GradientRatioRule.h"
#include "passes/rules/Rules.h"

namespace mpopt {
#define GEN_PASS_DEF_EXPLODINGGRADIENT
#include "passes/rules/Rules.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

namespace {
struct ExplodingGradient
    : GradientRatioRule<ExplodingGradient, mpopt::impl::ExplodingGradientBase> {
  GradientRatios ratios(const GradientSizes &sizes) {
    return GradientRatios(sizes, 0, threshold("exploding-gradient"));
  }
  void judgeNorm(const GradientSizes &sizes, const LossScaling &scaling);
};
} // namespace

void ExplodingGradient::judgeNorm(const GradientSizes &sizes,
                                  const LossScaling &scaling) {
  double limit = threshold("most-gradient-norm");
  if (!sizes.largest || sizes.norm <= limit)
    return;
  std::string clipped;
  if (double clip = scaling.facts().clip.value_or(0); clip > 0)
    clipped = "; clipping to " + formatNumber(clip) + " divides it by " +
              formatNumber(sizes.norm / clip);
  Value place = scaling.place();
  FindingBuilder finding = report(place.getDefiningOp(), place);
  finding.likely().message(
      "the norm of all gradients is " + formatNumber(sizes.norm) + ", above " +
      formatNumber(limit) + "; the largest part is that of " +
      sizes.largest->name + clipped + ". Precision is not the cause");
  if (Value value = scaling.find(sizes.largest->name))
    finding.watchGradientRatio(value, Value(), 0, limit);
}
