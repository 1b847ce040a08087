//===- Megatron.cpp - Megatron-LM's arguments ===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//
// Defaults: megatron/training/arguments.py. Parameters and gradients are 16
// bits wide under `--fp16` and `--bf16`; FP32 copies are what is updated.

#include "Fp8Reader.h"

using namespace llvm;
using namespace mpopt;

static void readScaler(ConfigReader &reader, const Section &flags) {
  TrainScaler &scaler = reader.config.scaler;
  if (std::optional<double> scale = flags.number("loss-scale")) {
    if (*scale <= 0)
      flags.fail("loss-scale", "must be a positive number");
    scaler.kind = ScalerKind::Static;
    scaler.initial = scale;
  }
  std::optional<double> initial =
      flags.number("initial-loss-scale", Numbers::Positive);
  std::optional<double> minimum =
      flags.number("min-loss-scale", Numbers::NotNegative);
  std::optional<int64_t> interval = flags.integer("loss-scale-window", 1);
  std::optional<int64_t> hysteresis = flags.integer("hysteresis", 1);
  if (scaler.kind)
    return;
  scaler.kind = ScalerKind::Dynamic;
  scaler.initial = initial.value_or(0x1p32);
  scaler.minimum = minimum.value_or(1);
  scaler.interval = interval.value_or(1000);
  scaler.hysteresis = hysteresis.value_or(2);
  scaler.growth = 2;
  scaler.backoff = 0.5;
}

static void readOptimizer(ConfigReader &reader, const Section &flags) {
  TrainOptimizer &into = reader.config.optimizer;
  std::string name = flags.word("optimizer").value_or("adam");
  if (!setOptimizer(name, into))
    flags.warn("optimizer", "'" + shown(name) +
                                "' is not an optimizer that "
                                "is known");
  // Its Adam decays weights as AdamW does.
  if (into.name == "adam")
    into.name = "adamw";
  into.learningRate = flags.number("lr", Numbers::NotNegative);
  into.weightDecay =
      flags.number("weight-decay", Numbers::NotNegative).value_or(0.01);
  std::optional<double> beta1 = flags.number("adam-beta1", Numbers::Fraction);
  std::optional<double> beta2 = flags.number("adam-beta2", Numbers::Fraction);
  std::optional<double> eps = flags.number("adam-eps", Numbers::NotNegative);
  std::optional<double> momentum =
      flags.number("sgd-momentum", Numbers::NotNegative);
  if (into.name == "adamw") {
    into.beta1 = beta1.value_or(0.9);
    into.beta2 = beta2.value_or(0.999);
    into.epsilon = eps.value_or(1e-8);
  } else if (into.name == "sgd") {
    into.momentum = momentum.value_or(0.9);
  }
  std::optional<TrainType> first = flags.type("exp-avg-dtype");
  std::optional<TrainType> second = flags.type("exp-avg-sq-dtype");
  if (first && second && *first != *second)
    flags.warn("exp-avg-dtype",
               "differs from exp-avg-sq-dtype, which is taken");
  into.state = second ? second : first;
  if (std::optional<TrainType> master = flags.type("main-params-dtype"))
    into.master = *master == TrainType::F32;
}

/// Ranks whose gradients are summed: all of the launcher over those that share
/// one copy of the model.
static std::optional<int64_t> readWorld(const Section &flags) {
  std::optional<int64_t> local = flags.integer("nproc-per-node", 1);
  std::optional<int64_t> nodes = flags.integer("nnodes", 1);
  int64_t perModel = 1;
  for (StringRef key :
       {"tensor-model-parallel-size", "pipeline-model-parallel-size",
        "context-parallel-size", "model-parallel-size"}) {
    bool isGiven = flags.take(key) != nullptr;
    if (!isGiven && flags.isOpen(key))
      return std::nullopt;
    perModel *= std::min<int64_t>(flags.integer(key, 1).value_or(1), 1 << 15);
  }
  // The product of two such factors fits 64 bits.
  constexpr int64_t kMost = int64_t(1) << 31;
  if (!local || (!nodes && flags.isOpen("nnodes")) || *local > kMost ||
      nodes.value_or(1) > kMost)
    return std::nullopt;
  int64_t all = *local * nodes.value_or(1);
  // Examples leave the number of nodes to be filled in.
  if (all < perModel) {
    flags.warn("nproc-per-node", "of the " + Twine(perModel) +
                                     " ranks that share a model the file "
                                     "starts " +
                                     Twine(all) +
                                     ": the number of workers is left open");
    return std::nullopt;
  }
  if (all % perModel) {
    flags.fail("nproc-per-node", Twine(all) +
                                     " ranks are not a multiple of "
                                     "the " +
                                     Twine(perModel) + " that share a model");
    return std::nullopt;
  }
  return all / perModel;
}

