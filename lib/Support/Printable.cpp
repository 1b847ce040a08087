//===- Printable.cpp - Names of a model on a terminal ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Support/Printable.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace mpopt;
using llvm::StringRef;

/// Characters from U+0080 to U+FFFF with an effect: C1 controls, which are
/// short for escape sequences; line and paragraph separators; marks,
/// embeddings, overrides and isolates of the direction of text.
static bool steers(unsigned code) {
  return (code >= 0x80 && code < 0xa0) || code == 0x61c || code == 0x200e ||
         code == 0x200f || (code >= 0x2028 && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069);
}

static void escape(llvm::raw_ostream &os, unsigned code) {
  if (code == '\n')
    os << "\\n";
  else if (code == '\r')
    os << "\\r";
  else if (code == '\t')
    os << "\\t";
  else
    os << llvm::format(code < 0x80 ? "\\x%02x" : "\\u%04x", code);
}

std::string mpopt::printable(StringRef text) {
  if (llvm::all_of(text, llvm::isPrint))
    return text.str();
  std::string valid = llvm::json::fixUTF8(text);
  std::string line;
  llvm::raw_string_ostream os(line);
  for (size_t index = 0; index < valid.size(); ++index) {
    unsigned char lead = valid[index];
    if (lead < 0x80) {
      if (llvm::isPrint(char(lead)))
        os << char(lead);
      else
        escape(os, lead);
      continue;
    }
    size_t length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    unsigned code = lead & (0x7f >> length);
    for (size_t next = 1; next < length; ++next)
      code = code << 6 | (valid[index + next] & 0x3f);
    if (steers(code))
      escape(os, code);
    else
      os << StringRef(valid).substr(index, length);
    index += length - 1;
  }
  return line;
}
