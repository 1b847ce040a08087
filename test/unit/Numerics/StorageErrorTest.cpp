//===- StorageErrorTest.cpp - Errors of storage against simulated ones
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Numerics/StorageError.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

using namespace mpopt;

/// The same by drawing numbers and rounding them.
static StorageError simulate(double mean, double deviation,
                             const FloatFormat &format, bool whole = false) {
  std::mt19937 random(1);
  std::normal_distribution<double> normal(mean, deviation);
  constexpr int kDraws = 200'000;
  StorageError sum;
  for (int i = 0; i < kDraws; ++i) {
    double value = normal(random);
    sum.add(storageErrorOf(whole ? std::round(value) : value, format),
            1.0 / kDraws);
  }
  return sum;
}

static void expectNear(double expected, double seen, double part) {
  EXPECT_NEAR(expected, seen, part * seen) << expected << " for " << seen;
}

TEST(StorageError, RoundingsOfNormalNumbers) {
  for (const FloatFormat *format : {&FloatFormat::f16(), &FloatFormat::bf16()})
    for (double deviation : {0.01, 0.7, 1.0, 3.0, 900.0})
      expectNear(storageErrorOf(0, deviation * deviation, *format).square,
                 simulate(0, deviation, *format).square, 0.25);
}

TEST(StorageError, NumbersBesideZeroVaryLittle) {
  // One power of two: the mantissas are those that there are.
  double square = storageErrorOf(1.5, 1e-4, FloatFormat::f16()).square;
  expectNear(square, simulate(1.5, 0.01, FloatFormat::f16()).square, 0.6);
}

TEST(StorageError, SubnormalAndLostNumbers) {
  const FloatFormat &format = FloatFormat::f16();
  for (double deviation : {1e-5, 1e-6, 1e-7, 1e-8}) {
    StorageError expected = storageErrorOf(0, deviation * deviation, format);
    StorageError seen = simulate(0, deviation, format);
    expectNear(expected.square, seen.square, 0.15);
  }
  // All of one sign: what is lost has a mean.
  StorageError lost = storageErrorOf(1e-8, 1e-18, format);
  EXPECT_NEAR(lost.mean, -1e-8, 1e-10);
  expectNear(lost.square, 1.01e-16, 0.01);
}

TEST(StorageError, Overflows) {
  const FloatFormat &format = FloatFormat::f16();
  StorageError expected = storageErrorOf(3e4, 4e4 * 4e4, format);
  StorageError seen = simulate(3e4, 4e4, format);
  expectNear(expected.square, seen.square, 0.05);
  EXPECT_NEAR(expected.mean, seen.mean, 0.05 * std::fabs(seen.mean));
}

TEST(StorageError, ABoundExcludesTheTail) {
  const FloatFormat &format = FloatFormat::f16();
  StorageError rounded =
      storageErrorOf(3e4, 1.5e4 * 1.5e4, format, false, /*overflows=*/false);
  EXPECT_NEAR(rounded.mean, 0, 1e-9);
  EXPECT_LT(rounded.square, 32.0 * 32.0);
  EXPECT_EQ(storageErrorOf(1e6, 0, format, false, false).square, 0);
}

TEST(StorageError, SingleNumbers) {
  const FloatFormat &format = FloatFormat::f16();
  EXPECT_EQ(storageErrorOf(0.5, format).square, 0);
  EXPECT_EQ(storageErrorOf(0.5, 0, format).square, 0);
  EXPECT_DOUBLE_EQ(storageErrorOf(2049, format).mean, -1);
  EXPECT_DOUBLE_EQ(storageErrorOf(1e-12, format).mean, -1e-12);
  EXPECT_DOUBLE_EQ(storageErrorOf(1e6, format).square, 1e12);
  EXPECT_EQ(storageErrorOf(INFINITY, format).square, 0);
}

TEST(StorageError, WholeNumbersAreExactUntilTheyAreLarge) {
  const FloatFormat &format = FloatFormat::f16();
  EXPECT_EQ(storageErrorOf(100, 900, format, /*whole=*/true).square, 0);
  double expected = storageErrorOf(6000, 1e6, format, /*whole=*/true).square;
  expectNear(expected, simulate(6000, 1000, format, true).square, 0.5);
}
