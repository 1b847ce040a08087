//===- SumsTest.cpp - Moments of sums against simulated ones
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Gradients/Sums.h"
#include "lib/Gradients/Recurrence.h"

#include "mpopt/Ranges/Spread/Spread.h"

#include "gtest/gtest.h"

#include <cmath>
#include <random>

using namespace mpopt;

namespace {
/// Mean, and the expected products of two sums: of a sum with itself, and with
/// one over other positions of the same samples.
struct Simulated {
  double mean = 0, common = 0, square = 0;
};

/// Sums of m + s + o with s the same for all positions of a sample and a
/// channel, of variance a v, and o a number's own, of variance (1 - a) v.
Simulated simulate(double mean, double variance, double alike, int channels,
                   int samples, int positions) {
  std::mt19937 random(11);
  std::normal_distribution<double> normal;
  double shared = std::sqrt(alike * variance),
         own = std::sqrt((1 - alike) * variance);
  constexpr int kRounds = 40000;
  Simulated result;
  for (int round = 0; round < kRounds; ++round) {
    double sums[2] = {0, 0};
    for (int i = 0; i < channels * samples; ++i) {
      double common = mean + shared * normal(random);
      for (int position = 0; position < positions; ++position)
        for (double &sum : sums)
          sum += common + own * normal(random);
    }
    result.mean += sums[0] / kRounds;
    result.square += sums[0] * sums[0] / kRounds;
    result.common += sums[0] * sums[1] / kRounds;
  }
  return result;
}
} // namespace

TEST(SumsTest, AgreeWithSimulations) {
  struct Case {
    double mean, variance, alike;
    int channels, samples, positions;
  };
  for (const Case &c : {Case{0, 1, 0, 3, 4, 5}, Case{0, 1, 0.5, 1, 4, 6},
                        Case{0.3, 2, 0.2, 2, 3, 4}, Case{1, 0.5, 1, 1, 2, 8}}) {
    Moments term = {c.mean, c.mean * c.mean + c.alike * c.variance,
                    c.mean * c.mean + c.variance};
    Moments sum = sumOf(
        term, {double(c.channels), double(c.samples), double(c.positions)});
    Simulated seen = simulate(c.mean, c.variance, c.alike, c.channels,
                              c.samples, c.positions);
    double size = std::sqrt(sum.square);
    EXPECT_NEAR(sum.mean, seen.mean, 0.03 * size);
    EXPECT_NEAR(sum.square, seen.square, 0.04 * sum.square);
    EXPECT_NEAR(sum.common, seen.common, 0.04 * sum.square);
  }
}

TEST(SumsTest, ProductsAndSumsOfMoments) {
  Moments x = {2, 5, 7}, y = {-1, 3, 4};
  Moments product = x * y;
  EXPECT_EQ(product.mean, -2);
  EXPECT_EQ(product.common, 15);
  EXPECT_EQ(product.square, 28);
  // (x + y)^2 has 2 E x E y more than both squares.
  Moments sum = x + y;
  EXPECT_EQ(sum.mean, 1);
  EXPECT_EQ(sum.common, 4);
  EXPECT_EQ(sum.square, 7);
  // Variance 3 of x, of which 1 is common.
  EXPECT_DOUBLE_EQ(x.variance(), 3);
  EXPECT_DOUBLE_EQ(x.alike(), 1.0 / 3);
}

TEST(RecurrenceTest, InflationOfKeptNumbers) {
  EXPECT_DOUBLE_EQ(inflationOf(0, 10), 1);
  // All steps the same: the sum's variance is steps^2 of one's.
  EXPECT_NEAR(inflationOf(1, 10), 10, 1e-12);
  // (1 + k) / (1 - k) of many.
  EXPECT_NEAR(inflationOf(0.5, 10000), 3, 1e-2);
  // Two steps: 1 + k.
  EXPECT_DOUBLE_EQ(inflationOf(0.25, 2), 1.25);
}

