//===- Tests.cpp - What decides a finding, on what was seen ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tensor has two formats: the one in which it was judged and the one in which
// the run stored it. Where the run's is the wider one, what the judged one
// would make of the values is counted. Where they are the same, Inf and NaN
// themselves tell; a value that was flushed is a zero among others, so that a
// share of flushed values is bounded by that of the zeros and not known.
//
//===----------------------------------------------------------------------===//

#include "Tests.h"

#include "SeenText.h"

#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Numerics/SumEstimate.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <cmath>

using namespace mpopt;
using namespace mpopt::confirming;

namespace {
class Test {
public:
  Test(const Watch &watch, const ProbeSight &seen, const ProbeSight *against,
       bool given)
      : watch(watch), seen(seen), record(seen.record), against(against),
        given(given), judged(FloatFormat::byName(watch.dtype)),
        stored(seen.stored()) {}

  TestResult run() const;

private:
  TestResult overflow() const;
  TestResult flushShare() const;
  TestResult lossOfRange() const;
  TestResult zero() const;
  TestResult domain() const;
  TestResult nearOverflow() const;
  TestResult nonFinite() const;
  TestResult cancellation() const;
  TestResult absorption() const;
  TestResult integerLimit() const;
  TestResult channelRatio() const;
  TestResult largeAngle() const;
  TestResult sumError() const;
  TestResult dead() const;

  /// The run rounded values to zero itself, that the judged format would.
  bool wasFlushed() const {
    return judged && stored && stored->flushAt >= judged->flushAt;
  }
  /// How many values are past the ends of the domain, as far as the histogram
  /// tells; empty where it tells nothing.
  std::string describePast() const;
  double round(double value) const {
    return judged ? judged->round(value) : value;
  }
  std::string onlyIn() const {
    return "the run computed in " + seen.dtype().str();
  }

  const Watch &watch;
  const ProbeSight &seen;
  const mpopt_record &record;
  const ProbeSight *against;
  bool given;
  const FloatFormat *judged, *stored;
};
} // namespace

static std::optional<uint64_t> getStep(uint64_t step) {
  return step == MPOPT_NEVER ? std::nullopt : std::optional(step);
}

static TestResult yesIf(bool passed, std::optional<uint64_t> step = {}) {
  if (passed)
    return {Verdict::Yes, "", step};
  return {Verdict::No};
}

TestResult Test::overflow() const {
  if (!judged)
    return {Verdict::Unable, "'" + watch.dtype + "' is no float format"};
  if (seen.overflows(*judged))
    return {Verdict::Yes, "", seen.overflowStep(*judged)};
  if (seen.infinite() && !given) {
    if (stored && stored->maxFinite < judged->maxFinite)
      return {Verdict::Unseen,
              onlyIn() + ", which overflows before " + watch.dtype + " does"};
    return {Verdict::Yes, "", getStep(record.first_inf_step)};
  }
  if (!seen.finite() && record.nan)
    return {Verdict::Unseen, "all values were NaN"};
  return {Verdict::No};
}

TestResult Test::flushShare() const {
  if (!judged)
    return {Verdict::Unable, "'" + watch.dtype + "' is no float format"};
  if (!seen.finite())
    return {Verdict::Unseen, "no value was finite"};
  if (wasFlushed()) {
    // At most all zeros were flushed.
    if (double(record.zero) < watch.threshold * double(seen.finite()))
      return {Verdict::No};
    return {Verdict::Unable, onlyIn() + ", where a value that was flushed is "
                                        "a zero like any other: run it in f32"};
  }
  uint64_t values = seen.nonZero();
  return yesIf(values && double(seen.flushes(*judged)) >=
                             watch.threshold * double(values),
               seen.flushStep(*judged));
}

TestResult Test::lossOfRange() const {
  TestResult over = overflow();
  if (over.verdict != Verdict::No)
    return over;
  if (seen.flushes(*judged))
    return {Verdict::Yes, "", seen.flushStep(*judged)};
  if (wasFlushed() && record.zero)
    return {Verdict::Unable, onlyIn() + ", where a value that was flushed is "
                                        "a zero like any other: run it in f32"};
  return {Verdict::No};
}

TestResult Test::zero() const {
  if (!seen.finite())
    return {Verdict::Unseen, "no value was finite"};
  if (record.zero)
    return {Verdict::Yes};
  if (judged && seen.flushes(*judged))
    return {Verdict::Yes, "", seen.flushStep(*judged)};
  return {Verdict::No};
}

