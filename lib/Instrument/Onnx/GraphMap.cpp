//===- GraphMap.cpp - Where an ONNX file's graphs and values are ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Field numbers are those of onnx.proto. Paths of bodies are made as the
// importer makes them (ModelImporter::importBody): node name or type_index,
// then the attribute's name.
//
//===----------------------------------------------------------------------===//

#include "GraphMap.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/Twine.h"

#include <algorithm>

using namespace mpopt;
using namespace mpopt::onnx_instrument;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;

/// As in the importer, which has refused deeper ones before.
static constexpr unsigned kMaxDepth = 64;

/// The last of a message's fields with this number, as bytes.
static Expected<StringRef> findText(StringRef file, const WireField &message,
                                    uint64_t number) {
  StringRef text;
  if (Error error = forEachWireField(
          file, message.payload, message.end, [&](const WireField &field) {
            if (field.number == number && field.isMessage())
              text = field.bytes(file);
            return Error::success();
          }))
    return std::move(error);
  return text;
}

namespace {
class Mapper {
public:
  explicit Mapper(StringRef file) : file(file) {}

  Error mapModel();
  GraphMap map;

private:
  Error mapGraph(const WireField &field, unsigned graph, int parent,
                 unsigned depth);
  Error mapNode(const WireField &field, unsigned graph, int parent,
                unsigned depth);
  Error mapBodies(const WireField &attribute, StringRef node, unsigned graph,
                  int parent, unsigned depth);
  Error readOpset(const WireField &field);
  Error readFunction(const WireField &field);
  Error readTensor(const WireField &field, unsigned graph);

  int addPrefix(const WireField &field, int parent) {
    map.prefixes.push_back({field.tagEnd, field.payload - field.tagEnd,
                            field.end - field.payload, parent});
    return int(map.prefixes.size()) - 1;
  }
  void noteName(StringRef name) {
    for (StringRef prefix :
         {"mpopt.probe.", "mpopt.float.", "mpopt.double.", "mpopt.int64."})
      if (map.probeName.empty() && name.starts_with(prefix))
        map.probeName = name.str();
  }
  void noteOp(StringRef domain, StringRef type) {
    if (map.probeName.empty() && domain == kDomain && type == "Probe")
      map.probeName = "mpopt::Probe";
  }
  void addValue(StringRef name, unsigned graph) {
    if (name.empty())
      return;
    noteName(name);
    const std::string &path = map.graphs[graph].path;
    auto [known, isNew] = map.values.try_emplace(
        path.empty() ? name.str() : (path + "/" + name).str(), graph);
    if (!isNew && known->second != graph)
      known->second = GraphMap::kSeveral;
  }

  StringRef file;
};
} // namespace

Error Mapper::readOpset(const WireField &message) {
  StringRef domain;
  int64_t version = 0;
  if (Error error = forEachWireField(
          file, message.payload, message.end, [&](const WireField &field) {
            if (field.number == 1 && field.isMessage())
              domain = field.bytes(file);
            if (field.number == 2 && field.wire == 0)
              version = int64_t(field.varint);
            return Error::success();
          }))
    return error;
  if (domain.empty() || domain == "ai.onnx")
    map.opset = std::max(map.opset, version);
  map.importsProbes |= domain == kDomain;
  return Error::success();
}

Error Mapper::readFunction(const WireField &message) {
  Expected<StringRef> name = findText(file, message, 1);
  if (!name)
    return name.takeError();
  Expected<StringRef> domain = findText(file, message, 10);
  if (!domain)
    return domain.takeError();
  noteOp(*domain, *name);
  return Error::success();
}

Error Mapper::readTensor(const WireField &message, unsigned graph) {
  return forEachWireField(file, message.payload, message.end,
                          [&](const WireField &field) {
                            if (field.number == 8 && field.isMessage()) {
                              addValue(field.bytes(file), graph);
                              if (graph == 0)
                                map.initializers.insert(field.bytes(file));
                            }
                            return Error::success();
                          });
}

Error Mapper::mapBodies(const WireField &message, StringRef node,
                        unsigned graph, int parent, unsigned depth) {
  Expected<StringRef> name = findText(file, message, 1);
  if (!name)
    return name.takeError();
  return forEachWireField(
      file, message.payload, message.end, [&](const WireField &field) -> Error {
        if (!field.isMessage() || (field.number != 6 && field.number != 11))
          return Error::success();
        if (depth >= kMaxDepth)
          return llvm::createStringError("graphs are nested too deep");
        const std::string &outer = map.graphs[graph].path;
        std::string path =
            (Twine(outer) + (outer.empty() ? "" : "/") + node + "/" + *name)
                .str();
        unsigned body = unsigned(map.graphs.size());
        map.graphs.push_back({std::move(path)});
        return mapGraph(field, body, parent, depth + 1);
      });
}

