//===- Provenance.cpp - Which module and line a node came from ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Provenance.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

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

/// True for code of PyTorch itself, and code that it wrote and ran.
static bool isTorchFile(StringRef file) {
  return file.contains("/torch/") || file.starts_with("torch/") ||
         file.starts_with("<");
}

void exported::readStackTrace(StringRef trace, aten::Node &node) {
  std::vector<aten::SourceLine> frames;
  llvm::SmallVector<StringRef> lines;
  trace.split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (StringRef line : lines)
    if (aten::SourceLine frame; parseFrame(line, frame))
      frames.push_back(std::move(frame));
  if (frames.empty())
    return;
  node.innermost = node.source = frames.back();
  for (const aten::SourceLine &frame : llvm::reverse(frames))
    if (!isTorchFile(frame.file)) {
      node.source = frame;
      return;
    }
}

std::string exported::readModuleStack(StringRef stack) {
  StringRef last = stack.rsplit(';').second;
  if (last.empty())
    last = stack;
  llvm::SmallVector<StringRef> parts;
  last.split(parts, ',');
  // A hook of PyTorch leaves its own name where there is no module.
  if (parts.size() < 3 || parts[0] == parts[1])
    return "";
  StringRef path = parts[1].split('@').first;
  // The path of the whole, before it is taken off.
  path.consume_front("L['self'].");
  return path.str();
}
