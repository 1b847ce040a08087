//===- RoundingCoverTest.cpp - Which nodes hold roundings
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Repair/Search/RoundingCover.h"

#include "gtest/gtest.h"

using namespace mpopt;

namespace {

// Two roundings of the same size; the first needs node 0, the second node 1.
const std::vector<RoundingSite> kSites = {{{0}, {{0, 1.0}}}, {{1}, {{0, 1.0}}}};

llvm::SmallVector<CoveringNode> cover(double limit,
                                      std::vector<double> prices) {
  RoundingSum sum = {2.0, limit};
  return coverRoundings(kSites, sum, llvm::DenseSet<unsigned>(),
                        [&](unsigned node) { return prices[node]; });
}

} // namespace

TEST(RoundingCover, TakesNothingWithinTheLimit) {
  EXPECT_TRUE(cover(2.0, {1, 1}).empty());
}

TEST(RoundingCover, TakesTheCheaperNodeFirst) {
  EXPECT_EQ(cover(1.0, {8, 1}),
            (llvm::SmallVector<CoveringNode>{{1u, size_t(1)}}));
  EXPECT_EQ(cover(1.0, {1, 8}),
            (llvm::SmallVector<CoveringNode>{{0u, size_t(0)}}));
}

TEST(RoundingCover, TakesAllThatTheLimitNeeds) {
  EXPECT_EQ(cover(0.5, {8, 1}).size(), 2u);
}
