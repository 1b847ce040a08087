//===- FloatFormatTest.cpp - The edges of every float format
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Numerics/FloatFormat.h"
#include "mpopt/Numerics/Masking.h"

#include "gtest/gtest.h"

#include <cmath>
#include <limits>

using namespace mpopt;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Row {
  const char *name;
  double maxFinite, overflowFrom, minNormal, minSubnormal, flushAt;
};

// From the IEEE 754 and OCP 8-bit float definitions, written out by hand.
const Row kRows[] = {
    {"f32", std::ldexp(2 - std::ldexp(1, -23), 127),
     std::ldexp(2 - std::ldexp(1, -24), 127), std::ldexp(1, -126),
     std::ldexp(1, -149), std::ldexp(1, -150)},
    {"bf16", std::ldexp(2 - std::ldexp(1, -7), 127),
     std::ldexp(2 - std::ldexp(1, -8), 127), std::ldexp(1, -126),
     std::ldexp(1, -133), std::ldexp(1, -134)},
    {"f16", 65504, 65520, std::ldexp(1, -14), std::ldexp(1, -24),
     std::ldexp(1, -25)},
    {"f8E5M2", 57344, 61440, std::ldexp(1, -14), std::ldexp(1, -16),
     std::ldexp(1, -17)},
    // 464 ties with an even 448: only what is above goes past the edge.
    {"f8E4M3FN", 448, std::nextafter(464, kInfinity), std::ldexp(1, -6),
     std::ldexp(1, -9), std::ldexp(1, -10)},
    {"f8E5M2FNUZ", 57344, 61440, std::ldexp(1, -15), std::ldexp(1, -17),
     std::ldexp(1, -18)},
    {"f8E4M3FNUZ", 240, 248, std::ldexp(1, -7), std::ldexp(1, -10),
     std::ldexp(1, -11)},
    {"f4E2M1FN", 6, 7, 1, 0.5, 0.25},
};

TEST(FloatFormat, Edges) {
  for (const Row &row : kRows) {
    const FloatFormat *format = FloatFormat::byName(row.name);
    ASSERT_NE(format, nullptr) << row.name;
    EXPECT_EQ(format->maxFinite, row.maxFinite) << row.name;
    EXPECT_EQ(format->overflowFrom, row.overflowFrom) << row.name;
    EXPECT_EQ(format->minNormal, row.minNormal) << row.name;
    EXPECT_EQ(format->minSubnormal, row.minSubnormal) << row.name;
    EXPECT_EQ(format->flushAt, row.flushAt) << row.name;
    EXPECT_EQ(FloatFormat::bySemantics(*format->semantics), format);
  }
  EXPECT_EQ(FloatFormat::byName("f80"), nullptr);
}

TEST(FloatFormat, Masks) {
  EXPECT_NEAR(maskedBelow(), -87.336, 1e-3);
  EXPECT_NEAR(maskedBelow(FloatFormat::f16()), -9.704, 1e-3);
  EXPECT_EQ(largestMask(FloatFormat::f16()), 32752);
}

TEST(FloatFormat, Properties) {
  EXPECT_TRUE(FloatFormat::f16().hasInf);
  EXPECT_FALSE(FloatFormat::byName("f8E4M3FN")->hasInf);
  EXPECT_TRUE(FloatFormat::byName("f8E4M3FN")->hasNaN);
  EXPECT_FALSE(FloatFormat::byName("f4E2M1FN")->hasNaN);
  EXPECT_FALSE(FloatFormat::byName("f8E8M0FNU")->hasZero);
  EXPECT_EQ(FloatFormat::byName("f8E8M0FNU")->flushAt, 0);
  EXPECT_EQ(FloatFormat::byName("f8E8M0FNU")->maxFinite, std::ldexp(1, 127));
  EXPECT_EQ(FloatFormat::f16().digits, 11u);
  EXPECT_EQ(FloatFormat::bf16().digits, 8u);
  EXPECT_EQ(FloatFormat::f32().digits, 24u);
  EXPECT_EQ(FloatFormat::f64().overflowFrom, kInfinity);
  EXPECT_EQ(FloatFormat::f64().digits, 53u);
}

TEST(FloatFormat, NeighboursOfTheEdges) {
  const FloatFormat &f16 = FloatFormat::f16();
  EXPECT_FALSE(f16.overflows(65504));
  EXPECT_FALSE(f16.overflows(65519.99));
  EXPECT_FALSE(f16.overflows(std::nextafter(65520, 0)));
  EXPECT_TRUE(f16.overflows(65520));
  EXPECT_TRUE(f16.overflows(-1e9));
  EXPECT_FALSE(f16.overflows(kInfinity)); // is one already
  EXPECT_FALSE(f16.overflows(std::nan("")));
  double edge = std::ldexp(1, -25);
  EXPECT_TRUE(f16.flushes(edge));
  EXPECT_FALSE(f16.flushes(std::nextafter(edge, 1)));
  EXPECT_FALSE(f16.flushes(0));
  EXPECT_FALSE(f16.flushes(-0.0));
  EXPECT_TRUE(f16.becomesSubnormal(std::nextafter(edge, 1)));
  EXPECT_FALSE(f16.becomesSubnormal(std::ldexp(1, -14)));
}

TEST(FloatFormat, RoundsAsApFloatDoes) {
  for (const FloatFormat &format : FloatFormat::all()) {
    if (!format.hasZero || format.bits == 64)
      continue;
    for (int exponent = -160; exponent < 130; ++exponent)
      for (double significand : {1.0, 1.0625, 1.25, 1.3, 1.5, 1.75, 1.9375,
                                 1.99, std::nextafter(1.5, 2)}) {
        double value = std::ldexp(significand, exponent);
        llvm::APFloat expected(value);
        bool inexact;
        expected.convert(*format.semantics, llvm::APFloat::rmNearestTiesToEven,
                         &inexact);
        expected.convert(llvm::APFloat::IEEEdouble(),
                         llvm::APFloat::rmNearestTiesToEven, &inexact);
        if (format.overflows(value)) {
          EXPECT_EQ(format.round(value), kInfinity);
          EXPECT_TRUE(!expected.isFinite() ||
                      expected.convertToDouble() == format.maxFinite)
              << format.name.str() << ' ' << value;
          continue;
        }
        EXPECT_EQ(format.round(value), expected.convertToDouble())
            << format.name.str() << ' ' << value;
        EXPECT_EQ(format.round(-value), -expected.convertToDouble());
      }
  }
}

} // namespace
