//===- FloatRangeTest.cpp - What a floating-point value may be
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Numerics/FloatRange.h"
#include "mpopt/Numerics/Accumulation.h"
#include "mpopt/Numerics/StorageFormat.h"

#include "test/unit/Numerics/Samples.h"

#include "gtest/gtest.h"

using namespace mpopt;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

FloatRange store(Interval finite, llvm::StringRef format) {
  return FloatRange::of(finite).store(*StorageFormat::byName(format));
}

TEST(FloatRange, OverflowKeepsTheBoundAndSetsTheFlag) {
  FloatRange below = store({0, 65519}, "f16");
  EXPECT_EQ(below.finite, (Interval{0, 65504}));
  EXPECT_TRUE(below.isFinite());
  FloatRange above = store({-65520, 1e6}, "f16");
  EXPECT_EQ(above.finite, (Interval{-65520, 1e6}));
  EXPECT_TRUE(above.posInf && above.negInf);
  EXPECT_FALSE(above.nan);
  EXPECT_FALSE(store({0, 1e6}, "bf16").posInf);
  // Unbounded: past every edge.
  EXPECT_TRUE(store({0, kInfinity}, "f64").posInf);
}

TEST(FloatRange, FormatsWithoutInf) {
  FloatRange range = store({500, 1000}, "f8E4M3FN");
  EXPECT_TRUE(range.nan);
  EXPECT_FALSE(range.posInf);
  StorageFormat saturating = *StorageFormat::byName("f8E4M3FN");
  saturating.saturates = true;
  EXPECT_EQ(FloatRange::of({500, 1000}).store(saturating),
            FloatRange::of({448, 448}));
  EXPECT_TRUE(store({0, 9}, "f4E2M1FN").contains(6));
  EXPECT_TRUE(store({-1, 0.5}, "f8E8M0FNU").nan);
}

TEST(FloatRange, SmallestValues) {
  // 1e-8 is zero in f16 and a value in f32.
  FloatRange flushed = store({1e-8, 1}, "f16");
  EXPECT_TRUE(flushed.mayBeZero());
  EXPECT_EQ(flushed.minNonZero, 0x1p-24);
  FloatRange kept = store({1e-8, 1}, "f32");
  EXPECT_FALSE(kept.mayBeZero());
  EXPECT_EQ(kept.minNonZero, double(1e-8f));
  EXPECT_FALSE(store({0x1p-20, 1}, "f16").mayBeZero());
  EXPECT_EQ(store({-3, 5}, "f16").positivePart(), (Interval{0x1p-24, 5}));
  EXPECT_EQ(store({-3, 5}, "f16").negativePart(), (Interval{-3, -0x1p-24}));
}

TEST(FloatRange, Tighten) {
  FloatRange integers = FloatRange::of({-0.5, 2.5});
  integers.integral = true;
  integers.tighten();
  EXPECT_EQ(integers.finite, (Interval{0, 2}));
  EXPECT_EQ(integers.minNonZero, 1);
  EXPECT_FALSE(integers.contains(1.5));
  FloatRange nan = FloatRange::point(NAN);
  EXPECT_TRUE(nan.nan);
  EXPECT_TRUE(nan.finite.isEmpty());
  FloatRange both = join(FloatRange::point(3), FloatRange::point(-kInfinity));
  EXPECT_TRUE(both.negInf && both.contains(3) && both.integral);
  EXPECT_FALSE(both.contains(2));
  EXPECT_TRUE(join(FloatRange::point(0), FloatRange::point(5)).minNonZero == 5);
  EXPECT_TRUE(FloatRange().isEmpty());
}

/// A stored value of the range is a value of the stored range.
TEST(FloatRange, StoreHoldsEverySample) {
  for (const FloatFormat &format : FloatFormat::all()) {
    if (&format == &FloatFormat::f64())
      continue; // Nothing wider to store from.
    for (bool saturate : {false, true}) {
      StorageFormat storage = format;
      storage.saturates |= saturate;
      // Values of f32: edges, midpoints and subnormals of narrower formats.
      Samples samples(FloatFormat::f32(), 3);
      for (int box = 0; box < 300; ++box) {
        FloatRange range = samples.box();
        FloatRange stored = range.store(storage);
        for (int i = 0; i < 20; ++i) {
          double value = samples.in(range);
          llvm::APFloat rounded(value);
          bool inexact;
          rounded.convert(*format.semantics, llvm::APFloat::rmNearestTiesToEven,
                          &inexact);
          double result = std::isnan(value) ? NAN : rounded.convertToDouble();
          bool past = std::isinf(value) || format.overflows(value);
          if (past && (saturate || (!format.hasInf && !format.hasNaN)))
            result = std::copysign(format.maxFinite, value);
          else if (past && !format.hasInf)
            result = NAN;
          if (!format.hasZero && value <= 0)
            continue; // APFloat has no answer.
          if (std::isnan(value) && !format.hasNaN)
            continue;
          ASSERT_TRUE(stored.contains(result))
              << format.name.str() << ": " << value << " as " << result
              << ", range " << range << " stored " << stored;
        }
      }
    }
  }
}

TEST(Accumulation, HoldsEverySum) {
  std::mt19937 generator(5);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (const FloatFormat *format :
       {&FloatFormat::f16(), &FloatFormat::bf16(), &FloatFormat::f32()})
    for (unsigned terms : {1u, 2u, 17u, 300u, 4096u}) {
      double exact = 0, computed = 0, magnitude = 0;
      double exactDot = 0, computedDot = 0, dotMagnitude = 0;
      for (unsigned i = 0; i < terms; ++i) {
        double x = format->round(1 + 0.01 * uniform(generator));
        double y = format->round(uniform(generator));
        exact += x;
        magnitude += std::fabs(x);
        computed = i ? format->round(computed + x) : x;
        exactDot += x * y;
        dotMagnitude += std::fabs(x * y);
        computedDot = format->round(computedDot + format->round(x * y));
      }
      Accumulator accumulator = {format};
      EXPECT_LE(std::fabs(computed - exact),
                sumError(accumulator, terms, magnitude));
      EXPECT_LE(std::fabs(computedDot - exactDot),
                dotError(accumulator, terms, dotMagnitude));
      Interval wide =
          widenSum(Interval::point(exact), accumulator, terms, magnitude);
      EXPECT_TRUE(wide.contains(computed));
    }
  Accumulator f32 = {&FloatFormat::f32()};
  EXPECT_EQ(sumError(f32, 1, 1e9), 0);
  // 1000 terms of f32 lose at most 6e-5 of their magnitude.
  EXPECT_NEAR(sumError(f32, 1001, 1), 1000 * 0x1p-24, 1e-9);
  Accumulator truncating = {&FloatFormat::f16(), true};
  // Cutting off towards zero leaves no partial sum above the magnitudes:
  // each cut is less than a unit of these, however many there are.
  EXPECT_GE(sumError(truncating, 5000, 1), 5000 * 0x1p-10);
  EXPECT_LT(sumError(truncating, 5000, 1), 6000 * 0x1p-10);
  EXPECT_LT(sumError(truncating, 100, 1), 0.2);
}

} // namespace
