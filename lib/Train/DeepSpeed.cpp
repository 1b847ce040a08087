//===- DeepSpeed.cpp - DeepSpeed JSON ===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//
// Defaults: deepspeed/runtime/precision_config.py, constants.py, engine.py
// (`communication_data_type`).

#include "Fp8Reader.h"

#include <cmath>

using namespace llvm;
using namespace mpopt;

void mpopt::fillDeepSpeedTypes(TrainConfig &config, TrainType type) {
  fillIn(config.precision,
         std::string(type == TrainType::F16 ? "fp16" : "bf16"));
  fillIn(config.reduce.type, type);
  fillIn(config.optimizer.master, true);
  // An optimizer of 8 bits says so by its name.
  fillIn(config.optimizer.state,
         *config.optimizer.master ? TrainType::F32 : type);
  if (config.sharding.kind) {
    fillIn(config.sharding.parameters, type);
    fillIn(config.sharding.reduce, *config.reduce.type);
    fillIn(config.sharding.buffers, type);
  }
}

/// `fp16`, its scaler included, where it is or may be enabled.
static TrainScaler readScaler(const Section &fp16) {
  TrainScaler scaler;
  std::optional<double> scale = fp16.number("loss_scale");
  if (scale && *scale < 0)
    fp16.fail("loss_scale", "must be a number of at least 0 (0: dynamic)");
  if (std::optional<double> power = fp16.number("initial_scale_power")) {
    if (*power < -126 || *power > 127)
      fp16.fail("initial_scale_power", "must be an exponent of 2 from -126 to "
                                       "127");
    else
      scaler.initial = std::exp2(*power);
  }
  scaler.interval = fp16.integer("loss_scale_window", 1);
  scaler.hysteresis = fp16.integer("hysteresis", 1);
  scaler.minimum = fp16.number("min_loss_scale", Numbers::NotNegative);
  fp16.ignore({"consecutive_hysteresis"});
  if (scale && *scale > 0) {
    scaler = TrainScaler();
    scaler.kind = ScalerKind::Static;
    scaler.initial = scale;
  }
  fillScaler(scaler, kDeepSpeedScaler);
  return scaler;
}

static void readOptimizer(ConfigReader &reader, const Section &optimizer) {
  if (!optimizer)
    return;
  TrainOptimizer &into = reader.config.optimizer;
  std::optional<std::string> type = optimizer.word("type");
  Section params = optimizer.section("params");
  if (type) {
    if (!setOptimizer(*type, into))
      optimizer.warn("type", "'" + shown(*type) +
                                 "' is not an optimizer that "
                                 "is known");
    // DeepSpeed's Adam decays weights as AdamW does unless told otherwise.
    if (into.name == "adam" && params.truth("adam_w_mode").value_or(true))
      into.name = "adamw";
  }
  into.learningRate = params.number("lr", Numbers::NotNegative);
  into.epsilon = params.number("eps", Numbers::NotNegative);
  into.momentum = params.number("momentum", Numbers::NotNegative);
  into.weightDecay = params.number("weight_decay", Numbers::NotNegative);
  params.betas("betas", into);
  params.ignore({"torch_adam", "bias_correction", "amsgrad", "adam_w_mode"});
  params.warnOfNumericalOthers();
  optimizer.ignore({"legacy_fusion"});
  optimizer.warnOfNumericalOthers();
}

static void readZero(ConfigReader &reader, const Section &top) {
  TrainSharding &sharding = reader.config.sharding;
  // The first releases had one stage.
  const ConfigNode *node = top.take("zero_optimization");
  if (node && node->kind == ConfigNode::Kind::Bool) {
    sharding.stage = node->truth ? 1 : 0;
    sharding.kind = node->truth ? ShardingKind::Zero : ShardingKind::None;
    return;
  }
  Section zero = top.section("zero_optimization");
  if (!zero)
    return;
  std::optional<int64_t> stage = zero.integer("stage", 0);
  if (stage && *stage > 3)
    zero.fail("stage", "must be 0, 1, 2 or 3");
  if (!stage && zero.isOpen("stage"))
    return;
  sharding.stage = stage.value_or(0);
  sharding.kind = *sharding.stage ? ShardingKind::Zero : ShardingKind::None;
  // Sizes of buckets and the like change no value.
  zero.ignore({"reduce_scatter", "reduce_bucket_size", "allreduce_partitions",
               "allreduce_always_fp32", "offload_optimizer", "sub_group_size",
               "use_all_reduce_for_fetch_params", "zero_hpz_partition_size",
               "round_robin_gradients", "use_multi_rank_bucket_allreduce",
               "cpu_offload_use_pin_memory",
               "gather_16bit_weights_on_model_save",
               "model_persistence_threshold",
               "stage3_gather_fp16_weights_on_model_save",
               "load_from_fp32_weights", "mics_shard_size"});
  zero.warnOfNumericalOthers();
}

/// `ifOpen` where the file leaves it to the one around it.
static std::optional<bool> readEnabled(const Section &section,
                                       std::optional<bool> ifOpen) {
  if (!section)
    return false;
  if (!section.isOpen("enabled"))
    return section.truth("enabled").value_or(false);
  section.ignore({"enabled"});
  return ifOpen;
}

