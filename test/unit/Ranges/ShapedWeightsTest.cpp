//===- ShapedWeightsTest.cpp - Weights that training has shaped
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Ranges/Weights/ProductSupport.h"

#include <gtest/gtest.h>

using namespace mpopt;

/// Weights of some channels, of deviation 0.1, that reach that many deviations.
static AbstractValue weights(int64_t channels, double reach) {
  double most = 0.1 * reach;
  AbstractValue value({channels, 1}, Cell{-most, most, 0, 0.01, -most, most});
  value.source = LikelySource::Weight;
  return value;
}

TEST(ShapedWeights, AreFartherOutThanInitialOnes) {
  // None of 64 normal draws is expected beyond 2.88 deviations; uniform ones
  // end at sqrt(3).
  EXPECT_FALSE(areShaped(weights(32, 1.73), 64));
  EXPECT_FALSE(areShaped(weights(32, 2.8), 64));
  EXPECT_TRUE(areShaped(weights(32, 3.0), 64));
  // Few weights say nothing.
  EXPECT_FALSE(areShaped(weights(2, 6), 64));
  // Nor do computed ones.
  AbstractValue computed = weights(32, 6);
  computed.source = LikelySource::Propagated;
  EXPECT_FALSE(areShaped(computed, 64));
}
