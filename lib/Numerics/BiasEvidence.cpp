//===- BiasEvidence.cpp - Biases that tell how large sums are
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Numerics/BiasEvidence.h"

#include <algorithm>
#include <cassert>
#include <cmath>

using namespace mpopt;

/// The bias is mostly there to cancel the mean, or it is not evidence.
static constexpr double kLeastCorrelation = 0.5;
/// The sum of products of unrelated pairs has the variance sum_n (a_n b_n)^2,
/// of which one channel that is far larger than others has the most: so many
/// deviations come by chance once in ten thousand layers.
static constexpr double kLeastDeviations = 3.7;

/// Estimates that are off by less are not moved. What a rectifier makes of
/// numbers that are expected too large has a mean that is off by more than the
/// deviation: a SiLU of normal numbers has a mean of 0.37 deviations where
/// these have the variance 1, as a normalisation leaves them, and up to 0.68
/// where they are larger.
static constexpr double kTolerance = 2;

double mpopt::scaleByBias(llvm::ArrayRef<double> means,
                          llvm::ArrayRef<double> biases) {
  assert(means.size() == biases.size() && "a bias for each channel");
  double products = 0, variance = 0, squares = 0, biasSquares = 0;
  for (size_t n = 0; n < means.size(); ++n) {
    double product = -means[n] * biases[n];
    products += product;
    variance += product * product;
    squares += means[n] * means[n];
    biasSquares += biases[n] * biases[n];
  }
  double correlation = products / std::sqrt(squares * biasSquares);
  if (!(correlation >= kLeastCorrelation) ||
      !(products >= kLeastDeviations * std::sqrt(variance)))
    return 1;
  double ratio = std::sqrt(biasSquares / squares);
  return std::clamp(1.0, ratio * correlation / kTolerance,
                    ratio / correlation * kTolerance);
}
