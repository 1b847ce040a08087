//===- MemoryTest.cpp - What each worker holds and sends ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Train/Memory.h"

#include "gtest/gtest.h"

using namespace mpopt;

static TrainConfig makeConfig(const char *optimizer, int64_t world,
                              int64_t passes = 1) {
  TrainConfig config;
  config.optimizer.name = optimizer;
  config.batch.world = world;
  config.batch.accumulate = passes;
  return config;
}

static SchemeMemory compute(ShardingScheme scheme, ParameterShape parameter,
                            const TrainConfig &config) {
  return computeMemory(scheme, parameter, config);
}

static const ParameterShape kHalf = {{1000, 1000}, TrainType::F16, ""};
static const ParameterShape kFull = {{1000, 1000}, TrainType::F32, ""};

// Rajbhandari et al., 2020: 2 + 2 + 12 bytes of a parameter under Adam in mixed
// precision, of which the stages divide 12, 14, 16 by the number of workers.
TEST(Memory, ZeroOfThePaper) {
  TrainConfig config = makeConfig("adam", 64);
  config.optimizer.master = true;
  double n = 1e6;
  auto total = [&](ShardingScheme scheme) {
    SchemeMemory memory = compute(scheme, kHalf, config);
    return memory.total() - memory.gathered;
  };
  EXPECT_DOUBLE_EQ(total(ShardingScheme::Replicated), 16 * n);
  EXPECT_DOUBLE_EQ(total(ShardingScheme::Zero1), 4 * n + 12 * n / 64);
  EXPECT_DOUBLE_EQ(total(ShardingScheme::Zero2), 2 * n + 14 * n / 64);
  EXPECT_DOUBLE_EQ(total(ShardingScheme::Zero3), 16 * n / 64);
}

// The same paper: twice the parameters are sent by the first three, three times
// by the last.
TEST(Memory, SentOfThePaper) {
  TrainConfig config = makeConfig("adam", 10);
  double psi = 2e6 * 9 / 10;
  auto sent = [&](ShardingScheme scheme) {
    return compute(scheme, kHalf, config).sent;
  };
  EXPECT_DOUBLE_EQ(sent(ShardingScheme::Replicated), 2 * psi);
  EXPECT_DOUBLE_EQ(sent(ShardingScheme::Zero1), 2 * psi);
  EXPECT_DOUBLE_EQ(sent(ShardingScheme::Zero2), 2 * psi);
  EXPECT_DOUBLE_EQ(sent(ShardingScheme::Zero3), 3 * psi);
  EXPECT_DOUBLE_EQ(sent(ShardingScheme::Fsdp), 3 * psi);
}

// Gradients that are shared out cannot be added up first.
TEST(Memory, SentWithAccumulation) {
  TrainConfig config = makeConfig("sgd", 2, /*passes=*/4);
  config.reduce.type = TrainType::F16;
  double gathered = 4e6 / 2, reduced = 2e6 / 2;
  auto sent = [&](ShardingScheme scheme) {
    return compute(scheme, kFull, config).sent;
  };
  EXPECT_DOUBLE_EQ(sent(ShardingScheme::Replicated), 2 * reduced);
  EXPECT_DOUBLE_EQ(sent(ShardingScheme::Zero1), reduced + gathered);
  EXPECT_DOUBLE_EQ(sent(ShardingScheme::Zero2), 4 * reduced + gathered);
  EXPECT_DOUBLE_EQ(sent(ShardingScheme::Zero3), 4 * (reduced + 2 * gathered));
}

TEST(Memory, OneWorkerSendsNothing) {
  for (ShardingScheme scheme : kShardingSchemes) {
    SchemeMemory memory = compute(scheme, kFull, makeConfig("adamw", 1));
    EXPECT_EQ(memory.sent, 0) << toString(scheme).str();
    EXPECT_EQ(memory.gathered, 0);
    EXPECT_DOUBLE_EQ(memory.total(), 16e6);
  }
}

// Shards of FSDP are whole rows, and FP32 with `param_dtype` for what is
// gathered.
TEST(Memory, FsdpCutsRowsAndCasts) {
  TrainConfig config = makeConfig("adamw", 8);
  ParameterShape parameter = {{10, 6}, TrainType::F32, "layers.0"};
  SchemeMemory memory = compute(ShardingScheme::Fsdp, parameter, config);
  EXPECT_DOUBLE_EQ(memory.parameters, 2 * 6 * 4);
  EXPECT_DOUBLE_EQ(*memory.state, 2 * 2 * 6 * 4);
  EXPECT_DOUBLE_EQ(memory.gathered, 2 * 60 * 4);
  config.sharding.parameters = TrainType::BF16;
  memory = compute(ShardingScheme::Fsdp, parameter, config);
  EXPECT_DOUBLE_EQ(memory.parameters, 2 * 6 * 4);
  EXPECT_DOUBLE_EQ(memory.gathered, 2 * 60 * 2);
  EXPECT_DOUBLE_EQ(memory.sent, 7 * 12 * 2 * 3);
  config.sharding.reduce = TrainType::F32;
  memory = compute(ShardingScheme::Fsdp, parameter, config);
  EXPECT_DOUBLE_EQ(memory.sent, 7 * 12 * (2 * 2 + 4));
}

