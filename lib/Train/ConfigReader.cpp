//===- ConfigReader.cpp - What the readers of formats share ===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ConfigReader.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace llvm;
using namespace mpopt;

void ConfigReader::fail(StringRef path, const Twine &message) {
  if (failure.empty())
    failure =
        (origin + ": " + path + (path.empty() ? "" : ": ") + message).str();
}

void ConfigReader::warn(StringRef path, const Twine &message) {
  // A file of a thousand unknown keys is told of by its first ones.
  constexpr size_t kMostWarnings = 100;
  std::string line = (origin + ": " + path + ": " + message).str();
  if (config.warnings.size() < kMostWarnings &&
      !llvm::is_contained(config.warnings, line))
    config.warnings.push_back(std::move(line));
}

Expected<TrainConfig> ConfigReader::finish() {
  if (failed())
    return createStringError(failure);
  return std::move(config);
}

Section::Section(ConfigReader &reader, const ConfigNode *map, std::string path)
    : reader(reader), map(map), path(std::move(path)),
      known(std::make_shared<StringSet<>>()) {}

static bool isOpenValue(const ConfigNode &node) {
  return node.isString() && (node.text == "auto" || node.text[0] == '$');
}

bool Section::isOpen(StringRef key) const {
  const ConfigNode *node = map ? map->find(key) : nullptr;
  return node && isOpenValue(*node);
}

bool Section::has(StringRef key) const {
  known->insert(key);
  return map && map->find(key);
}

const ConfigNode *Section::take(StringRef key) const {
  known->insert(key);
  const ConfigNode *node = map ? map->find(key) : nullptr;
  if (!node || node->kind == ConfigNode::Kind::Null)
    return nullptr;
  if (node->isString() && !node->text.empty() && isOpenValue(*node)) {
    if (node->text[0] == '$')
      warn(key, "'" + shown(node->text) + "' is not set in the file");
    return nullptr;
  }
  return node;
}

Section Section::section(StringRef key) const {
  const ConfigNode *node = take(key);
  if (node && !node->isMap()) {
    fail(key, "must be an object");
    node = nullptr;
  }
  return Section(reader, node, pathOf(key));
}

std::string Section::spell(StringRef key) const {
  return reader.config.format == TrainFormat::Megatron ? "--" + key.str()
                                                       : pathOf(key);
}

TrainKey Section::keyOf(StringRef key) const {
  const ConfigNode *node = map ? map->find(key) : nullptr;
  return {spell(key), node && node->line ? node->line : map ? map->line : 0};
}

void Section::blame(StringRef rule, StringRef key, const Twine &text) const {
  // Faults of one file; there are as many kinds of them.
  constexpr size_t kMostFaults = 100;
  TrainKey its = keyOf(key);
  if (reader.config.faults.size() < kMostFaults)
    reader.config.faults.push_back(
        {rule.str(), its.key, its.line, its.key + ": " + text.str()});
}

static StringRef describe(Numbers kind) {
  switch (kind) {
  case Numbers::Any:
    return "must be a finite number";
  case Numbers::NotNegative:
    return "must be a number of at least 0";
  case Numbers::Positive:
    return "must be a positive number";
  case Numbers::Fraction:
    return "must be a number from 0 to below 1";
  }
  llvm_unreachable("every kind is described");
}

static bool isOf(double value, Numbers kind) {
  if (!std::isfinite(value))
    return false;
  switch (kind) {
  case Numbers::Any:
    return true;
  case Numbers::NotNegative:
    return value >= 0;
  case Numbers::Positive:
    return value > 0;
  case Numbers::Fraction:
    return value >= 0 && value < 1;
  }
  llvm_unreachable("every kind is tested");
}

std::optional<double> Section::number(StringRef key, Numbers kind) const {
  const ConfigNode *node = take(key);
  if (!node)
    return std::nullopt;
  if (node->kind != ConfigNode::Kind::Number || !isOf(node->number, kind)) {
    fail(key, describe(kind));
    return std::nullopt;
  }
  return node->number;
}

std::optional<int64_t> Section::integer(StringRef key, int64_t least) const {
  const ConfigNode *node = take(key);
  if (!node)
    return std::nullopt;
  // Integers that a double holds; products of four of them are checked.
  if (node->kind != ConfigNode::Kind::Number ||
      std::fabs(node->number) > 0x1p53 ||
      node->number != std::trunc(node->number) || node->number < least) {
    fail(key, "must be an integer of at least " + Twine(least));
    return std::nullopt;
  }
  return int64_t(node->number);
}

std::optional<bool> Section::truth(StringRef key) const {
  const ConfigNode *node = take(key);
  if (!node)
    return std::nullopt;
  if (node->kind != ConfigNode::Kind::Bool) {
    // Published files quote truth values now and then.
    ConfigNode plain = ConfigNode::fromPlain(node->text);
    if (node->isString() && plain.kind == ConfigNode::Kind::Bool)
      return plain.truth;
    fail(key, "must be true or false");
    return std::nullopt;
  }
  return node->truth;
}

std::optional<std::string> Section::word(StringRef key) const {
  const ConfigNode *node = take(key);
  if (!node)
    return std::nullopt;
  if (!node->isScalar()) {
    fail(key, "must be a word");
    return std::nullopt;
  }
  return node->text;
}

std::optional<TrainType> Section::type(StringRef key) const {
  std::optional<std::string> name = word(key);
  if (!name)
    return std::nullopt;
  std::optional<TrainType> type = parseTrainType(*name);
  if (!type)
    fail(key, "'" + shown(*name) + "' is not a type: f32, f16, bf16, ...");
  return type;
}

