//===- Provenance.cpp - Lines and scopes of JIT nodes ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A scripted node has a source range, and one for every call that it was
// inlined through. A traced one has the Python stack at its creation as the
// text of its source, one frame a line, innermost first:
//   /site-packages/torch/nn/modules/linear.py(114): forward
//   /home/me/model.py(12): forward
//
//===----------------------------------------------------------------------===//

#include "GraphReader.h"

#include "mpopt/Support/SourceFrames.h"

#include <ranges>
#include <sstream>

using namespace mpopt::torchscript;
namespace aten = mpopt::aten;

static aten::SourceLine convert(torch::jit::SourceRange range) {
  if (!range.source())
    return {};
  // The loaded code was printed by the exporter; it may know the original.
  if (auto original = range.findSourceRangeThatGenerated())
    range = *original;
  aten::SourceLine result;
  if (auto place = range.file_line_col()) {
    result.file = std::get<0>(*place);
    result.line = int(std::get<1>(*place)); // counted from 1, columns from 0
    result.column = int(std::get<2>(*place)) + 1;
  }
  return result;
}

/// `FILE(LINE): FUNCTION`.
static bool parseFrame(const std::string &text, aten::SourceLine &frame) {
  size_t close = text.rfind("): ");
  size_t open = close == std::string::npos ? close : text.rfind('(', close);
  if (open == std::string::npos || open == 0 || close - open < 2 ||
      close - open > 9)
    return false;
  int line = 0;
  for (size_t at = open + 1; at < close; ++at) {
    if (text[at] < '0' || text[at] > '9')
      return false;
    line = line * 10 + (text[at] - '0');
  }
  frame = {text.substr(0, open), line, 0};
  return true;
}

static std::vector<aten::SourceLine>
tracedFrames(torch::jit::SourceRange range) {
  if (!range.source())
    return {};
  if (auto original = range.findSourceRangeThatGenerated())
    range = *original;
  if (!range.source())
    return {};
  std::vector<aten::SourceLine> frames;
  std::istringstream text(std::string(range.source()->text_str().str()));
  for (std::string line; std::getline(text, line) && frames.size() < 256;) {
    aten::SourceLine frame;
    if (!parseFrame(line, frame))
      return {};
    frames.push_back(frame);
  }
  return frames;
}

aten::SourceLine mpopt::torchscript::findSource(const torch::jit::Node &node) {
  std::vector<aten::SourceLine> frames = tracedFrames(node.sourceRange());
  if (frames.empty()) {
    frames.push_back(convert(node.sourceRange()));
    if (auto stack = node.callstack()) {
      auto entries = (*stack)->vec();
      for (const auto &entry : std::views::reverse(entries))
        frames.push_back(convert(std::get<1>(entry)));
    }
  }
  return pickUserFrame(frames);
}

std::string mpopt::torchscript::findScope(const torch::jit::Node &node) {
  std::string path;
  auto stack = node.callstack();
  if (!stack)
    return path;
  for (auto &entry : (*stack)->vec()) {
    auto instance = std::get<2>(entry);
    if (!instance)
      continue;
    std::string name = instance->instance_name();
    if (name.empty() || name == "self" || name == "SELF" ||
        name == "INSTANCE_NAME_UNKNOWN")
      continue;
    path += (path.empty() ? "" : ".") + name;
  }
  return path;
}
