//===- ChangedDecisionsTest.cpp - Gaps between the best candidates
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Propagate/ChangedDecisions.h"

#include "llvm/ADT/SmallVector.h"
#include "gtest/gtest.h"

using namespace mpopt;

static Likely normal(double mean, double variance) {
  return Likely::normal(mean, variance, 4);
}

TEST(ChangedDecisions, DensityOfAlikeCandidatesIsThatOfOneNumber) {
  for (int count : {2, 10, 1000}) {
    // In deviations of 3.
    llvm::SmallVector<Likely> groups(2, normal(5, 9));
    EXPECT_NEAR(3 * findTopGap(groups, count / 2.0).density,
                densityOfTopGap(count), 0.02 * densityOfTopGap(count));
  }
}

TEST(ChangedDecisions, DensityOfTwoIsThatOfTheirDifference) {
  // N(1, 1) - N(0, 3) is N(1, 4), on either side.
  double expected = 2 * 0.5 * 0.3520653;
  EXPECT_NEAR(findTopGap({normal(1, 1), normal(0, 3)}, 1).density, expected,
              0.01 * expected);
}

TEST(ChangedDecisions, ACandidateThatIsNeverBestCountsForNothing) {
  llvm::SmallVector<Likely> groups(8, normal(0, 1));
  double alone = findTopGap(groups, 1).density;
  groups.push_back(normal(-80, 1));
  EXPECT_NEAR(findTopGap(groups, 1).density, alone, 0.01 * alone);
}

TEST(ChangedDecisions, ACandidateThatIsAlwaysBestLeavesNoGap) {
  llvm::SmallVector<Likely> groups(8, normal(0, 1));
  groups.push_back(normal(80, 1));
  EXPECT_LT(findTopGap(groups, 1).density, 1e-12);
  EXPECT_EQ(findTopGap({normal(0, 0), normal(1, 0)}, 1).density, 0);
}
