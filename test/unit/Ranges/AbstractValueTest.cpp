//===- AbstractValueTest.cpp - Groups, lattice and rounding
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Ranges/Value/AbstractValue.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace mpopt;

/// Group i is [i, i + 0.5].
static AbstractValue numbered(AbstractValue::Dims dims) {
  std::vector<Cell> cells;
  for (size_t i = 0; i < countGroups(dims); ++i) {
    double value = double(i);
    cells.push_back(Cell{value, value + 0.5, value, 1, value - 2, value + 2});
  }
  AbstractValue result(std::move(dims), cells);
  result.source = LikelySource::Weight;
  return result;
}

static std::vector<double> lows(const AbstractValue &value) {
  std::vector<double> result;
  for (const Cell &cell : value.cells())
    result.push_back(cell.lo);
  return result;
}

using Numbers = std::vector<double>;
using Dims = AbstractValue::Dims;

TEST(AbstractValue, MergesAndRepeatsAxes) {
  AbstractValue value = numbered({2, 3});
  AbstractValue rows = value.merging(1);
  EXPECT_EQ(Dims(rows.dims()), (Dims{2, 1}));
  EXPECT_EQ(lows(rows), (Numbers{0, 3}));
  EXPECT_EQ(rows.cell(0).hi, 2.5);
  // Means of 0, 1, 2 and the variance between and within them.
  EXPECT_DOUBLE_EQ(rows.cell(0).mean, 1);
  EXPECT_DOUBLE_EQ(rows.cell(0).variance, 1 + 2.0 / 3);
  AbstractValue again = rows.regrouped({2, 3});
  EXPECT_EQ(lows(again), (Numbers{0, 0, 0, 3, 3, 3}));
  EXPECT_EQ(value.hull().lo, 0);
  EXPECT_EQ(value.hull().hi, 5.5);
}

TEST(AbstractValue, CopiesShareUntilOneChanges) {
  AbstractValue first = numbered({3});
  AbstractValue second = first;
  EXPECT_EQ(first.cells()[Field::Lo].data(), second.cells()[Field::Lo].data());
  second.mutableCells()[0].lo = -7;
  EXPECT_EQ(first.cell(0).lo, 0);
  EXPECT_EQ(second.cell(0).lo, -7);
}

TEST(AbstractValue, TransposesGroupsAndFacts) {
  AbstractValue value = numbered({2, 1, 3});
  value.norm = NormFact{2, 5, 3};
  AbstractValue turned = value.transposed({2, 0, 1});
  EXPECT_EQ(Dims(turned.dims()), (Dims{3, 2, 1}));
  EXPECT_EQ(lows(turned), (Numbers{0, 3, 1, 4, 2, 5}));
  ASSERT_TRUE(turned.norm);
  EXPECT_EQ(turned.norm->axis, 0);
}