Error Mapper::mapNode(const WireField &message, unsigned graph, int parent,
                      unsigned depth) {
  StringRef name, type, domain;
  llvm::SmallVector<WireField, 4> attributes;
  if (Error error = forEachWireField(file, message.payload, message.end,
                                     [&](const WireField &field) {
                                       if (!field.isMessage())
                                         return Error::success();
                                       if (field.number == 2)
                                         addValue(field.bytes(file), graph);
                                       else if (field.number == 3)
                                         name = field.bytes(file);
                                       else if (field.number == 4)
                                         type = field.bytes(file);
                                       else if (field.number == 5)
                                         attributes.push_back(field);
                                       else if (field.number == 7)
                                         domain = field.bytes(file);
                                       return Error::success();
                                     }))
    return error;
  noteName(name);
  noteOp(domain, type);
  std::string called = name.empty()
                           ? (type + "_" + Twine(map.graphs[graph].nodes)).str()
                           : name.str();
  ++map.graphs[graph].nodes;
  if (attributes.empty())
    return Error::success();
  int self = addPrefix(message, parent);
  for (const WireField &attribute : attributes) {
    int inner = addPrefix(attribute, self);
    if (Error error = mapBodies(attribute, called, graph, inner, depth))
      return error;
  }
  return Error::success();
}

Error Mapper::mapGraph(const WireField &message, unsigned graph, int parent,
                       unsigned depth) {
  int self = addPrefix(message, parent);
  map.graphs[graph].prefix = self;
  map.graphs[graph].end = message.end;
  return forEachWireField(
      file, message.payload, message.end, [&](const WireField &field) -> Error {
        if (!field.isMessage())
          return Error::success();
        switch (field.number) {
        case 1:
          return mapNode(field, graph, self, depth);
        case 5:
          return readTensor(field, graph);
        case 11: {
          Expected<StringRef> name = findText(file, field, 1);
          if (!name)
            return name.takeError();
          addValue(*name, graph);
          if (graph == 0)
            map.inputs.push_back({name->str(), field, self});
          return Error::success();
        }
        case 15: { // a sparse initializer: its values carry the name
          Expected<StringRef> values = findText(file, field, 1);
          if (!values)
            return values.takeError();
          WireField tensor = field;
          tensor.payload = uint64_t(values->data() - file.data());
          tensor.end = tensor.payload + values->size();
          return values->empty() ? Error::success() : readTensor(tensor, graph);
        }
        default:
          return Error::success();
        }
      });
}

Error Mapper::mapModel() {
  map.graphs.emplace_back();
  return forEachWireField(file, 0, file.size(),
                          [&](const WireField &field) -> Error {
                            if (field.number == 1 && field.wire == 0)
                              map.irVersion = int64_t(field.varint);
                            if (!field.isMessage())
                              return Error::success();
                            if (field.number == 7)
                              return mapGraph(field, 0, /*parent=*/-1, 0);
                            if (field.number == 8)
                              return readOpset(field);
                            if (field.number == 25)
                              return readFunction(field);
                            return Error::success();
                          });
}

static Error notOnnx(Error error) {
  return llvm::createStringError("not a valid ONNX file: " +
                                 llvm::toString(std::move(error)));
}

Expected<GraphMap> onnx_instrument::mapGraphs(StringRef file) {
  Mapper mapper(file);
  if (Error error = mapper.mapModel())
    return notOnnx(std::move(error));
  return std::move(mapper.map);
}

Expected<std::optional<StringRef>> onnx_instrument::findUndo(StringRef file) {
  std::optional<StringRef> undo;
  auto visit = [&](const WireField &field) -> Error {
    if (field.number != 14 || !field.isMessage())
      return Error::success();
    Expected<StringRef> key = findText(file, field, 1);
    if (!key)
      return key.takeError();
    Expected<StringRef> value = findText(file, field, 2);
    if (!value)
      return value.takeError();
    if (*key == kUndoKey)
      undo = *value;
    return Error::success();
  };
  if (Error error = forEachWireField(file, 0, file.size(), visit))
    return notOnnx(std::move(error));
  return undo;
}
