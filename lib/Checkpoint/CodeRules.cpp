//===- CodeRules.cpp - What codes tell of their scales --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MP601 to MP603 and MP617, from the file alone.
//
//===----------------------------------------------------------------------===//

#include "Judge.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace mpopt;
using namespace mpopt::checkpoints;

void Judge::judgeCodes(const std::string &name, const Module &module,
                       const CodeUse &use, const WeightScales *scales) {
  Reading &reading = readings[name];
  double squares = 0, finite = 0;
  use.forEach(*reading.format, [&](double value, uint64_t count) {
    if (std::isfinite(value)) {
      squares += double(count) * value * value;
      finite += double(count);
    }
  });
  reading.codes = std::sqrt(squares / std::max(finite, 1.0));
  if (scales) {
    double sum = 0;
    for (int64_t unit = 0; unit < scales->count; ++unit)
      sum += scales->at(unit) * scales->at(unit);
    reading.scales = std::sqrt(sum / double(scales->count));
  }
  if (reading.grid->units() == 1 && !reading.format->isPacked) {
    reading.byRank.assign(256, 0);
    for (unsigned byte = 0; byte < 256; ++byte)
      reading.byRank[reading.format->rank[byte]] += float(use.count[byte]);
  }
  judgeEnds(name, module, use);
  judgeWaste(name, module, use);
  if (scales && scales->count == reading.grid->units()) {
    judgeZeroScales(name, module, use, *scales);
    judgeRoundedScales(name, module, use, *scales);
  }
}

void Judge::judgeZeroScales(const std::string &name, const Module &module,
                            const CodeUse &use, const WeightScales &scales) {
  int64_t lost = 0, first = -1;
  for (int64_t unit = 0; unit < scales.count; ++unit)
    if (scales.at(unit) == 0 && use.largest[unit]) {
      first = first < 0 ? unit : first;
      ++lost;
    }
  if (!lost)
    return;
  std::string which = scales.count == 1 ? "the scale is 0"
                                        : "the scale at index " +
                                              std::to_string(first) + " is 0";
  report("bad-scale", name, *module.of(ScaleRole::Weight).tensor,
         which + " for codes that are not: nothing is left of them" +
             (lost > 1 ? ", nor of " + std::to_string(lost - 1) +
                             " more groups of " + std::to_string(scales.count)
                       : ""));
}

/// NaN among the codes, and far more last codes than ones next to them.
void Judge::judgeEnds(const std::string &name, const Module &module,
                      const CodeUse &use) {
  const CodeFormat &format = *readings[name].format;
  uint64_t lost = 0, last = 0, next = 0;
  double top = format.magnitude[format.top];
  double before = 0;
  for (double magnitude : format.magnitude)
    if (magnitude < top)
      before = std::max(before, magnitude);
  use.forEach(format, [&](double value, uint64_t count) {
    lost += std::isfinite(value) ? 0 : count;
    last += std::fabs(value) == top ? count : 0;
    next += std::fabs(value) == before ? count : 0;
  });
  uint64_t all = use.elements(format);
  if (lost) {
    Finding *finding = report(
        "saturation", name, *module.codes,
        std::to_string(lost) + " of " + std::to_string(all) +
            " codes are NaN or Inf: they were cast without a clamp, or divided "
            "by a scale of 0");
    finding->severity = Severity::Error;
    return;
  }
  // A bell's tail falls: what rounds to the last code is at most as much as
  // what rounds to the one before it, and each group may have its largest
  // there. Of normal numbers twice that is reached by a scale that clips at 2.1
  // deviations.
  uint64_t expected = 2 * (next + uint64_t(readings[name].grid->units()));
  double share = double(last) / double(all);
  // Three deviations of a count.
  double chance = 3 * std::sqrt(double(last));
  if (double(last) > double(expected) + chance &&
      share > request.threshold("clipped-share") && !format.isPacked)
    report("saturation", name, *module.codes,
           percent(share) + " of the codes are the last one, " + text(top) +
               ", and " + percent(double(next) / double(all)) +
               " the one before it: the weight was clipped, its scale is too "
               "small");
}

/// Codes that lie among the small ones, where steps no longer shrink with them.
void Judge::judgeWaste(const std::string &name, const Module &module,
                       const CodeUse &use) {
  const CodeFormat &format = *readings[name].format;
  double largest = 0, noise = 0, least = 0;
  // Steps as they are, and as they would be with the largest code at the end.
  use.forEach(format, [&](double value, uint64_t) {
    if (std::isfinite(value))
      largest = std::max(largest, std::fabs(value));
  });
  double top = format.magnitude[format.top];
  if (largest == 0 || largest >= top * request.threshold("used-codes"))
    return;
  double factor = top / largest;
  use.forEach(format, [&](double value, uint64_t count) {
    if (!std::isfinite(value))
      return;
    double step = format.step(value),
           ideal = format.step(value * factor) / factor;
    noise += double(count) * step * step;
    least += double(count) * ideal * ideal;
  });
  double lost = std::log2(noise / least) / 2;
  // A float format loses nothing until codes are subnormal: half a bit tells a
  // loss from the change of steps within a binade.
  if (lost < 0.5)
    return;
  report("wasted-codes", name, *module.codes,
         "its largest code is " + text(largest) + " of " + text(top) + ": " +
             text(std::round(lost * 10) / 10) +
             " bits are lost, since the scale is " + text(factor) +
             " times too large");
}

/// Scales that are powers of two under codes that were made with others: where
/// a scale is rounded up before the division, the largest code of a group lies
/// anywhere in the last binade, and in its last code with the probability
/// log2(448 / 432) = 5 % (E4M3).
void Judge::judgeRoundedScales(const std::string &name, const Module &module,
                               const CodeUse &use, const WeightScales &scales) {
  const CodeFormat &format = *readings[name].format;
  // The last code of 4 bits is as likely as not.
  if (format.isPacked)
    return;
  int64_t groups = 0, full = 0;
  for (int64_t unit = 0; unit < scales.count; ++unit) {
    double scale = scales.numbers.at(scales.bytes.data(), unit);
    int exponent;
    if (!use.largest[unit])
      continue;
    if (!std::isfinite(scale) || std::frexp(scale, &exponent) != 0.5)
      return;
    ++groups;
    full += use.largest[unit] >= format.top;
  }
  // By chance in fewer than one in 10,000 weights: 0.052^4.
  constexpr int64_t kLeast = 4;
  if (groups < kLeast || full < groups)
    return;
  Finding *finding = report(
      "scale-mismatch", name, *module.of(ScaleRole::Weight).tensor,
      "all " + std::to_string(groups) +
          " scales are powers of two, and the largest code of every group is "
          "the last one, " +
          text(format.magnitude[format.top]) +
          ": scales were rounded after the division by them, so that groups "
          "come back up to twice as large or small");
  finding->certainty = Certainty::Likely;
}
