//===- SumEstimateTest.cpp - Errors of sums against simulated ones
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Numerics/SumEstimate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

using namespace mpopt;

/// Adds the terms from `first` on in a format, in sequence or halves first.
static double addIn(const FloatFormat &format, const std::vector<double> &terms,
                    bool pairwise) {
  if (!pairwise) {
    double sum = 0;
    for (double term : terms)
      sum = format.round(sum + term);
    return sum;
  }
  std::vector<double> level = terms;
  while (level.size() > 1) {
    std::vector<double> next;
    for (size_t i = 0; i + 1 < level.size(); i += 2)
      next.push_back(format.round(level[i] + level[i + 1]));
    if (level.size() % 2)
      next.push_back(level.back());
    level = next;
  }
  return level.front();
}

/// The same by drawing terms and adding them.
static SumError simulate(const FloatFormat &format, int n, double mean,
                         double deviation, bool pairwise) {
  std::mt19937 random(1);
  std::normal_distribution<double> normal(mean, deviation);
  constexpr int kDraws = 64;
  SumError all;
  for (int draw = 0; draw < kDraws; ++draw) {
    std::vector<double> terms(n);
    double exact = 0;
    for (double &term : terms)
      exact += term = format.round(normal(random));
    double error = addIn(format, terms, pairwise) - exact;
    all.mean += error / kDraws;
    all.square += error * error / kDraws;
  }
  all.size = std::sqrt(n * deviation * deviation + n * mean * n * mean);
  all.mean /= all.size;
  all.square /= all.size * all.size;
  return all;
}

static void expectAlike(const FloatFormat &format, int n, double mean,
                        double deviation, bool pairwise) {
  SCOPED_TRACE(testing::Message() << format.name.str() << " " << n << " terms, "
                                  << mean << " +- " << deviation);
  SumError seen = simulate(format, n, mean, deviation, pairwise);
  SumError expected =
      estimateSum(format, n, mean, deviation * deviation, pairwise);
  double rms = std::sqrt(seen.square);
  EXPECT_FALSE(expected.overflows);
  EXPECT_NEAR(expected.size, seen.size, 1e-9 * seen.size);
  EXPECT_LT(std::sqrt(expected.square), 2 * rms);
  EXPECT_GT(std::sqrt(expected.square), rms / 2);
  EXPECT_NEAR(expected.mean, seen.mean, 0.5 * rms);
}

TEST(SumEstimate, SumsInSequence) {
  expectAlike(FloatFormat::f16(), 1000, 0.5, 0.1, false);
  expectAlike(FloatFormat::f16(), 1000, 0, 1, false);
  expectAlike(FloatFormat::bf16(), 300, 1, 0.5, false);
  expectAlike(FloatFormat::bf16(), 4000, 0, 1, false);
}

TEST(SumEstimate, SmallTermsAreAbsorbed) {
  // From 2048 on an even one of two numbers is as near: half of the terms
  // count.
  expectAlike(FloatFormat::f16(), 16384, 5, 2.9, false);
  expectAlike(FloatFormat::f16(), 8192, 1, 0.2, false);
  expectAlike(FloatFormat::bf16(), 2000, 1, 0.1, false);
  SumError stuck = estimateSum(FloatFormat::bf16(), 1e6, 1, 0, false);
  EXPECT_LT(stuck.mean, -0.99);
}

TEST(SumEstimate, SumsInPairs) {
  expectAlike(FloatFormat::f16(), 4096, 0.5, 0.1, true);
  expectAlike(FloatFormat::bf16(), 4096, 0, 1, true);
  expectAlike(FloatFormat::bf16(), 4096, 1, 0.3, true);
}

TEST(SumEstimate, PartialSumsOverflow) {
  EXPECT_TRUE(estimateSum(FloatFormat::f16(), 1000, 100, 1, false).overflows);
  EXPECT_TRUE(estimateSum(FloatFormat::f16(), 1000, 100, 1, true).overflows);
  EXPECT_FALSE(estimateSum(FloatFormat::f16(), 1000, 60, 1, true).overflows);
  EXPECT_FALSE(estimateSum(FloatFormat::bf16(), 1000, 100, 1, false).overflows);
  // Absorption ends the growth before.
  EXPECT_FALSE(estimateSum(FloatFormat::f16(), 1e6, 1, 0, false).overflows);
  EXPECT_EQ(estimateSum(FloatFormat::f16(), 10, 0, 0, false).square, 0);
}

/// Adds terms to an accumulator that cuts off, each at a unit of the sum.
TEST(SumEstimate, TermsAreCutOff) {
  FloatFormat format = FloatFormat::f32();
  format.digits = 14;
  ASSERT_TRUE(cutsOff(format));
  std::mt19937 random(1);
  for (auto [n, mean] : {std::pair(1 << 14, 0.5), std::pair(1 << 14, 0.0),
                         std::pair(1 << 16, 0.2)}) {
    std::normal_distribution<double> normal(mean, 1);
    double square = 0, size = 0;
    for (int draw = 0; draw < 32; ++draw) {
      double sum = 0, exact = 0;
      for (int at = 0; at < n; ++at) {
        double term = normal(random);
        exact += term;
        double unit =
            format.ulp(std::max({std::fabs(term), std::fabs(sum), 0x1p-100}));
        sum = unit * (std::trunc(sum / unit) + std::trunc(term / unit));
      }
      square += (sum - exact) * (sum - exact);
      size += exact * exact;
    }
    double expected = estimateSum(format, n, mean, 1, false).square;
    EXPECT_GT(expected, square / size / 2) << n << ' ' << mean;
    EXPECT_LT(expected, 2 * square / size) << n << ' ' << mean;
  }
}
