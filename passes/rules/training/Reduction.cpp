//===- Reduction.cpp - MP410: sums of gradients that a 16-bit buffer does not
// hold
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Hazards/DtypeSupport.h"
#include "mpopt/Hazards/LossScaling.h"
#include "passes/rules/Rules.h"

namespace mpopt {
#define GEN_PASS_DEF_REDUCTION
#include "passes/rules/Rules.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

namespace {
struct Reduction : mpopt::impl::ReductionBase<Reduction> {
  void check(ModuleOp module) override;

private:
  void judgeOverflow(const LossScaling &scaling);
  void judgeCast(const LossScaling &scaling);
  void judgeDivided(const LossScaling &scaling);
  void fixByWideSum(FindingBuilder &finding, TrainingFacts facts) const;
  void addFixes(FindingBuilder &finding, const LossScaling &scaling) const;
  /// The share of all elements that flush, and the parameter that loses most;
  /// null where that is below the threshold.
  struct Loss {
    double share = 0;
    const ParameterGradient *worst = nullptr;
  };
  Loss findLoss(const LossScaling &scaling, double from, double to);
  FindingBuilder reportLoss(const Loss &loss);
  std::optional<FindingBuilder> judgeAbsorbed(const LossScaling &scaling,
                                              Type type, int64_t terms,
                                              const Twine &which);

