//===- SoftmaxRowsTest.cpp - Softmax of rows, without an op
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Ranges/Value/SoftmaxRows.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace mpopt;

static AbstractValue softmax(const AbstractValue &x, Shape shape,
                             bool rowsHaveFinite = true) {
  const FloatFormat &f32 = FloatFormat::f32();
  return cells::softmaxOf(shape, x, {1}, /*logarithm=*/false, rowsHaveFinite,
                          f32, f32);
}

TEST(SoftmaxRows, BoundsAnElementByTheOthers) {
  AbstractValue x = AbstractValue::within(-1, 1, 2);
  AbstractValue p = softmax(x, {2, 4});
  double low = std::exp(-1) / (std::exp(-1) + 3 * std::exp(1));
  double high = std::exp(1) / (std::exp(1) + 3 * std::exp(-1));
  EXPECT_NEAR(p.cell(0).lo, low, 1e-5);
  EXPECT_NEAR(p.cell(0).hi, high, 1e-5);
  EXPECT_LE(p.cell(0).lo, low);
  EXPECT_GE(p.cell(0).hi, high);
  EXPECT_FALSE(p.mayBeNonFinite());
  ASSERT_TRUE(p.rowSum.has_value());
  EXPECT_EQ(p.rowSum->axis, 1);
  EXPECT_EQ(p.rowSum->count, 4);
  EXPECT_TRUE(p.rowSum->lo <= 1 && p.rowSum->hi >= 1);
}

TEST(SoftmaxRows, KeepsNoClaimOfTheLogits) {
  AbstractValue x = AbstractValue::within(1, 2, 2);
  x.claimIntegral();
  x.claimMinNonZero(1);
  x.claimNorm(0, 3, 2);
  AbstractValue p = softmax(x, {2, 4});
  EXPECT_FALSE(p.integral);
  EXPECT_EQ(p.minNonZero, 0);
  EXPECT_FALSE(p.norm.has_value());
}

TEST(SoftmaxRows, IsNaNWhereAllOfARowIsMasked) {
  AbstractValue x = AbstractValue::within(-1, 1, 2);
  x.setNonFinite(false, false, true);
  EXPECT_TRUE(softmax(x, {2, 4}, /*rowsHaveFinite=*/false).nan);
  AbstractValue p = softmax(x, {2, 4});
  EXPECT_FALSE(p.nan);
  // A masked element is 0, and leaves all of the sum to another.
  EXPECT_EQ(p.cell(0).lo, 0);
  EXPECT_GE(p.cell(0).hi, 1);
}

TEST(SoftmaxRows, ClaimsALooserSumOfRowsOfOpenLength) {
  AbstractValue open = softmax(AbstractValue::within(-1, 1, 2), {2, kDynamic});
  AbstractValue known = softmax(AbstractValue::within(-1, 1, 2), {2, 4});
  ASSERT_TRUE(open.rowSum.has_value() && known.rowSum.has_value());
  EXPECT_LT(open.rowSum->lo, known.rowSum->lo);
  EXPECT_GT(open.rowSum->hi, known.rowSum->hi);
  EXPECT_EQ(open.cell(0).lo, 0);
}
