//===- Document.cpp - The JSON of a program, in parts ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Document.h"

#include "mpopt/Support/BoundedJson.h"
#include "mpopt/Support/JsonText.h"

using namespace mpopt;
using namespace mpopt::exported;
using llvm::Expected;
using llvm::StringRef;

/// Sets `outline` to the text without nodes and types; false where they are not
/// plainly there, which is the parser's to judge.
bool Document::takeApart(std::string &outline) {
  StringRef all = *text;
  JsonText places(all);
  auto find = [&](std::optional<size_t> object, StringRef key) {
    return object ? places.find(*object, key) : std::nullopt;
  };
  std::optional<size_t> graph =
      find(find(places.root(), "graph_module"), "graph");
  std::optional<size_t> nodes = find(graph, "nodes"),
                        values = find(graph, "tensor_values");
  if (!nodes || !values)
    return false;
  size_t behindNodes = *nodes + 1, behindValues = *values + 1;
  for (size_t at : places.elements(*nodes)) {
    behindNodes = places.end(at);
    nodeTexts.push_back(all.slice(at, behindNodes));
  }
  for (auto [name, at] : places.members(*values)) {
    if (name.contains('\\'))
      return false;
    behindValues = places.end(at);
    types[name] = all.slice(at, behindValues);
  }
  size_t nodesEnd = places.end(*nodes), valuesEnd = places.end(*values);
  if (all[*nodes] != '[' || all[*values] != '{' ||
      all.slice(behindNodes, nodesEnd).trim() != "]" ||
      all.slice(behindValues, valuesEnd).trim() != "}")
    return false;
  bool nodesFirst = *nodes < *values;
  size_t first = nodesFirst ? *nodes : *values,
         firstEnd = nodesFirst ? nodesEnd : valuesEnd,
         second = nodesFirst ? *values : *nodes,
         secondEnd = nodesFirst ? valuesEnd : nodesEnd;
  outline = (all.take_front(first) + (nodesFirst ? "[]" : "{}") +
             all.slice(firstEnd, second) + (nodesFirst ? "{}" : "[]") +
             all.drop_front(secondEnd))
                .str();
  return true;
}

Expected<Document> Document::parse(std::string text) {
  Document made;
  made.text = std::make_unique<std::string>(std::move(text));
  std::string outline;
  made.apart = made.takeApart(outline);
  Expected<llvm::json::Value> value =
      parseJson(made.apart ? StringRef(outline) : StringRef(*made.text));
  if (!value)
    return value.takeError();
  made.whole = std::move(*value);
  return made;
}