TEST(AbstractValue, ReshapeSplitsAndJoinsKeptAxes) {
  AbstractValue value = numbered({1, 1, 6});
  value.norm = NormFact{2, 5, 6};
  AbstractValue heads = value.reshaped({4, 7, 6}, {4, 7, 2, 3}, 100);
  EXPECT_EQ(Dims(heads.dims()), (Dims{1, 1, 2, 3}));
  EXPECT_EQ(lows(heads), lows(value));
  ASSERT_TRUE(heads.norm);
  EXPECT_EQ(heads.norm->axis, 3);
  EXPECT_EQ(heads.norm->bound, 5);
  AbstractValue back = heads.reshaped({4, 7, 2, 3}, {4, 7, 6}, 100);
  EXPECT_EQ(lows(back), lows(value));
  ASSERT_TRUE(back.norm);
  EXPECT_GE(back.norm->bound, 5 * std::sqrt(2.0));
  // Unknown dims in front of a suffix that matches.
  AbstractValue open = value.reshaped({-1, -1, 6}, {-1, 3, 2}, 100);
  EXPECT_EQ(Dims(open.dims()), (Dims{1, 3, 2}));
  // A kept axis that is put together with a merged one needs all their groups.
  AbstractValue image = numbered({1, 2, 1});
  EXPECT_EQ(lows(image.reshaped({4, 2, 3}, {4, 6}, 100)),
            (Numbers{0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(lows(image.reshaped({4, 2, 3}, {4, 6}, 5)), (Numbers{0}));
  // Nothing fits: one group, with everything in it.
  AbstractValue mixed = numbered({2, 3}).reshaped({2, 3}, {3, 2}, 4);
  EXPECT_EQ(mixed.hull().lo, 0);
  EXPECT_EQ(mixed.hull().hi, 5.5);
}

TEST(AbstractValue, LimitMergesWhatDiffersLeast) {
  // Axis 0 makes a difference of 100, axis 1 of 1.
  AbstractValue value({2, 2},
                      {Cell{0, 0}, Cell{1, 1}, Cell{100, 100}, Cell{101, 101}});
  AbstractValue fewer = value.limited(2);
  EXPECT_EQ(Dims(fewer.dims()), (Dims{2, 1}));
  EXPECT_EQ(lows(fewer), (Numbers{0, 100}));
}

TEST(AbstractValue, LimitMergesWhereNoCostIsANumber) {
  // Axis 0 has one group already: merging it would never end.
  Cell infinite{0, 1, kInfinity, kInfinity, -kInfinity, kInfinity};
  AbstractValue value({1, 2, 2}, {infinite, infinite, infinite, infinite});
  EXPECT_LE(value.limited(2).groups(), 2u);
}

TEST(AbstractValue, BroadcastsGroups) {
  AbstractValue values[] = {numbered({2, 1}), numbered({3})};
  Dims dims = broadcastGroups(values, 100);
  EXPECT_EQ(dims, (Dims{2, 3}));
  Numbers sums;
  forEachGroup(dims, values, [&](size_t, llvm::ArrayRef<size_t> at) {
    sums.push_back(10 * values[0].cell(at[0]).lo + values[1].cell(at[1]).lo);
  });
  EXPECT_EQ(sums, (Numbers{0, 1, 2, 10, 11, 12}));
}

TEST(AbstractValue, JoinsAndContains) {
  AbstractValue low = AbstractValue::within(-1, 1, 1);
  AbstractValue high = AbstractValue::within(3, 4, 1);
  high.nan = true;
  AbstractValue both = low.join(high);
  EXPECT_TRUE(both.nan);
  EXPECT_EQ(both.cell(0).lo, -1);
  EXPECT_EQ(both.cell(0).hi, 4);
  EXPECT_TRUE(both.contains(low));
  EXPECT_TRUE(both.contains(high));
  EXPECT_FALSE(low.contains(both));
  EXPECT_TRUE(AbstractValue::top(1).contains(both));
  // A value of groups is in one that has none, not the other way round.
  AbstractValue groups = numbered({3});
  EXPECT_TRUE(AbstractValue::within(-1, 9, 1).contains(groups));
  EXPECT_FALSE(groups.contains(AbstractValue::within(0, 2.5, 1)));
}

TEST(AbstractValue, WideningEnds) {
  AbstractValue value = AbstractValue::within(0, 1, 1);
  int steps = 0;
  for (; steps < 20; ++steps) {
    AbstractValue next = value;
    next.mutableCells()[0].hi = value.cell(0).hi * 1.5;
    if (value.contains(next))
      break;
    value = next.widened(value);
  }
  EXPECT_LT(steps, 10);
  EXPECT_EQ(value.cell(0).lo, 0);
  EXPECT_EQ(value.cell(0).hi, INFINITY);
}

TEST(AbstractValue, StoresPastTheEdge) {
  const FloatFormat &f16 = FloatFormat::f16();
  AbstractValue value = AbstractValue::within(-65519, 65520, 1);
  AbstractValue stored = value.stored(&f16);
  EXPECT_TRUE(stored.posInf);
  EXPECT_FALSE(stored.negInf);
  EXPECT_EQ(stored.cell(0).lo, -65504);
  EXPECT_EQ(stored.cell(0).hi, 65520); // a superset of what is stored
  AbstractValue tiny = AbstractValue::within(1e-9, 1, 1).stored(&f16);
  EXPECT_EQ(tiny.cell(0).lo, 0);
  EXPECT_EQ(tiny.minNonZero, f16.minSubnormal);
  // A format without Inf has NaN there.
  AbstractValue narrow =
      AbstractValue::within(0, 1000, 1).stored(FloatFormat::byName("f8E4M3FN"));
  EXPECT_TRUE(narrow.nan);
  EXPECT_FALSE(narrow.posInf);
}

static AbstractValue claiming() {
  AbstractValue value = numbered({2, 3});
  value.posInf = true;
  value.claimIntegral();
  value.claimMinNonZero(1);
  value.claimNorm(1, 5, 3);
  value.claimRowSum(0, 1, 2, 2);
  return value;
}

TEST(AbstractValue, LikeKeepsTheGroupsAlone) {
  AbstractValue like = AbstractValue::like(claiming());
  EXPECT_EQ(Dims(like.dims()), (Dims{2, 3}));
  EXPECT_EQ(like.cell(5).lo, -INFINITY);
  EXPECT_TRUE(like.nan && like.posInf && like.negInf);
  EXPECT_FALSE(like.hasLikely());
  EXPECT_FALSE(like.integral || like.norm || like.rowSum);
  EXPECT_EQ(like.minNonZero, 0);
}

TEST(AbstractValue, BoundedLikeClaimsNothing) {
  AbstractValue bounded = AbstractValue::boundedLike(claiming());
  EXPECT_EQ(bounded.cell(5).lo, 5);
  EXPECT_TRUE(bounded.posInf && !bounded.nan && bounded.hasLikely());
  EXPECT_FALSE(bounded.integral || bounded.norm || bounded.rowSum);
  EXPECT_EQ(bounded.minNonZero, 0);
}

TEST(AbstractValue, PickedElementsAreNoRows) {
  AbstractValue value = claiming();
  AbstractValue picked = AbstractValue::pickedFrom(value);
  EXPECT_TRUE(picked.integral);
  EXPECT_EQ(picked.minNonZero, 1);
  EXPECT_FALSE(picked.norm || picked.rowSum);
  picked.keepsRowsAlong(0, value);
  EXPECT_FALSE(picked.norm.has_value());
  EXPECT_TRUE(picked.rowSum.has_value());
}

TEST(AbstractValue, ReshapesOfNothingClaimNothing) {
  AbstractValue value = numbered({1, 1, 1});
  value.claimNorm(2, 5, 8);
  EXPECT_FALSE(value.reshaped({0, 4, 8}, {0, 2}, 64).norm.has_value());
}
