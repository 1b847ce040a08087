//===- Gamma.cpp - Positive numbers
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Gamma.h"

#include "mpopt/Numerics/Likely.h"

#include <algorithm>
#include <cmath>

using namespace mpopt;

/// ln P(X < x) of a gamma distribution of that shape and scale 1, by the series
/// of the incomplete gamma function.
static double logGammaShare(double shape, double x) {
  double term = 1, sum = 1;
  for (int i = 1; i < 1000 && term > 1e-6 * sum; ++i) {
    term *= x / (shape + i);
    sum += term;
  }
  return shape * std::log(x) - x - std::lgamma(shape + 1) + std::log(sum);
}

/// Distributions of that shape are near enough to normal ones.
static constexpr double kNearNormal = 1000;

double mpopt::gammaQuantile(double shape, double wanted) {
  // P(X < x) is at most x^shape / Gamma(shape + 1), and 1 far above the mean.
  double lo = (wanted + std::lgamma(shape + 1)) / shape,
         hi = std::max(lo, std::log(shape + 8 * std::sqrt(shape) + 32));
  for (int step = 0; step < 60 && hi - lo > 1e-4; ++step) {
    double middle = (lo + hi) / 2;
    (logGammaShare(shape, std::exp(middle)) < wanted ? lo : hi) = middle;
  }
  return std::exp(lo);
}

double mpopt::expectedLeast(double mean, double variance, double k) {
  if (!(mean > 0) || !(variance > 0))
    return mean;
  double shape = mean * mean / variance;
  if (shape > kNearNormal)
    return std::max(0.0, mean - k * std::sqrt(variance));
  return std::min(mean, gammaQuantile(shape, -k * k / 2) * variance / mean);
}
