//===- TallyTest.cpp - Moments of groups of numbers
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Numerics/Tally.h"

#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"

#include <vector>

using namespace mpopt;

/// Groups of 16 numbers that alternate around 0 by the given amplitudes.
static std::vector<Tally> makeGroups(std::vector<double> amplitudes,
                                     int count = 16) {
  std::vector<Tally> groups(amplitudes.size());
  for (auto [group, amplitude] : llvm::zip_equal(groups, amplitudes))
    for (int i = 0; i < count; ++i)
      group.add(i % 2 ? amplitude : -amplitude);
  return groups;
}

TEST(Tally, Moments) {
  Tally tally;
  for (double number : {1.0, 2.0, 6.0})
    tally.add(number);
  EXPECT_EQ(tally.mean(), 3);
  EXPECT_NEAR(tally.variance(), 14.0 / 3, 1e-12);
  EXPECT_EQ(tally.hull, (Interval{1, 6}));
  Tally other;
  other.add(-9);
  tally.add(other);
  EXPECT_EQ(tally.count, 4);
  EXPECT_EQ(tally.mean(), 0);
  EXPECT_EQ(tally.hull.lo, -9);
}

TEST(Tally, GroupsThatDifferInBothHalvesGain) {
  EXPECT_GT(gainOfGroups(makeGroups({1, 100}), makeGroups({1, 100})), 1);
}

TEST(Tally, GroupsThatDifferByChanceLose) {
  EXPECT_LT(gainOfGroups(makeGroups({1, 100}), makeGroups({100, 1})), 0);
}

TEST(Tally, FewNumbersTellNothing) {
  EXPECT_FALSE(gainOfGroups(makeGroups({1, 100}, 4), makeGroups({1, 100}, 4)));
}
