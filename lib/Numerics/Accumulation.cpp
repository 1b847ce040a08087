//===- Accumulation.cpp - What a sum loses
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpopt/Numerics/Accumulation.h"

#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Numerics/Rounding.h"

using namespace mpopt;

/// The factor of `roundings` roundings, rounded up.
static double relativeError(const Accumulator &accumulator,
                            std::uint64_t roundings) {
  int digits = accumulator.format->digits;
  double count = nextUp(double(roundings));
  if (!accumulator.truncates)
    return mulUp(count, std::ldexp(1.0, -digits));
  double lost = mulUp(count, std::ldexp(1.0, 1 - digits));
  if (lost >= 1)
    return kInfinity;
  return divUp(lost, subDown(1, lost));
}

double mpopt::sumError(const Accumulator &accumulator, std::uint64_t terms,
                       double magnitude) {
  // Additions never underflow: every sum is a multiple of the smallest value.
  return terms < 2 ? 0
                   : mulUp(relativeError(accumulator, terms - 1), magnitude);
}

double mpopt::dotError(const Accumulator &accumulator, std::uint64_t terms,
                       double magnitude) {
  if (terms == 0)
    return 0;
  double factor = relativeError(accumulator, terms);
  // Half the smallest value is lost by each product that underflows (all of it
  // when truncating), and the sum's roundings act on that too.
  double lost = mulUp(nextUp(double(terms)), accumulator.format->minSubnormal);
  return addUp(mulUp(factor, magnitude), mulUp(addUp(1, factor), lost));
}

Interval mpopt::widenSum(const Interval &exact, const Accumulator &accumulator,
                         std::uint64_t terms, double magnitude) {
  return exact.widened(0, sumError(accumulator, terms, magnitude));
}
