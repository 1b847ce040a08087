//===- Gamma.cpp - Positive numbers
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Gamma.h"

#include "mpopt/Numerics/Likely.h"

#include <algorithm>
#include <cmath>

using namespace mpopt;

/// ln P(X < x) of a gamma distribution of that shape and scale 1, by the series
/// of the incomplete gamma function; `density` is ln of its first term.
static double logGammaShare(double shape, double x, double density) {
  double term = 1, sum = 1;
  for (int i = 1; i < 1000 && term > 1e-6 * sum; ++i) {
    term *= x / (shape + i);
    sum += term;
  }
  return density + std::log(sum);
}

/// Distributions of that shape are near enough to normal ones.
static constexpr double kNearNormal = 1000;

double mpopt::gammaQuantile(double shape, double wanted) {
  // ln P is concave over ln x, as the distribution function of each density
  // that is log-concave: tangents from below the quantile do not pass it.
  // P(X < x) is at most x^shape / Gamma(shape + 1), and 1 far above the mean.
  double logGamma = std::lgamma(shape + 1), at = (wanted + logGamma) / shape,
         most = std::max(at, std::log(shape + 8 * std::sqrt(shape) + 32));
  for (int step = 0; step < 60; ++step) {
    double x = std::exp(at), density = shape * at - x - logGamma;
    double share = logGammaShare(shape, x, density);
    double further = (wanted - share) / (shape * std::exp(density - share));
    if (!(further > 1e-4) || at >= most)
      break;
    at = std::min(at + further, most);
  }
  return std::exp(at);
}

double mpopt::gammaQuantileAt(double shape, double z) {
  // The cube root of a gamma variable is nearly normal (E. B. Wilson and M. M.
  // Hilferty, The distribution of chi-square, PNAS 17, 1931).
  constexpr double kNearCube = 16;
  if (shape >= kNearCube) {
    double root =
        std::max(0.0, 1 - 1 / (9 * shape) + z / (3 * std::sqrt(shape)));
    return shape * root * root * root;
  }
  return gammaQuantile(shape, std::log(std::erfc(-z * M_SQRT1_2) / 2));
}

double mpopt::expectedLeast(double mean, double variance, double k) {
  if (!(mean > 0) || !(variance > 0))
    return mean;
  double shape = mean * mean / variance;
  if (shape > kNearNormal)
    return std::max(0.0, mean - k * std::sqrt(variance));
  return std::min(mean, gammaQuantile(shape, -k * k / 2) * variance / mean);
}

double mpopt::leastOfPositive(double mean, double variance, double draws) {
  double shape = mean * mean / variance;
  double count = std::max(draws, 2.0);
  double root =
      1 - 1 / (9 * shape) - expectedExtreme(count) / (3 * std::sqrt(shape));
  if (root > 0.5)
    return mean * root * root * root;
  double least = mean / shape *
                 std::exp((std::lgamma(shape + 1) - std::log(count)) / shape);
  return std::min(least, mean);
}
