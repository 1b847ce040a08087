//===- Lightning.cpp - Lightning's YAML ===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//
// The file that LightningCLI reads: `trainer`, and the optimizer as a class
// with its arguments. Sharding types:
// lightning/pytorch/plugins/precision/fsdp.py.

#include "ConfigReader.h"

#include "llvm/ADT/StringSwitch.h"

#include <cmath>

using namespace llvm;
using namespace mpopt;

namespace {
/// How Lightning names arithmetic.
struct Arithmetic {
  TrainType type = TrainType::F32;
  bool isMixed = false;
};
} // namespace

static std::optional<Arithmetic> parsePrecision(StringRef text) {
  using Maybe = std::optional<Arithmetic>;
  return StringSwitch<Maybe>(text)
      .Cases({"16", "16-mixed"}, Maybe({TrainType::F16, true}))
      .Cases({"bf16", "bf16-mixed"}, Maybe({TrainType::BF16, true}))
      .Case("16-true", Maybe({TrainType::F16, false}))
      .Case("bf16-true", Maybe({TrainType::BF16, false}))
      .Cases({"32", "32-true"}, Maybe({TrainType::F32, false}))
      .Default(std::nullopt);
}

static void setPrecision(TrainConfig &config, Arithmetic arithmetic) {
  bool isHalf = arithmetic.type == TrainType::F16;
  if (arithmetic.type == TrainType::F32) {
    config.precision = "fp32";
  } else if (arithmetic.isMixed) {
    config.precision = isHalf ? "autocast-fp16" : "autocast-bf16";
  } else {
    // The module is cast; the optimizer then works on what it gets.
    config.precision = isHalf ? "fp16" : "bf16";
    config.optimizer.master = false;
    config.optimizer.state = arithmetic.type;
  }
}

/// Arguments of DeepSpeedStrategy.
static void readDeepSpeedStrategy(ConfigReader &reader, StringRef name,
                                  const Section &arguments,
                                  Arithmetic arithmetic) {
  TrainConfig &config = reader.config;
  int64_t stage = StringSwitch<int64_t>(name)
                      .Cases({"deepspeed_stage_1"}, 1)
                      .Cases({"deepspeed_stage_3", "deepspeed_stage_3_offload",
                              "deepspeed_stage_3_offload_nvme"},
                             3)
                      .Default(2);
  if (std::optional<int64_t> said = arguments.integer("stage", 0)) {
    if (*said > 3)
      arguments.fail("stage", "must be 0, 1, 2 or 3");
    stage = *said;
  }
  config.sharding.stage = stage;
  config.sharding.kind = stage ? ShardingKind::Zero : ShardingKind::None;
  TrainScaler scaler;
  std::optional<double> scale =
      arguments.number("loss_scale", Numbers::NotNegative);
  std::optional<double> power = arguments.number("initial_scale_power");
  if (power && !(*power >= -126 && *power <= 127))
    arguments.fail("initial_scale_power",
                   "must be an exponent of 2 from -126 to 127");
  if (power)
    scaler.initial = std::exp2(*power);
  scaler.interval = arguments.integer("loss_scale_window", 1);
  scaler.hysteresis = arguments.integer("hysteresis", 1);
  scaler.minimum = arguments.number("min_loss_scale", Numbers::NotNegative);
  if (scale.value_or(0) > 0) {
    scaler = TrainScaler();
    scaler.kind = ScalerKind::Static;
    scaler.initial = scale;
  }
  if (const ConfigNode *file = arguments.take("config"))
    arguments.warn("config", file->isString()
                                 ? "'" + shown(file->text) + "' is not read"
                                 : std::string("is not read: give it by "
                                               "itself"));
  arguments.warnOfNumericalOthers();
  config.reduce.division = ReduceDivision::After;
  // DeepSpeed casts the module, mixed or not, and keeps FP32 copies.
  config.optimizer.master.reset();
  config.optimizer.state.reset();
  config.precision.reset();
  if (arithmetic.type == TrainType::F16) {
    fillScaler(scaler, kDeepSpeedScaler);
    config.scaler = scaler;
  }
  if (arithmetic.type != TrainType::F32)
    fillDeepSpeedTypes(config, arithmetic.type);
  else
    config.precision = "fp32";
}

static void readFsdpStrategy(ConfigReader &reader, const Section &arguments,
                             Arithmetic arithmetic) {
  TrainSharding &sharding = reader.config.sharding;
  sharding.kind = ShardingKind::Fsdp;
  if (std::optional<std::string> name = arguments.word("sharding_strategy")) {
    sharding.stage = parseFsdpStrategy(*name);
    if (!sharding.stage)
      arguments.warn("sharding_strategy",
                     "'" + shown(*name) + "' is not understood");
  }
  fillIn(sharding.stage, int64_t(3));
  if (arguments.take("activation_checkpointing_policy") ||
      arguments.take("activation_checkpointing"))
    sharding.checkpointing = true;
  if (Section policy = arguments.section("mixed_precision")) {
    Section types = policy.take("init_args") ? policy.section("init_args")
                                             : std::move(policy);
    sharding.parameters = types.type("param_dtype");
    sharding.reduce = types.type("reduce_dtype");
    sharding.buffers = types.type("buffer_dtype");
    fillIn(reader.config.reduce.type, sharding.reduce);
  } else {
    if (arithmetic.isMixed)
      sharding.parameters = TrainType::F32;
    fillFsdpTypes(reader.config, arithmetic.type);
  }
  arguments.warnOfNumericalOthers();
}

