//===- Spelling.cpp - Words that are nearly right
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Support/Spelling.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

using namespace mpopt;
using llvm::StringRef;

// Shorter words are within two edits of too many others, and begin them.
static constexpr size_t kLeastLetters = 3;

StringRef mpopt::findNearest(StringRef word, llvm::ArrayRef<StringRef> known) {
  if (word.size() < kLeastLetters)
    return {};
  StringRef nearest;
  // Two edits of three letters make any other word of three.
  unsigned most = word.size() == kLeastLetters ? 1 : kMostEdits;
  unsigned least = most + 1;
  for (StringRef name : known) {
    unsigned edits = word.edit_distance(name, /*AllowReplacements=*/true, most);
    if (edits < least && edits < name.size())
      std::tie(least, nearest) = std::pair(edits, name);
  }
  if (!nearest.empty())
    return nearest;
  const StringRef *begun = llvm::find_if(
      known, [&](StringRef name) { return name.starts_with(word); });
  return begun == known.end() ? StringRef() : *begun;
}

std::string mpopt::suggestNearest(StringRef word,
                                  llvm::ArrayRef<StringRef> known) {
  StringRef nearest = findNearest(word, known);
  return nearest.empty() ? "" : ("; did you mean '" + nearest + "'?").str();
}
