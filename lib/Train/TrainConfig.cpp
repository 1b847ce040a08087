//===- TrainConfig.cpp - A configuration recognised by its content ===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Train/TrainConfig.h"

#include "ConfigReader.h"

#include "mpopt/Support/InputFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace llvm;
using namespace mpopt;

/// Real configurations have a few kilobytes.
static constexpr uint64_t kMostBytes = uint64_t(4) << 20;

StringRef mpopt::toString(TrainFormat format) {
  switch (format) {
  case TrainFormat::Own:
    return "mpopt-train-config/1";
  case TrainFormat::DeepSpeed:
    return "DeepSpeed";
  case TrainFormat::HuggingFace:
    return "Hugging Face TrainingArguments";
  case TrainFormat::Accelerate:
    return "Accelerate";
  case TrainFormat::Megatron:
    return "Megatron-LM";
  case TrainFormat::Lightning:
    return "Lightning";
  case TrainFormat::Torchtitan:
    return "torchtitan";
  case TrainFormat::Torchao:
    return "torchao";
  case TrainFormat::Fp8Recipe:
    return "mpopt-fp8-recipe/1";
  }
  llvm_unreachable("every format has a name");
}

StringRef mpopt::toString(TrainType type) {
  switch (type) {
  case TrainType::F64:
    return "f64";
  case TrainType::F32:
    return "f32";
  case TrainType::F16:
    return "f16";
  case TrainType::BF16:
    return "bf16";
  case TrainType::F8:
    return "f8";
  case TrainType::F8E5M2:
    return "e5m2";
  case TrainType::Int8:
    return "int8";
  case TrainType::Int4:
    return "int4";
  }
  llvm_unreachable("every type has a name");
}

std::optional<TrainType> mpopt::parseTrainType(StringRef text) {
  text.consume_front("torch.");
  return StringSwitch<std::optional<TrainType>>(text)
      .Cases({"f64", "fp64", "float64", "double"}, TrainType::F64)
      .Cases({"f32", "fp32", "float32", "float", "32"}, TrainType::F32)
      .Cases({"f16", "fp16", "float16", "half", "16"}, TrainType::F16)
      .Cases({"bf16", "bfloat16"}, TrainType::BF16)
      .Cases({"f8", "fp8", "float8", "e4m3", "fp8_e4m3", "float8_e4m3fn"},
             TrainType::F8)
      .Cases({"e5m2", "fp8_e5m2", "float8_e5m2"}, TrainType::F8E5M2)
      .Cases({"int8", "i8", "uint8"}, TrainType::Int8)
      .Cases({"int4", "i4"}, TrainType::Int4)
      .Default(std::nullopt);
}

static bool hasAny(const ConfigNode &map, ArrayRef<StringRef> keys) {
  return llvm::any_of(keys, [&](StringRef key) { return map.find(key); });
}

static bool hasMap(const ConfigNode &map, ArrayRef<StringRef> keys) {
  return llvm::any_of(keys, [&](StringRef key) {
    const ConfigNode *value = map.find(key);
    return value && value->isMap();
  });
}

static std::optional<TrainFormat> recognise(const ConfigNode &map) {
  const ConfigNode *loss = map.find("loss"), *schema = map.find("schema");
  if (schema && schema->text == "mpopt-fp8-recipe/1")
    return TrainFormat::Fp8Recipe;
  if (hasMap(map, {"training"}) &&
      hasMap(map, {"job", "float8", "mx", "quantize", "parallelism"}))
    return TrainFormat::Torchtitan;
  if (hasAny(map, {"cast_config_input", "pad_inner_dim",
                   "enable_fsdp_float8_all_gather"}))
    return TrainFormat::Torchao;
  if (schema || (loss && loss->find("terms")))
    return TrainFormat::Own;
  if (hasMap(map, {"trainer"}) ||
      hasAny(map, {"accumulate_grad_batches", "gradient_clip_val"}))
    return TrainFormat::Lightning;
  if (hasAny(map, {"compute_environment", "distributed_type", "mixed_precision",
                   "num_machines"}))
    return TrainFormat::Accelerate;
  const ConfigNode *optimizer = map.find("optimizer");
  if ((optimizer && optimizer->find("type")) ||
      hasMap(map, {"fp16", "bf16", "bfloat16", "zero_optimization",
                   "torch_autocast", "amp"}) ||
      hasAny(map, {"train_batch_size", "train_micro_batch_size_per_gpu",
                   "gradient_clipping", "prescale_gradients",
                   "communication_data_type"}))
    return TrainFormat::DeepSpeed;
  if (hasAny(map, {"per_device_train_batch_size", "output_dir", "adam_epsilon",
                   "learning_rate", "max_grad_norm", "fp16", "bf16", "optim",
                   "gradient_accumulation_steps", "deepspeed", "fp16_full_eval",
                   "gradient_checkpointing"}))
    return TrainFormat::HuggingFace;
  return std::nullopt;
}

