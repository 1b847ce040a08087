//===- ExternalFiles.cpp - Files that an ONNX model takes weights from ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Wherever a tensor may be: initializers, attributes, functions that nothing
// calls, and probed models, which no importer reads before they are stripped.
// Field numbers are those of onnx.proto.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Instrument/Onnx.h"
#include "mpopt/Support/OnnxMessages.h"
#include "mpopt/Support/ProtoWire.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Path.h"

using namespace mpopt;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

namespace {
class Finder {
public:
  explicit Finder(StringRef file) : file(file) {}
  Error visit(OnnxMessage message, uint64_t begin, uint64_t end,
              unsigned depth);
  llvm::StringSet<> locations;

private:
  Error readTensor(uint64_t begin, uint64_t end);
  Error readEntry(const WireField &entry, StringRef &location);

  StringRef file;
};
} // namespace

/// Messages within messages, four a level of graphs, of which other readers
/// take 64.
static constexpr unsigned kMaxDepth = 300;

Error Finder::readEntry(const WireField &entry, StringRef &location) {
  StringRef key, value;
  if (Error error = forEachWireField(
          file, entry.payload, entry.end, [&](const WireField &field) {
            if (field.isMessage() && field.number == 1)
              key = field.bytes(file);
            if (field.isMessage() && field.number == 2)
              value = field.bytes(file);
            return Error::success();
          }))
    return error;
  if (key == "location")
    location = value;
  return Error::success();
}

Error Finder::readTensor(uint64_t begin, uint64_t end) {
  bool external = false;
  StringRef location;
  if (Error error = forEachWireField(
          file, begin, end, [&](const WireField &field) -> Error {
            if (field.number == 14 && field.wire == 0)
              external = field.varint == 1;
            if (field.number == 13 && field.isMessage())
              return readEntry(field, location);
            return Error::success();
          }))
    return error;
  if (external)
    locations.insert(location);
  return Error::success();
}

Error Finder::visit(OnnxMessage message, uint64_t begin, uint64_t end,
                    unsigned depth) {
  if (depth > kMaxDepth)
    return llvm::createStringError("graphs are nested too deep");
  if (message == OnnxMessage::Tensor)
    return readTensor(begin, end);
  return forEachWireField(
      file, begin, end, [&](const WireField &field) -> Error {
        OnnxMessage inner = getOnnxChild(message, field.number);
        if (inner == OnnxMessage::Other || !field.isMessage())
          return Error::success();
        return visit(inner, field.payload, field.end, depth + 1);
      });
}

Expected<std::vector<std::string>> mpopt::findExternalFiles(StringRef model,
                                                            StringRef path) {
  Finder finder(model);
  if (Error error = finder.visit(OnnxMessage::Model, 0, model.size(), 0))
    return llvm::createStringError("not a valid ONNX file: " +
                                   llvm::toString(std::move(error)));
  std::vector<std::string> files;
  for (StringRef location : finder.locations.keys()) {
    llvm::SmallString<256> file(llvm::sys::path::parent_path(path));
    llvm::sys::path::append(file, location);
    files.push_back(file.str().str());
  }
  return files;
}
