//===- TomlConfig.cpp - A configuration from TOML ===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ConfigNode.h"

#include "llvm/ADT/Twine.h"

#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

using namespace llvm;
using namespace mpopt;

/// toml++ bounds the depth itself. A text of at most kMaxConfigNodes bytes a
/// node cannot grow, since TOML has no aliases.
static ConfigNode convert(const toml::node &node) {
  ConfigNode result;
  if (const toml::table *table = node.as_table()) {
    result.kind = ConfigNode::Kind::Map;
    for (const auto &[key, value] : *table)
      result.entries.push_back({std::string(key.str()), convert(value)});
  } else if (const toml::array *list = node.as_array()) {
    result.kind = ConfigNode::Kind::List;
    for (const toml::node &item : *list)
      result.items.push_back(convert(item));
  } else if (std::optional<bool> truth = node.value_exact<bool>()) {
    result = ConfigNode::fromPlain(*truth ? "true" : "false");
  } else if (std::optional<std::string> text =
                 node.value_exact<std::string>()) {
    result = ConfigNode::fromString(*text);
  } else if (std::optional<double> number = node.value<double>()) {
    result.kind = ConfigNode::Kind::Number;
    result.number = *number;
    result.text = std::to_string(*number);
  }
  result.line = node.source().begin.line;
  return result;
}

bool mpopt::isTomlConfig(StringRef text) {
  // A table's head is no YAML of a configuration, which is a map.
  SmallVector<StringRef> lines;
  text.split(lines, '\n');
  for (StringRef line : lines) {
    line = line.trim();
    if (!line.empty() && !line.starts_with("#"))
      return line.starts_with("[") && line.ends_with("]") &&
             !line.contains_insensitive("\"") && !line.contains(",");
  }
  return false;
}

Expected<ConfigNode> mpopt::readTomlConfig(StringRef text) {
  toml::parse_result parsed =
      toml::parse(std::string_view(text.data(), text.size()));
  if (parsed)
    return convert(parsed.table());
  std::string_view what = parsed.error().description();
  return createStringError("is not TOML: line " +
                           Twine(parsed.error().source().begin.line) + ": " +
                           shown(StringRef(what.data(), what.size())));
}
