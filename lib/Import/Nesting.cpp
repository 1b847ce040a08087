//===- Nesting.cpp - How deep brackets nest in a text
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Import/Nesting.h"

bool mpopt::exceedsNesting(llvm::StringRef text, unsigned limit) {
  unsigned depth = 0, operators = 0;
  for (size_t index = 0; index < text.size(); ++index) {
    switch (text[index]) {
    case '(':
    case '[':
    case '{':
    case '<':
      if (++depth > limit)
        return true;
      operators = 0;
      break;
    case ')':
    case ']':
    case '}':
    case '>':
      depth -= depth > 0;
      operators = 0;
      break;
    case ',':
      operators = 0;
      break;
    case '=':
      // Arrows close nothing.
      index += text.substr(index, 2) == "=>";
      break;
    case '-':
      if (text.substr(index, 2) == "->") {
        ++index;
        break;
      }
      [[fallthrough]];
    case '+':
    case '*':
      // Recursion without brackets: `- - - a` and `a + b + c` in affine maps.
      if (++operators > limit)
        return true;
      break;
    case '"':
      for (++index; index < text.size() && text[index] != '"'; ++index)
        index += text[index] == '\\';
      break;
    case '/':
      if (text.substr(index, 2) == "//")
        index = std::min(text.find('\n', index), text.size());
      break;
    }
  }
  return false;
}
