//===- GradientTests.cpp - What decides a finding on gradients ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A run that holds gradients in a wider format than the judged one counts what
// that one would lose. A run in the judged format has only zeros to show, and
// some are no loss. How many of them can be: let the gradient of a weight be
// G^T X with N terms an element. Without a loss an element is 0 only if each of
// its terms is (sums that cancel exactly apart), so that of column i of G and
// column j of X together at least N elements are 0. Summed over all (i, j): the
// share of zeros is at most that of G and that of X together. A sum over G
// alone (a bias) has at most its share. What G itself lost counts as no loss
// here, so what is confirmed was lost in this gradient.
//
// And the elements that are left tell of those that are lost: a continuous
// distribution whose density does not fall toward 0 has at least as many
// elements in [0, m/2] as in an interval of that width above it, where m is the
// least subnormal; what rounds to m comes from [m/2, 3m/2].
//
//===----------------------------------------------------------------------===//

#include "GradientTests.h"

#include "mpopt/Numerics/Infinity.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"

#include <algorithm>
#include <cmath>
#include <map>

using namespace mpopt;
using namespace mpopt::confirming;

namespace {
class GradientTest {
public:
  GradientTest(const Watch &watch, const GradientSights &sights)
      : watch(watch), sights(sights), seen(*sights.gradient),
        record(seen.record), judged(FloatFormat::byName(watch.dtype)),
        stored(seen.stored()) {}

  TestResult run() const;

private:
  TestResult flush() const;
  TestResult flushInTheRun(const RunScale &scale) const;
  TestResult overflow() const;
  TestResult ratio() const;
  TestResult norm() const;
  TestResult zero() const;
  TestResult deadUnits() const;
  TestResult nonFinite() const;

  /// The verdict on a number between the two.
  TestResult compare(double least, double most) const;
  /// The factor of the loss at which the gradient was judged, and those of the
  /// run: 1 and 1 where the finding holds at any.
  double judgedScale() const;
  std::optional<RunScale> findScale() const;
  TestResult scaleUnknown() const;
  TestResult scaleDiffers() const;
  /// Some gradient of the run flushes no later than the judged format does.
  bool mayHaveFlushed() const {
    return judged && sights.coarsest &&
           sights.coarsest->flushAt >= judged->flushAt;
  }
  std::string onlyIn() const {
    return "the run computed it in " + seen.dtype().str();
  }

  const Watch &watch;
  const GradientSights &sights;
  const ProbeSight &seen;
  const mpopt_record &record;
  const FloatFormat *judged, *stored;
};
} // namespace

static std::optional<uint64_t> getStep(uint64_t step) {
  return step == MPOPT_NEVER ? std::nullopt : std::optional(step);
}

static std::string text(double value) {
  std::string out;
  llvm::raw_string_ostream(out) << llvm::format("%.4g", value);
  return out;
}

static bool hasRun(const ProbeSight *sight) {
  return sight && sight->ran() && sight->record.count;
}

static double shareOfZeros(const ProbeSight &seen) {
  return double(seen.record.zero) / double(seen.record.count);
}

const FloatFormat *confirming::findCoarsest(const RunRecords &runs) {
  const FloatFormat *coarsest = nullptr;
  for (const ProbeSight &seen : runs.gradients)
    if (const FloatFormat *stored = seen.stored(); seen.ran() && stored)
      if (!coarsest || stored->flushAt > coarsest->flushAt)
        coarsest = stored;
  return coarsest;
}

double GradientTest::judgedScale() const {
  return watch.scale == 0 ? 1 : watch.scale;
}

std::optional<RunScale> GradientTest::findScale() const {
  if (watch.scale == 0)
    return RunScale{{1, 1}};
  return sights.scale ? std::optional(*sights.scale) : std::nullopt;
}

TestResult GradientTest::scaleUnknown() const {
  return {Verdict::Unable,
          "the run's loss scale is not known, and " + text(judgedScale()) +
              " was judged: report it (Recorder.scalar), or let forward return "
              "the loss"};
}

TestResult GradientTest::scaleDiffers() const {
  return {Verdict::Unable, "the run's loss scale was " + findScale()->str() +
                               ", and " + text(judgedScale()) + " was judged"};
}