TEST(RecurrenceTest, PassesBackThroughTwoUnits) {
  // h' = W x + R h, unit 1 feeding on unit 0 with the weight 3: what arrives at
  // unit 1 reaches unit 0 a step before.
  CellFactors cell;
  cell.entry.assign(2, Moments::number(1));
  cell.keep.assign(2, Moments::number(0));
  cell.gates.resize(1);
  cell.gates[0].input = cell.gates[0].state = cell.entry;
  std::vector<double> weights = {1, 2}, recurrence = {0, 0, 3, 0};
  TimeMoments dy(2), none(2);
  dy.mean = {0, 1};
  dy.own = {0, 4};
  PassedBack passed =
      passBack(cell, weights, recurrence, {dy}, none, none, 2, true);
  // Unit 0: nothing, then 3; unit 1: 1 and 1.
  EXPECT_DOUBLE_EQ(passed.input.mean[0], 3);
  EXPECT_DOUBLE_EQ(passed.input.mean[1], 2);
  EXPECT_DOUBLE_EQ(passed.input.squares[0], 9 + 9 * 4);
  EXPECT_DOUBLE_EQ(passed.input.squares[1], 2 * (1 + 4));
  EXPECT_DOUBLE_EQ(passed.input.square[1], 2 * 2 + 2 * 4);
  // X gets 2 of unit 1, and of unit 0, too, at the first step.
  ASSERT_EQ(passed.byStep.size(), 2u);
  EXPECT_DOUBLE_EQ(passed.byStep[0].mean[0], 2);
  EXPECT_DOUBLE_EQ(passed.byStep[1].mean[0], 5);
  EXPECT_DOUBLE_EQ(passed.byStep[1].own[0], 9 * 4 + 4 * 4);
  // The state before the first step: R^T of what the first step got.
  EXPECT_DOUBLE_EQ(passed.hidden.mean[0], 3);
}

TEST(RecurrenceTest, PassesThroughAGateInFrontOfTheProduct) {
  // h' = R (r h) with r h = 0.5 h for unit 0 and 0.25 h for unit 1; the gate of
  // r gets 7 times what comes through R, and passes nothing on.
  CellFactors cell;
  cell.entry.assign(2, Moments::number(1));
  cell.keep.assign(2, Moments::number(0));
  cell.gates.resize(2);
  cell.gates[0].input = cell.gates[0].state = cell.entry;
  cell.gates[1].input = {Moments::number(7), Moments::number(7)};
  cell.gates[1].state = cell.gates[1].input;
  cell.gates[1].ofProduct = true;
  cell.behind = 0;
  cell.factors = {Moments::number(0.5), Moments::number(0.25)};
  std::vector<double> weights = {1, 1, 1, 1},
                      recurrence = {1, 2, 3, 4, 0, 0, 0, 0};
  TimeMoments dy(2), none(2);
  dy.mean = {1, 1};
  PassedBack passed =
      passBack(cell, weights, recurrence, {dy}, none, none, 1, true);
  // R^T of ones is 4 and 6.
  EXPECT_DOUBLE_EQ(passed.hidden.mean[0], 2);
  EXPECT_DOUBLE_EQ(passed.hidden.mean[1], 1.5);
  EXPECT_DOUBLE_EQ(passed.input.mean[2], 28);
  EXPECT_DOUBLE_EQ(passed.input.mean[3], 42);
  EXPECT_DOUBLE_EQ(passed.byStep[0].mean[0], 1 + 1 + 28 + 42);
}

