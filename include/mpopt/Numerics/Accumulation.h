//===- Accumulation.h - What a sum loses ------------------------*- C++ -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For every order of the additions, blocked and tree sums included. The classic
// factor gamma_n = n u / (1 - n u) (Higham, "Accuracy and Stability of
// Numerical Algorithms", section 4.2) says nothing from n u = 1 on, which FP16
// reaches at 2048 terms; for round to nearest n u itself holds without a limit
// on n (Jeannerod and Rump, "Improved error bounds for inner products in
// floating-point arithmetic", SIMAX 34, 2013).
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_NUMERICS_ACCUMULATION_H
#define MPOPT_NUMERICS_ACCUMULATION_H

#include "mpopt/Numerics/FloatFormat.h"
#include "mpopt/Numerics/Interval.h"

#include <cstdint>

namespace mpopt {

/// How an accumulator rounds.
struct Accumulator {
  const FloatFormat *format;
  /// Truncating tensor cores lose up to a whole unit instead of half of one;
  /// for them the bound is gamma_n at twice the unit.
  bool truncates = false;
};

/// At most |computed - exact| of a sum of `terms` numbers whose magnitudes add
/// up to `magnitude` at most. Infinite if no bound is known.
double sumError(const Accumulator &accumulator, std::uint64_t terms,
                double magnitude);

/// The same for a dot product, `magnitude` bounding the sum of |x_i y_i|: each
/// product is rounded too, and may underflow. An exact product (a fused
/// multiply-add, or operands half as wide as the accumulator) loses less.
double dotError(const Accumulator &accumulator, std::uint64_t terms,
                double magnitude);

/// `exact` holds the real sum; the result holds the computed one.
Interval widenSum(const Interval &exact, const Accumulator &accumulator,
                  std::uint64_t terms, double magnitude);

} // namespace mpopt

#endif // MPOPT_NUMERICS_ACCUMULATION_H