/// The arguments of a functional test of Megatron-LM, `--fp8-format: hybrid`.
static ConfigNode toFlags(const ConfigNode &arguments) {
  ConfigNode flags;
  flags.kind = ConfigNode::Kind::Map;
  flags.line = arguments.line;
  for (const auto &[key, value] : arguments.entries) {
    if (value.kind == ConfigNode::Kind::Bool && !value.truth)
      continue;
    flags.entries.push_back({StringRef(key).ltrim('-').str(), value});
    llvm::replace(flags.entries.back().key, '_', '-');
    if (value.kind == ConfigNode::Kind::Bool)
      flags.entries.back().value.kind = ConfigNode::Kind::Null;
  }
  return flags;
}

static Expected<ConfigNode> readTree(StringRef text) {
  if (text.size() > kMostBytes)
    return createStringError("is too large to be a training configuration");
  if (text.contains('\0'))
    return createStringError("holds a NUL byte: it is not a text");
  StringRef begin = text.ltrim();
  if (begin.empty())
    return createStringError("is empty");
  if (isTomlConfig(text))
    return readTomlConfig(text);
  if (begin.starts_with("{") || begin.starts_with("["))
    return readJsonConfig(text);
  return readYamlConfig(text);
}

/// Reads the tree of a format that was told.
static void readTop(ConfigReader &reader, const Section &top) {
  switch (reader.config.format) {
  case TrainFormat::Own:
    readOwnConfig(reader, top);
    break;
  case TrainFormat::DeepSpeed:
    readDeepSpeed(reader, top);
    break;
  case TrainFormat::HuggingFace:
    readHuggingFace(reader, top);
    break;
  case TrainFormat::Accelerate:
    readAccelerate(reader, top);
    break;
  case TrainFormat::Lightning:
    readLightning(reader, top);
    break;
  case TrainFormat::Torchtitan:
    readTorchtitan(reader, top);
    break;
  case TrainFormat::Torchao:
    readTorchao(reader, top);
    break;
  case TrainFormat::Fp8Recipe:
    readFp8Recipe(reader, top);
    break;
  case TrainFormat::Megatron:
    llvm_unreachable("a list of arguments is no tree");
  }
}

Expected<TrainConfig> mpopt::parseTrainConfig(StringRef text,
                                              StringRef origin) {
  ConfigReader reader(origin);
  text.consume_front("\xef\xbb\xbf");
  // Arguments are words: no reader of theirs can fail on a text.
  bool isArguments =
      text.size() <= kMostBytes && !text.contains('\0') && isArgumentFile(text);
  if (isArguments) {
    ConfigNode flags = readArgumentFile(text);
    reader.config.format = TrainFormat::Megatron;
    readMegatron(reader, Section(reader, &flags, ""));
    return reader.finish();
  }
  Expected<ConfigNode> tree = readTree(text);
  if (!tree) {
    reader.fail("", llvm::toString(tree.takeError()));
    return reader.finish();
  }
  if (!tree->isMap()) {
    reader.fail("", "is not a training configuration: must be an object");
    return reader.finish();
  }
  if (const ConfigNode *arguments = tree->find("MODEL_ARGS");
      arguments && arguments->isMap()) {
    ConfigNode flags = toFlags(*arguments);
    reader.config.format = TrainFormat::Megatron;
    readMegatron(reader, Section(reader, &flags, ""));
    return reader.finish();
  }
  std::optional<TrainFormat> format = recognise(*tree);
  if (!format) {
    reader.fail("", "is no training configuration that is known: "
                    "mpopt-train-config/1, DeepSpeed, Hugging Face "
                    "TrainingArguments, Accelerate, Megatron-LM, Lightning, "
                    "torchtitan, torchao, mpopt-fp8-recipe/1");
    return reader.finish();
  }
  reader.config.format = *format;
  readTop(reader, Section(reader, &*tree));
  return reader.finish();
}

Expected<TrainConfig> mpopt::readTrainConfig(StringRef path) {
  Expected<std::unique_ptr<MemoryBuffer>> file =
      readInputFile(path, kMostBytes);
  if (!file)
    return createStringError(path + ": " + llvm::toString(file.takeError()));
  return parseTrainConfig((*file)->getBuffer(), path);
}
