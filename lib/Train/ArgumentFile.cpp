//===- ArgumentFile.cpp - Arguments out of a script ===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//
// The file is not run: quotes, brackets and line continuations are taken as
// white space, which gives the words of `ARGS="--fp16 --lr 1e-4"` and of
// `ARGS=(--fp16 --lr 1e-4)` alike. Values that a script computes stay open.

#include "ConfigNode.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace llvm;
using namespace mpopt;

static bool isFlag(StringRef word) {
  return word.size() > 2 && word.starts_with("--") && isAlpha(word[2]);
}

static bool isName(StringRef text) {
  return !text.empty() && !isDigit(text[0]) &&
         llvm::all_of(text, [](char c) { return isAlnum(c) || c == '_'; });
}

/// The last character of a command whose output is put in at `begin`.
static size_t findCommandEnd(StringRef text, size_t begin) {
  if (text[begin] == '`')
    return std::min(text.find('`', begin + 1), text.size());
  unsigned depth = 0;
  for (size_t index = begin + 1; index < text.size(); ++index) {
    if (text[index] == '(')
      ++depth;
    else if (text[index] == ')' && --depth == 0)
      return index;
  }
  return text.size();
}

namespace {
struct Word {
  std::string text;
  unsigned line;
};
} // namespace

/// The words of the text, without comments.
static std::vector<Word> splitWords(StringRef text) {
  std::vector<Word> words;
  std::string word;
  unsigned line = 1;
  size_t counted = 0;
  auto finish = [&] {
    if (!word.empty())
      words.push_back({std::move(word), line});
    word.clear();
  };
  for (size_t index = 0; index < text.size(); ++index) {
    char c = text[index];
    if (word.empty()) {
      line += text.slice(counted, index).count('\n');
      counted = index;
    }
    if (c == '#' && word.empty()) {
      index = std::min(text.find('\n', index), text.size());
    } else if (c == '`' || text.substr(index).starts_with("$(")) {
      // The output of a command is one word that is not known.
      word += "$(";
      index = findCommandEnd(text, index);
    } else if (isSpace(c) || StringRef("\"'()[],;\\").contains(c)) {
      finish();
    } else {
      word += c;
    }
  }
  finish();
  return words;
}

bool mpopt::isArgumentFile(StringRef text) {
  if (text.starts_with("#!"))
    return true;
  // The first line that says something decides between `key: value` and words.
  SmallVector<StringRef> lines;
  text.split(lines, '\n');
  for (StringRef line : lines) {
    line = line.trim();
    if (line.empty() || line.starts_with("#"))
      continue;
    auto [key, rest] = line.split(':');
    bool isYaml = line.starts_with("---") || line.starts_with("{") ||
                  line.starts_with("- ") || line.starts_with("%") ||
                  (key.size() < line.size() && !key.contains('=') &&
                   !key.contains(" --") && !key.starts_with("--") &&
                   (rest.empty() || isSpace(rest[0])));
    if (isYaml)
      return false;
    break;
  }
  return llvm::any_of(splitWords(text),
                      [](const Word &word) { return isFlag(word.text); });
}

/// `word` with what the file set in place of `$NAME` and `${NAME}`, where that
/// is the whole word.
static std::string expand(const std::string &word,
                          const StringMap<std::string> &variables) {
  StringRef name = word;
  if (!name.consume_front("$"))
    return word;
  if (name.consume_front("{") && !name.consume_back("}"))
    return word;
  // `${NAME:-default}`.
  auto [plain, fallback] = name.split(":-");
  auto place = variables.find(plain);
  if (place != variables.end())
    return place->second;
  return plain.size() < name.size() ? fallback.str() : word;
}

ConfigNode mpopt::readArgumentFile(StringRef text) {
  ConfigNode result;
  result.kind = ConfigNode::Kind::Map;
  StringMap<std::string> variables;
  StringMap<size_t> places;
  ConfigNode *flag = nullptr, *last = nullptr;
  // The first word after a flag is its value. Further words may belong to the
  // next command, or to a list, and become items.
  auto addValue = [&](StringRef value) {
    unsigned line = flag->line;
    *flag = ConfigNode::fromPlain(value);
    flag->line = line;
    last = std::exchange(flag, nullptr);
  };
  for (const auto &[word, line] : splitWords(text)) {
    if (isFlag(word)) {
      auto [name, value] = StringRef(word).drop_front(2).split('=');
      std::string key = name.str();
      llvm::replace(key, '_', '-');
      auto [place, isNew] = places.try_emplace(key, result.entries.size());
      if (isNew)
        result.entries.push_back({key, ConfigNode()});
      flag = &result.entries[place->second].value;
      *flag = ConfigNode();
      flag->line = line;
      last = nullptr;
      if (!value.empty())
        addValue(expand(value.str(), variables));
      continue;
    }
    auto [name, value] = StringRef(word).split('=');
    if (name.size() < word.size() && isName(name)) {
      if (!value.empty())
        variables[name] = expand(value.str(), variables);
      flag = last = nullptr;
      continue;
    }
    if (flag)
      addValue(expand(word, variables));
    else if (last && last->items.size() < kMaxConfigNodes)
      last->items.push_back(ConfigNode::fromPlain(word));
  }
  return result;
}
