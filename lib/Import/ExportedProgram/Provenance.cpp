//===- Provenance.cpp - Which module and line a node came from ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Provenance.h"

#include "mpopt/Support/SourceFrames.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>

using namespace mpopt;
using namespace mpopt::exported;
using llvm::StringRef;

/// `File "FILE", line LINE, in FUNCTION`.
static bool parseFrame(StringRef text, aten::SourceLine &frame) {
  text = text.trim();
  if (!text.consume_front("File \""))
    return false;
  auto [file, rest] = text.split("\", line ");
  int line = 0;
  if (rest.consumeInteger(10, line) || line <= 0)
    return false;
  frame = {file.str(), line, 0};
  return true;
}

void exported::readStackTrace(StringRef trace, aten::Node &node) {
  std::vector<aten::SourceLine> frames;
  llvm::SmallVector<StringRef> lines;
  trace.split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (StringRef line : lines)
    if (aten::SourceLine frame; parseFrame(line, frame))
      frames.push_back(std::move(frame));
  std::ranges::reverse(frames);
  if (!frames.empty())
    node.source = pickUserFrame(frames);
}

/// The path of a module below the whole: `L['self'].a.0`, which PyTorch 2.4
/// writes as `getattr(L['self'].a, '0')`.
static std::string pathBelowWhole(StringRef path) {
  std::string text;
  while (!path.empty()) {
    if (path.consume_front("getattr(") || path.consume_front("')"))
      continue;
    if (path.consume_front(", '")) {
      text += '.';
      continue;
    }
    text += path.front();
    path = path.drop_front();
  }
  StringRef below = text;
  if (below.consume_front("L['")) {
    below = below.split("']").second;
    below.consume_front(".");
  }
  return below.str();
}

std::string exported::readModuleStack(StringRef stack) {
  StringRef last = stack.rsplit(';').second;
  if (last.empty())
    last = stack;
  // `key,path,class`, and paths of PyTorch 2.4 have commas.
  auto [key, rest] = last.split(',');
  auto [path, name] = rest.rsplit(',');
  // A hook of PyTorch leaves its own name where there is no module.
  if (name.empty() || key == path)
    return "";
  return pathBelowWhole(path.split('@').first);
}
