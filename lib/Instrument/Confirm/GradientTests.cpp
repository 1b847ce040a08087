//===- GradientTests.cpp - What decides a finding on gradients ------------===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
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
//===----------------------------------------------------------------------===//

#include "GradientTests.h"

#include "llvm/Support/Format.h"

#include <algorithm>
#include <cmath>

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
  TestResult flushInTheRun() const;
  TestResult overflow() const;
  TestResult ratio() const;
  TestResult zero() const;
  TestResult nonFinite() const;

  /// The power of two from what was recorded to what was judged. What is wrong
  /// is in `why`.
  std::optional<int> findShift(std::string &why) const;
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

std::optional<int> GradientTest::findShift(std::string &why) const {
  if (watch.scale == 0)
    return 0;
  if (!sights.scale) {
    why = "the program did not say its loss scale (Recorder.scalar), and " +
          text(watch.scale) + " was judged";
    return std::nullopt;
  }
  int exponent = 0;
  double factor =
      std::frexp(watch.scale / std::max(sights.scale->lo, 1e-300), &exponent);
  if (sights.scale->lo != sights.scale->hi || factor != 0.5) {
    why = "the run's loss scale was " + text(sights.scale->lo) +
          (sights.scale->lo == sights.scale->hi
               ? std::string()
               : " to " + text(sights.scale->hi)) +
          ", and " + text(watch.scale) + " was judged";
    return std::nullopt;
  }
  return exponent - 1;
}

TestResult GradientTest::flush() const {
  if (!judged)
    return {Verdict::Unable, "'" + watch.dtype + "' is no float format"};
  if (!seen.finite())
    return {Verdict::Unseen, "no gradient was finite"};
  std::string why;
  std::optional<int> shift = findShift(why);
  if (!shift)
    return {Verdict::Unable, why};
  if (stored && stored->flushAt >= judged->flushAt)
    return *shift == 0
               ? flushInTheRun()
               : TestResult{Verdict::Unable,
                            "the run's loss scale was another one, and in " +
                                seen.dtype().str() +
                                " what it lost cannot be told from zeros"};
  if (!seen.hasDistribution())
    return {Verdict::Unable, "the record has no histogram"};
  // Made of 16-bit gradients, it has lost what they lost.
  if (mayHaveFlushed() &&
      double(record.zero) >= watch.threshold * double(seen.finite()))
    return {Verdict::Unable,
            "other gradients of the run were " + sights.coarsest->name.str() +
                ", so that zeros may be what they lost: run it in f32"};
  uint64_t lost = 0;
  if (*shift == 0) {
    lost = seen.flushes(*judged);
  } else {
    int bins = MPOPT_BIN_OF_EXPONENT(std::ilogb(judged->flushAt) - *shift);
    for (int bin = 0; bin < std::clamp(bins, 0, MPOPT_BINS); ++bin)
      lost += record.histogram[bin];
  }
  uint64_t values = seen.nonZero();
  if (values && double(lost) >= watch.threshold * double(values))
    return {Verdict::Yes, "", *shift ? std::nullopt : seen.flushStep(*judged)};
  return {Verdict::No};
}

TestResult GradientTest::flushInTheRun() const {
  double zeros = double(record.zero), kept = double(seen.nonZero());
  // At most all zeros were flushed.
  if (zeros < watch.threshold * (zeros + kept))
    return {Verdict::No};
  std::string unable =
      onlyIn() + ", where what was flushed is a zero like any other";
  if (!hasRun(sights.against) ||
      (!watch.factor.empty() && !hasRun(sights.factor)))
    return {Verdict::Unable, unable + ": run it in f32"};
  double share = shareOfZeros(*sights.against) +
                 (watch.factor.empty() ? 0 : shareOfZeros(*sights.factor));
  double lost = zeros - std::min(share, 1.0) * double(record.count);
  if (lost > 0 && lost >= watch.threshold * (lost + kept))
    return {Verdict::Yes};
  return {Verdict::Unable,
          unable + ", and up to " + text(100 * std::min(share, 1.0)) +
              " % may be 0 because of what it is made of: run it in f32"};
}

TestResult GradientTest::overflow() const {
  if (!judged)
    return {Verdict::Unable, "'" + watch.dtype + "' is no float format"};
  if (seen.infinite()) {
    if (stored && stored->maxFinite < judged->maxFinite)
      return {Verdict::Unseen,
              onlyIn() + ", which overflows before " + watch.dtype + " does"};
    std::string why;
    if (std::optional<int> shift = findShift(why); !shift || *shift < 0)
      return {Verdict::Unable,
              shift ? "the run's loss scale was greater than the one judged"
                    : why};
    return {Verdict::Yes, "", getStep(record.first_inf_step)};
  }
  if (!seen.finite())
    return {Verdict::Unseen, "all gradients were NaN"};
  std::string why;
  std::optional<int> shift = findShift(why);
  if (!shift)
    return {Verdict::Unable, why};
  if (judged->overflows(std::ldexp(record.absmax, *shift)))
    return {Verdict::Yes, "", getStep(record.absmax_step)};
  if (record.nan)
    return {Verdict::Unseen, "NaN may have taken the place of what overflowed"};
  return {Verdict::No};
}

/// The root mean square, if nothing that is 0 was lost, and if all of it was,
/// just below where `coarsest` flushes.
static Interval getSize(const ProbeSight &seen, const FloatFormat *coarsest) {
  double size = seen.rootMeanSquare();
  double lost = coarsest ? coarsest->flushAt : 0;
  double share = double(seen.record.zero) / double(seen.finite());
  return {size, std::sqrt(size * size + share * lost * lost)};
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
  double least = size.lo / base.hi, most = size.hi / base.lo;
  if (most < watch.lo || least > watch.hi)
    return {Verdict::Yes};
  if (least >= watch.lo && most <= watch.hi)
    return {Verdict::No};
  return {Verdict::Unable, "it depends on what was flushed: run it in f32"};
}

TestResult GradientTest::zero() const {
  if (seen.nonZero() || seen.finite() != record.count)
    return {Verdict::No};
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
    return ratio();
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
