//===- RowsTest.cpp - Probabilities of rows against simulated ones
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Gradients/SoftmaxRows.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>
#include <vector>

using namespace mpopt;

static double simulateCollisions(int count, double variance) {
  std::mt19937 random(5);
  std::normal_distribution<double> normal(0, std::sqrt(variance));
  double sum = 0;
  const int rows = std::max(2000, 200000 / count);
  for (int row = 0; row < rows; ++row) {
    double all = 0, squares = 0;
    for (int i = 0; i < count; ++i) {
      double e = std::exp(normal(random));
      all += e;
      squares += e * e;
    }
    sum += squares / (all * all) / rows;
  }
  return sum;
}

TEST(RowsTest, CollisionsAgreeWithSimulations) {
  for (int count : {2, 8, 64, 1024})
    for (double variance : {0.01, 0.25, 1.0, 4.0, 16.0, 100.0, 1000.0}) {
      double ratio =
          collisionsOf(count, variance) / simulateCollisions(count, variance);
      EXPECT_NEAR(ratio, 1, 0.05) << count << ' ' << variance;
    }
}

TEST(RowsTest, CollisionsHaveTheirLimits) {
  // Nothing is known of logits without a variance.
  for (double variance : {HUGE_VAL, double(NAN)})
    EXPECT_EQ(collisionsOf(8, variance), 1);
  EXPECT_DOUBLE_EQ(collisionsOf(1, 3), 1);
  EXPECT_DOUBLE_EQ(collisionsOf(50, 0), 1.0 / 50);
  EXPECT_NEAR(collisionsOf(50, 1e12), 1, 1e-4);
}

TEST(RowsTest, CausalRowsMeet) {
  // Rows of 1 and 2 elements that are even: E p^2 = (1 + 1/2) / 2 / 2, and both
  // pick the same with 1 / max(1, 2).
  Moments p = probabilitiesOf(MaskRows::causal(2, 2), 2, 0);
  EXPECT_DOUBLE_EQ(p.mean, 0.5);
  EXPECT_DOUBLE_EQ(p.square, 0.375);
  EXPECT_DOUBLE_EQ(p.common, 0.25);
}

/// The chance that two different rows of spans pick the same element.
static double meetingOf(llvm::ArrayRef<std::pair<double, double>> spans) {
  double sum = 0, pairs = 0;
  for (auto [first, last] : spans)
    for (auto [from, to] : spans) {
      if (first == from && last == to)
        continue;
      double shared = std::min(last, to) - std::max(first, from) + 1;
      sum += std::max(shared, 0.0) / ((last - first + 1) * (to - from + 1));
      ++pairs;
    }
  return sum / pairs;
}

TEST(RowsTest, WindowsMeetWhereTheyOverlap) {
  std::vector<std::pair<double, double>> spans;
  for (double row = 0; row < 24; ++row)
    spans.push_back({std::max(row - 4, 0.0), row});
  MaskRows windows = MaskRows::ofSpans(spans);
  EXPECT_EQ(windows.lengths.back(), 5);
  EXPECT_NEAR(windows.meeting, meetingOf(spans), 1e-12);
  for (auto &[first, last] : spans)
    first = 0;
  EXPECT_NEAR(MaskRows::ofSpans(spans).meeting, meetingOf(spans), 1e-12);
  EXPECT_NEAR(MaskRows::causal(24, 24).meeting, meetingOf(spans), 1e-12);
  // A span without elements is no row, and of one row both are the same.
  std::pair<double, double> none(3, 2), one(1, 4);
  EXPECT_TRUE(MaskRows::ofSpans(none).empty());
  EXPECT_DOUBLE_EQ(MaskRows::ofSpans(one).meeting, 0.25);
}

TEST(RowsTest, ElementsOfARowAddUpToOne) {
  // Two elements of an even row of 3 have the product 1 / 9.
  Moments p = probabilitiesOf(MaskRows::whole(3), 3, 0);
  EXPECT_NEAR(productInRow(p, 3), 1.0 / 9, 1e-12);
  EXPECT_DOUBLE_EQ(productInRow(p, 1), 0);
}

TEST(RowsTest, LogitSquareOfEvenRows) {
  // y = 1/n: 1 / n^2 (1 - 1/n).
  double n = 1000;
  EXPECT_NEAR(logitSquare({n}, n, 0) * n * n, 1 - 1 / n, 1e-12);
  // One element has the row: nothing is left.
  EXPECT_DOUBLE_EQ(logitSquare({1}, n, 0), 0);
}

TEST(RowsTest, LogitSquareAgreesWithSimulations) {
  std::mt19937 random(7);
  for (int count : {8, 64, 512})
    for (double deviation : {0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 64.0}) {
      std::normal_distribution<double> normal(0, deviation);
      double sum = 0;
      int rows = 40000 / count;
      std::vector<double> y(count);
      for (int row = 0; row < rows; ++row) {
        double most = -1e300, all = 0, squares = 0, cubes = 0;
        for (double &p : y)
          most = std::max(most, p = normal(random));
        for (double &p : y)
          all += p = std::exp(p - most);
        for (double p : y) {
          double share = p / all;
          squares += share * share;
          cubes += share * share * share;
        }
        sum += (squares + squares * squares - 2 * cubes) / rows;
      }
      double ratio =
          logitSquare({double(count)}, count, deviation * deviation) * count /
          sum;
      EXPECT_GT(ratio, 0.6) << count << ' ' << deviation;
      EXPECT_LT(ratio, 1.6) << count << ' ' << deviation;
    }
}

TEST(RowsTest, VarianceOfCollisions) {
  for (double variance : {0.5, 4.0, 100.0})
    EXPECT_NEAR(logitVariance(64, collisionsOf(64, variance)), variance,
                variance * 1e-3);
}
