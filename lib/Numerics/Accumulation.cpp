//===- Accumulation.cpp - The error of a sum
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Numerics/Accumulation.h"
#include "mpopt/Numerics/SumEstimate.h"

#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Numerics/Rounding.h"

using namespace mpopt;

static bool truncates(const Accumulator &accumulator) {
  return accumulator.truncates || cutsOff(*accumulator.format);
}

/// The factor of so many roundings, rounded up.
static double relativeError(const Accumulator &accumulator, double roundings) {
  const FloatFormat &format = *accumulator.format;
  if (!truncates(accumulator))
    return mulUp(roundings, format.unitRoundoff());
  // A few products and the sum before them are aligned to the largest of these,
  // and lose what lies below its last digit (Xie et al., "MMA-Sim", arXiv
  // 2511.10909). As a sum that is cut off towards zero is at most that of the
  // magnitudes, each cut is less than a unit of it: one of each product, and
  // two of each group, of 16 products at least.
  return mulUp(addUp(mulUp(roundings, 1 + 2.0 / 16), 2), format.epsilon());
}

static double knownCount(double terms) {
  return std::isinf(terms) ? kUnknownCount : terms;
}

double mpopt::sumError(const Accumulator &accumulator, double terms,
                       double magnitude) {
  if (terms < 2 || magnitude == 0)
    return 0;
  if (!std::isfinite(magnitude))
    return kInfinity;
  // Additions never underflow: every sum is a multiple of the smallest value.
  // The number of additions may have been rounded to a double.
  double additions = nextUp(knownCount(terms) - 1);
  return mulUp(relativeError(accumulator, additions), magnitude);
}

DotError::DotError(const Accumulator &accumulator, double terms) {
  if (terms == 0)
    return;
  terms = knownCount(terms);
  factor = relativeError(accumulator, terms);
  // A product that underflows loses half of the smallest value (all of it when
  // truncating), and the sum's roundings act on that too.
  double smallest = accumulator.format->minSubnormal;
  double lost = mulUp(terms, truncates(accumulator) ? smallest : smallest / 2);
  if (lost == 0) // Half of the smallest double is none.
    lost = smallest;
  absolute = mulUp(lost, addUp(1, factor));
}

double DotError::of(double magnitude) const {
  if (absolute == 0 || magnitude == 0)
    return 0;
  if (!std::isfinite(magnitude))
    return kInfinity;
  return addUp(mulUp(factor, magnitude), absolute);
}

double mpopt::dotError(const Accumulator &accumulator, double terms,
                       double magnitude) {
  return DotError(accumulator, terms).of(magnitude);
}

Interval mpopt::widenSum(const Interval &exact, const Accumulator &accumulator,
                         double terms, double magnitude) {
  return exact.widened(0, sumError(accumulator, terms, magnitude));
}
