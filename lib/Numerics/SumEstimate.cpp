//===- SumEstimate.cpp - What a sum typically loses
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Numerics/SumEstimate.h"

#include <algorithm>
#include <cmath>

using namespace mpopt;

/// The sum of the magnitudes of the partial sums over that of the sum itself,
/// for terms of mean `m` and variance `v`.
static double getGrowth(double n, double m, double v, bool pairwise) {
  auto partial = [&](double k) { return std::sqrt(k * k * m * m + k * v); };
  double whole = partial(n), all = 0;
  if (!(whole > 0))
    return 0;
  if (!pairwise) {
    // The integrals of k |m| and of sqrt(k) s, which bound the root.
    all = std::fabs(m) * n * n / 2 + std::sqrt(v) * std::pow(n, 1.5) * 2 / 3;
    return all / whole;
  }
  double k = 2;
  while (k < 2 * n) {
    all += n / std::min(k, n) * partial(std::min(k, n));
    k *= 2;
  }
  return all / whole;
}

double mpopt::estimateSumError(const FloatFormat &format, double n, double mean,
                               double variance, bool pairwise) {
  return getGrowth(n, mean, variance, pairwise) * format.unitRoundoff();
}
