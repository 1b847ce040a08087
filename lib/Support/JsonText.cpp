//===- JsonText.cpp - Where values are in the text of JSON ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Support/JsonText.h"

#include <algorithm>

using namespace mpopt;
using llvm::StringRef;

size_t JsonText::skipSpace(size_t at) const {
  return std::min(text.find_first_not_of(" \t\r\n", at), text.size());
}

size_t JsonText::skipString(size_t at) const {
  for (++at; at < text.size() && text[at] != '"'; ++at)
    if (text[at] == '\\')
      ++at;
  return std::min(at + 1, text.size());
}

// Not by recursion: the depth of the text is that of the file.
size_t JsonText::end(size_t at) const {
  size_t depth = 0;
  while (at < text.size()) {
    char c = text[at];
    if (c == '"') {
      at = skipString(at);
    } else if (c == '{' || c == '[') {
      ++depth;
      ++at;
      continue;
    } else if (c == '}' || c == ']') {
      --depth;
      ++at;
    } else if (depth) {
      ++at;
      continue;
    } else {
      at = std::min(text.find_first_of(",]} \t\r\n", at), text.size());
    }
    if (!depth)
      return at;
  }
  return text.size();
}

std::vector<std::pair<StringRef, size_t>>
JsonText::members(size_t object) const {
  std::vector<std::pair<StringRef, size_t>> found;
  if (!is(object, '{'))
    return found;
  for (size_t at = skipSpace(object + 1); is(at, '"');) {
    size_t behind = skipString(at);
    StringRef name = text.slice(at + 1, behind - 1);
    at = skipSpace(behind);
    if (!is(at, ':'))
      break;
    at = skipSpace(at + 1);
    found.push_back({name, at});
    at = skipSpace(end(at));
    if (!is(at, ','))
      break;
    at = skipSpace(at + 1);
  }
  return found;
}

std::optional<size_t> JsonText::find(size_t object, StringRef key) const {
  std::optional<size_t> found;
  for (auto [name, at] : members(object))
    if (name == key)
      found = at;
  return found;
}

std::vector<size_t> JsonText::elements(size_t array) const {
  std::vector<size_t> found;
  if (!is(array, '['))
    return found;
  size_t at = skipSpace(array + 1);
  while (at < text.size() && !is(at, ']')) {
    found.push_back(at);
    at = skipSpace(end(at));
    if (!is(at, ','))
      break;
    at = skipSpace(at + 1);
  }
  return found;
}
