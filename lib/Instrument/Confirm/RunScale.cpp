//===- RunScale.cpp - The loss scales of a recorded run -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "RunScale.h"

#include "mpopt/Report/Keys.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cmath>

using namespace mpopt;
using namespace mpopt::confirming;

/// Numbers of the record in bins of exponents from `first` to `last`.
static uint64_t countBins(const mpopt_record &record, int first, int last) {
  uint64_t count = 0;
  for (int exponent = first; exponent <= last; ++exponent)
    count += record.histogram[MPOPT_BIN_OF_EXPONENT(exponent)];
  return count;
}

// Exponents of the first and the last bin of a record's histogram.
static constexpr int kLeastExponent = -MPOPT_BIN_OF_EXPONENT(0);
static constexpr int kMostExponent = kLeastExponent + MPOPT_BINS - 1;

static int getExponent(double scale) {
  return std::clamp(std::ilogb(scale), kLeastExponent, kMostExponent);
}

double RunScale::shareAbove(double scale) const {
  if (range.hi <= scale)
    return 0;
  if (range.lo > scale || !record)
    return 1;
  // All numbers of one exponent may be the greater ones, unless all are
  // powers of two, as those between two of them are by any usual factor.
  auto isPower = [](double number) {
    return number == std::ldexp(1.0, getExponent(number));
  };
  bool apart = isPower(range.lo) && isPower(range.hi) && isPower(scale);
  return double(countBins(*record, getExponent(scale) + (apart ? 1 : 0),
                          kMostExponent)) /
         double(record->count);
}

double RunScale::shareBelow(double scale) const {
  if (range.lo >= scale)
    return 0;
  if (range.hi < scale || !record)
    return 1;
  // A power of two is the least number of its exponent.
  bool apart = scale == std::ldexp(1.0, getExponent(scale));
  return double(countBins(*record, kLeastExponent,
                          getExponent(scale) - (apart ? 1 : 0))) /
         double(record->count);
}

std::string RunScale::str() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << llvm::format("%.6g", range.lo);
  if (!isConstant())
    os << " to " << llvm::format("%.6g", range.hi);
  return text;
}

static std::optional<RunScale> makeScale(const mpopt_record &record) {
  if (!record.calls || !record.count || record.nan || record.pos_inf ||
      record.neg_inf || !(record.min > 0) ||
      (record.flags & MPOPT_NO_DISTRIBUTION))
    return std::nullopt;
  return RunScale{{record.min, record.max}, &record};
}

std::optional<RunScale> confirming::findRunScale(const ProbePlan &plan,
                                                 const RunRecords &runs) {
  for (const Probe &probe : plan.probes) {
    const mpopt_record &record = runs.gradients[probe.id].record;
    // One number for each step, not one for each of several elements.
    if (probe.isLoss && record.count == record.calls)
      if (std::optional<RunScale> scale = makeScale(record))
        return scale;
  }
  for (const Probe &probe : plan.probes) {
    if (probe.role != ProbeRole::Scalar ||
        probe.tensor.name != keys::kLossScale)
      continue;
    auto found = runs.others.find({MPOPT_SCALAR, probe.id});
    if (found != runs.others.end())
      return makeScale(found->second.record);
  }
  return std::nullopt;
}
