//===- OwnConfig.cpp - mpopt's own configuration ===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//
// Also the training zoo's `train.json`, which describes a model by the same
// keys.

#include "ConfigReader.h"

#include "mpopt/Numerics/Precision.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace mpopt;

// Kinds of losses (docs/train-config.md).
static constexpr StringLiteral kLosses[] = {"cross-entropy",
                                            "bce-with-logits",
                                            "bce",
                                            "mse",
                                            "l1",
                                            "smooth-l1",
                                            "nll",
                                            "kl",
                                            "kl-normal",
                                            "contrastive",
                                            "hinge",
                                            "triplet",
                                            "focal",
                                            "ctc",
                                            "policy-gradient",
                                            "sum",
                                            "mean",
                                            "custom"};
// How the elements of a loss are reduced.
static constexpr StringLiteral kReductions[] = {"mean", "sum", "none",
                                                "sum-then-batch-mean"};

static std::string list(ArrayRef<StringLiteral> words) {
  return llvm::join(words, ", ");
}

static std::string withDashes(std::string word) {
  llvm::replace(word, '_', '-');
  return word;
}

static void readTerm(ConfigReader &reader, const Section &term) {
  TrainLossTerm into;
  std::optional<std::string> kind = term.word("kind");
  if (!kind)
    return term.fail("kind", "is missing");
  bool isFile = StringRef(*kind).ends_with(".onnx") ||
                StringRef(*kind).ends_with(".mlir");
  into.kind = isFile ? *kind : withDashes(*kind);
  if (!isFile && !llvm::is_contained(kLosses, into.kind))
    return term.fail("kind",
                     "'" + shown(*kind) +
                         "' is not a loss that is known: " + list(kLosses));
  into.prediction = term.word("prediction");
  into.target = term.word("target");
  into.weight = term.number("weight");
  if (std::optional<std::string> reduction = term.word("reduction")) {
    into.reduction = withDashes(*reduction);
    if (!llvm::is_contained(kReductions, *into.reduction))
      term.fail("reduction",
                "'" + shown(*reduction) + "' is none of " + list(kReductions));
  }
  // Numbers of JSON are exact down to -2^53.
  constexpr int64_t kLeast = -(int64_t(1) << 53);
  into.ignore = term.integer("ignore", kLeast);
  fillIn(into.ignore, term.integer("ignore_index", kLeast));
  into.shareCounted = term.number("share_counted", Numbers::NotNegative);
  if (into.shareCounted && *into.shareCounted > 1)
    term.fail("share_counted", "must be a number from 0 to 1");
  into.classAxis = term.integer("class_axis", -64);
  into.positions = term.word("positions");
  if (into.positions && *into.positions != "last" && *into.positions != "all")
    term.fail("positions",
              "'" + shown(*into.positions) + "' is neither 'all' nor 'last'");
  into.diagonal = term.truth("diagonal");
  into.margin = term.number("margin");
  into.labelSmoothing = term.number("label_smoothing", Numbers::NotNegative);
  if (into.labelSmoothing && *into.labelSmoothing > 1)
    term.fail("label_smoothing", "must be a number from 0 to 1");
  into.beta = term.number("beta", Numbers::NotNegative);
  into.delta = term.number("delta", Numbers::Positive);
  into.gamma = term.number("gamma", Numbers::NotNegative);
  into.alpha = term.number("alpha");
  into.text = term.word("text");
  term.warnOfOthers();
  reader.config.lossTerms.push_back(std::move(into));
}

static void readLoss(ConfigReader &reader, const Section &loss) {
  reader.config.lossOutput = loss.word("output");
  reader.config.lossValue = loss.number("value");
  if (const ConfigNode *terms = loss.take("terms")) {
    if (terms->kind != ConfigNode::Kind::List)
      loss.fail("terms", "must be a list of objects");
    for (auto [index, item] : llvm::enumerate(terms->items)) {
      std::string path =
          loss.pathOf("terms") + "[" + std::to_string(index) + "]";
      if (!item.isMap())
        return reader.fail(path, "must be an object");
      readTerm(reader, Section(reader, &item, path));
    }
  }
  loss.warnOfOthers();
}

