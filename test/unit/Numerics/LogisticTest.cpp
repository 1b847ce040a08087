//===- LogisticTest.cpp - Exponentials of many numbers at once ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Numerics/Logistic.h"

#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Numerics/Likely.h"

#include "gtest/gtest.h"

#include <bit>
#include <cmath>
#include <random>

using namespace mpopt;

TEST(Exponential, IsWithinItsErrorOnEachInstructionSet) {
  std::vector<double> x = {0,     -0.0,  1,     -1,     0.34657359027997264,
                           -700,  -708,  709,   709.78, -0.34657359027997264,
                           1e-30, -1e-9, 88.72, -103.9, 0x1p-52};
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> wide(-708, 709.7), narrow(-2, 2);
  for (int i = 0; i < 200000; ++i)
    x.push_back(i & 1 ? wide(random) : narrow(random));
  std::vector<std::vector<double>> results;
  for (const ExponentialLoops &loops : allExponentialLoops()) {
    std::vector<double> values = x;
    loops.exp(values.data(), values.size());
    for (size_t i = 0; i < x.size(); ++i) {
      long double exact = std::exp((long double)x[i]);
      ASSERT_LE(std::fabs(values[i] - exact), kExponentialError / 2 * exact)
          << x[i];
    }
    results.push_back(std::move(values));
  }
  for (const std::vector<double> &values : results)
    EXPECT_EQ(values, results.front());
}

TEST(Exponential, EndsWhereDoublesDo) {
  for (const ExponentialLoops &loops : allExponentialLoops()) {
    std::vector<double> x = {-708.5, -kInfinity, 709.8, kInfinity,
                             std::nan("")};
    loops.exp(x.data(), x.size());
    EXPECT_EQ(x[0], 0);
    EXPECT_EQ(x[1], 0);
    EXPECT_EQ(x[2], kInfinity);
    EXPECT_EQ(x[3], kInfinity);
    EXPECT_TRUE(std::isnan(x[4]));
  }
}

TEST(Logistic, EstimatesAsTheQuadratureDoes) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> mean(-8, 8), deviation(0, 5);
  std::vector<Likely> x;
  std::vector<double> rest;
  for (int i = 0; i < 1000; ++i) {
    double sigma = i % 10 ? deviation(random) : 0;
    x.push_back(Likely::normal(mean(random), sigma * sigma, 1 + sigma));
    rest.push_back(i % 7 ? mean(random) : -kInfinity);
  }
  for (const ExponentialLoops &loops : allExponentialLoops()) {
    std::vector<double> columns[4];
    for (const Likely &one : x) {
      columns[0].push_back(one.mean);
      columns[1].push_back(one.variance);
      columns[2].push_back(one.lo);
      columns[3].push_back(one.hi);
    }
    loops.logistic({columns[0], columns[1], columns[2], columns[3]},
                   rest.data());
    for (size_t i = 0; i < x.size(); ++i) {
      Likely expected = likely::applyMonotone(
          [&](double at) { return 1 / (1 + std::exp(rest[i] - at)); }, x[i]);
      EXPECT_NEAR(columns[0][i], expected.mean, 1e-14);
      EXPECT_NEAR(columns[1][i], expected.variance, 1e-14);
      EXPECT_NEAR(columns[2][i], expected.lo, 1e-15);
      EXPECT_NEAR(columns[3][i], expected.hi, 1e-15);
    }
  }
}
