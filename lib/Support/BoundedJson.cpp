//===- BoundedJson.cpp - JSON of any origin -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Support/BoundedJson.h"

using namespace mpopt;
using llvm::StringRef;

// LLVM's parser recurses at each level: bounds its stack.
static constexpr unsigned kMaxDepth = 64;

static bool isNestedTooDeep(StringRef text) {
  unsigned depth = 0;
  bool quoted = false;
  for (size_t index = 0; index < text.size(); ++index) {
    char c = text[index];
    if (quoted) {
      if (c == '\\')
        ++index;
      else if (c == '"')
        quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMaxDepth)
        return true;
    } else if ((c == ']' || c == '}') && depth) {
      --depth;
    }
  }
  return false;
}

llvm::Expected<llvm::json::Value> mpopt::parseJson(StringRef text) {
  if (isNestedTooDeep(text))
    return llvm::createStringError("is nested too deep to be JSON of mpopt");
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(text);
  if (!value)
    return llvm::createStringError("is not JSON: " +
                                   llvm::toString(value.takeError()));
  return value;
}
