//===- PatternSize.cpp - What a regular expression takes ------------------===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PatternSize.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace mpopt;
using llvm::StringRef;

/// The larger bound of `{2}`, `{2,}` or `{2,5}`; `text` begins behind the brace
/// and ends up behind the closing one. What is wrong in it the compiler finds.
static uint64_t readRepeat(StringRef &text) {
  uint64_t least = 1, most = 0;
  (void)text.consumeInteger(10, least);
  if (text.consume_front(",") && text.consumeInteger(10, most))
    most = least + 1;
  text.consume_front("}");
  return std::max<uint64_t>({least, most, 1});
}

/// Behind a bracket expression that `text` begins in.
static StringRef skipBrackets(StringRef text) {
  text.consume_front("^");
  // A bracket that comes first is a member.
  size_t end = text.find(']', /*From=*/1);
  return text.drop_front(end == StringRef::npos ? text.size() : end + 1);
}

uint64_t mpopt::estimatePatternSize(StringRef pattern) {
  // Of each open group; the last piece of it may be repeated yet.
  struct Group {
    uint64_t size = 1, last = 0;
    void add(uint64_t piece) {
      size = llvm::SaturatingAdd(size, last);
      last = piece;
    }
  };
  llvm::SmallVector<Group> groups(1);
  while (!pattern.empty()) {
    char c = pattern.front();
    pattern = pattern.drop_front();
    if (c == '\\')
      pattern = pattern.substr(1);
    if (c == '[')
      pattern = skipBrackets(pattern);
    if (c == '(') {
      groups.emplace_back();
    } else if (c == ')' && groups.size() > 1) {
      Group inner = groups.pop_back_val();
      groups.back().add(llvm::SaturatingAdd(inner.size, inner.last));
    } else if (c == '{' && !pattern.empty() && llvm::isDigit(pattern.front())) {
      Group &group = groups.back();
      group.last = llvm::SaturatingMultiply(group.last, readRepeat(pattern));
    } else {
      groups.back().add(1);
    }
  }
  uint64_t size = 0;
  for (const Group &group : groups)
    size = llvm::SaturatingAdd(size, group.size, group.last);
  return size;
}