static std::optional<std::vector<int64_t>> readShape(const Section &value) {
  const ConfigNode *node = value.take("shape");
  if (!node)
    return std::nullopt;
  std::vector<int64_t> shape;
  if (node->kind != ConfigNode::Kind::List)
    value.fail("shape", "must be a list of integers");
  for (const ConfigNode &item : node->items) {
    // Names and null are dimensions that are not known.
    bool isNumber = item.kind == ConfigNode::Kind::Number;
    bool isKnown = isNumber && item.number != -1;
    if ((isKnown && !(item.number >= 0 && item.number <= 0x1p53 &&
                      item.number == double(int64_t(item.number)))) ||
        (!isNumber && !item.isString() &&
         item.kind != ConfigNode::Kind::Null)) {
      value.fail("shape", "must be a list of integers");
      return std::nullopt;
    }
    shape.push_back(isKnown ? int64_t(item.number) : -1);
  }
  return shape;
}

static std::vector<TrainValues> readValues(ConfigReader &reader,
                                           const Section &top, StringRef key) {
  std::vector<TrainValues> result;
  Section names = top.section(key);
  const ConfigNode *node = top.take(key);
  if (!names)
    return result;
  for (const auto &[name, entry] : node->entries) {
    Section value = names.section(name);
    TrainValues into;
    into.name = name;
    into.lo = value.number("lo");
    into.hi = value.number("hi");
    if (into.lo && into.hi && *into.lo > *into.hi)
      value.fail("lo", "is above hi");
    into.mean = value.number("mean");
    into.std = value.number("std", Numbers::NotNegative);
    into.zipf = value.number("zipf", Numbers::NotNegative);
    into.dtype = value.word("dtype");
    into.shape = readShape(value);
    value.warnOfOthers();
    result.push_back(std::move(into));
  }
  return result;
}

static void readOptimizer(ConfigReader &reader, const Section &top) {
  TrainOptimizer &into = reader.config.optimizer;
  const ConfigNode *node = top.take("optimizer");
  bool isName = node && node->isString();
  Section optimizer =
      isName ? Section(reader, nullptr) : top.section("optimizer");
  std::optional<std::string> name =
      isName ? std::optional(node->text) : optimizer.word("name");
  if (name && !setOptimizer(*name, into))
    reader.fail(isName ? "optimizer" : "optimizer.name",
                "'" + shown(*name) +
                    "' is none of sgd, adam, adamw, adafactor, lion, lamb, "
                    "rmsprop, adagrad");
  into.learningRate = optimizer.number("lr", Numbers::NotNegative);
  into.epsilon = optimizer.number("eps", Numbers::NotNegative);
  into.momentum = optimizer.number("momentum", Numbers::NotNegative);
  into.weightDecay = optimizer.number("weight_decay", Numbers::NotNegative);
  optimizer.betas("betas", into);
  if (std::optional<TrainType> state = optimizer.type("state"))
    into.state = state;
  into.master = optimizer.truth("master");
  optimizer.warnOfOthers();
}

static void readScaler(ConfigReader &reader, const Section &top) {
  TrainScaler &into = reader.config.scaler;
  const ConfigNode *node = top.take("scaler");
  if (!node)
    return;
  if (node->kind == ConfigNode::Kind::Number) {
    into.kind = ScalerKind::Static;
    into.initial = top.number("scaler", Numbers::Positive);
    return;
  }
  auto setKind = [&](StringRef path, StringRef word) {
    if (word == "none" || word == "dynamic" || word == "static")
      into.kind = word == "none"      ? ScalerKind::None
                  : word == "dynamic" ? ScalerKind::Dynamic
                                      : ScalerKind::Static;
    else
      reader.fail(path, "'" + shown(word) +
                            "' is none of none, dynamic, static and a number");
  };
  if (!node->isMap())
    return setKind("scaler", node->text);
  Section scaler = top.section("scaler");
  if (std::optional<std::string> kind = scaler.word("kind"))
    setKind("scaler.kind", *kind);
  into.initial = scaler.number("initial", Numbers::Positive);
  into.growth = scaler.number("growth", Numbers::Positive);
  into.backoff = scaler.number("backoff", Numbers::Positive);
  into.interval = scaler.integer("interval", 1);
  into.hysteresis = scaler.integer("hysteresis", 1);
  into.minimum = scaler.number("min", Numbers::NotNegative);
  if (into.kind == ScalerKind::Static && !into.initial)
    scaler.fail("initial", "is missing: the scale of a static scaler");
  scaler.warnOfOthers();
}