/// The number of elements that are not 0, of magnitudes up to `limit`. Those in
/// the bin of a limit that is no power of two may be on either side: they count
/// if `all` do.
static uint64_t countUpTo(const mpopt_record &record, double limit, bool all) {
  int bins = limit > 0 ? MPOPT_BIN_OF_EXPONENT(std::ilogb(limit)) : 0;
  if (all && limit > 0 && limit != std::ldexp(1.0, std::ilogb(limit)))
    ++bins;
  uint64_t count = 0;
  for (int bin = 0; bin < std::clamp(bins, 0, MPOPT_BINS); ++bin)
    count += record.histogram[bin];
  return count;
}

TestResult GradientTest::flush() const {
  if (!judged)
    return {Verdict::Unable, "'" + watch.dtype + "' is no float format"};
  if (!seen.finite())
    return {Verdict::Unseen, "no gradient was finite"};
  std::optional<RunScale> scale = findScale();
  if (!scale)
    return scaleUnknown();
  if (stored && stored->flushAt >= judged->flushAt)
    return flushInTheRun(*scale);
  if (!seen.hasDistribution())
    return {Verdict::Unable, "the record has no histogram"};
  // Made of 16-bit gradients, it has lost what they lost.
  if (mayHaveFlushed() &&
      double(record.zero) >= watch.threshold * double(seen.finite()))
    return {Verdict::Unable,
            "other gradients of the run were " + sights.coarsest->name.str() +
                ", so that zeros may be their losses: run it in f32"};
  double values = double(seen.nonZero());
  bool same = scale->isConstant() && scale->range.lo == judgedScale();
  // A greater scale may keep elements that a smaller one flushes.
  auto lostAt = [&](double run, bool all) {
    return double(
        same ? seen.flushes(*judged)
             : countUpTo(record, judged->flushAt * (run / judgedScale()), all));
  };
  if (values == 0 ||
      lostAt(scale->range.hi, /*all=*/true) < watch.threshold * values)
    return {Verdict::No};
  if (lostAt(scale->range.lo, /*all=*/false) >= watch.threshold * values)
    return {Verdict::Yes, "", same ? seen.flushStep(*judged) : std::nullopt};
  return scaleDiffers();
}

TestResult GradientTest::flushInTheRun(const RunScale &scale) const {
  double zeros = double(record.zero), kept = double(seen.nonZero());
  // At most all zeros were flushed, and steps at a greater scale than the
  // judged one may have kept all of theirs.
  double above = scale.shareAbove(judgedScale()) * double(record.count);
  if (zeros + above < watch.threshold * (zeros + kept))
    return {Verdict::No};
  if (zeros < watch.threshold * (zeros + kept))
    return scaleDiffers();
  // Magnitudes are not rarer the smaller they are: at least half as many are
  // below the least of them as are rounded to it.
  double least = seen.hasDistribution()
                     ? double(record.histogram[MPOPT_BIN_OF_EXPONENT(
                           std::ilogb(judged->flushAt) + 1)])
                     : 0;
  double tail = std::min(least / 2, zeros) -
                scale.shareBelow(judgedScale()) * double(record.count);
  if (tail > 0 && tail >= watch.threshold * (tail + kept))
    return {Verdict::Yes};
  std::string unable =
      onlyIn() + ", where a flushed value is a zero like any other";
  if (!hasRun(sights.against) ||
      (!watch.factor.empty() && !hasRun(sights.factor)))
    return {Verdict::Unable, unable + ": run it in f32"};
  double share = shareOfZeros(*sights.against) +
                 (watch.factor.empty() ? 0 : shareOfZeros(*sights.factor));
  double lost = zeros - std::min(share, 1.0) * double(record.count);
  // Steps at a smaller scale may have lost what the judged one keeps.
  double sure = lost - scale.shareBelow(judgedScale()) * double(record.count);
  if (sure > 0 && sure >= watch.threshold * (sure + kept))
    return {Verdict::Yes};
  if (lost > 0 && lost >= watch.threshold * (lost + kept))
    return scaleDiffers();
  return {Verdict::Unable,
          unable + ", and up to " + text(100 * std::min(share, 1.0)) +
              " % may be 0 because of its operands: run it in f32"};
}

