//===- Accelerate.cpp - Accelerate's YAML ===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//
// The file that `accelerate config` writes. It has no optimizer and no batch
// but the number of processes.

#include "Fp8Reader.h"

using namespace llvm;
using namespace mpopt;

/// `deepspeed_config`: Accelerate's own short keys, or DeepSpeed's file.
static void readPlugin(ConfigReader &reader, const Section &plugin,
                       std::optional<TrainType> type) {
  if (!plugin)
    return;
  TrainConfig &config = reader.config;
  if (std::optional<std::string> file = plugin.word("deepspeed_config_file"))
    plugin.warn("deepspeed_config_file",
                "'" + shown(*file) + "' is not read: give it instead");
  if (std::optional<int64_t> stage = plugin.integer("zero_stage", 0)) {
    if (*stage > 3)
      plugin.fail("zero_stage", "must be 0, 1, 2 or 3");
    config.sharding.stage = stage;
    config.sharding.kind = *stage ? ShardingKind::Zero : ShardingKind::None;
  }
  config.clip = plugin.number("gradient_clipping", Numbers::NotNegative);
  config.batch.accumulate = plugin.integer("gradient_accumulation_steps", 1);
  if (type == TrainType::F16)
    fillScaler(config.scaler, kDeepSpeedScaler);
  if (type)
    fillDeepSpeedTypes(config, *type);
  config.reduce.division = ReduceDivision::After;
  plugin.ignore({"zero3_init_flag", "zero3_save_16bit_model",
                 "offload_optimizer_device", "offload_optimizer_nvme_path",
                 "offload_param_device"});
  plugin.warnOfNumericalOthers();
}

static void readFsdp(ConfigReader &reader, const Section &fsdp,
                     std::optional<TrainType> type) {
  TrainSharding &sharding = reader.config.sharding;
  sharding.kind = ShardingKind::Fsdp;
  if (std::optional<std::string> name = fsdp.word("fsdp_sharding_strategy")) {
    sharding.stage = parseFsdpStrategy(*name);
    if (!sharding.stage)
      fsdp.warn("fsdp_sharding_strategy",
                "'" + shown(*name) + "' is not understood");
  }
  // Version 2 says it thus, where version 1 had a strategy.
  if (const ConfigNode *again = fsdp.take("fsdp_reshard_after_forward")) {
    if (again->kind == ConfigNode::Kind::Bool)
      sharding.stage = again->truth ? 3 : 2;
    else
      fillIn(sharding.stage, parseFsdpStrategy(again->text));
  }
  fillIn(sharding.stage, int64_t(3));
  sharding.checkpointing = fsdp.truth("fsdp_activation_checkpointing");
  if (const ConfigNode *policy = fsdp.take("fsdp_mixed_precision_policy")) {
    if (policy->isMap()) {
      Section types = fsdp.section("fsdp_mixed_precision_policy");
      sharding.parameters = types.type("param_dtype");
      sharding.reduce = types.type("reduce_dtype");
      sharding.buffers = types.type("buffer_dtype");
      types.ignore({"output_dtype", "cast_forward_inputs"});
      types.warnOfNumericalOthers();
    } else if (std::optional<TrainType> all =
                   fsdp.type("fsdp_mixed_precision_policy")) {
      type = all;
    }
  }
  if (type)
    fillFsdpTypes(reader.config, *type);
  fsdp.ignore({"fsdp_version", "fsdp_offload_params", "fsdp_auto_wrap_policy",
               "fsdp_transformer_layer_cls_to_wrap", "fsdp_backward_prefetch",
               "fsdp_backward_prefetch_policy", "fsdp_forward_prefetch",
               "fsdp_state_dict_type", "fsdp_use_orig_params",
               "fsdp_cpu_ram_efficient_loading", "fsdp_sync_module_states",
               "fsdp_min_num_params"});
  fsdp.warnOfNumericalOthers();
}

void mpopt::readAccelerate(ConfigReader &reader, const Section &top) {
  TrainConfig &config = reader.config;
  std::optional<TrainType> type;
  const ConfigNode *said = top.take("mixed_precision");
  if (said) {
    // The launcher does not mind the case.
    std::string name = said->kind == ConfigNode::Kind::Bool && !said->truth
                           ? "no"
                           : StringRef(said->text).lower();
    if (name == "fp16")
      type = TrainType::F16;
    else if (name == "bf16")
      type = TrainType::BF16;
    else if (name == "fp8")
      type = TrainType::BF16; // around the products in FP8
    else if (name != "no")
      top.fail("mixed_precision",
               "'" + shown(name) + "' is none of no, fp16, bf16 and fp8");
    if (name == "no")
      config.precision = "fp32";
  }
  if (std::optional<bool> old = top.truth("fp16"); old == true) {
    if (type == TrainType::BF16)
      top.fail("fp16", "is true beside a mixed_precision of bf16");
    type = TrainType::F16;
  }
  std::string mode = top.word("distributed_type").value_or("NO");
  bool isDeepSpeed = mode == "DEEPSPEED";
  Section deepSpeed = top.section("deepspeed_config");
  Section fsdp = top.section("fsdp_config");
  if (isDeepSpeed)
    readPlugin(reader, deepSpeed, type);
  if (type && !config.precision)
    config.precision =
        *type == TrainType::F16 ? "autocast-fp16" : "autocast-bf16";
  if (type == TrainType::F16)
    fillScaler(config.scaler, kGradScaler);
  else if (type || config.precision == "fp32")
    fillIn(config.scaler.kind, ScalerKind::None);
  if (mode == "FSDP")
    readFsdp(reader, fsdp, type);
  if (mode == "MEGATRON_LM")
    top.warn("megatron_lm_config", "is not read: give Megatron-LM's arguments");

  fillIn(config.batch.accumulate,
         top.integer("gradient_accumulation_steps", 1));
  config.batch.world = top.integer("num_processes", 1);
  // It is read on TPUs only.
  bool isTpu = mode == "TPU" || mode == "XLA";
  if (std::optional<bool> old = top.truth("downcast_bf16");
      old == true && isTpu)
    top.warn("downcast_bf16", "is not understood and is ignored");
  bool isFp8 = said && StringRef(said->text).equals_insensitive("fp8");
  readAccelerateFp8(reader, top, isFp8);
  top.warnOfNumericalOthers();
}
