//===- UpdatesTest.cpp - First steps and what formats keep of them
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expected values are those of torch.optim 2.13 where a comment does not derive
// them.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Gradients/Updates.h"

#include "gtest/gtest.h"

using namespace mpopt;

static const FloatFormat &half = FloatFormat::f16();
static const FloatFormat &brain = FloatFormat::bf16();

static WeightSizes weights(std::initializer_list<double> values) {
  WeightSizes result;
  for (double value : values)
    result.add(value);
  return result;
}

/// Normal gradients of that root mean square.
static GradientMagnitudes normal(double rms, double zero = 0) {
  GradientMagnitudes result;
  double live = rms / std::sqrt(1 - zero);
  result.rms = rms;
  result.zero = zero;
  result.below = [=](double limit) {
    return std::erf(limit / live / std::sqrt(2.0));
  };
  return result;
}

static Optimizer make(llvm::StringRef name, double rate, double decay = 0) {
  Optimizer result = *Optimizer::byName(name);
  result.learningRate = rate;
  result.weightDecay = decay;
  return result;
}

TEST(WeightSizes, KeepsMagnitudesApart) {
  WeightSizes sizes = weights({0, 1, 1, -1.5, 3});
  sizes.add(INFINITY);
  EXPECT_EQ(sizes.count(), 5);
  EXPECT_NEAR(sizes.rms(), std::sqrt((1 + 1 + 2.25 + 9) / 5), 1e-12);
  std::vector<WeightSizes::Part> parts = sizes.parts();
  ASSERT_EQ(parts.size(), 4u);
  EXPECT_EQ(parts[0].magnitude, 0);
  EXPECT_TRUE(parts[1].power);
  EXPECT_EQ(parts[1].count, 2);
  EXPECT_EQ(parts[2].magnitude, 1.5);
  EXPECT_FALSE(parts[2].power);
}

// Half a gap of BF16 is 2^-9 = 0.00195 in [0.5, 1), and 2^-10 in [0.25, 0.5);
// that of FP16 is an eighth of it.
TEST(Updates, AdamNeedsWeightsAndRateOnly) {
  UpdateEstimate step(make("adam", 1e-3), weights({0.7, 0.3}), normal(1e-4));
  EXPECT_NEAR(step.typical(), 1e-3, 1e-6);
  EXPECT_NEAR(*step.lost(brain), 0.5, 1e-2);
  EXPECT_NEAR(*step.lost(half), 0, 1e-3);
  // 0.05 - 1e-4 stays 0.05 in BF16.
  UpdateEstimate slow(make("adam", 1e-4), weights({0.05}), normal(1e-4));
  EXPECT_NEAR(*slow.lost(brain), 1, 1e-3);
}

// Below a power of two the gap is half as wide: 1 - 0.0025 is a new number in
// BF16, 1 + 0.0025 is not.
TEST(Updates, PowersOfTwoTakeHalfOfTheUpdates) {
  UpdateEstimate step(make("adam", 2.5e-3), weights({1, -1}), normal(1e-3));
  EXPECT_NEAR(*step.lost(brain), 0.5, 1e-3);
  UpdateEstimate other(make("adam", 2.5e-3), weights({1.01}), normal(1e-3));
  EXPECT_NEAR(*other.lost(brain), 1, 1e-3);
}

TEST(Updates, ZeroTakesWhatDoesNotFlush) {
  Optimizer tiny = make("lion", 1e-9);
  EXPECT_EQ(*UpdateEstimate(tiny, weights({0}), normal(1)).lost(half), 1);
  EXPECT_EQ(*UpdateEstimate(tiny, weights({0}), normal(1)).lost(brain), 0);
}

// Half a gap at 0.7 in FP16 is 2^-12 = 2.44e-4: with lr 0.1 a gradient of
// 2.44e-3, which is 1.22 standard deviations of 2e-3 away.
TEST(Updates, SgdNeedsTheGradient) {
  UpdateEstimate step(make("sgd", 0.1), weights({0.7}), normal(2e-3));
  EXPECT_NEAR(*step.lost(half), std::erf(1.2207 / std::sqrt(2.0)), 1e-3);
  EXPECT_NEAR(step.typical(), 2e-4, 1e-9);
}

TEST(Updates, EpsilonAboveTheGradientFreezes) {
  UpdateEstimate step(make("adamw", 1e-3), weights({0.1}), normal(1e-12));
  EXPECT_NEAR(step.typical(), 1e-7, 1e-10);
  EXPECT_NEAR(*step.lost(half), 1, 1e-6);
}

