//===- SourceText.cpp - Lines of the model's own program ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "SourceText.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FileSystem.h"

#include <fstream>

using namespace mpopt;
using llvm::StringRef;

// Bytes of a file that is read for a line, and characters of a line that are
// shown.
static constexpr uint64_t kMaxFile = 16 << 20;
static constexpr size_t kMaxLength = 120;

std::optional<std::string> mpopt::readSourceLine(const SourceLine &place) {
  // A model may name anything: only a program's text is shown.
  uint64_t size;
  if (!StringRef(place.file).ends_with(".py") || place.line == 0 ||
      !llvm::sys::fs::is_regular_file(place.file) ||
      llvm::sys::fs::file_size(place.file, size) || size > kMaxFile)
    return std::nullopt;
  std::ifstream stream(place.file);
  std::string line;
  for (unsigned number = 0; number < place.line; ++number)
    if (!std::getline(stream, line))
      return std::nullopt;
  std::string text;
  for (char c : StringRef(line).trim().take_front(kMaxLength))
    text += llvm::isPrint(c) || (c & 0x80) ? c : ' ';
  if (text.empty())
    return std::nullopt;
  return text;
}