TEST(SumsTest, WhatAllSamplesShareAddsUp) {
  // m_c + s + o: the first is one number a channel.
  constexpr int kChannels = 2, kSamples = 3, kPositions = 4, kRounds = 40000;
  Moments term = Moments::of(Cell{0, 0, 0.5, 2}, 0.6, 0.25);
  Moments sum =
      sumOf(term, {double(kChannels), double(kSamples), double(kPositions)});
  std::mt19937 random(3);
  std::normal_distribution<double> normal;
  double mean = 0, square = 0;
  for (int round = 0; round < kRounds; ++round) {
    double all = 0;
    for (int channel = 0; channel < kChannels; ++channel) {
      double steady = 0.5 + std::sqrt(0.25 * 2) * normal(random);
      for (int sample = 0; sample < kSamples; ++sample) {
        double shared = steady + std::sqrt((0.6 - 0.25) * 2) * normal(random);
        for (int position = 0; position < kPositions; ++position)
          all += shared + std::sqrt(0.4 * 2) * normal(random);
      }
    }
    mean += all / kRounds;
    square += all * all / kRounds;
  }
  EXPECT_NEAR(sum.mean, mean, 0.02 * std::sqrt(sum.square));
  EXPECT_NEAR(sum.square, square, 0.03 * sum.square);
}

TEST(SumsTest, AveragesKeepWhatIsShared) {
  // Rows of probabilities of 8 numbers whose own variance is 1 of 5.
  constexpr int kCount = 8, kRounds = 40000;
  std::mt19937 random(5);
  std::normal_distribution<double> normal;
  std::exponential_distribution<double> part;
  double square = 0, common = 0, weightSquare = 0, weightCommon = 0;
  for (int round = 0; round < kRounds; ++round) {
    double shared = 2 * normal(random), rows[2][kCount], made[2] = {0, 0};
    for (auto &row : rows) {
      double all = 0;
      for (double &weight : row)
        all += weight = part(random);
      for (double &weight : row)
        weight /= all;
    }
    for (int i = 0; i < kCount; ++i) {
      double value = shared + normal(random);
      for (int row : {0, 1})
        made[row] += rows[row][i] * value;
      weightSquare += rows[0][i] * rows[0][i] / kCount / kRounds;
      weightCommon += rows[0][i] * rows[1][i] / kCount / kRounds;
    }
    square += made[0] * made[0] / kRounds;
    common += made[0] * made[1] / kRounds;
  }
  Moments average =
      averageOf({1.0 / kCount, weightCommon, weightSquare}, {0, 4, 5}, kCount);
  EXPECT_NEAR(average.square, square, 0.03 * square);
  EXPECT_NEAR(average.common, common, 0.03 * square);
}

TEST(SumsTest, GradientsAnswerToWhatDecidesThePrediction) {
  // y = V x of 3 numbers, g = V^T (y - t): squared correlations with the 12
  // channels of x, as the mean over random V.
  constexpr int kOutputs = 3, kChannels = 12, kDraws = 300, kPlaces = 400;
  std::mt19937 random(9);
  std::normal_distribution<double> normal;
  double other = 0, itself = 0, response = 0;
  for (int draw = 0; draw < kDraws; ++draw) {
    double v[kOutputs][kChannels], products[kChannels] = {}, size = 0,
                                   predicted = 0, errors = 0;
    for (auto &row : v)
      for (double &weight : row)
        weight = normal(random) / std::sqrt(kChannels);
    for (int place = 0; place < kPlaces; ++place) {
      double x[kChannels], g = 0;
      for (double &value : x)
        value = normal(random);
      for (auto &row : v) {
        double y = 0;
        for (int i = 0; i < kChannels; ++i)
          y += row[i] * x[i];
        double error = y - normal(random);
        predicted += y * y;
        errors += error * error;
        g += row[0] * error;
      }
      for (int i = 0; i < kChannels; ++i)
        products[i] += g * x[i];
      size += g * g;
    }
    // Less what chance correlates.
    auto squared = [&](int i) {
      return products[i] * products[i] / size / kPlaces - 1.0 / kPlaces;
    };
    itself += squared(0) / kDraws;
    other += squared(1) / kDraws;
    response += predicted / errors / kDraws;
  }
  Spread grad;
  grad.response = response;
  grad.outputs = kOutputs;
  double one = responseTo(grad, kChannels, 1);
  EXPECT_NEAR(one, other, 0.3 * one);
  EXPECT_NEAR(one * kOutputs, itself, 0.3 * one * kOutputs);
}
