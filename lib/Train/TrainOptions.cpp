//===- TrainOptions.cpp - A training step said by options ===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Train/TrainOptions.h"

#include "ConfigReader.h"

#include "mpopt/Support/Spelling.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace llvm;
using namespace mpopt;

static ConfigNode makeMap(std::vector<ConfigEntry> entries) {
  ConfigNode map;
  map.kind = ConfigNode::Kind::Map;
  map.entries = std::move(entries);
  return map;
}

/// The key of the own configuration that a key is another word for.
static std::string spellKey(StringRef key) {
  std::string spelled = key.str();
  llvm::replace(spelled, '-', '_');
  return StringSwitch<std::string>(spelled)
      .Case("learning_rate", "lr")
      .Case("epsilon", "eps")
      .Case("wd", "weight_decay")
      .Default(spelled);
}

/// The keys of an option that `--help` lists.
static SmallVector<StringRef> listKeys(StringRef option) {
  if (option == "--optimizer")
    return {"lr",       "learning_rate", "eps",   "betas",
            "momentum", "weight_decay",  "state", "master"};
  if (option == "--scaler")
    return {"initial", "growth", "backoff", "interval", "hysteresis", "min"};
  if (option == "--batch")
    return {"micro", "accumulate", "world", "total"};
  return {"accumulate", "predivide", "divide"};
}

/// The list as a map; its first word is the value of `first`. Words without `=`
/// have a key in `keys`, or continue the list of the key before.
static Expected<ConfigNode>
readList(StringRef option, StringRef text, StringRef first,
         ArrayRef<std::pair<StringRef, StringRef>> keys = {}) {
  auto fail = [&](const Twine &message) {
    return createStringError(option + ": " + message);
  };
  // `adamw:lr=1e-4` as `adamw,lr=1e-4`: the terms of --loss have colons.
  std::string separated = text.str();
  llvm::replace(separated, ':', ',');
  SmallVector<StringRef> words;
  StringRef(separated).split(words, ',');
  std::vector<ConfigEntry> entries;
  for (auto [index, word] : enumerate(words)) {
    word = word.trim();
    auto [key, value] = word.split('=');
    std::string spelled = spellKey(key.trim());
    key = spelled;
    value = value.trim();
    bool isPair = word.contains('=');
    const auto *named = llvm::find_if(
        keys, [&](const auto &pair) { return pair.first == word; });
    if (index == 0 && !isPair) {
      key = first;
      value = word;
    } else if (!isPair && named != keys.end()) {
      key = named->second;
      value = word;
    } else if (!isPair) {
      // `betas=0.9,0.95`
      if (index < 2 || word.empty() ||
          ConfigNode::fromPlain(word).kind != ConfigNode::Kind::Number)
        return fail("'" + shown(word) + "' is not KEY=VALUE");
      ConfigNode &list = entries.back().value;
      if (list.kind != ConfigNode::Kind::List) {
        ConfigNode item = std::exchange(list, ConfigNode());
        list.kind = ConfigNode::Kind::List;
        list.items.push_back(std::move(item));
      }
      list.items.push_back(ConfigNode::fromPlain(word));
      continue;
    }
    if (value.empty())
      return fail(shown(key) + " has no value");
    if (llvm::any_of(entries, [&](const ConfigEntry &entry) {
          return entry.key == key;
        }))
      return fail(shown(key) + " is given twice");
    entries.push_back({key.str(), ConfigNode::fromPlain(value)});
  }
  return makeMap(std::move(entries));
}

/// Has the reader of the own configuration read `value` below `key`. Its
/// messages name the key; users typed the option.
static Expected<TrainConfig> readSection(StringRef option, StringRef key,
                                         ConfigNode value) {
  ConfigNode top = makeMap({{key.str(), std::move(value)}});
  ConfigReader reader(option);
  readOwnConfig(reader, Section(reader, &top));
  Expected<TrainConfig> config = reader.finish();
  auto withoutKey = [&](StringRef message) {
    message.consume_front(option);
    message.consume_front(": ");
    message.consume_front("loss.");
    if (message.consume_front(key))
      message = message.drop_front(message.starts_with(".") ? 1 : 2);
    return (option + ": " + message).str();
  };
  if (!config)
    return createStringError(withoutKey(llvm::toString(config.takeError())));
  if (!config->warnings.empty()) {
    // An unknown key of a file may be another version's.
    std::string message = withoutKey(config->warnings.front());
    StringRef text = message;
    text.consume_back(" and is ignored");
    StringRef unknown = text.drop_front(option.size()).ltrim(": ");
    SmallVector<StringRef> keys = listKeys(option);
    std::string hint = suggestNearest(unknown.split(':').first, keys);
    return createStringError(
        text + (hint.empty() ? " (known: " + join(keys, ", ") + ")" : hint));
  }
  return config;
}