static void readAutocast(TrainConfig &config, const Section &autocast) {
  if (autocast.truth("enabled") != true)
    return;
  std::optional<TrainType> type = autocast.type("dtype");
  config.precision = type == TrainType::F16 ? "autocast-fp16" : "autocast-bf16";
  autocast.warnOfNumericalOthers();
}

/// How gradients are summed over the ranks, and clipped.
static void readReduce(TrainConfig &config, const Section &top) {
  config.reduce.type = top.type("communication_data_type");
  if (top.truth("fp32_allreduce") == true)
    fillIn(config.reduce.type, TrainType::F32);
  config.reduce.division = top.truth("prescale_gradients").value_or(false)
                               ? ReduceDivision::Before
                               : ReduceDivision::After;
  config.reduce.predivide =
      top.number("gradient_predivide_factor", Numbers::Positive);
  if (!top.isOpen("gradient_clipping"))
    config.clip =
        top.number("gradient_clipping", Numbers::NotNegative).value_or(0);
  top.ignore({"gradient_clipping"});
}

/// Types of the optimizer's state and of the master weights.
static void readStateTypes(TrainConfig &config, const Section &fp16,
                           const Section &bf16, std::optional<bool> isFp16,
                           std::optional<bool> isBf16) {
  for (StringRef key :
       {"fp16_master_weights_and_grads", "fp16_master_weights_and_gradients"})
    if (fp16.truth(key) == true && isFp16 != false)
      config.optimizer.master = false;
  if (bf16.truth("bf16_master_weights_and_grads") == true && isBf16 != false)
    config.optimizer.master = false;
  if (bf16.truth("bf16_optimizer_states") == true && isBf16 != false)
    config.optimizer.state = TrainType::BF16;
}

/// A section that people write and DeepSpeed does not read.
static void judgeFp8(const Section &top) {
  if (top.section("fp8").truth("enabled") == true)
    top.blame(kRefused, "fp8",
              "has no effect: DeepSpeed reads no such section, and layers in "
              "FP8 are those that the model itself has");
}

static void readDataTypes(TrainConfig &config, const Section &data) {
  config.reduce.accumulate = data.type("grad_accum_dtype");
  data.warnOfOthers();
}

void mpopt::readDeepSpeed(ConfigReader &reader, const Section &top,
                          const DeepSpeedContext &context) {
  TrainConfig &config = reader.config;
  Section fp16 = top.section("fp16");
  Section bf16 = top.section(top.take("bf16") ? "bf16" : "bfloat16");
  std::optional<bool> isFp16 = readEnabled(fp16, context.fp16);
  std::optional<bool> isBf16 = readEnabled(bf16, context.bf16);
  if (isFp16 == true && isBf16 == true)
    return fp16.fail("enabled", "is true, and so is " + bf16.pathOf("enabled") +
                                    ": only one can be");
  if ((isFp16 == true && context.bf16 == true) ||
      (isBf16 == true && context.fp16 == true))
    return (isFp16 == true ? fp16 : bf16)
        .fail("enabled", "is true, and the file around it asks for the other "
                         "type");

  Section amp = top.section("amp");
  if (amp.truth("enabled") == true) {
    if (isFp16 == true || isBf16 == true)
      return amp.fail("enabled",
                      "is true beside fp16 or bf16: only one can be");
    amp.warn("enabled", "Apex is not understood: say --precision and --scaler");
  }
  readAutocast(config, top.section("torch_autocast"));

  TrainScaler scaler = readScaler(fp16);
  readStateTypes(config, fp16, bf16, isFp16, isBf16);
  if (fp16.truth("auto_cast") == true && isFp16 == true)
    fp16.ignore({"auto_cast"}); // It casts inputs only.
  bf16.ignore({"immediate_grad_update", "check_grad_overflow"});
  if (isFp16 == true)
    config.scaler = scaler;
  else if (isFp16 == false && config.precision != "autocast-fp16" &&
           amp.truth("enabled") != true)
    config.scaler.kind = ScalerKind::None;
  fp16.warnOfOthers();
  bf16.ignore({"loss_scale", "initial_scale_power", "loss_scale_window",
               "hysteresis", "min_loss_scale"});
  bf16.warnOfOthers();

  readOptimizer(reader, top.section("optimizer"));
  readZero(reader, top);
  readReduce(config, top);
  if (isFp16 == true)
    fillDeepSpeedTypes(config, TrainType::F16);
  else if (isBf16 == true)
    fillDeepSpeedTypes(config, TrainType::BF16);
  else if (isFp16 == false && isBf16 == false && amp.truth("enabled") != true)
    fillIn(config.precision, std::string("fp32"));

  readDataTypes(config, top.section("data_types"));
  judgeFp8(top);
  config.batch.micro = top.integer("train_micro_batch_size_per_gpu", 1);
  config.batch.accumulate = top.integer("gradient_accumulation_steps", 1);
  config.batch.total = top.integer("train_batch_size", 1);
  completeBatch(reader, top.pathOf("train_batch_size"));
  top.ignore({"zero_allow_untested_optimizer", "zero_force_ds_cpu_optimizer",
              "communication_data_type", "sparse_gradients", "scheduler"});
  top.warnOfNumericalOthers();
}
