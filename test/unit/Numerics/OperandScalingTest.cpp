//===- OperandScalingTest.cpp - Scales of operands
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Numerics/Precision.h"

#include "gtest/gtest.h"

#include <cmath>

using namespace mpopt;

using Grain = OperandScaling::Grain;
using Rounding = OperandScaling::Rounding;

TEST(OperandScaling, LargestMagnitudeIsTheLastCode) {
  StorageFormat format = OperandScaling{"f8E4M3FN"}.of({-3, 7}, 7);
  EXPECT_DOUBLE_EQ(format.scale, 7.0 / 448);
  EXPECT_DOUBLE_EQ(format.round(-7), -7);
  // What lies beyond saturates, as casts on hardware do.
  EXPECT_DOUBLE_EQ(format.round(100), 7);
}

TEST(OperandScaling, PowersOfTwo) {
  OperandScaling up{"f8E4M3FN", Grain::Block, 32, Rounding::Up};
  OperandScaling floor{"f8E4M3FN", Grain::Block, 32, Rounding::Floor};
  // 448 is 1.75 2^8: what is up to it within its binade fits either way.
  for (double most : {1.0, 1.75, 1.76, 1.99, 3.5, 3.6}) {
    double wide = up.of({-most, most}, most).scale,
           narrow = floor.of({-most, most}, most).scale;
    EXPECT_EQ(std::log2(wide), std::round(std::log2(wide))) << most;
    EXPECT_GE(448 * wide, most);
    EXPECT_LT(448 * wide / 2, most);
    bool clips = std::exp2(std::floor(std::log2(most))) * 1.75 < most;
    EXPECT_EQ(narrow, clips ? wide / 2 : wide) << most;
  }
}

TEST(OperandScaling, ScalesThatAreCodesThemselves) {
  OperandScaling scaling{"f4E2M1FN", Grain::Block, 16, Rounding::Codes};
  // The tensor's scale is 10 / (6 448); a block's is E4M3's nearest to it.
  double unit = 10 / (6.0 * 448);
  StorageFormat format = scaling.of({-1, 1}, 10);
  EXPECT_DOUBLE_EQ(format.scale, 44 * unit); // 44.8 has 44 and 48 beside it
  // A block of which the scale is stored as 0 is read as 0.
  StorageFormat lost = scaling.of({-1e-6, 1e-6}, 10);
  EXPECT_EQ(lost.round(1e-6), 0);
}

TEST(OperandScaling, ZeroPointsSpanTheRange) {
  OperandScaling scaling{"ui8", Grain::Tensor, 0, Rounding::None, true};
  StorageFormat format = scaling.of({-1, 3}, 3);
  EXPECT_DOUBLE_EQ(format.scale, 4.0 / 255);
  EXPECT_EQ(format.zeroPoint, 64);
  EXPECT_EQ(format.round(0), 0);
  // A range of one sign reaches to 0.
  EXPECT_DOUBLE_EQ(scaling.of({2, 3}, 3).scale, 3.0 / 255);
  EXPECT_EQ(scaling.of({2, 3}, 3).zeroPoint, 0);
}

TEST(Precision, SpellingsOfOperands) {
  EXPECT_EQ(Precision::byName("fp8-e4m3")->name, "fp8-e4m3:tensor");
  EXPECT_EQ(Precision::byName("mxfp8"), Precision::byName("fp8-e4m3:mx"));
  EXPECT_EQ(Precision::byName("int8")->recipe(), "u8s8");
  EXPECT_EQ(Precision::byName("fp8-e4m3:column"), nullptr);
  for (const Precision &row : Precision::all())
    EXPECT_EQ(row.isAsIs(), row.name == "as-is") << row.name.str();
}