std::optional<std::vector<std::string>> Section::words(StringRef key) const {
  const ConfigNode *node = take(key);
  if (!node)
    return std::nullopt;
  std::vector<std::string> result;
  for (const ConfigNode &item : node->items) {
    if (!item.isScalar()) {
      fail(key, "must be a list of words");
      return std::nullopt;
    }
    result.push_back(item.text);
  }
  if (node->kind != ConfigNode::Kind::List) {
    fail(key, "must be a list of words");
    return std::nullopt;
  }
  return result;
}

void Section::betas(StringRef key, TrainOptimizer &into) const {
  const ConfigNode *node = take(key);
  if (!node)
    return;
  bool isRight = node->kind == ConfigNode::Kind::List && !node->items.empty();
  // Adafactor and CAME have a third that nothing here asks for.
  for (const ConfigNode &item : node->items) {
    // Its items may be open.
    if (isOpenValue(item))
      return;
    isRight = isRight && item.kind == ConfigNode::Kind::Number &&
              isOf(item.number, Numbers::Fraction);
  }
  if (!isRight || node->items.size() < 2 || node->items.size() > 3) {
    fail(key, "must be a list of two numbers from 0 to below 1");
    return;
  }
  into.beta1 = node->items[0].number;
  into.beta2 = node->items[1].number;
}

void Section::ignore(ArrayRef<StringRef> keys) const {
  known->insert_range(keys);
}

void Section::warnOfOthers() const {
  if (!map)
    return;
  for (const auto &[key, value] : map->entries)
    if (!known->contains(key))
      warn(key, "is not known and is ignored");
}

static bool isNumerical(StringRef key) {
  // Parts of the names of options that change values.
  static constexpr StringLiteral kWords[] = {
      "fp8",       "fp16",     "bf16",      "fp32",      "fp64",
      "float",     "half",     "dtype",     "precision", "amp",
      "apex",      "scale",    "scaler",    "optim",     "optimizer",
      "adam",      "reduce",   "allreduce", "shard",     "sharding",
      "sharded",   "zero",     "fsdp",      "autocast",  "master",
      "quant",     "quantize", "cast",      "downcast",  "prescale",
      "predivide", "divide",   "clip",      "clipping",  "hysteresis",
      "tf32",      "bfloat16", "float16",   "float8",    "fp4",
      "nvfp4",     "mxfp8"};
  std::string lower = key.lower();
  SmallVector<StringRef> parts;
  llvm::replace(lower, '-', '_');
  StringRef(lower).split(parts, '_');
  return llvm::any_of(
      parts, [](StringRef part) { return llvm::is_contained(kWords, part); });
}

/// True of null, "", [] and {}, as dumps of all arguments have them.
static bool saysNothing(const ConfigNode &node) {
  return node.kind == ConfigNode::Kind::Null ||
         (node.isString() && node.text.empty()) ||
         (node.kind == ConfigNode::Kind::List && node.items.empty()) ||
         (node.isMap() && node.entries.empty());
}

void Section::warnOfNumericalOthers() const {
  if (!map)
    return;
  for (const auto &[key, value] : map->entries)
    if (!known->contains(key) && isNumerical(key) && !saysNothing(value))
      warn(key, "is not understood and is ignored");
}

void mpopt::fillScaler(TrainScaler &scaler, const DynamicScaler &values) {
  fillIn(scaler.kind, ScalerKind::Dynamic);
  if (*scaler.kind != ScalerKind::Dynamic)
    return;
  fillIn(scaler.initial, values.initial);
  fillIn(scaler.growth, values.growth);
  fillIn(scaler.backoff, values.backoff);
  fillIn(scaler.interval, values.interval);
  fillIn(scaler.hysteresis, values.hysteresis);
  fillIn(scaler.minimum, values.minimum);
}

/// `whole` over the product of the others, if it is one.
static std::optional<int64_t> divide(int64_t whole, int64_t a, int64_t b) {
  int64_t product;
  if (llvm::MulOverflow(a, b, product) || whole % product)
    return std::nullopt;
  return whole / product;
}

void mpopt::completeBatch(ConfigReader &reader, StringRef key) {
  TrainBatch &batch = reader.config.batch;
  std::optional<int64_t> *parts[] = {&batch.micro, &batch.accumulate,
                                     &batch.world};
  auto isMissing = [](std::optional<int64_t> *part) { return !*part; };
  size_t missing = llvm::count_if(parts, isMissing);
  if (missing == std::size(parts))
    return;
  if (!batch.total) {
    int64_t product;
    if (missing == 0 &&
        !llvm::MulOverflow(*batch.micro, *batch.accumulate, product) &&
        !llvm::MulOverflow(product, *batch.world, product))
      batch.total = product;
    return;
  }
  auto value = [](std::optional<int64_t> *part) { return part->value_or(1); };
  std::optional<int64_t> rest =
      divide(*batch.total, value(parts[0]), value(parts[1]));
  rest = rest ? divide(*rest, value(parts[2]), 1) : std::nullopt;
  if (!rest || *rest < 1 || (missing == 0 && *rest != 1)) {
    static constexpr const char *names[] = {"samples of a pass",
                                            "accumulated passes", "workers"};
    std::string given;
    for (auto [part, name] : llvm::zip_equal(parts, names))
      if (*part)
        given += (given.empty() ? "" : " times ") + std::to_string(**part) +
                 " " + name;
    reader.fail(key, Twine(*batch.total) + " is not " +
                         (missing ? "a multiple of " : "") + given);
    return;
  }
  // If two are missing, only their product is known.
  if (missing > 1)
    return;
  for (std::optional<int64_t> *part : parts)
    if (!*part)
      *part = *rest;
}