static Error addNumber(TrainConfig &into, StringRef option, StringRef key,
                       StringRef inner, const std::string &text) {
  ConfigNode value = ConfigNode::fromPlain(text);
  if (value.kind != ConfigNode::Kind::Number)
    return createStringError(option + ": '" + shown(text) +
                             "' is not a number");
  if (!inner.empty())
    value = makeMap({{inner.str(), std::move(value)}});
  Expected<TrainConfig> config = readSection(option, key, std::move(value));
  if (!config)
    return config.takeError();
  return overrideTrainConfig(into, std::move(*config));
}

Expected<TrainConfig> mpopt::parseTrainOptions(const TrainOptionTexts &texts) {
  TrainConfig config;
  auto add = [&](StringRef option, StringRef key,
                 Expected<ConfigNode> value) -> Error {
    if (!value)
      return value.takeError();
    Expected<TrainConfig> said = readSection(option, key, std::move(*value));
    if (!said)
      return said.takeError();
    return overrideTrainConfig(config, std::move(*said));
  };
  if (texts.optimizer)
    if (Error error = add("--optimizer", "optimizer",
                          readList("--optimizer", *texts.optimizer, "name")))
      return std::move(error);
  if (texts.scaler) {
    // A number is a fixed scale.
    Expected<ConfigNode> list = readList("--scaler", *texts.scaler, "kind");
    if (list)
      if (auto *kind = const_cast<ConfigNode *>(list->find("kind"));
          kind && kind->kind == ConfigNode::Kind::Number) {
        ConfigNode scale =
            std::exchange(*kind, ConfigNode::fromString("static"));
        list->entries.push_back({"initial", std::move(scale)});
      }
    if (Error error = add("--scaler", "scaler", std::move(list)))
      return std::move(error);
  }
  if (texts.batch)
    if (Error error =
            add("--batch", "batch", readList("--batch", *texts.batch, "micro")))
      return std::move(error);
  if (texts.reduce)
    if (Error error =
            add("--reduce", "reduce",
                readList("--reduce", *texts.reduce, "dtype",
                         {{"after", "divide"}, {"before", "divide"}})))
      return std::move(error);
  if (texts.clip)
    if (Error error = addNumber(config, "--clip", "clip", "", *texts.clip))
      return std::move(error);
  if (texts.lossValue)
    if (Error error = addNumber(config, "--loss-value", "loss", "value",
                                *texts.lossValue))
      return std::move(error);
  return config;
}

//===----------------------------------------------------------------------===//
// Two configurations
//===----------------------------------------------------------------------===//

template <typename T>
static void set(std::optional<T> &into, std::optional<T> &value) {
  if (value)
    into = std::move(value);
}

template <typename T>
static void set(std::vector<T> &into, std::vector<T> &values) {
  if (!values.empty())
    into = std::move(values);
}

static Error setFields(TrainBatch &into, TrainBatch &said) {
  if (!said.micro && !said.accumulate && !said.world && !said.total)
    return Error::success();
  // The total follows from the sizes, and is derived anew.
  if (!said.total)
    into.total.reset();
  set(into.micro, said.micro);
  set(into.accumulate, said.accumulate);
  set(into.world, said.world);
  set(into.total, said.total);
  ConfigReader reader("--batch");
  reader.config.batch = into;
  completeBatch(reader, "");
  Expected<TrainConfig> complete = reader.finish();
  if (!complete)
    return complete.takeError();
  into = complete->batch;
  return Error::success();
}

static void setFields(TrainOptimizer &into, TrainOptimizer &said) {
  // The numbers of a file are those of its own optimizer.
  if (said.name && into.name && said.name != into.name)
    into = TrainOptimizer();
  set(into.name, said.name);
  set(into.learningRate, said.learningRate);
  set(into.epsilon, said.epsilon);
  set(into.beta1, said.beta1);
  set(into.beta2, said.beta2);
  set(into.momentum, said.momentum);
  set(into.weightDecay, said.weightDecay);
  set(into.state, said.state);
  set(into.master, said.master);
}

static void setFields(TrainScaler &into, TrainScaler &said) {
  if (said.kind && into.kind && said.kind != into.kind)
    into = TrainScaler();
  set(into.kind, said.kind);
  set(into.initial, said.initial);
  set(into.growth, said.growth);
  set(into.backoff, said.backoff);
  set(into.interval, said.interval);
  set(into.hysteresis, said.hysteresis);
  set(into.minimum, said.minimum);
}

Error mpopt::overrideTrainConfig(TrainConfig &config, TrainConfig options) {
  if (!options.lossTerms.empty())
    config.lossOutput.reset();
  set(config.lossTerms, options.lossTerms);
  set(config.lossValue, options.lossValue);
  set(config.lossOutput, options.lossOutput);
  setFields(config.optimizer, options.optimizer);
  setFields(config.scaler, options.scaler);
  set(config.reduce.type, options.reduce.type);
  set(config.reduce.accumulate, options.reduce.accumulate);
  if (options.reduce.predivide || options.reduce.predivideAuto) {
    config.reduce.predivide = options.reduce.predivide;
    config.reduce.predivideAuto = options.reduce.predivideAuto;
  }
  set(config.reduce.division, options.reduce.division);
  set(config.clip, options.clip);
  set(config.precision, options.precision);
  return setFields(config.batch, options.batch);
}