// The shards of FSDP are the master copies themselves.
TEST(Memory, FsdpHasNoSecondCopy) {
  TrainConfig config = makeConfig("adamw", 2);
  config.optimizer.master = true;
  SchemeMemory memory = compute(ShardingScheme::Fsdp, kHalf, config);
  EXPECT_EQ(memory.masters, 0);
  EXPECT_DOUBLE_EQ(memory.parameters, 4e6 / 2);
  EXPECT_DOUBLE_EQ(memory.gathered, 2 * 2e6);
}

TEST(Memory, GatheredBlocks) {
  std::vector<ParameterShape> parameters = {{{100}, TrainType::F32, "layers.0"},
                                            {{50}, TrainType::F32, "layers.0"},
                                            {{120}, TrainType::F32, "layers.1"},
                                            {{70}, TrainType::F32, ""},
                                            {{90}, TrainType::F32, ""}};
  TrainConfig config = makeConfig("sgd", 4);
  auto gathered = [&](ShardingScheme scheme) {
    return computeMemory(scheme, parameters, config).gathered;
  };
  EXPECT_EQ(gathered(ShardingScheme::Zero2), 0);
  EXPECT_DOUBLE_EQ(gathered(ShardingScheme::Zero3), 150 * 8);
  EXPECT_DOUBLE_EQ(gathered(ShardingScheme::Fsdp), (150 + 160) * 8);
}

static double state(TrainOptimizer optimizer, ParameterShape parameter) {
  return getStateBytes(optimizer, parameter).value_or(-1);
}

TEST(Memory, StateOfOptimizers) {
  auto of = [](const char *name) {
    TrainOptimizer optimizer;
    optimizer.name = name;
    return optimizer;
  };
  EXPECT_EQ(state(of("adam"), kFull), 8e6);
  EXPECT_EQ(state(of("lamb"), kFull), 8e6);
  EXPECT_EQ(state(of("lion"), kFull), 4e6);
  EXPECT_EQ(state(of("adagrad"), kFull), 4e6);
  EXPECT_EQ(state(of("rmsprop"), kFull), 4e6);
  EXPECT_EQ(state(of("sgd"), kFull), 0);
  TrainOptimizer momentum = of("sgd");
  momentum.momentum = 0.9;
  EXPECT_EQ(state(momentum, kFull), 4e6);
  // Rows and columns; of a vector all.
  EXPECT_EQ(state(of("adafactor"), kFull), 2000 * 4);
  EXPECT_EQ(state(of("adafactor"), {{3, 20, 10}, TrainType::F32, ""}),
            (3 * 20 + 3 * 10) * 4);
  EXPECT_EQ(state(of("adafactor"), {{30}, TrainType::F32, ""}), 120);
  EXPECT_FALSE(getStateBytes(TrainOptimizer(), kFull));
  // In the parameter's type, unless there is a copy or another is said.
  EXPECT_EQ(state(of("adam"), kHalf), 4e6);
  TrainOptimizer master = of("adam");
  master.master = true;
  EXPECT_EQ(state(master, kHalf), 8e6);
  EXPECT_EQ(state(master, kFull), 8e6);
  TrainOptimizer narrow = of("adamw");
  narrow.state = TrainType::Int8;
  EXPECT_EQ(state(narrow, {{64, 256}, TrainType::F32, ""}),
            2 * (64 * 256 + 4 * 64));
  EXPECT_EQ(state(narrow, {{100}, TrainType::F32, ""}), 2 * 400);
}

TEST(Memory, MegatronKeepsGradientsAsItReducesThem) {
  TrainConfig config = makeConfig("adam", 1);
  config.format = TrainFormat::Megatron;
  config.reduce.type = TrainType::F32;
  EXPECT_EQ(compute(ShardingScheme::Replicated, kHalf, config).gradients, 4e6);
  config.format = TrainFormat::DeepSpeed;
  EXPECT_EQ(compute(ShardingScheme::Replicated, kHalf, config).gradients, 2e6);
}

TEST(Memory, ConfiguredScheme) {
  TrainConfig config;
  EXPECT_EQ(getScheme(config), ShardingScheme::Replicated);
  config.sharding.kind = ShardingKind::Zero;
  config.sharding.stage = 2;
  EXPECT_EQ(getScheme(config), ShardingScheme::Zero2);
  config.sharding.kind = ShardingKind::Fsdp;
  EXPECT_EQ(getScheme(config), ShardingScheme::Zero2);
  config.sharding.stage.reset();
  EXPECT_EQ(getScheme(config), ShardingScheme::Fsdp);
}
