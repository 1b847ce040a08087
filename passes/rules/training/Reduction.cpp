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
  void judgeDivided(const LossScaling &scaling);
  void fixByWideSum(FindingBuilder &finding, TrainingFacts facts) const;
  void addFixes(FindingBuilder &finding, const LossScaling &scaling) const;
  std::optional<FindingBuilder> judgeAbsorbed(const LossScaling &scaling,
                                              Type type, int64_t terms,
                                              const Twine &which);

  /// Workers, passes that are accumulated, and the factor by which workers
  /// divide before they add.
  double world = 1, passes = 1, factor = 1;
  /// The dtype of the sum over workers; null if it is not narrow.
  Type type;
};
} // namespace

/// About the root of the number of workers, as torch's hooks choose it.
static double chooseFactor(int64_t world) {
  int64_t factor = 1;
  while (world % factor == 0 && world / factor > factor)
    factor *= 2;
  return double(factor);
}

/// Who divides when, where nobody says: FSDP by a root before and the rest
/// after in FP16, ZeRO after, others before.
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
  // One alone is the gradient's own overflow.
  if (!worst || !(grows > 1) || sum < format.overflowFrom)
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
                        : std::string("; every step is Inf")));
  addFixes(finding, scaling);
}

void Reduction::judgeDivided(const LossScaling &scaling) {
  const FloatFormat &format = *getFloatFormat(type);
  if (!(factor > 1))
    return;
  const GradientAnalysis &gradients = scaling.estimate().gradients();
  double scale = std::ldexp(1.0, scaling.inUse());
  double all = 0, lost = 0, most = 0;
  const ParameterGradient *worst = nullptr;
  for (const ParameterGradient &parameter : scaling.estimate().parameters()) {
    const GradientEstimate &its = parameter.estimate;
    if (!its.known || !(its.rms > 0))
      continue;
    double edge = format.flushAt / scale;
    auto below = gradients.sharesBelow(parameter.gradient);
    double share = below(edge * factor) - below(edge);
    double count = parameter.count * (1 - its.zero);
    all += count;
    lost += count * share;
    if (count * share > most) {
      most = count * share;
      worst = &parameter;
    }
  }
  if (!worst || lost < threshold("reduction-underflow") * all)
    return;
  FindingBuilder finding =
      report(worst->computed.getDefiningOp(), worst->computed);
  finding.likely()
      .severity(Severity::Warning)
      .tensor(worst->gradient)
      .dtype(type)
      .message("gradients are divided by " + formatNumber(factor) + " in " +
               getDtypeName(type) + " before the sum over " +
               formatNumber(world) + " workers: at the loss scale " +
               describeScale(scaling.inUse()) + " another " +
               describeShare(lost / all) +
               " of all elements become 0; a factor of about " +
               formatNumber(chooseFactor(int64_t(world))) +
               " leaves room at both ends");
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
  if (type && is16Bit(type) && workers * micro > 1) {
    judgeOverflow(scaling);
    if (workers > 1)
      judgeDivided(scaling);
  }
  if (type && is16Bit(type) && workers > 1)
    if (std::optional<FindingBuilder> finding =
            judgeAbsorbed(scaling, type, workers,
                          "gradients of " + Twine(workers) + " workers"))
      fixByWideSum(*finding, facts);
  if (own && micro > 1)
    judgeAbsorbed(scaling, own, micro,
                  "gradients of " + Twine(micro) + " passes");
}