static void readReduce(ConfigReader &reader, const Section &top) {
  TrainReduce &into = reader.config.reduce;
  const ConfigNode *node = top.take("reduce");
  if (node && !node->isMap()) {
    into.type = top.type("reduce");
    return;
  }
  Section reduce = top.section("reduce");
  into.type = reduce.type("dtype");
  into.accumulate = reduce.type("accumulate");
  if (reduce.isOpen("predivide"))
    into.predivideAuto = true;
  into.predivide = reduce.number("predivide", Numbers::Positive);
  if (std::optional<std::string> when = reduce.word("divide")) {
    if (*when != "before" && *when != "after")
      reduce.fail("divide", "must be 'before' or 'after'");
    into.division =
        *when == "before" ? ReduceDivision::Before : ReduceDivision::After;
  }
  reduce.warnOfOthers();
}

static void readSharding(ConfigReader &reader, const Section &top) {
  TrainSharding &into = reader.config.sharding;
  Section sharding = top.section("sharding");
  if (std::optional<std::string> kind = sharding.word("kind")) {
    if (*kind != "none" && *kind != "zero" && *kind != "fsdp")
      sharding.fail("kind", "'" + shown(*kind) +
                                "' is none of none, zero and "
                                "fsdp");
    into.kind = *kind == "zero"   ? ShardingKind::Zero
                : *kind == "fsdp" ? ShardingKind::Fsdp
                                  : ShardingKind::None;
  }
  into.stage = sharding.integer("stage", 0);
  if (into.stage && *into.stage > 3)
    sharding.fail("stage", "must be 0, 1, 2 or 3");
  if (into.kind == ShardingKind::None && into.stage.value_or(0))
    sharding.fail("stage", "must be 0 where nothing is sharded");
  into.parameters = sharding.type("param_dtype");
  into.reduce = sharding.type("reduce_dtype");
  into.buffers = sharding.type("buffer_dtype");
  into.checkpointing = sharding.truth("checkpointing");
  sharding.warnOfOthers();
}

void mpopt::readOwnConfig(ConfigReader &reader, const Section &top) {
  TrainConfig &config = reader.config;
  if (std::optional<std::string> schema = top.word("schema");
      schema && *schema != "mpopt-train-config/1")
    return top.fail("schema",
                    "'" + shown(*schema) + "' is not mpopt-train-config/1");
  readLoss(reader, top.section("loss"));
  config.inputs = readValues(reader, top, "inputs");
  config.targets = readValues(reader, top, "targets");
  config.targetsRelated = top.truth("targets_related");
  config.stepsDone = top.integer("steps_done", 0);
  config.outputs = top.words("outputs").value_or(config.outputs);
  config.parameters = top.words("parameters").value_or(config.parameters);
  readOptimizer(reader, top);
  readScaler(reader, top);
  const ConfigNode *batch = top.take("batch");
  if (batch && batch->kind == ConfigNode::Kind::Number) {
    config.batch.micro = top.integer("batch", 1);
  } else {
    Section sizes = top.section("batch");
    config.batch.micro = sizes.integer("micro", 1);
    config.batch.accumulate = sizes.integer("accumulate", 1);
    config.batch.world = sizes.integer("world", 1);
    config.batch.total = sizes.integer("total", 1);
    completeBatch(reader, "batch.total");
    sizes.warnOfOthers();
  }
  readReduce(reader, top);
  config.clip = top.number("clip", Numbers::NotNegative);
  readSharding(reader, top);
  if (std::optional<std::string> precision = top.word("precision")) {
    SmallVector<StringLiteral> known = {"fp32"};
    for (const Precision &row : Precision::all())
      if (!row.operands)
        known.push_back(row.name);
    if (!llvm::is_contained(known, *precision))
      top.fail("precision",
               "'" + shown(*precision) + "' is none of " + list(known));
    config.precision = precision;
  }
  // How the zoo made a model.
  top.ignore({"model", "seed", "opset", "exporter", "nodes", "mode",
              "unnamed_parameters"});
  top.warnOfOthers();
}