  /// Workers, passes that are accumulated, and the factor by which workers
  /// divide before they add.
  double world = 1, passes = 1, factor = 1;
  /// The dtype of the sum over workers; null if it is not narrow.
  Type type;
  /// Gradients are wider: a hook casts them for the sum.
  bool casts = false;
};
} // namespace

/// About the root of the number of workers, as torch's hooks choose it.
static double chooseFactor(int64_t world) {
  int64_t factor = 1;
  while (world % factor == 0 && world / factor > factor)
    factor *= 2;
  return double(factor);
}

/// The place of the division where it is not declared: FSDP divides by a root
/// before and by the rest after in FP16, ZeRO after, others before.
static double findFactor(const TrainingFacts &facts, int64_t world) {
  const ReduceFacts &reduce = facts.reduce;
  if (reduce.predivide)
    return *reduce.predivide;
  if (reduce.predivideAuto)
    return chooseFactor(world);
  bool zero = facts.sharding.mode == ShardingMode::Zero;
  if (facts.sharding.mode == ShardingMode::Fsdp && !reduce.dividesAfter)
    return chooseFactor(world);
  return reduce.dividesAfter.value_or(zero) ? 1 : double(world);
}

void Reduction::fixByWideSum(FindingBuilder &finding,
                             TrainingFacts facts) const {
  facts.reduce.type = Float32Type::get(type.getContext());
  finding.fixByStep("reduction", "add the gradients in f32", facts);
}

/// Another dtype of the sum over workers, or another factor.
void Reduction::addFixes(FindingBuilder &finding,
                         const LossScaling &scaling) const {
  fixByWideSum(finding, scaling.facts());
  double best = chooseFactor(int64_t(world));
  if (!(best > 1) || best == factor)
    return;
  TrainingFacts facts = scaling.facts();
  facts.reduce.predivide = best;
  facts.reduce.predivideAuto = false;
  finding.fixByStep("reduction",
                    "divide by " + formatNumber(best) +
                        " before the sum over " + formatNumber(world) +
                        " workers, and by the rest after it",
                    facts);
}

void Reduction::judgeOverflow(const LossScaling &scaling) {
  const FloatFormat &format = *getFloatFormat(type);
  const ParameterGradient *worst = nullptr;
  for (const ParameterGradient &parameter : scaling.estimate().parameters())
    if (parameter.estimate.known &&
        (!worst || parameter.estimate.absMax > worst->estimate.absMax))
      worst = &parameter;
  double scale = std::ldexp(1.0, scaling.inUse());
  double grows = passes * world / factor;
  double sum = worst ? grows * scale * worst->estimate.absMax : 0;
  // One alone is the gradient's own overflow, but for a cast.
  if (!worst || !(grows > 1 || casts) || sum < format.overflowFrom)
    return;
  bool dynamic = scaling.scaler().mode == ScalerMode::Dynamic;
  double bits = std::floor(std::log2(sum / format.overflowFrom)) + 1;
  FindingBuilder finding =
      report(worst->computed.getDefiningOp(), worst->computed);
  finding.likely()
      .tensor(worst->gradient)
      .dtype(type)
      .severity(dynamic ? Severity::Warning : Severity::Error)
      .message("gradients are added in " + getDtypeName(type) + " over " +
               formatNumber(world) + " workers" +
               (passes > 1 ? " and " + formatNumber(passes) + " passes" : "") +
               " before they are divided" +
               (factor > 1 ? " but by " + formatNumber(factor) : "") +
               ": at the loss scale " + describeScale(scaling.inUse()) +
               " the sum reaches " + formatNumber(sum) + ", past " +
               formatNumber(format.maxFinite) +
               (dynamic ? "; steps are skipped until the scale is " +
                              describeScale(scaling.inUse() - int(bits))
                        : std::string("; every step is ") +
                              (format.hasInf ? "Inf" : "NaN")));
  addFixes(finding, scaling);
}

Reduction::Loss Reduction::findLoss(const LossScaling &scaling, double from,
                                    double to) {
  const GradientAnalysis &gradients = scaling.estimate().gradients();
  double edge =
      getFloatFormat(type)->flushAt / std::ldexp(1.0, scaling.inUse());
  double all = 0, lost = 0, most = 0;
  Loss loss;
  for (const ParameterGradient &parameter : scaling.estimate().parameters()) {
    const GradientEstimate &its = parameter.estimate;
    if (!its.known || !(its.rms > 0))
      continue;
    auto below = gradients.sharesBelow(parameter.gradient);
    double share = below(edge * to) - (from > 0 ? below(edge * from) : 0);
    double count = parameter.count * (1 - its.zero);
    all += count;
    lost += count * share;
    if (count * share > most) {
      most = count * share;
      loss.worst = &parameter;
    }
  }
  loss.share = all > 0 ? lost / all : 0;
  if (loss.share < threshold("reduction-underflow"))
    loss.worst = nullptr;
  return loss;
}

FindingBuilder Reduction::reportLoss(const Loss &loss) {
  FindingBuilder finding =
      report(loss.worst->computed.getDefiningOp(), loss.worst->computed);
  finding.likely()
      .severity(Severity::Warning)
      .tensor(loss.worst->gradient)
      .dtype(type);
  return finding;
}

void Reduction::judgeCast(const LossScaling &scaling) {
  Loss loss = findLoss(scaling, 0, 1);
  if (!loss.worst)
    return;
  FindingBuilder finding = reportLoss(loss);
  finding.message(
      "gradients are cast to " + getDtypeName(type) + " for the sum over " +
      formatNumber(world) + " workers: at the loss scale " +
      describeScale(scaling.inUse()) + " " + describeShare(loss.share) +
      " of all elements become 0, and no later step brings them back "
      "unless the hook feeds its error back");
  fixByWideSum(finding, scaling.facts());
}

void Reduction::judgeDivided(const LossScaling &scaling) {
  if (!(factor > 1))
    return;
  Loss loss = findLoss(scaling, 1, factor);
  if (!loss.worst)
    return;
  FindingBuilder finding = reportLoss(loss);
  finding.message(
      "gradients are divided by " + formatNumber(factor) + " in " +
      getDtypeName(type) + " before the sum over " + formatNumber(world) +
      " workers: at the loss scale " + describeScale(scaling.inUse()) +
      " another " + describeShare(loss.share) +
      " of all elements become 0; a factor of about " +
      formatNumber(chooseFactor(int64_t(world))) + " leaves room at both ends");
  addFixes(finding, scaling);
}

/// Terms that are alike: the running sum has as many times their size as were
/// added.
std::optional<FindingBuilder>
Reduction::judgeAbsorbed(const LossScaling &scaling, Type type, int64_t terms,
                         const Twine &which) {
  const FloatFormat &format = *getFloatFormat(type);
  double unit = format.unitRoundoff();
  bool lost = double(terms) * unit >= 1;
  if (!lost && double(terms - 1) * unit < threshold("reduction-error"))
    return std::nullopt;
  Value place = scaling.place();
  FindingBuilder finding = report(place.getDefiningOp(), place);
  finding.dtype(type)
      .severity(lost ? Severity::Warning : Severity::Note)
      .message(which + " are added in " + getDtypeName(type) + ": " +
               (lost ? "from the " + formatNumber(1 / unit) +
                           "th on a term of the same size is below half an "
                           "ulp of the sum and is lost"
                     : "roundings add up to " +
                           describeShare(double(terms - 1) * unit) +
                           " of the sum at most"));
  return finding;
}

void Reduction::check(ModuleOp module) {
  const auto &scaling = getAnalysis<LossScaling>();
  if (!scaling.hasGradients())
    return;
  const TrainingFacts &facts = scaling.facts();
  int64_t workers = std::max<int64_t>(1, facts.batch.world.value_or(1));
  int64_t micro = std::max<int64_t>(1, facts.batch.accumulate.value_or(1));
  world = double(workers);
  passes = double(micro);
  factor = findFactor(facts, workers);
  Type own;
  for (const ParameterGradient &parameter : scaling.estimate().parameters())
    if (Type its = getElementType(parameter.gradient); is16Bit(its))
      own = its;
  type = facts.reduce.type ? facts.reduce.type : facts.sharding.reduce;
  // FSDP's None.
  if (!type && facts.sharding.mode == ShardingMode::Fsdp)
    type = facts.sharding.parameters;
  if (!type)
    type = own;
  bool isNarrow = type && isLowPrecision(type);
  casts = isNarrow && workers > 1 && type != own;
  if (isNarrow && workers * micro > 1) {
    judgeOverflow(scaling);
    if (casts)
      judgeCast(scaling);
    if (workers > 1)
      judgeDivided(scaling);
  }
  if (isNarrow && workers > 1)
    if (std::optional<FindingBuilder> finding =
            judgeAbsorbed(scaling, type, workers,
                          "gradients of " + Twine(workers) + " workers"))
      fixByWideSum(*finding, facts);
  Type buffer = facts.reduce.accumulate ? facts.reduce.accumulate : own;
  if (buffer && is16Bit(buffer) && micro > 1)
    judgeAbsorbed(scaling, buffer, micro,
                  "gradients of " + Twine(micro) + " passes");
}