TestResult GradientTest::overflow() const {
  if (!judged)
    return {Verdict::Unable, "'" + watch.dtype + "' is no float format"};
  std::optional<RunScale> scale = findScale();
  if (seen.infinite()) {
    if (stored && stored->maxFinite < judged->maxFinite)
      return {Verdict::Unseen,
              onlyIn() + ", which overflows before " + watch.dtype + " does"};
    if (!scale)
      return scaleUnknown();
    // Elements that overflow at a scale do at any greater one.
    if (scale->range.hi <= judgedScale())
      return {Verdict::Yes, "", getStep(record.first_inf_step)};
    return scaleDiffers();
  }
  if (!seen.finite())
    return {Verdict::Unseen, "all gradients were NaN"};
  if (!scale)
    return scaleUnknown();
  auto isOver = [&](double run) {
    return judged->overflows(record.absmax * (judgedScale() / run));
  };
  if (isOver(scale->range.hi))
    return {Verdict::Yes, "", getStep(record.absmax_step)};
  if (record.nan)
    return {Verdict::Unseen, "NaN may have taken the place of an overflow"};
  if (isOver(scale->range.lo))
    return scaleDiffers();
  return {Verdict::No};
}

/// The root mean square of the finite elements, if nothing that is 0 was lost,
/// and if all of it was, just below where `coarsest` flushes.
static Interval getSize(const ProbeSight &seen, const FloatFormat *coarsest) {
  double size = seen.rootMeanSquare();
  double lost = coarsest ? coarsest->flushAt : 0;
  double share = double(seen.record.zero) / double(seen.finite());
  return {size, std::sqrt(size * size + share * lost * lost)};
}

std::optional<Interval> confirming::findNorm(const ProbePlan &plan,
                                             const RunRecords &runs) {
  const FloatFormat *coarsest = findCoarsest(runs);
  // A parameter that is taken as it is and cast has two parts, whose sum is its
  // gradient.
  std::map<std::string, Interval> sizes;
  for (const Probe &probe : plan.probes) {
    if (probe.role != ProbeRole::Parameter)
      continue;
    const ProbeSight &seen = runs.gradients[probe.id];
    if (!hasRun(&seen))
      continue;
    if (!seen.hasDistribution() || !seen.finite())
      return std::nullopt;
    Interval size = getSize(seen, coarsest);
    double scale =
        std::sqrt(double(seen.record.count) / double(seen.record.calls));
    auto [part, isNew] = sizes.try_emplace(probe.tensor.name);
    Interval before = part->second;
    size = {size.lo * scale, size.hi * scale};
    part->second = isNew ? size
                         : Interval{std::max({0.0, before.lo - size.hi,
                                              size.lo - before.hi}),
                                    before.hi + size.hi};
  }
  if (sizes.empty())
    return std::nullopt;
  Interval norm;
  for (const auto &[name, size] : sizes) {
    norm.lo = std::hypot(norm.lo, size.lo);
    norm.hi = std::hypot(norm.hi, size.hi);
  }
  // A parameter may be among them.
  if (!plan.unprobed.empty())
    norm.hi = kInfinity;
  return norm;
}

TestResult GradientTest::compare(double least, double most) const {
  if (most < watch.lo || least > watch.hi)
    return {Verdict::Yes};
  if (least >= watch.lo && most <= watch.hi)
    return {Verdict::No};
  return {Verdict::Unable,
          "it depends on the flushed values, or on the scales: "
          "run it in f32 at one scale"};
}

TestResult GradientTest::norm() const {
  if (!sights.scale)
    return scaleUnknown();
  if (!sights.norm)
    return {Verdict::Unable,
            "of a parameter no gradient was finite, or none has its sums"};
  return compare(sights.norm->lo / sights.scale->range.hi,
                 sights.norm->hi / sights.scale->range.lo);
}

TestResult GradientTest::ratio() const {
  if (!hasRun(sights.against))
    return {sights.against ? Verdict::Unseen : Verdict::Unable,
            "the other gradient was not recorded"};
  const ProbeSight &other = *sights.against;
  if (!seen.finite() || !other.finite())
    return {Verdict::Unseen, "no gradient was finite"};
  if (!seen.hasDistribution() || !other.hasDistribution())
    return {Verdict::Unable, "the record has no sums"};
  Interval size = getSize(seen, sights.coarsest),
           base = getSize(other, sights.coarsest);
  if (base.lo == 0)
    return {Verdict::Unable, "the other gradient was 0 throughout"};
  // A step counts by its scale, and may count for one of the two alone where
  // elements were not finite.
  double scales = 1;
  if (seen.finite() != record.count || other.finite() != other.record.count) {
    if (!sights.scale)
      return {Verdict::Unable,
              "gradients were NaN or Inf in some steps, and the run's loss "
              "scale is not known: report it (Recorder.scalar)"};
    scales = sights.scale->range.hi / sights.scale->range.lo;
  }
  return compare(size.lo / base.hi / scales, size.hi / base.lo * scales);
}

