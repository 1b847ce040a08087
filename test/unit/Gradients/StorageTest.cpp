//===- StorageTest.cpp - What formats keep of estimated numbers
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Gradients/Storage.h"

#include "gtest/gtest.h"

#include <cmath>
#include <random>

using namespace mpopt;

/// The share of products of `factors` normal numbers that are below.
static double simulateBelow(double limit, int factors) {
  std::mt19937 random(3);
  std::normal_distribution<double> normal;
  constexpr int kDraws = 200000;
  int below = 0;
  for (int draw = 0; draw < kDraws; ++draw) {
    double product = 1;
    for (int i = 0; i < factors; ++i)
      product *= normal(random);
    below += std::fabs(product) < limit;
  }
  return double(below) / kDraws;
}

TEST(StorageTest, BelowALimit) {
  // A normal number is within its deviation with 68.27 %.
  EXPECT_NEAR(probabilityBelow(1, 1), 0.6827, 1e-4);
  for (int factors : {1, 2, 3, 4})
    for (double limit : {1e-3, 1e-2, 0.1, 1.0})
      EXPECT_NEAR(probabilityBelow(limit, factors),
                  simulateBelow(limit, factors), 0.06)
          << limit << ' ' << factors;
  // One magnitude: a step.
  EXPECT_EQ(probabilityBelow(0.999, 0), 0);
  EXPECT_EQ(probabilityBelow(1.001, 0), 1);
}

TEST(StorageTest, AboveALimit) {
  EXPECT_NEAR(probabilityAbove(2, 1), 0.0455, 1e-4);
  // The square of a normal number, whose root mean square is sqrt(3), exceeds
  // four times that where the number exceeds the root of 4 sqrt(3).
  EXPECT_NEAR(probabilityAbove(4, 2),
              std::erfc(std::sqrt(4 * std::sqrt(3.0)) / std::sqrt(2.0)), 1e-9);
  EXPECT_GT(probabilityAbove(6, 3), probabilityAbove(6, 2));
}

TEST(StorageTest, FlushedByScale) {
  const FloatFormat &half = FloatFormat::f16();
  SizeMixture sizes;
  // So small that at 2^0 as many are lost as below one deviation.
  sizes.add(half.flushAt * half.flushAt, 1);
  LostShare lost = sizes.flushed(half, 1);
  EXPECT_NEAR(lost.at(0), 0.6827, 1e-4);
  EXPECT_NEAR(lost.at(1), 0.3829, 1e-4);
  EXPECT_NEAR(lost.at(-24), 1, 1e-6);
  EXPECT_LT(lost.at(20), 1e-5);
  // Half of the numbers are far larger.
  sizes.add(1, 1);
  EXPECT_NEAR(sizes.flushed(half, 1).at(0), 0.6827 / 2, 1e-4);
}

TEST(StorageTest, LargestOfAMixture) {
  SizeMixture sizes;
  EXPECT_EQ(sizes.largest(10, 1), 0);
  EXPECT_TRUE(sizes.empty());
  sizes.add(1, 1);
  // The median of the largest of 1000: 1000 erfc(x / sqrt 2) = ln 2.
  double most = sizes.largest(1000, 1);
  EXPECT_NEAR(1000 * std::erfc(most / std::sqrt(2.0)), std::log(2.0), 0.05);
  // One of a thousand is a hundred times as large.
  sizes.add(1e4, 1e-3);
  EXPECT_GT(sizes.largest(1000, 1), 30);
  EXPECT_LT(sizes.largest(1000, 1), 300);
}

TEST(StorageTest, LargestOfExtremeSizes) {
  // Products of their ends underflow, or overflow.
  for (double square : {1e-320, 1e307}) {
    SizeMixture sizes;
    sizes.add(square, 1);
    double of = sizes.largest(1000, 1) / std::sqrt(square);
    EXPECT_GT(of, 2.5);
    EXPECT_LT(of, 5);
  }
  SizeMixture both;
  both.add(1e-320, 1);
  both.add(1e307, 1);
  EXPECT_GT(both.largest(1000, 1), std::sqrt(1e307));
}

TEST(StorageTest, GreatestExponents) {
  const FloatFormat &half = FloatFormat::f16();
  // 65504 holds, 65520 does not: 2^15 does and 2^16 does not.
  EXPECT_EQ(mostExponent(1, half), 15);
  EXPECT_EQ(mostExponent(0x1p-10, half), 25);
  EXPECT_EQ(mostExponent(0, half), LostShare::kLast);
  EXPECT_EQ(mostExponent(INFINITY, half), LostShare::kFirst - 1);
}

TEST(LostShareTest, Combinations) {
  LostShare some, more;
  size_t at = size_t(0 - LostShare::kFirst);
  some[at] = 0.5;
  more[at] = 0.2;
  EXPECT_DOUBLE_EQ(some.then(more).at(0), 0.6);
  EXPECT_DOUBLE_EQ(some.ofSums(3).at(0), 0.125);
  EXPECT_DOUBLE_EQ(some.both(more).at(0), 0.1);
  EXPECT_DOUBLE_EQ(some.mixedWith(more, 0.25).at(0), 0.275);
  // Terms everywhere; one of them in a half of the elements; hardly any meet.
  EXPECT_DOUBLE_EQ(some.inSum(more, 1, 1).at(0), some.both(more).at(0));
  EXPECT_DOUBLE_EQ(some.inSum(more, 0.5, 1).at(0),
                   (some.both(more).at(0) + more.at(0)) / 2);
  EXPECT_NEAR(some.inSum(more, 1e-6, 1e-6).at(0), (some.at(0) + more.at(0)) / 2,
              1e-5);
  EXPECT_EQ(some.at(1), 0);
  // Beyond the range: its ends.
  some[0] = 0.7;
  EXPECT_EQ(some.at(-1000), 0.7);
  EXPECT_EQ(some.at(1000), 0);
}
