//===- VanishingGradient.cpp - MP404: gradients shrink on their way
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/rules/GradientRatioRule.h"
#include "passes/rules/Rules.h"

namespace mpopt {
#define GEN_PASS_DEF_VANISHINGGRADIENT
#include "passes/rules/Rules.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

namespace {
struct VanishingGradient
    : GradientRatioRule<VanishingGradient, mpopt::impl::VanishingGradientBase> {
  GradientRatios ratios(const GradientSizes &sizes) {
    return GradientRatios(sizes, threshold("vanishing-gradient"), kInfinity);
  }
  void judgeNorm(const GradientSizes &sizes, const LossScaling &scaling);
};
} // namespace

void VanishingGradient::judgeNorm(const GradientSizes &sizes,
                                  const LossScaling &scaling) {
  double limit = threshold("least-gradient-norm");
  if (!sizes.largest || !sizes.complete || sizes.norm >= limit)
    return;
  Value place = scaling.place();
  FindingBuilder finding = report(place.getDefiningOp(), place);
  finding.likely().message(
      "the norm of all gradients is " + formatNumber(sizes.norm) + ", below " +
      formatNumber(limit) + "; the largest part is that of " +
      sizes.largest->name +
      ". Precision is not the cause: a greater weight of the loss, or "
      "a sum in place of a mean, moves it");
  if (Value value = scaling.find(sizes.largest->name))
    finding.watchGradientRatio(value, Value(), limit, kInfinity);
}
