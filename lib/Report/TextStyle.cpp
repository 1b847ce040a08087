//===- TextStyle.cpp - Colour and line breaks of text reports
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Report/TextStyle.h"

#include "mpopt/Support/Printable.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Format.h"

using namespace mpopt;
using llvm::StringRef;

std::string mpopt::plural(uint64_t count, StringRef noun) {
  return (llvm::Twine(count) + " " + noun + (count == 1 ? "" : "s")).str();
}

std::string mpopt::describeBytes(double bytes) {
  // Powers of 1024.
  static constexpr StringRef kUnits[] = {"B",   "KiB", "MiB",
                                         "GiB", "TiB", "PiB"};
  size_t unit = 0;
  while (bytes >= 999.5 && unit + 1 < std::size(kUnits)) {
    bytes /= 1024;
    ++unit;
  }
  std::string text;
  llvm::raw_string_ostream os(text);
  int digits = unit == 0 || bytes >= 99.95 ? 0 : bytes >= 9.995 ? 1 : 2;
  os << llvm::format("%.*f ", digits, bytes) << kUnits[unit];
  return text;
}

void TextStyle::paint(StringRef code, StringRef text) {
  if (options.color)
    os << "\033[" << code << 'm' << printable(text) << "\033[0m";
  else
    os << printable(text);
}

void TextStyle::plain(StringRef text) { os << printable(text); }

void TextStyle::severity(Severity severity, StringRef text) {
  switch (severity) {
  case Severity::Error:
    return paint("1;31", text);
  case Severity::Warning:
    return paint("1;33", text);
  case Severity::Note:
    return paint("1;36", text);
  }
}

void TextStyle::wrap(StringRef text, unsigned indent, unsigned column) {
  llvm::SmallVector<StringRef> words;
  llvm::SplitString(text, words, " \n");
  bool first = true;
  for (StringRef raw : words) {
    std::string word = printable(raw);
    if (!first && column + 1 + word.size() > options.width) {
      os << '\n';
      os.indent(indent);
      column = indent;
      first = true;
    }
    if (!first) {
      os << ' ';
      ++column;
    }
    os << word;
    column += word.size();
    first = false;
  }
  os << '\n';
}