std::string Test::describePast() const {
  if (!stored || !seen.hasDistribution() || !std::isfinite(watch.hi) ||
      watch.open)
    return "";
  // The ends that there are values on the side of: a histogram is of
  // magnitudes.
  double least = kInfinity, most = 0;
  for (auto [occurs, end] : {std::pair(record.max > 0, watch.hi),
                             std::pair(record.min < 0, -watch.lo)})
    if (occurs) {
      least = std::min(least, std::max(end, 0.0));
      most = std::max(most, end);
    }
  // Bin 0 begins at 0, the others at 2^(bin - 151).
  uint64_t some = 0, all = 0;
  for (int bin = 0; bin < MPOPT_BINS; ++bin) {
    int exponent = bin - MPOPT_BIN_OF_EXPONENT(0);
    all += std::ldexp(1.0, exponent + 1) > least ? record.histogram[bin] : 0;
    some +=
        bin > 0 && std::ldexp(1.0, exponent) > most ? record.histogram[bin] : 0;
  }
  auto percent = [&](uint64_t count) {
    return num(100 * double(count) / double(seen.finite()));
  };
  some = std::max<uint64_t>(some, 1);
  return (some == all ? percent(all)
                      : "between " + percent(some) + " and " + percent(all)) +
         " % of its values were past the ends";
}

TestResult Test::domain() const {
  auto isOutside = [&](double lo, double hi) {
    if (watch.open && lo <= watch.lo && std::isfinite(watch.lo))
      return true;
    if (watch.open && hi >= watch.hi && std::isfinite(watch.hi))
      return true;
    return lo < watch.lo || hi > watch.hi;
  };
  if (seen.finite() && isOutside(round(record.min), round(record.max)))
    return {Verdict::Yes, describePast()};
  // Infinities are arguments, too, whoever made them.
  double lo = record.neg_inf ? -kInfinity : kInfinity,
         hi = record.pos_inf ? kInfinity : -kInfinity;
  if (seen.infinite() && isOutside(lo, hi))
    return {Verdict::Yes, "", getStep(record.first_inf_step)};
  if (!seen.finite() && !seen.infinite())
    return {Verdict::Unseen, "no value was a number"};
  return {Verdict::No};
}

TestResult Test::nearOverflow() const {
  if (record.absmax >= watch.threshold && seen.finite())
    return {Verdict::Yes, "", getStep(record.absmax_step)};
  TestResult over = overflow();
  // An overflow is past the margin, too.
  return over;
}

TestResult Test::nonFinite() const {
  if (record.nan)
    return {Verdict::Yes, "", getStep(record.first_nan_step)};
  if (!against)
    return yesIf(seen.infinite() && !given, getStep(record.first_inf_step));
  // The rows of a softmax whose scores the judged format makes -Inf.
  if (!judged || !against->stored() ||
      against->stored()->maxFinite <= judged->maxFinite)
    return {Verdict::No};
  if (!against->overflows(*judged))
    return {Verdict::No};
  if (judged->overflows(against->record.max))
    return {Verdict::Yes};
  return {Verdict::Unseen, onlyIn() +
                               ", where masked scores are finite: no "
                               "row of them shows the result in " +
                               watch.dtype};
}

/// Nothing if the sums of both are there.
static std::optional<TestResult> missSums(const ProbeSight &seen,
                                          const ProbeSight *against = nullptr) {
  if (seen.hasDistribution() && (!against || against->hasDistribution()))
    return std::nullopt;
  return TestResult{Verdict::Unable,
                    "probes that are outputs keep no sums: write the model "
                    "with --probe-with op"};
}

/// Half an ulp of what is typical for a tensor, as a share of it.
static double getHalfUlp(const FloatFormat &format) {
  return format.unitRoundoff();
}

TestResult Test::cancellation() const {
  if (!judged)
    return {Verdict::Unable, "'" + watch.dtype + "' is no float format"};
  if (!against)
    return {Verdict::Unable, "there is no probe on the operand"};
  if (!seen.finite() || !against->finite())
    return {Verdict::Unseen, "no value was finite"};
  if (auto missing = missSums(seen, against))
    return *missing;
  double size = seen.rootMeanSquare();
  return yesIf(getHalfUlp(*judged) * against->rootMeanSquare() >=
               watch.threshold * size);
}

