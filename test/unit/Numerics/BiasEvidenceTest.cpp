//===- BiasEvidenceTest.cpp - Biases that tell how large sums are
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Numerics/BiasEvidence.h"

#include "gtest/gtest.h"

#include <random>
#include <vector>

using namespace mpopt;

namespace {

/// Means of channels, and the biases beta - mean that a folded normalisation
/// leaves, as the means are expected `off` times too large.
struct Folded {
  std::vector<double> means, biases;

  Folded(double off, double betas, size_t channels = 256) {
    std::mt19937_64 generator(3);
    std::normal_distribution<double> normal;
    for (size_t channel = 0; channel < channels; ++channel) {
      double mean = normal(generator);
      means.push_back(off * mean);
      biases.push_back(betas * normal(generator) - mean);
    }
  }
  double scale() const { return scaleByBias(means, biases); }
};

TEST(BiasEvidence, LeavesEstimatesThatFit) {
  for (double off : {0.6, 1.0, 1.8})
    EXPECT_EQ(Folded(off, 0.3).scale(), 1) << off;
}

TEST(BiasEvidence, MovesEstimatesThatAreFarOff) {
  // The tolerance is left, a factor 2.
  EXPECT_NEAR(Folded(100, 0.1).scale(), 2.0 / 100, 0.001);
  EXPECT_NEAR(Folded(3, 0.1).scale(), 2.0 / 3, 0.03);
  EXPECT_NEAR(Folded(0.01, 0.1).scale(), 100 / 2.0, 2);
}

TEST(BiasEvidence, NeedsCorrelation) {
  // Biases of a layer without normalisation have nothing to do with its sums.
  EXPECT_EQ(Folded(100, 10).scale(), 1);
  // Nor do the same signs cancel anything.
  Folded same(100, 0.1);
  for (double &bias : same.biases)
    bias = -bias;
  EXPECT_EQ(same.scale(), 1);
  // Few channels agree by chance.
  EXPECT_EQ(Folded(100, 0.1, 8).scale(), 1);
  // One channel that is far larger than the others has a correlation of 1.
  Folded one(100, 10);
  one.means[7] = 1e5;
  one.biases[7] = -300;
  EXPECT_EQ(one.scale(), 1);
  EXPECT_EQ(scaleByBias({}, {}), 1);
  EXPECT_EQ(scaleByBias({0, 0}, {1, 2}), 1);
}

} // namespace
