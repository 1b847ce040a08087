//===- ConfigNode.cpp - The tree of a configuration ===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ConfigNode.h"

#include "mpopt/Support/Printable.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace llvm;
using namespace mpopt;

const ConfigNode *ConfigNode::find(StringRef key) const {
  for (const auto &[name, value] : entries)
    if (name == key)
      return &value;
  return nullptr;
}

ConfigNode ConfigNode::fromString(StringRef text) {
  ConfigNode node;
  node.kind = Kind::String;
  node.text = text.str();
  return node;
}

ConfigNode ConfigNode::fromPlain(StringRef text) {
  ConfigNode node = fromString(text);
  if (text.empty() || text == "~" || text.equals_insensitive("null")) {
    node.kind = Kind::Null;
    return node;
  }
  std::string lower = text.lower();
  if (std::optional<bool> truth = StringSwitch<std::optional<bool>>(lower)
                                      .Cases({"true", "yes", "on"}, true)
                                      .Cases({"false", "no", "off"}, false)
                                      .Default(std::nullopt)) {
    node.kind = Kind::Bool;
    node.truth = *truth;
    return node;
  }
  // Words such as `nan` and `inf` are YAML's strings; their numbers have a dot.
  StringRef digits = StringRef(lower).ltrim("+-");
  bool isSpecial = digits == ".inf" || digits == ".nan";
  if (!isSpecial &&
      (digits.empty() ||
       !(isDigit(digits[0]) ||
         (digits.size() > 1 && digits[0] == '.' && isDigit(digits[1])))))
    return node;
  if (isSpecial)
    lower.erase(lower.find('.'), 1);
  double number;
  if (to_float(StringRef(lower).ltrim("+"), number)) {
    node.kind = Kind::Number;
    node.number = number;
  }
  return node;
}

std::string mpopt::joinKey(StringRef path, StringRef key) {
  std::string name = shown(key);
  return path.empty() ? name : (path + "." + name).str();
}

std::string mpopt::shown(StringRef text) {
  // Characters of a value that a message repeats.
  constexpr size_t kMost = 60;
  std::string result = printable(text.take_front(kMost));
  return text.size() > kMost ? result + "..." : result;
}