TEST(Updates, DecayAlone) {
  // A relative change of 1e-5 is under half a gap whatever the weight is.
  UpdateEstimate step(make("adamw", 1e-3, 0.01), weights({0.1, 0.9, 1}),
                      normal(1e-3, 0.5));
  EXPECT_EQ(*step.lostDecay(half), 1);
  EXPECT_EQ(*step.lostDecay(brain), 1);
  // Where no gradient arrives the decay is all there is: half of the weights
  // lose that, the others take their step of 1e-3 in FP16.
  EXPECT_NEAR(*step.lost(half), 0.5, 1e-3);
  EXPECT_NEAR(*step.lostSteps(half), 0, 1e-3);
  // 1 - 0.01 = 0.99 is another number in both.
  UpdateEstimate fast(make("adamw", 0.1, 0.1), weights({0.7}), normal(1e-3));
  EXPECT_EQ(*fast.lostDecay(brain), 0);
  EXPECT_FALSE(
      UpdateEstimate(make("adam", 0.1, 0.1), weights({0.7}), normal(1e-3))
          .lostDecay(brain));
  // Adam divides a decay that is part of the gradient by itself: a full step.
  UpdateEstimate coupled(make("adam", 1e-3, 0.1), weights({0.1}),
                         normal(1e-3, 0.999));
  EXPECT_NEAR(*coupled.lost(half), 0, 1e-3);
}

TEST(Updates, NothingMoves) {
  EXPECT_FALSE(UpdateEstimate(
                   make("adam", 1e-3), weights({0.5}),
                   GradientMagnitudes{0, 1, false, [](double) { return 0.0; }})
                   .lost(half));
  EXPECT_FALSE(
      UpdateEstimate(make("adam", 1e-3), WeightSizes(), normal(1)).lost(half));
}

TEST(Updates, FirstStepsOfTheOthers) {
  WeightSizes some = weights({0.5, -0.5, 0.5, 0.5});
  auto typical = [&](llvm::StringRef name, double decay = 0,
                     bool matrix = false) {
    GradientMagnitudes gradient = normal(0.01);
    gradient.matrix = matrix;
    return UpdateEstimate(make(name, 1e-2, decay), some, gradient).typical();
  };
  EXPECT_NEAR(typical("sgd"), 1e-4, 1e-12);
  EXPECT_NEAR(typical("adam"), 1e-2, 1e-7);
  EXPECT_NEAR(typical("adagrad"), 1e-2, 1e-7);
  EXPECT_NEAR(typical("lion"), 1e-2, 1e-12);
  // The mean of squares has a hundredth of the first one.
  EXPECT_NEAR(typical("rmsprop"), 0.1, 1e-6);
  // The rate times the weights' root mean square.
  EXPECT_NEAR(typical("lamb"), 5e-3, 1e-6);
  EXPECT_NEAR(typical("adafactor"), 5e-3, 1e-9);
  EXPECT_NEAR(typical("adafactor", 0, true), 5e-3, 1e-9);
  EXPECT_FALSE(Optimizer::byName("lbfgs"));
}

// v keeps something from sqrt(2^-25 / 0.001) = 5.46e-3 on.
TEST(Updates, Moments) {
  UpdateEstimate step(make("adamw", 1e-3), weights({0.5}), normal(5.459e-3));
  EXPECT_NEAR(*step.flushedSecond(half), std::erf(1 / std::sqrt(2.0)), 1e-3);
  EXPECT_EQ(*step.flushedSecond(brain), 0);
  UpdateEstimate sgd(make("sgd", 1e-3), weights({0.5}), normal(1));
  EXPECT_FALSE(sgd.flushedSecond(half));
}

// Seen in torch 2.13: 0.998 stops at 0.98, 0.997 at 0.65 and 0.996 goes on.
TEST(Updates, DecayOfTheSecondMomentStops) {
  EXPECT_EQ(stopOfDecay(0.999, brain), 1);
  EXPECT_NEAR(stopOfDecay(0.998, brain), 0.98, 0.01);
  EXPECT_NEAR(stopOfDecay(0.997, brain), 0.65, 0.01);
  EXPECT_EQ(stopOfDecay(0.996, brain), 0);
  EXPECT_EQ(stopOfDecay(0.999, half), 0);
  EXPECT_EQ(stopOfDecay(0.9999, half), 1);
  EXPECT_EQ(stopOfDecay(0.999, FloatFormat::f32()), 0);
}
