//===- Selector.cpp - Nodes and values that a user names
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Selector.h"

#include "llvm/ADT/STLExtras.h"

using namespace mpopt::convert;
using llvm::StringRef;

NamePattern::NamePattern(StringRef text)
    : text(text.str()), regex(("^(" + text + ")$").str()) {}

NodeSelector::NodeSelector(StringRef option, llvm::ArrayRef<std::string> list)
    : option(option.str()) {
  for (StringRef text : list) {
    auto [from, to] = text.split('>');
    Word word{NamePattern(text), "", "", "", "", false};
    if (text.consume_front("node:"))
      word.node = text.str();
    else if (!to.empty()) {
      word.from = from.str();
      word.to = to.str();
    } else if (text.consume_front("out:"))
      word.value = text.str();
    words.push_back(std::move(word));
  }
}

bool NodeSelector::fits(const Word &word, const Node &node) {
  StringRef type = node.proto->op_type();
  if (!word.value.empty())
    return llvm::is_contained(node.proto->output(), word.value);
  if (!word.node.empty())
    return node.label == word.node;
  if (!word.to.empty())
    return type == word.from &&
           llvm::any_of(node.outputs, [&](const Value *value) {
             return value && llvm::any_of(value->uses, [&](const Use &use) {
                      return use.node && use.node->proto->op_type() == word.to;
                    });
           });
  return type == word.name.str() || word.name.fits(node.label);
}

bool NodeSelector::fits(const Node &node) {
  bool found = false;
  for (Word &word : words)
    if (fits(word, node))
      found = word.isUsed = true;
  return found;
}

llvm::Error NodeSelector::checkUsed() const {
  for (const Word &word : words)
    if (!word.isUsed)
      return llvm::createStringError(
          option + ": the model has no node '" +
          (word.node.empty() ? word.name.str() : StringRef(word.node)).str() +
          "'");
  return llvm::Error::success();
}

BorderSelector::BorderSelector(bool keepsAll, llvm::ArrayRef<std::string> list)
    : keepsAll(keepsAll) {
  for (StringRef text : list) {
    bool isException = text.consume_front("!");
    words.push_back({NamePattern(text), isException, false});
  }
  this->keepsAll |= !words.empty() && llvm::all_of(words, [](const Word &word) {
    return word.isException;
  });
}

BorderSelector::Choice BorderSelector::choose(StringRef name) {
  Choice choice = keepsAll ? Kept : Open;
  for (Word &word : words)
    if (word.name.fits(name)) {
      word.isUsed = true;
      choice = word.isException ? Low : Kept;
    }
  return choice;
}

llvm::Error BorderSelector::checkUsed() const {
  for (const Word &word : words)
    if (!word.isUsed)
      return llvm::createStringError(
          "--keep-io-types: the model has no input or output '" +
          word.name.str() + "'");
  return llvm::Error::success();
}