TestResult Test::absorption() const {
  if (!judged)
    return {Verdict::Unable, "'" + watch.dtype + "' is no float format"};
  if (!against)
    return {Verdict::Unable, "there is no probe on the large addend"};
  if (!seen.finite() || !against->finite())
    return {Verdict::Unseen, "no value was finite"};
  if (auto missing = missSums(*against))
    return *missing;
  return yesIf(record.absmax > 0 &&
               record.absmax < getHalfUlp(*judged) * against->rootMeanSquare());
}

TestResult Test::integerLimit() const {
  if (!judged)
    return {Verdict::Unable, "'" + watch.dtype + "' is no float format"};
  if (!seen.finite())
    return {Verdict::Unseen, "no value was finite"};
  return yesIf(record.absmax > std::ldexp(1.0, int(judged->digits)),
               getStep(record.absmax_step));
}

TestResult Test::channelRatio() const {
  std::vector<double> sizes;
  for (const mpopt_channel_range &channel : seen.channels)
    if (channel.min < 0 || (channel.min <= channel.max && channel.max > 0))
      sizes.push_back(std::max(std::fabs(channel.min), std::fabs(channel.max)));
  if (seen.channels.empty())
    return {Verdict::Unable, "the probe kept no ranges by channel"};
  // One scale serves channels that are 0 throughout.
  if (sizes.empty())
    return {Verdict::No};
  double largest = *llvm::max_element(sizes);
  auto small = llvm::count_if(
      sizes, [&](double size) { return size * watch.threshold <= largest; });
  return yesIf(largest > 0 && size_t(small) * 4 >= sizes.size());
}

TestResult Test::largeAngle() const {
  if (!judged)
    return {Verdict::Unable, "'" + watch.dtype + "' is no float format"};
  if (!seen.finite())
    return {Verdict::Unseen, "no value was finite"};
  if (record.absmax == 0)
    return {Verdict::No};
  double ulp = judged->ulp(record.absmax);
  return yesIf(ulp > watch.threshold, getStep(record.absmax_step));
}

TestResult Test::sumError() const {
  if (!judged)
    return {Verdict::Unable, "'" + watch.dtype + "' is no float format"};
  if (!seen.finite())
    return {Verdict::Unseen, "no value was finite"};
  if (!watch.oneSign)
    if (auto missing = missSums(seen))
      return *missing;
  double mean = mpopt_record_mean(&record);
  double spread = mpopt_record_stddev(&record);
  // Partial sums that only grow: as of terms that are all the same.
  if (watch.oneSign) {
    mean = record.absmax;
    spread = 0;
  }
  return yesIf(estimateSumError(*judged, double(watch.terms), mean,
                                spread * spread,
                                watch.pairwise) >= watch.threshold);
}

TestResult Test::dead() const {
  if (!seen.finite())
    return {Verdict::Unseen, "no value was finite"};
  return yesIf(seen.finite() == record.count &&
               record.absmax < watch.threshold);
}

TestResult Test::run() const {
  if (record.flags & MPOPT_COUNT_ONLY)
    return {Verdict::Unable, "its elements are no numbers"};
  if (!seen.ran())
    return {Verdict::Unseen,
            record.skipped ? "none of its calls was recorded" : "it never ran"};
  if (!record.count)
    return {Verdict::Unseen, "it was empty whenever it ran"};
  switch (watch.test) {
  case Decision::Overflow:
    return overflow();
  case Decision::FlushShare:
    return flushShare();
  case Decision::LossOfRange:
    return lossOfRange();
  case Decision::Zero:
    return zero();
  case Decision::Domain:
    return domain();
  case Decision::NearOverflow:
    return nearOverflow();
  case Decision::NonFinite:
    return nonFinite();
  case Decision::Nan:
    return yesIf(record.nan, getStep(record.first_nan_step));
  case Decision::Cancellation:
    return cancellation();
  case Decision::Absorption:
    return absorption();
  case Decision::IntegerLimit:
    return integerLimit();
  case Decision::ChannelRatio:
    return channelRatio();
  case Decision::LargeAngle:
    return largeAngle();
  case Decision::SumError:
    return sumError();
  case Decision::Dead:
    return dead();
  // A verdict on gradients needs several probes: GradientTests.cpp.
  case Decision::GradientFlush:
  case Decision::GradientOverflow:
  case Decision::GradientRatio:
  case Decision::GradientZero:
  case Decision::GradientNonFinite:
  case Decision::None:
  case Decision::FileFact:
    break;
  }
  return {Verdict::Unable, "no run decides it"};
}

TestResult confirming::runTest(const Watch &watch, const ProbeSight &seen,
                               const ProbeSight *against, bool given) {
  return Test(watch, seen, against, given).run();
}
