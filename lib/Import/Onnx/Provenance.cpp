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

/// `File "model.py", line 12, in forward`, the last one.
static LocationAttr parseTraceback(MLIRContext *context, StringRef text) {
  size_t start = text.rfind("File \"");
  if (start == StringRef::npos)
    return {};
  auto [file, rest] = text.drop_front(start + 6).split('"');
  unsigned line = 0;
  if (!rest.consume_front(", line ") || rest.consumeInteger(10, line))
    return {};
  return FileLineColLoc::get(context, file, line, 0);
}

/// `model.py(12): forward`, the first one.
static LocationAttr parseCallLine(MLIRContext *context, StringRef text) {
  while (!text.empty()) {
    auto [lineText, rest] = text.split('\n');
    size_t open = lineText.find(".py(");
    unsigned line = 0;
    if (open != StringRef::npos) {
      StringRef number = lineText.drop_front(open + 4);
      if (!number.consumeInteger(10, line) && number.starts_with("):"))
        return FileLineColLoc::get(
            context, lineText.take_front(open + 3).trim(), line, 0);
    }
    text = rest;
  }
  return {};
}

Location onnx_import::readSource(MLIRContext *context,
                                 const onnx::NodeProto &node) {
  LocationAttr found;
  if (node.metadata_props_size() > 0)
    found = parseTraceback(context,
                           findMetadata(node, "pkg.torch.onnx.stack_trace"));
  if (!found && !node.doc_string().empty()) {
    found = parseTraceback(context, node.doc_string());
    if (!found)
      found = parseCallLine(context, node.doc_string());
  }
  return found ? Location(found) : UnknownLoc::get(context);
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
