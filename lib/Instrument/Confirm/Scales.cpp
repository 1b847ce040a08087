//===- Scales.cpp - The power of two that fits a format best --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The best scale overflows nowhere, and of those that do not flushes the fewest
// values, then makes the fewest subnormal, then is the nearest to 1. A power of
// two shifts the histogram by bins, so one pass over the record answers for all
// of them. At a scale of 1 the record's own counts are exact. At others the bin
// of the flush threshold holds values of [2^k, 2^(k+1)) of which exactly 2^k
// rounds to zero; those count as kept.
//
//===----------------------------------------------------------------------===//

#include "Scales.h"

#include <array>
#include <cmath>
#include <tuple>

using namespace mpopt;
using namespace mpopt::confirming;

namespace {
class Shift {
public:
  Shift(const ProbeSight &seen, const FloatFormat &format)
      : seen(seen), record(seen.record), format(format) {
    below[0] = 0;
    for (unsigned bin = 0; bin < MPOPT_BINS; ++bin)
      below[bin + 1] = below[bin] + record.histogram[bin];
  }

  BestScale find() const;

private:
  /// Values of a magnitude below 2^exponent.
  uint64_t countBelow(int exponent) const {
    int bin = MPOPT_BIN_OF_EXPONENT(exponent);
    return below[std::min(std::max(bin, 0), MPOPT_BINS)];
  }
  uint64_t flushed(int shift) const {
    if (shift == 0)
      return seen.flushes(format);
    return countBelow(std::ilogb(format.flushAt) - shift);
  }
  uint64_t subnormal(int shift) const {
    if (shift == 0)
      return seen.subnormals(format);
    return countBelow(std::ilogb(format.minNormal) - shift) - flushed(shift);
  }

  const ProbeSight &seen;
  const mpopt_record &record;
  const FloatFormat &format;
  std::array<uint64_t, MPOPT_BINS + 1> below;
};
} // namespace

BestScale Shift::find() const {
  // The largest shift that leaves the largest value finite, and the smallest
  // that is worth a thought: it brings the smallest value to 1.
  int most = std::ilogb(format.maxFinite) - std::ilogb(record.absmax);
  if (format.overflows(std::ldexp(record.absmax, most)))
    --most;
  BestScale best;
  best.exponent = std::min(most, 0);
  auto cost = [&](int shift) {
    return std::tuple(flushed(shift), subnormal(shift), std::abs(shift));
  };
  for (int shift = most; shift > 0; --shift)
    if (cost(shift) < cost(best.exponent))
      best.exponent = shift;
  best.flushBefore = flushed(0);
  best.subnormalBefore = subnormal(0);
  best.flushAfter = flushed(best.exponent);
  best.subnormalAfter = subnormal(best.exponent);
  return best;
}

std::optional<TensorScales> confirming::findScales(int64_t probe,
                                                   const ProbeSight &seen) {
  if (!seen.stored() || !seen.hasDistribution() || !seen.finite() ||
      !seen.nonZero() || !(seen.record.absmax > 0) ||
      !std::isfinite(seen.record.absmax))
    return std::nullopt;
  auto best = [&](const char *name) {
    const FloatFormat &format = *FloatFormat::byName(name);
    BestScale scale = Shift(seen, format).find();
    scale.overflowBefore = seen.overflows(format);
    return scale;
  };
  return TensorScales{probe, best("f16"), best("f8E4M3FN"), best("f8E5M2")};
}
