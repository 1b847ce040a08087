//===- Fsdp.cpp - FSDP's strategies and policies ===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ConfigReader.h"

#include "llvm/ADT/StringSwitch.h"

using namespace llvm;
using namespace mpopt;

std::optional<int64_t> mpopt::parseFsdpStrategy(StringRef name) {
  // Numbers are torch's ShardingStrategy.
  return StringSwitch<std::optional<int64_t>>(name.lower())
      .Cases({"full_shard", "1", "hybrid_shard", "4"}, 3)
      .Cases({"shard_grad_op", "2", "hybrid_shard_zero2", "5",
              "_hybrid_shard_zero2"},
             2)
      .Cases({"no_shard", "3"}, 0)
      .Default(std::nullopt);
}

void mpopt::fillFsdpTypes(TrainConfig &config, TrainType type) {
  fillIn(config.sharding.parameters, type);
  fillIn(config.sharding.reduce, type);
  fillIn(config.sharding.buffers, type);
  fillIn(config.reduce.type, *config.sharding.reduce);
}