/// The share of `axis` that is never positive: units of a rectifier.
TestResult GradientTest::deadUnits() const {
  if (!hasRun(sights.values))
    return {Verdict::Unseen, "its values were not recorded"};
  const std::vector<mpopt_channel_range> &units = sights.values->channels;
  if (units.empty())
    return {Verdict::Unable, "the probe kept no ranges by channel"};
  auto dead = llvm::count_if(
      units, [](const mpopt_channel_range &unit) { return !(unit.max > 0); });
  if (double(dead) >= watch.threshold * double(units.size()))
    return {Verdict::Yes};
  return {Verdict::No};
}

TestResult GradientTest::zero() const {
  if (seen.nonZero() || seen.finite() != record.count) {
    // As long as the factor was 0: at the first step, if it learns.
    if (watch.factor.empty() || !hasRun(sights.factorGradient) ||
        !sights.factorGradient->nonZero() ||
        record.zero < record.count / record.calls)
      return {Verdict::No};
    return {Verdict::Unable, "'" + watch.factor +
                                 "' is 0 at the first step only, and the "
                                 "record is of " +
                                 std::to_string(record.calls) + ": record one"};
  }
  // BF16 flushes where FP32 does, for all that gradients are.
  const FloatFormat *coarsest = sights.coarsest;
  if (coarsest && coarsest->flushAt > FloatFormat::bf16().flushAt)
    return {Verdict::Unable, "gradients of the run were " +
                                 coarsest->name.str() +
                                 ", where it may have been flushed: run it in "
                                 "f32"};
  return {Verdict::Yes};
}

/// The first step at which there was NaN or Inf; nothing if there never was.
static std::optional<uint64_t> findFirstBad(const ProbeSight *seen) {
  if (!seen)
    return std::nullopt;
  return getStep(
      std::min(seen->record.first_nan_step, seen->record.first_inf_step));
}

TestResult GradientTest::nonFinite() const {
  std::optional<uint64_t> step = findFirstBad(&seen);
  if (!step)
    return {Verdict::No};
  if (!hasRun(sights.values))
    return {Verdict::Unable, "there is no record of its values"};
  // Steps that are not those of runs put nothing in order.
  auto wasBad = [&](const ProbeSight *other) {
    std::optional<uint64_t> first = findFirstBad(other);
    return first && (*first <= *step || !seen.sharesSteps());
  };
  if (wasBad(sights.values))
    return {Verdict::Unseen, "its values were NaN or infinite themselves"};
  if (wasBad(sights.against))
    return {Verdict::Unseen,
            "it was handed on from gradients that it is made of"};
  if (!record.nan && stored && stored->overflows(FloatFormat::bf16().maxFinite))
    return {Verdict::Unable, "in " + seen.dtype().str() +
                                 " an Inf may be an overflow: run it in f32"};
  return {Verdict::Yes, "", step};
}

TestResult GradientTest::run() const {
  if (record.flags & MPOPT_COUNT_ONLY)
    return {Verdict::Unable, "its elements are not recorded: it was sparse"};
  if (watch.test == Decision::GradientZero && watch.axis >= 0)
    return deadUnits();
  // Autograd brings none where nothing leads from a tensor to the loss.
  if (!seen.ran() && watch.test == Decision::GradientZero && sights.othersLearn)
    return {Verdict::Yes, "no gradient came to it, as to other parameters"};
  if (!seen.ran())
    return {Verdict::Unseen, "no gradient came to it"};
  if (!record.count)
    return {Verdict::Unseen, "it was empty whenever it ran"};
  if (record.flags & MPOPT_MIXED_DTYPE)
    return {Verdict::Unable, "it was recorded in several dtypes: confirm one "
                             "run at a time"};
  switch (watch.test) {
  case Decision::GradientFlush:
    return flush();
  case Decision::GradientOverflow:
    return overflow();
  case Decision::GradientRatio:
    return watch.against.empty() ? norm() : ratio();
  case Decision::GradientZero:
    return zero();
  case Decision::GradientNonFinite:
    return nonFinite();
  default:
    return {Verdict::Unable, "no gradient decides it"};
  }
}

TestResult confirming::runGradientTest(const Watch &watch,
                                       const GradientSights &sights) {
  return GradientTest(watch, sights).run();
}
