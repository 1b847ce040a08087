//===- Provenance.cpp - Where exporters say a node comes from
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PyTorch's exporter on torch.export writes node metadata: a Python stack trace
// under `pkg.torch.onnx.stack_trace`, innermost call last, and the module stack
// as a Python list under `pkg.torch.onnx.name_scopes`, outermost first and the
// node itself last, or joined with types under `namespace`
// ("enc: pkg.Encoder/enc.fc: torch.nn.Linear/linear: aten.linear"). The
// TorchScript exporter writes "file.py(12): forward" lines to doc_string,
// innermost call first.
//
//===----------------------------------------------------------------------===//

#include "Provenance.h"

#include "mpopt/Support/SourceFrames.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringRef.h"

using namespace mlir;
using namespace mpopt;

static StringRef findMetadata(const onnx::NodeProto &node, StringRef key) {
  for (const auto &entry : node.metadata_props())
    if (entry.key() == key)
      return entry.value();
  return {};
}

namespace {
struct Frame {
  StringRef file;
  unsigned line = 0;
};
} // namespace

/// `File "model.py", line 12, in forward`, the innermost call last.
static SmallVector<Frame> parseTraceback(StringRef text) {
  SmallVector<Frame> frames;
  while (true) {
    text = text.split("File \"").second;
    if (text.empty())
      return frames;
    auto [file, rest] = text.split('"');
    unsigned line = 0;
    if (rest.consume_front(", line ") && !rest.consumeInteger(10, line))
      frames.insert(frames.begin(), {file, line});
  }
}

/// `model.py(12): forward`, the innermost call first.
static SmallVector<Frame> parseCallLines(StringRef text) {
  SmallVector<Frame> frames;
  while (!text.empty()) {
    auto [lineText, rest] = text.split('\n');
    size_t open = lineText.find(".py(");
    unsigned line = 0;
    if (open != StringRef::npos) {
      StringRef number = lineText.drop_front(open + 4);
      if (!number.consumeInteger(10, line) && number.starts_with("):"))
        frames.push_back({lineText.take_front(open + 3).trim(), line});
    }
    text = rest;
  }
  return frames;
}

Location onnx_import::readSource(MLIRContext *context,
                                 const onnx::NodeProto &node) {
  SmallVector<Frame> frames =
      parseTraceback(findMetadata(node, "pkg.torch.onnx.stack_trace"));
  if (frames.empty())
    frames = parseTraceback(node.doc_string());
  if (frames.empty())
    frames = parseCallLines(node.doc_string());
  if (frames.empty())
    return UnknownLoc::get(context);
  const Frame &frame = pickUserFrame(frames);
  return FileLineColLoc::get(context, frame.file, frame.line, 0);
}

std::string onnx_import::readModulePath(const onnx::NodeProto &node) {
  if (node.metadata_props_size() == 0)
    return "";
  SmallVector<StringRef> parts;
  StringRef scopes = findMetadata(node, "pkg.torch.onnx.name_scopes");
  if (scopes.consume_front("[") && scopes.consume_back("]")) {
    scopes.split(parts, ',');
    for (StringRef &part : parts)
      part = part.trim().trim("'\"");
  } else {
    findMetadata(node, "namespace").split(parts, '/');
    for (StringRef &part : parts)
      part = part.split(':').first.trim();
  }
  // The last part is the node itself.
  if (!parts.empty())
    parts.pop_back();
  while (!parts.empty() && parts.back().empty())
    parts.pop_back();
  return parts.empty() ? "" : parts.back().str();
}