static void readStrategy(ConfigReader &reader, const Section &trainer,
                         Arithmetic arithmetic) {
  const ConfigNode *node = trainer.take("strategy");
  if (!node)
    return;
  Section object =
      node->isMap() ? trainer.section("strategy") : Section(reader, nullptr);
  std::string name =
      node->isMap() ? object.word("class_path").value_or("") : node->text;
  Section arguments = object.section("init_args");
  std::string lower = StringRef(name).rsplit('.').second.empty()
                          ? StringRef(name).lower()
                          : StringRef(name).rsplit('.').second.lower();
  if (StringRef(lower).contains("deepspeed"))
    readDeepSpeedStrategy(reader, lower, arguments, arithmetic);
  else if (StringRef(lower).contains("fsdp"))
    readFsdpStrategy(reader, arguments, arithmetic);
  else if (StringRef(lower).contains("ddp") || lower == "dp" ||
           StringRef(lower).contains("single"))
    reader.config.sharding.kind = ShardingKind::None;
  else
    trainer.warn("strategy", "'" + shown(name) + "' is not understood");
}

/// The number of devices: a number, a list of them, or "0,1".
static std::optional<int64_t> readDevices(const Section &trainer) {
  const ConfigNode *node = trainer.take("devices");
  if (!node)
    return std::nullopt;
  if (node->kind == ConfigNode::Kind::List)
    return node->items.empty() ? std::nullopt
                               : std::optional<int64_t>(node->items.size());
  if (node->isString() && node->text.find(',') != std::string::npos) {
    SmallVector<StringRef> names;
    StringRef(node->text).split(names, ',', -1, false);
    return names.empty() ? std::nullopt : std::optional<int64_t>(names.size());
  }
  // -1 is all that there are; a number in quotes counts devices, too.
  ConfigNode number = ConfigNode::fromPlain(node->text);
  if (number.kind != ConfigNode::Kind::Number || number.number == -1)
    return number.kind == ConfigNode::Kind::Number
               ? std::nullopt
               : trainer.integer("devices", 1);
  if (number.number >= 1 && number.number <= 0x1p31)
    return int64_t(number.number);
  trainer.fail("devices", "must be an integer of at least 1");
  return std::nullopt;
}

static void readOptimizer(ConfigReader &reader, const Section &optimizer) {
  if (!optimizer)
    return;
  TrainOptimizer &into = reader.config.optimizer;
  Section arguments = optimizer.section("init_args");
  if (std::optional<std::string> name = optimizer.word("class_path");
      name && !setOptimizer(*name, into))
    optimizer.warn("class_path",
                   "'" + shown(*name) + "' is not an optimizer that is known");
  into.learningRate = arguments.number("lr", Numbers::NotNegative);
  into.epsilon = arguments.number("eps", Numbers::NotNegative);
  into.momentum = arguments.number("momentum", Numbers::NotNegative);
  into.weightDecay = arguments.number("weight_decay", Numbers::NotNegative);
  arguments.betas("betas", into);
  fillTorchOptimizer(into);
}

void mpopt::readLightning(ConfigReader &reader, const Section &top) {
  TrainConfig &config = reader.config;
  Section inner = top.section("trainer");
  const Section &trainer = inner ? inner : top;
  Arithmetic arithmetic;
  bool isKnown = true;
  if (std::optional<std::string> name = trainer.word("precision")) {
    std::optional<Arithmetic> said = parsePrecision(*name);
    isKnown = said.has_value();
    if (!said)
      trainer.warn("precision", "'" + shown(*name) + "' is not understood");
    arithmetic = said.value_or(arithmetic);
    if (said)
      setPrecision(config, arithmetic);
  }
  readStrategy(reader, trainer, arithmetic);
  if (arithmetic.type == TrainType::F16 && arithmetic.isMixed)
    fillScaler(config.scaler, kGradScaler);
  else if (isKnown)
    fillIn(config.scaler.kind, ScalerKind::None);

  std::optional<double> clip =
      trainer.number("gradient_clip_val", Numbers::NotNegative);
  std::optional<std::string> how = trainer.word("gradient_clip_algorithm");
  if (how == "value")
    trainer.warn("gradient_clip_algorithm",
                 "clipping each value is not understood and is ignored");
  else
    config.clip = clip.value_or(0);
  if (const ConfigNode *node = trainer.take("accumulate_grad_batches");
      node && node->isMap())
    trainer.warn("accumulate_grad_batches", "a schedule is not understood");
  else
    config.batch.accumulate =
        trainer.integer("accumulate_grad_batches", 1).value_or(1);
  std::optional<int64_t> devices = readDevices(trainer);
  std::optional<int64_t> nodes = trainer.integer("num_nodes", 1);
  // The product of two such factors fits 64 bits.
  constexpr int64_t kMost = int64_t(1) << 31;
  if (devices && nodes.value_or(1) <= kMost)
    config.batch.world = *devices * nodes.value_or(1);
  if (std::optional<std::string> backend = trainer.word("amp_backend");
      backend && *backend != "native")
    trainer.warn("amp_backend", "'" + shown(*backend) + "' is not understood");
  for (StringRef key : {"plugins", "amp_level"})
    if (const ConfigNode *node = trainer.take(key);
        node && !(node->kind == ConfigNode::Kind::List && node->items.empty()))
      trainer.warn(key, "is not understood and is ignored");
  trainer.ignore({"auto_scale_batch_size"});
  trainer.warnOfNumericalOthers();
  readOptimizer(reader, top.section("optimizer"));
}
