//===- Normal.h - The standard normal distribution --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_NUMERICS_NORMAL_H
#define MPOPT_NUMERICS_NORMAL_H

#include <cmath>
#include <numbers>

namespace mpopt {

/// phi(z); 0 at either infinity.
inline double normalDensity(double z) {
  return std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi);
}

/// Phi(z), the probability of a number below z.
inline double normalShareBelow(double z) {
  return std::erfc(-z / std::numbers::sqrt2) / 2;
}

/// The z with that probability of a number below it, by bisection.
inline double normalQuantile(double probability) {
  double lo = -9, hi = 9; // all but 1e-19 of the numbers lie between
  for (int step = 0; step < 60; ++step) {
    double mid = (lo + hi) / 2;
    (normalShareBelow(mid) < probability ? lo : hi) = mid;
  }
  return lo;
}

} // namespace mpopt

#endif // MPOPT_NUMERICS_NORMAL_H