/// How gradients are reduced, and what ranks share.
static void readSharding(TrainConfig &config, const Section &flags,
                         std::optional<TrainType> type, bool isDeepSpeed) {
  // Under --bf16 Megatron turns accumulation in FP32 on by itself. The buffer
  // of gradients is what is reduced.
  bool wide =
      flags.has("accumulate-allreduce-grads-in-fp32") || type != TrainType::F16;
  bool narrow = flags.has("grad-reduce-in-bf16");
  config.reduce.type = narrow ? TrainType::BF16
                       : wide ? TrainType::F32
                              : TrainType::F16;
  config.reduce.accumulate = config.reduce.type;
  config.reduce.division = ReduceDivision::Before;
  config.sharding.kind = ShardingKind::None;
  config.sharding.stage = 0;
  if (flags.has("use-distributed-optimizer")) {
    config.sharding.kind = ShardingKind::Zero;
    config.sharding.stage = 1;
  }
  if (std::optional<int64_t> stage = flags.integer("zero-stage", 0);
      stage && isDeepSpeed) {
    if (*stage > 3)
      flags.fail("zero-stage", "must be 0, 1, 2 or 3");
    config.sharding.kind = *stage ? ShardingKind::Zero : ShardingKind::None;
    config.sharding.stage = stage;
  }
  if (flags.has("use-torch-fsdp2")) {
    config.sharding.kind = ShardingKind::Fsdp;
    config.sharding.stage = 3;
    if (type)
      config.sharding.parameters = type;
    config.sharding.reduce = config.reduce.type;
  }
  config.sharding.checkpointing = flags.has("recompute-activations") ||
                                  flags.has("recompute-granularity") ||
                                  flags.has("checkpoint-activations") ||
                                  flags.has("deepspeed-activation-"
                                            "checkpointing");
}

void mpopt::readMegatron(ConfigReader &reader, const Section &flags) {
  TrainConfig &config = reader.config;
  bool fp16 = flags.has("fp16"), bf16 = flags.has("bf16");
  if (fp16 && bf16)
    return flags.fail("fp16", "is given, and so is bf16: only one can be");
  std::optional<TrainType> type;
  if (fp16)
    type = TrainType::F16;
  if (bf16)
    type = TrainType::BF16;
  config.precision = fp16 ? "fp16" : bf16 ? "bf16" : "fp32";
  // Megatron-DeepSpeed leaves the scale to DeepSpeed's configuration.
  bool isDeepSpeed = flags.has("deepspeed");
  if (!fp16)
    config.scaler.kind = ScalerKind::None;
  else if (isDeepSpeed)
    fillScaler(config.scaler, kDeepSpeedScaler);
  else
    readScaler(reader, flags);
  flags.ignore({"loss-scale", "initial-loss-scale", "min-loss-scale",
                "loss-scale-window", "hysteresis"});
  readOptimizer(reader, flags);
  if (type) {
    fillIn(config.optimizer.master, true);
    fillIn(config.optimizer.state, TrainType::F32);
  }
  config.clip = flags.number("clip-grad", Numbers::NotNegative).value_or(1);
  readSharding(config, flags, type, isDeepSpeed);
  config.batch.micro = flags.integer("micro-batch-size", 1);
  config.batch.total = flags.integer("global-batch-size", 1);
  config.batch.world = readWorld(flags);
  completeBatch(reader, "global-batch-size");
  readMegatronFp8(reader, flags);
  if (flags.has("deepspeed-config"))
    flags.warn("deepspeed-config", "is not read: give it instead");
  flags.ignore({"overlap-grad-reduce", "no-load-optim", "no-save-optim",
                "cpu-optimizer", "optimizer-cpu-offload",
                "no-async-tensor-model-parallel-allreduce", "adam-beta1",
                "adam-beta2", "lr-warmup-fraction"});
  flags.warnOfNumericalOthers();
}
