//===- RowSlopesTest.cpp - Slopes of rows against simulated ones
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Gradients/RowSlopes.h"

#include "gtest/gtest.h"

#include <cmath>
#include <functional>
#include <random>
#include <vector>

using namespace mpopt;

namespace {
using Row = std::vector<double>;

/// Mean and mean square of all elements of `slopes`, over rows of normal
/// numbers.
Moments simulate(double mean, double deviation, size_t count,
                 const std::function<Row(const Row &)> &slopes) {
  std::mt19937 random(5);
  std::normal_distribution<double> normal(mean, deviation);
  constexpr int kRounds = 20000;
  Moments result;
  size_t all = 0;
  for (int round = 0; round < kRounds; ++round) {
    Row row(count);
    for (double &x : row)
      x = normal(random);
    for (double slope : slopes(row)) {
      result.mean += slope;
      result.square += slope * slope;
      ++all;
    }
  }
  result.mean /= double(all);
  result.square /= double(all);
  return result;
}

AbstractValue valueOf(double mean, double deviation) {
  AbstractValue value(AbstractValue::Dims(1, 1),
                      Cell{-INFINITY, INFINITY, mean, deviation * deviation,
                           mean - 4 * deviation, mean + 4 * deviation});
  value.source = LikelySource::Declared;
  return value;
}
} // namespace

TEST(RowSlopesTest, NormsAgreeWithSimulations) {
  struct Case {
    double p, mean, deviation;
    size_t count;
  };
  for (const Case &c : {Case{1, 0, 1, 8}, Case{1, 2, 1, 8}, Case{2, 0, 1, 16},
                        Case{2, 3, 1, 16}, Case{3, 0, 2, 32}, Case{4, 1, 1, 64},
                        Case{2, 1, 1, 1}}) {
    AbstractValue x = valueOf(c.mean, c.deviation);
    std::optional<RowNorm> norm = RowNorm::make(x, c.p, double(c.count));
    ASSERT_TRUE(norm);
    Moments slope = norm->slope(x.cell(0));
    Moments seen = simulate(c.mean, c.deviation, c.count, [&](const Row &row) {
      double sum = 0;
      for (double value : row)
        sum += std::pow(std::fabs(value), c.p);
      double whole = std::pow(sum, 1 / c.p);
      Row slopes;
      for (double value : row)
        slopes.push_back(
            std::copysign(std::pow(std::fabs(value) / whole, c.p - 1), value));
      return slopes;
    });
    EXPECT_NEAR(slope.mean, seen.mean, 0.05 * std::sqrt(seen.square)) << c.p;
    EXPECT_NEAR(slope.square, seen.square, 0.3 * seen.square) << c.p;
    EXPECT_LE(norm->steepest(x.cell(0)), 1);
  }
}

TEST(RowSlopesTest, OneElementIsTheLargest) {
  AbstractValue x = valueOf(0, 1);
  std::optional<RowNorm> norm = RowNorm::make(x, INFINITY, 16);
  ASSERT_TRUE(norm);
  EXPECT_DOUBLE_EQ(norm->slope(x.cell(0)).square, 1.0 / 16);
  EXPECT_EQ(norm->steepest(x.cell(0)), 1);
}

TEST(RowSlopesTest, SomeNormsHaveNone) {
  EXPECT_FALSE(RowNorm::make(valueOf(0, 1), 0.5, 4));
  EXPECT_FALSE(RowNorm::make(valueOf(0, 0), 2, 4));
  std::optional<RowNorm> zero = RowNorm::make(valueOf(0, 1), 0, 4);
  ASSERT_TRUE(zero);
  EXPECT_EQ(zero->slope(Cell{-1, 1, 0, 1, -1, 1}).square, 0);
}

TEST(RowSlopesTest, CumulativeProductsAgreeWithSimulations) {
  for (auto [mean, deviation, count] :
       {std::tuple(0.9, 0.1, 12), std::tuple(0.0, 1.0, 4),
        std::tuple(-0.8, 0.3, 5), std::tuple(1.0, 0.5, 1)}) {
    Moments dy = Moments::number(2);
    Moments x{mean, mean * mean, mean * mean + deviation * deviation};
    Moments slope = cumulativeProductSlope(dy, x, count);
    Moments seen =
        simulate(mean, deviation, size_t(count), [&](const Row &row) {
          Row slopes;
          for (size_t i = 0; i < row.size(); ++i) {
            double sum = 0, product = 1;
            for (size_t j = 0; j < row.size(); ++j) {
              product *= j == i ? 1 : row[j];
              sum += j >= i ? 2 * product : 0;
            }
            slopes.push_back(sum);
          }
          return slopes;
        });
    EXPECT_NEAR(slope.mean, seen.mean, 0.05 * std::sqrt(seen.square)) << mean;
    EXPECT_NEAR(slope.square, seen.square, 0.2 * seen.square) << mean;
  }
}

TEST(RowSlopesTest, CofactorsAgreeWithSimulations) {
  // Of 3 x 3 matrices the cofactors are those of 2 x 2.
  for (auto [mean, deviation] : {std::pair(0.0, 1.0), std::pair(2.0, 1.0)}) {
    Moments x{mean, mean * mean, mean * mean + deviation * deviation};
    Moments slope = cofactorSlope(Moments::number(1), x, 3);
    Moments seen = simulate(mean, deviation, 4, [](const Row &row) {
      return Row{row[0] * row[3] - row[1] * row[2]};
    });
    EXPECT_NEAR(slope.square, seen.square, 0.1 * seen.square) << mean;
  }
  EXPECT_EQ(cofactorSlope(Moments::number(3), Moments(), 1).square, 9);
}
