//===- StorageFormatTest.cpp - Rows of storage formats against simulations
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Numerics/Precision.h"
#include "mpopt/Numerics/StorageError.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

using namespace mpopt;

static StorageFormat named(llvm::StringRef name) {
  return *StorageFormat::byName(name);
}

static StorageFormat saturating(StorageFormat format) {
  format.saturates = true;
  return format;
}

namespace {
struct Row {
  const char *name;
  StorageFormat format;
};
} // namespace

/// A row for each format, and for what a scale and a zero point make of it.
static const std::vector<Row> &rows() {
  static const std::vector<Row> list = {
      {"f16", named("f16")},
      {"bf16", named("bf16")},
      {"f8E4M3FN", named("f8E4M3FN")},
      {"f8E5M2", named("f8E5M2")},
      {"f8E4M3FNUZ", named("f8E4M3FNUZ")},
      {"f8E5M2FNUZ", named("f8E5M2FNUZ")},
      {"f4E2M1FN", named("f4E2M1FN")},
      {"f8E4M3FN with a scale", saturating(named("f8E4M3FN")).scaled(0.013)},
      {"i8", named("i8").scaled(0.05)},
      {"i8 that clips", named("i8").scaled(0.01)},
      {"ui8 with a zero point", named("ui8").scaled(0.02, 40)},
      {"ui8 of a rectifier", named("ui8").scaled(0.02)},
      {"i4", named("i4").scaled(0.4)},
  };
  return list;
}

/// The error, number by number, of normal numbers.
static StorageError simulate(double mean, double deviation,
                             const StorageFormat &format) {
  std::mt19937 random(1);
  std::normal_distribution<double> normal(mean, deviation);
  // The square is known to a hundredth, the mean to a 200th of its root.
  constexpr int kDraws = 100'000;
  StorageError sum;
  for (int i = 0; i < kDraws; ++i)
    sum.add(storageErrorOf(normal(random), format), 1.0 / kDraws);
  return sum;
}

TEST(StorageFormat, ErrorsOfNormalNumbersAreThoseOfASimulation) {
  for (const Row &row : rows())
    for (auto [mean, deviation] : {std::pair(0.0, 1.0),
                                   {0.7, 1.0},
                                   {0.2, 3.0},
                                   {-1.0, 0.4},
                                   {0.0, 200.0}}) {
      StorageError seen = simulate(mean, deviation, row.format);
      StorageError expected =
          storageErrorOf(mean, deviation * deviation, row.format);
      // A float's last digits are even over whole powers of two only: within
      // one the square is 0.7 to 1.9 of the expected one.
      bool isEven = !row.format.floats || mean == 0;
      EXPECT_NEAR(expected.square / seen.square, 1, isEven ? 0.25 : 0.5)
          << row.name << " of " << mean << " and " << deviation;
      EXPECT_NEAR(expected.mean, seen.mean, 0.12 * std::sqrt(seen.square))
          << row.name << " of " << mean << " and " << deviation;
    }
}

TEST(StorageFormat, RoundsToTheNearestNumber) {
  for (const Row &row : rows()) {
    const StorageFormat &format = row.format;
    Interval ends = format.ends();
    for (double part : {0.001, 0.01, 0.13, 0.37, 0.71, 0.99}) {
      double value = ends.lo + part * (ends.hi - ends.lo);
      double stored = format.round(value);
      EXPECT_LE(std::fabs(stored - value), format.step(value) / 2 * (1 + 1e-9))
          << row.name << " of " << value;
      EXPECT_NEAR(format.round(stored), stored, 1e-9 * format.step(stored))
          << row.name;
    }
    EXPECT_EQ(format.round(0.9 * format.flushAt()), 0) << row.name;
    EXPECT_NE(format.round(1.1 * format.flushAt()), 0) << row.name;
  }
}

TEST(StorageFormat, WhatLiesPastTheEndsIsClippedOrInfinite) {
  for (const Row &row : rows()) {
    const StorageFormat &format = row.format;
    Interval ends = format.ends(), edges = format.overflowFrom();
    double step = format.step(ends.hi);
    EXPECT_NEAR(format.round(edges.hi - step / 100), ends.hi, step / 1000)
        << row.name;
    double past = format.round(edges.hi + step);
    if (format.saturates) {
      EXPECT_DOUBLE_EQ(past, ends.hi) << row.name;
      EXPECT_DOUBLE_EQ(format.round(-INFINITY), ends.lo) << row.name;
    } else {
      EXPECT_EQ(past, INFINITY) << row.name;
    }
    EXPECT_EQ(format.clip(2 * ends.hi), ends.hi) << row.name;
    EXPECT_EQ(format.clip(ends.lo - step), ends.lo) << row.name;
  }
}

TEST(StorageFormat, IntegersHaveAUniformStep) {
  StorageFormat i8 = StorageFormat::integers(8, /*isSigned=*/true);
  EXPECT_EQ(i8.codes, (Interval{-128, 127}));
  EXPECT_EQ(i8.round(2.5), 2);
  EXPECT_EQ(i8.round(300), 127);
  StorageFormat shifted = named("ui8").scaled(0.5, 100);
  EXPECT_EQ(shifted.ends(), (Interval{-50, 77.5}));
  EXPECT_EQ(shifted.round(3.3), 3.5);
  EXPECT_EQ(shifted.round(-60), -50);
  // Whole numbers are codes.
  EXPECT_EQ(storageErrorOf(3, 4, i8, /*whole=*/true).square, 0);
  EXPECT_GT(storageErrorOf(3, 4, shifted, /*whole=*/true).square, 0);
}

TEST(StorageFormat, NamesAreThoseOfTypes) {
  EXPECT_EQ(named("ui4").codes, (Interval{0, 15}));
  for (const FloatFormat &format : FloatFormat::all())
    EXPECT_EQ(named(format.name).floats, &format);
  for (const char *none : {"", "i", "i0", "i65", "f7", "u8", "i8x"})
    EXPECT_FALSE(StorageFormat::byName(none)) << none;
}

TEST(StorageFormat, WiderFormatsHoldNarrowerOnes) {
  const FloatFormat &f16 = FloatFormat::f16(), &bf16 = FloatFormat::bf16();
  EXPECT_TRUE(StorageFormat(FloatFormat::f32()).holds(bf16));
  EXPECT_FALSE(StorageFormat(f16).holds(bf16));
  EXPECT_FALSE(StorageFormat(bf16).holds(f16));
  EXPECT_TRUE(StorageFormat(f16).holds(named("f8E5M2")));
  EXPECT_FALSE(StorageFormat(f16).holds(named("f8E5M2").scaled(3)));
}

TEST(Precision, NamesAStorageFormatForEachRole) {
  for (const Precision &precision : Precision::all()) {
    EXPECT_EQ(Precision::byName(precision.name), &precision);
    for (llvm::StringRef role :
         {precision.weights, precision.activations, precision.accumulators})
      EXPECT_TRUE(role.empty() || StorageFormat::byName(role))
          << precision.name.str() << ": " << role.str();
    // What casts weights by op leaves them as they are elsewhere.
    EXPECT_TRUE(precision.weights.empty() || !precision.byPolicy);
  }
  EXPECT_TRUE(Precision::asIs().isAsIs());
  EXPECT_EQ(&Precision::of("fp17"), &Precision::asIs());
  EXPECT_FALSE(Precision::byName("fp17"));
}
