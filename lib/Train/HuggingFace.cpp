//===- HuggingFace.cpp - TrainingArguments of Hugging Face ===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//
// Defaults: transformers/training_args.py. The Trainer computes under autocast
// with torch.amp.GradScaler unless DeepSpeed takes over.

#include "ConfigReader.h"

#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace mpopt;

/// `fsdp: full_shard auto_wrap`, also as a list.
static void readFsdp(ConfigReader &reader, const Section &top,
                     std::optional<TrainType> type) {
  TrainConfig &config = reader.config;
  std::vector<std::string> options;
  const ConfigNode *node = top.take("fsdp");
  bool isOn = node && node->kind == ConfigNode::Kind::Bool && node->truth;
  if (node && node->kind == ConfigNode::Kind::List) {
    options = top.words("fsdp").value_or(options);
  } else if (node && node->isString()) {
    SmallVector<StringRef> words;
    SplitString(node->text, words, " ,");
    options.assign(words.begin(), words.end());
  } else if (node && node->kind != ConfigNode::Kind::Bool) {
    top.fail("fsdp", "must be a list of words");
  }
  const ConfigNode *file = top.take("fsdp_config");
  if (file && file->isString()) {
    top.warn("fsdp_config", "'" + shown(file->text) + "' is not read");
  } else if (file && (isOn || !options.empty())) {
    Section fsdp = top.section("fsdp_config");
    for (StringRef key :
         {"activation_checkpointing", "fsdp_activation_checkpointing"})
      fillIn(config.sharding.checkpointing, fsdp.truth(key));
    fsdp.warnOfNumericalOthers();
  }
  if (!isOn && options.empty())
    return;
  for (StringRef option : options) {
    if (std::optional<int64_t> stage = parseFsdpStrategy(option))
      config.sharding.stage = stage;
    else if (option != "auto_wrap" && option != "offload")
      top.warn("fsdp", "'" + shown(option) + "' is not understood");
  }
  fillIn(config.sharding.stage, int64_t(3));
  config.sharding.kind = ShardingKind::Fsdp;
  if (type)
    fillFsdpTypes(config, *type);
}

static void readOptimizer(ConfigReader &reader, const Section &top) {
  TrainOptimizer &into = reader.config.optimizer;
  // DeepSpeed's own optimizer, where its section has one, is what is used.
  if (!into.name) {
    std::string name = top.word("optim").value_or("adamw_torch");
    if (!setOptimizer(name, into))
      top.warn("optim", "'" + shown(name) +
                            "' is not an optimizer that is "
                            "known");
  } else {
    top.ignore({"optim"});
  }
  if (std::optional<bool> old = top.truth("adafactor"); old == true)
    into.name = "adafactor";
  fillIn(into.learningRate,
         top.number("learning_rate", Numbers::NotNegative).value_or(5e-5));
  fillIn(into.weightDecay,
         top.number("weight_decay", Numbers::NotNegative).value_or(0));
  std::optional<double> beta1 = top.number("adam_beta1", Numbers::Fraction);
  std::optional<double> beta2 = top.number("adam_beta2", Numbers::Fraction);
  std::optional<double> epsilon =
      top.number("adam_epsilon", Numbers::NotNegative);
  bool isAdam = into.name == "adamw" || into.name == "adam" ||
                into.name == "lion" || into.name == "lamb";
  if (isAdam) {
    fillIn(into.beta1, beta1.value_or(0.9));
    fillIn(into.beta2, beta2.value_or(0.999));
  }
  if (isAdam && into.name != "lion")
    fillIn(into.epsilon, epsilon.value_or(1e-8));
  if (const ConfigNode *more = top.take("optim_args"))
    top.warn("optim_args", "'" + shown(more->text) + "' is not understood");
}

static void readDeepSpeedOf(ConfigReader &reader, const Section &top,
                            const DeepSpeedContext &context) {
  const ConfigNode *deepSpeed = top.take("deepspeed");
  if (deepSpeed && deepSpeed->isMap())
    readDeepSpeed(reader, top.section("deepspeed"), context);
  else if (deepSpeed && deepSpeed->isString())
    top.warn("deepspeed", "'" + shown(deepSpeed->text) +
                              "' is not read: give it instead, or put it in");
  else if (deepSpeed)
    top.fail("deepspeed", "must be an object or the name of a file");
}

void mpopt::readHuggingFace(ConfigReader &reader, const Section &top) {
  TrainConfig &config = reader.config;
  std::optional<bool> fp16 = top.truth("fp16"), bf16 = top.truth("bf16");
  if (fp16 == true && bf16 == true)
    return top.fail("fp16", "is true, and so is bf16: only one can be");
  // The Trainer refuses both for evaluation, too, but training is not it.
  top.ignore({"fp16_full_eval", "bf16_full_eval", "tf32"});

  bool isDeepSpeed = top.take("deepspeed") != nullptr;
  readDeepSpeedOf(reader, top, {fp16.value_or(false), bf16.value_or(false)});

  std::optional<TrainType> type;
  if (fp16 == true)
    type = TrainType::F16;
  if (bf16 == true)
    type = TrainType::BF16;
  if (isDeepSpeed && type) {
    if (type == TrainType::F16)
      fillScaler(config.scaler, kDeepSpeedScaler);
    fillDeepSpeedTypes(config, *type);
  } else if (!isDeepSpeed && type) {
    config.precision = fp16 == true ? "autocast-fp16" : "autocast-bf16";
    // Gradients of autocast are in the parameters' type.
    if (fp16 == true)
      fillScaler(config.scaler, kGradScaler);
  } else if (!isDeepSpeed && (fp16 || bf16)) {
    config.precision = "fp32";
  }
  // Without a word on precision an option may still choose FP16.
  if (type == TrainType::BF16 || config.precision == "fp32")
    fillIn(config.scaler.kind, ScalerKind::None);
  for (StringRef key : {"half_precision_backend", "fp16_backend"})
    if (std::optional<std::string> backend = top.word(key);
        backend && *backend == "apex")
      top.warn(key, "Apex is not understood: say --precision and --scaler");
  top.ignore({"fp16_opt_level"});

  readFsdp(reader, top, type);
  readOptimizer(reader, top);
  fillIn(config.clip,
         top.number("max_grad_norm", Numbers::NotNegative).value_or(1));
  fillIn(config.sharding.checkpointing,
         top.truth("gradient_checkpointing").value_or(false));
  bool isAutoSize = top.truth("auto_find_batch_size") == true;
  std::optional<int64_t> micro = top.integer("per_device_train_batch_size", 1);
  if (!isAutoSize)
    fillIn(config.batch.micro, micro.value_or(8));
  fillIn(config.batch.accumulate,
         top.integer("gradient_accumulation_steps", 1).value_or(1));
  completeBatch(reader, isDeepSpeed ? "deepspeed.train_batch_size"
                                    : "per_device_train_batch_size");
  top.ignore({"optim_target_modules", "dataloader_prefetch_factor",
              "label_smoothing_factor", "lr_scheduler_type",
              "fsdp_min_num_params", "fsdp_transformer_layer_cls_to_wrap"});
  top.warnOfNumericalOthers();
}
