//===- MemoryFitTest.cpp - How a training step fits a memory --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Train/MemoryFit.h"

#include "gtest/gtest.h"

using namespace mpopt;

static constexpr double kGiB = 0x1p30;

// FP32 parameters, gradients and two moments: 16 bytes a parameter.
static TrainConfig makeConfig() {
  TrainConfig config;
  config.optimizer.name = "adamw";
  return config;
}

static std::vector<ParameterShape> makeParameters(double billions) {
  return {{{int64_t(billions * 1e5), 10000}, TrainType::F32, ""}};
}

TEST(MemoryFit, FitsAsItIs) {
  TrainConfig config = makeConfig();
  auto parameters = makeParameters(1);
  StepMemory step{parameters, config, 0, {0, 1e8}, std::nullopt, 8};
  MemoryFit fit = fitMemory(step, 24 * kGiB);
  EXPECT_TRUE(fit.fits);
  EXPECT_DOUBLE_EQ(fit.needed, 16e9 + 8e8);
  EXPECT_TRUE(fit.changes.empty());
  EXPECT_EQ(fit.most, int64_t((24 * kGiB - 16e9) / 1e8));
}

// The documents' case: 1 B parameters on 8 GB. State of 8 bits leaves 10
// bytes a parameter, so that only ranks help.
TEST(MemoryFit, OneBillionOnEightGigabytes) {
  TrainConfig config = makeConfig();
  auto parameters = makeParameters(1);
  StepMemory step{parameters, config, 0, {0, 1e7}, std::nullopt, 4};
  MemoryFit fit = fitMemory(step, 8e9);
  EXPECT_FALSE(fit.fits);
  ASSERT_EQ(fit.changes.size(), 1u);
  EXPECT_EQ(fit.changes[0], "ZeRO 2 over 4 ranks");
  EXPECT_LE(fit.changed, 8e9);
  EXPECT_EQ(fit.most, 0);
}

TEST(MemoryFit, FewerSamplesComeFirst) {
  TrainConfig config = makeConfig();
  auto parameters = makeParameters(0.1);
  StepMemory step{parameters, config, 0, {0, 1e9}, ActivationBytes{0, 1e8}, 12};
  // 1.6 GB and 5 samples: of 12 in equal passes 4.
  MemoryFit fit = fitMemory(step, 7e9);
  ASSERT_EQ(fit.changes.size(), 1u);
  EXPECT_EQ(fit.changes[0], "passes of 4 samples (accumulate=3)");
  EXPECT_EQ(fit.most, 5);
  EXPECT_EQ(fit.mostCheckpointed, 54);
}

TEST(MemoryFit, CheckpointingWhereOneSampleIsTooMuch) {
  TrainConfig config = makeConfig();
  auto parameters = makeParameters(0.1);
  StepMemory step{parameters, config, 0, {0, 9e9}, ActivationBytes{0, 1e9}, 1};
  MemoryFit fit = fitMemory(step, 4e9);
  ASSERT_EQ(fit.changes.size(), 1u);
  EXPECT_EQ(fit.changes[0], "activation checkpointing");
}

TEST(MemoryFit, TwoChangesWhereOneIsNotEnough) {
  TrainConfig config = makeConfig();
  auto parameters = makeParameters(0.1);
  StepMemory step{parameters, config, 0, {0, 9e9}, ActivationBytes{0, 1e9}, 8};
  MemoryFit fit = fitMemory(step, 4e9);
  ASSERT_EQ(fit.changes.size(), 2u);
  EXPECT_EQ(fit.changes[0], "passes of 2 samples (accumulate=4)");
  EXPECT_EQ(fit.changes[1], "activation checkpointing");
}

TEST(MemoryFit, StateOfEightBits) {
  TrainConfig config = makeConfig();
  auto parameters = makeParameters(1);
  StepMemory step{parameters, config, 0, {0, 0}, std::nullopt, 1};
  MemoryFit fit = fitMemory(step, 12e9);
  ASSERT_EQ(fit.changes.size(), 1u);
  EXPECT_EQ(fit.changes[0], "optimizer state in 8 bits (state=int8)");
  EXPECT_FALSE(fit.most);
}

TEST(MemoryFit, NothingHelps) {
  TrainConfig config = makeConfig();
  auto parameters = makeParameters(1);
  // A constant table is on every rank.
  StepMemory step{parameters, config, 9e9, {0, 0}, std::nullopt, 1};
  MemoryFit fit = fitMemory(step, 8e9);
  EXPECT_FALSE(fit.fits);
  EXPECT_TRUE(fit.changes.empty());
}

TEST(MemoryFit, Bytes) {
  EXPECT_EQ(parseBytes("24GiB"), 24 * kGiB);
  EXPECT_EQ(parseBytes("80GB"), 80e9);
  EXPECT_EQ(parseBytes("1.5 gib"), 1.5 * kGiB);
  EXPECT_EQ(parseBytes("5e9"), 5e9);
  for (const char *bad : {"", "GiB", "0", "-1GB", "5 parsecs", "nan", "1e999"})
    EXPECT_FALSE(parseBytes(bad)) << bad;
}
