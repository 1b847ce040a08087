//===- OnnxInstrument.cpp - Probes in an ONNX file ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Instrument/Onnx.h"

#include "GraphMap.h"
#include "ProbeNodes.h"

#include "llvm/ADT/STLExtras.h"

#include <climits>

using namespace mpopt;
using namespace mpopt::onnx_instrument;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

/// The first IR version with functions of the model's own, and the first in
/// which an initializer need not be an input.
static constexpr int64_t kFunctionIr = 8, kInitializerIr = 4;
/// IsInf came with it.
static constexpr int64_t kStatisticsOpset = 10;

OnnxInstrumenter::OnnxInstrumenter(StringRef model, ProbeWith with,
                                   std::unique_ptr<GraphMap> map)
    : model(model), with(with), map(std::move(map)) {}
OnnxInstrumenter::OnnxInstrumenter(OnnxInstrumenter &&) = default;
OnnxInstrumenter::~OnnxInstrumenter() = default;

Expected<OnnxInstrumenter> OnnxInstrumenter::open(StringRef model,
                                                  ProbeWith with) {
  Expected<GraphMap> map = mapGraphs(model);
  if (!map)
    return map.takeError();
  Expected<std::optional<StringRef>> undo = findUndo(model);
  if (!undo)
    return undo.takeError();
  if (*undo)
    return llvm::createStringError(
        "it has probes already; mpopt --strip takes them out");
  // Nothing would load with two of a name.
  if (!map->probeName.empty())
    return llvm::createStringError(
        "it has probes that --strip cannot take out ('" + map->probeName +
        "', without the metadata of a probed model): instrument the original");
  if (with == ProbeWith::Outputs && map->opset < kStatisticsOpset)
    return llvm::createStringError("--probe-with outputs needs ops of opset " +
                                   llvm::Twine(kStatisticsOpset) +
                                   "; this model's is " +
                                   llvm::Twine(map->opset));
  return OnnxInstrumenter(model, with,
                          std::make_unique<GraphMap>(std::move(*map)));
}

std::string OnnxInstrumenter::whyNot(StringRef tensor) const {
  auto found = map->values.find(tensor);
  if (found == map->values.end())
    return "it lies inside a function or an op that stands for several";
  if (found->second == GraphMap::kSeveral)
    return "another tensor, of a body, has the same path as its name";
  if (with == ProbeWith::Outputs && found->second != 0)
    return "outputs cannot show what is inside a body";
  return "";
}

// Until IR version 3 initializers had to be inputs. From 4 on such an input is
// one that a caller may replace, and runtimes fold no constants into it.
// Returns by how much each message grows.
std::vector<int64_t> OnnxInstrumenter::dropOverridableInputs() {
  std::vector<int64_t> growth(map->prefixes.size());
  if (map->irVersion >= kInitializerIr)
    return growth;
  for (const GraphInput &input : map->inputs)
    if (map->initializers.contains(input.name)) {
      uint64_t size = input.field.end - input.field.begin;
      patch.add(input.field.begin, size, "");
      growth[input.prefix] -= int64_t(size);
    }
  return growth;
}

// Lengths of the messages around what grew, inner ones first: a length that
// takes more bytes than before makes the next one longer, too.
void OnnxInstrumenter::mendLengths(std::vector<int64_t> growth) {
  for (size_t index = map->prefixes.size(); index-- > 0;) {
    if (growth[index] == 0)
      continue;
    const LengthPrefix &prefix = map->prefixes[index];
    std::string length;
    appendVarint(length, uint64_t(int64_t(prefix.value) + growth[index]));
    if (prefix.parent >= 0)
      growth[prefix.parent] +=
          growth[index] + int64_t(length.size()) - int64_t(prefix.size);
    patch.add(prefix.offset, prefix.size, std::move(length));
  }
}

Error OnnxInstrumenter::prepare(llvm::ArrayRef<Probe> probes,
                                StringRef ledgerHash) {
  std::vector<std::vector<ProbeNode>> byGraph(map->graphs.size());
  for (const Probe &probe : probes) {
    unsigned graph = map->values.lookup(probe.tensor.name);
    StringRef name = probe.tensor.name;
    if (const std::string &path = map->graphs[graph].path; !path.empty())
      name = name.drop_front(path.size() + 1);
    byGraph[graph].push_back({name.str(), probe.id, probe.tensor.fileDtype,
                              probe.role == ProbeRole::Input,
                              probe.channelAxis});
  }
  std::vector<int64_t> growth = dropOverridableInputs();
  // Inner bodies first: two may end at the same byte.
  for (size_t graph = byGraph.size(); --graph > 0;) {
    if (byGraph[graph].empty())
      continue;
    std::string nodes = encodeProbes(byGraph[graph], ledgerHash);
    growth[map->graphs[graph].prefix] += int64_t(nodes.size());
    patch.add(map->graphs[graph].end, 0, std::move(nodes));
  }
  mendLengths(std::move(growth));
  undo = patch.makeUndo(model);

  bool withOp = with == ProbeWith::Op;
  bool keepsChannels = llvm::any_of(
      probes, [](const Probe &probe) { return probe.channelAxis >= 0; });
  int64_t needed = withOp ? kFunctionIr : kInitializerIr;
  TailFacts facts{map->irVersion < needed ? needed : 0,
                  map->opset,
                  !map->importsProbes,
                  keepsChannels,
                  undo.encode(),
                  ledgerHash.str()};
  tail = withOp ? encodeOpTail(byGraph[0], facts)
                : encodeOutputTail(byGraph[0], facts);
  if (facts.undo.size() > Undo::kMaxText)
    return llvm::createStringError(
        "it takes too many edits: --strip could not undo them; choose fewer "
        "probes");
  if (undo.bodySize + tail.size() > INT_MAX)
    return llvm::createStringError(
        "with probes it is larger than the 2 GiB that protobuf allows: save "
        "its weights as external data");
  return Error::success();
}

void OnnxInstrumenter::write(llvm::raw_ostream &os) {
  patch.apply(model, os);
  os << tail;
}

Expected<Undo> mpopt::findOnnxProbes(StringRef model) {
  Expected<std::optional<StringRef>> undo = findUndo(model);
  if (!undo)
    return undo.takeError();
  if (!*undo)
    return llvm::createStringError("it has no probes");
  return Undo::decode(**undo);
}
