//===- YamlConfig.cpp - A configuration from YAML ===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//
// Read by LLVM's parser, which does not resolve aliases: that is done here by
// copies, whose nodes are counted, so that aliases of aliases cannot grow
// without bound. Plain scalars are PyYAML's (YAML 1.1: `no` is false), but
// that `1e-5` is a number, as every framework takes it.

#include "ConfigNode.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/YAMLParser.h"

using namespace llvm;
using namespace mpopt;

namespace {
class YamlReader {
public:
  explicit YamlReader(StringRef text) : stream(text, makeSources(), false) {}

  Expected<ConfigNode> read();

private:
  SourceMgr &makeSources();
  void fail(const Twine &message) {
    if (failure.empty())
      failure = message.str();
  }
  bool failed() { return !failure.empty() || stream.failed(); }

  ConfigNode convert(yaml::Node *node, StringRef path, unsigned depth);
  ConfigNode convertMap(yaml::MappingNode &map, StringRef path, unsigned depth);
  ConfigNode convertList(yaml::SequenceNode &list, StringRef path,
                         unsigned depth);
  void count(size_t nodes) {
    total += nodes;
    if (total > kMaxConfigNodes)
      fail("holds more than " + Twine(kMaxConfigNodes) +
           " values, those that aliases repeat included");
  }

  SourceMgr sources;
  std::string failure;
  StringMap<ConfigNode> anchors;
  size_t total = 0;
  yaml::Stream stream;
};
} // namespace

SourceMgr &YamlReader::makeSources() {
  sources.setDiagHandler(
      [](const SMDiagnostic &diagnostic, void *context) {
        static_cast<YamlReader *>(context)->fail(
            "is not YAML: line " + Twine(diagnostic.getLineNo()) + ": " +
            shown(diagnostic.getMessage()));
      },
      this);
  return sources;
}

ConfigNode YamlReader::convertMap(yaml::MappingNode &map, StringRef path,
                                  unsigned depth) {
  ConfigNode result;
  result.kind = ConfigNode::Kind::Map;
  StringSet<> keys;
  std::vector<ConfigNode> merged;
  for (yaml::KeyValueNode &entry : map) {
    ConfigNode key = convert(entry.getKey(), path, depth);
    if (failed())
      return result;
    if (!key.isScalar()) {
      fail(Twine(path.empty() ? "" : path + ": ") +
           "has a key that is not a word");
      return result;
    }
    std::string below = joinKey(path, key.text);
    ConfigNode value = convert(entry.getValue(), below, depth);
    if (failed())
      return result;
    if (key.text == "<<" && value.isMap()) {
      merged.push_back(std::move(value));
      continue;
    }
    if (!keys.insert(key.text).second) {
      fail(below + ": is given twice");
      return result;
    }
    result.size += value.size;
    result.entries.push_back({std::move(key.text), std::move(value)});
  }
  for (ConfigNode &base : merged)
    for (auto &[name, value] : base.entries)
      if (keys.insert(name).second) {
        result.size += value.size;
        result.entries.push_back({name, std::move(value)});
      }
  return result;
}

ConfigNode YamlReader::convertList(yaml::SequenceNode &list, StringRef path,
                                   unsigned depth) {
  ConfigNode result;
  result.kind = ConfigNode::Kind::List;
  for (yaml::Node &item : list) {
    result.items.push_back(convert(
        &item, (path + "[" + Twine(result.items.size()) + "]").str(), depth));
    result.size += result.items.back().size;
    if (failed())
      break;
  }
  return result;
}

ConfigNode YamlReader::convert(yaml::Node *node, StringRef path,
                               unsigned depth) {
  ConfigNode result;
  if (!node || failed()) {
    fail("is not YAML");
    return result;
  }
  if (depth > kMaxConfigDepth) {
    fail("is nested too deep to be a configuration");
    return result;
  }
  count(1);
  SmallString<64> storage;
  if (auto *alias = dyn_cast<yaml::AliasNode>(node)) {
    auto place = anchors.find(alias->getName());
    if (place == anchors.end()) {
      fail(Twine(path.empty() ? "" : path + ": ") + "the alias '*" +
           shown(alias->getName()) + "' has no anchor before it");
      return result;
    }
    count(place->second.size);
    return failed() ? result : place->second;
  }
  std::string anchor = node->getAnchor().str();
  if (auto *scalar = dyn_cast<yaml::ScalarNode>(node)) {
    StringRef raw = scalar->getRawValue();
    StringRef value = scalar->getValue(storage);
    bool isQuoted = raw.starts_with("\"") || raw.starts_with("'");
    bool isTagged = scalar->getRawTag() == "!!str";
    result = isQuoted || isTagged ? ConfigNode::fromString(value)
                                  : ConfigNode::fromPlain(value);
  } else if (auto *block = dyn_cast<yaml::BlockScalarNode>(node)) {
    result = ConfigNode::fromString(block->getValue());
  } else if (auto *map = dyn_cast<yaml::MappingNode>(node)) {
    result = convertMap(*map, path, depth + 1);
  } else if (auto *list = dyn_cast<yaml::SequenceNode>(node)) {
    result = convertList(*list, path, depth + 1);
  }
  if (result.line == 0)
    result.line = sources.FindBufferContainingLoc(node->getSourceRange().Start)
                      ? sources.FindLineNumber(node->getSourceRange().Start)
                      : 0;
  if (!anchor.empty() && !failed())
    anchors[anchor] = result;
  return result;
}

Expected<ConfigNode> YamlReader::read() {
  ConfigNode result;
  yaml::document_iterator document = stream.begin();
  if (document != stream.end()) {
    result = convert(document->getRoot(), "", 0);
    if (!failed() && ++document != stream.end())
      fail("holds more than one YAML document");
  }
  if (failed())
    return createStringError(failure.empty() ? "is not YAML" : failure);
  return result;
}

Expected<ConfigNode> mpopt::readYamlConfig(StringRef text) {
  return YamlReader(text).read();
}
