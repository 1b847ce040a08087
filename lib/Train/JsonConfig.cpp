//===- JsonConfig.cpp - A configuration from JSON ===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//
// llvm::json keeps one of two equal keys without a word, so that they are
// looked for in the text, which is known to be JSON by then.

#include "ConfigNode.h"

#include "mpopt/Support/BoundedJson.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringSet.h"

using namespace llvm;
using namespace mpopt;

/// The end of the string whose opening quote is at `begin`.
static size_t findQuote(StringRef text, size_t begin) {
  for (size_t index = begin + 1; index < text.size(); ++index) {
    if (text[index] == '\\')
      ++index;
    else if (text[index] == '"')
      return index;
  }
  return text.size() - 1;
}

static std::optional<std::string> findRepeatedKey(StringRef text) {
  struct Level {
    StringSet<> keys;
    std::string last;
  };
  std::vector<Level> levels;
  for (size_t index = 0; index < text.size(); ++index) {
    char c = text[index];
    if (c == '{' || c == '[') {
      levels.emplace_back();
    } else if (c == '}' || c == ']') {
      levels.pop_back();
    } else if (c == '"') {
      size_t end = findQuote(text, index);
      StringRef quoted = text.slice(index, end + 1);
      index = end;
      size_t next = text.find_first_not_of(" \t\r\n", end + 1);
      if (next == StringRef::npos || text[next] != ':')
        continue;
      // Escapes may spell one key in two ways.
      Expected<json::Value> key = json::parse(quoted);
      if (!key) {
        consumeError(key.takeError());
        continue;
      }
      levels.back().last = key->getAsString().value_or("").str();
      if (levels.back().keys.insert(levels.back().last).second)
        continue;
      std::string path;
      for (const Level &level : levels)
        if (!level.keys.empty())
          path = joinKey(path, level.last);
      return path;
    }
  }
  return std::nullopt;
}

static ConfigNode convert(const json::Value &value) {
  ConfigNode node;
  if (std::optional<bool> truth = value.getAsBoolean()) {
    node.kind = ConfigNode::Kind::Bool;
    node.truth = *truth;
    node.text = *truth ? "true" : "false";
  } else if (std::optional<double> number = value.getAsNumber()) {
    node.kind = ConfigNode::Kind::Number;
    node.number = *number;
    std::optional<int64_t> integer = value.getAsInteger();
    node.text = integer ? std::to_string(*integer) : std::to_string(*number);
  } else if (std::optional<StringRef> text = value.getAsString()) {
    node = ConfigNode::fromString(*text);
  } else if (const json::Array *array = value.getAsArray()) {
    node.kind = ConfigNode::Kind::List;
    for (const json::Value &item : *array)
      node.items.push_back(convert(item));
  } else if (const json::Object *object = value.getAsObject()) {
    node.kind = ConfigNode::Kind::Map;
    // An Object has no order; of several faults always the same is reported.
    SmallVector<const json::Object::value_type *> entries;
    for (const json::Object::value_type &entry : *object)
      entries.push_back(&entry);
    llvm::sort(entries, [](auto *a, auto *b) { return a->first < b->first; });
    for (const json::Object::value_type *entry : entries)
      node.entries.push_back(
          {StringRef(entry->first).str(), convert(entry->second)});
  }
  return node;
}

Expected<ConfigNode> mpopt::readJsonConfig(StringRef text) {
  Expected<json::Value> value = parseJson(text);
  if (!value) {
    std::string message = llvm::toString(value.takeError());
    llvm::replace(message, '\n', ' ');
    return createStringError(message);
  }
  if (std::optional<std::string> key = findRepeatedKey(text))
    return createStringError(*key + ": is given twice");
  return convert(*value);
}
