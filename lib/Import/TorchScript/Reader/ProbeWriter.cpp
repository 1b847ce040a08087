//===- ProbeWriter.cpp - Writes a method with probes ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Import/TorchScript/ProbeWriter.h"

#include "CodePrinter.h"
#include "GraphReader.h"
#include "ProbeInserter.h"

#include <caffe2/serialize/inline_container.h>
#include <torch/csrc/jit/passes/inliner.h>
#include <torch/csrc/jit/serialization/import.h>
#include <torch/csrc/jit/serialization/import_read.h>

using namespace mpopt::torchscript;
namespace jit = torch::jit;

/// The graph keeps its inputs, and does what `with` does.
static void replaceBody(jit::Graph &graph, jit::Graph &with) {
  while (!graph.outputs().empty())
    graph.eraseOutput(graph.outputs().size() - 1);
  for (auto node = graph.nodes().rbegin(); node != graph.nodes().rend(); ++node)
    node.destroyCurrent();
  std::unordered_map<jit::Value *, jit::Value *> values;
  auto map = [&](jit::Value *value) { return values.at(value); };
  for (size_t index = 0; index < with.inputs().size(); ++index)
    values[with.inputs()[index]] = graph.inputs()[index];
  for (jit::Node *node : with.nodes()) {
    jit::Node *clone = graph.appendNode(graph.createClone(node, map));
    for (size_t index = 0; index < node->outputs().size(); ++index)
      values[node->outputs()[index]] = clone->outputs()[index];
  }
  for (jit::Value *output : with.outputs())
    graph.registerOutput(map(output));
  graph.lint();
}

static std::vector<c10::IValue>
readConstants(caffe2::serialize::PyTorchStreamReader &reader) {
  if (!reader.hasRecord("constants.pkl"))
    return {};
  c10::IValue saved =
      jit::readArchiveAndTensors("constants", "", "constants/", std::nullopt,
                                 std::nullopt, at::kCPU, reader);
  return saved.toTupleRef().elements().vec();
}

static bool isSameRecord(caffe2::serialize::PyTorchStreamReader &reader,
                         const std::string &name, const std::string &bytes) {
  if (!reader.hasRecord(name))
    return false;
  auto [data, size] = reader.getRecord(name);
  return std::string_view(static_cast<const char *>(data.get()), size) == bytes;
}

static void write(const std::shared_ptr<MappedArchive> &archive,
                  const std::string &methodName,
                  const std::vector<PlacedProbe> &probes,
                  const std::string &ledgerHash, const FindLists &findLists,
                  std::vector<std::pair<std::string, std::string>> &records) {
  caffe2::serialize::PyTorchStreamReader reader(archive);
  if (reader.hasRecord("model.json"))
    throw std::runtime_error("the archive is of PyTorch 1.3 or older: load it "
                             "with torch.jit.load and save it again");
  jit::Module module = jit::load(archive, at::kCPU, /*load_debug_files=*/true);
  jit::Method method = findMethod(module, methodName);
  std::shared_ptr<jit::Graph> body = method.graph()->copy();
  jit::Inline(*body);
  ProbeInserter(*body, ledgerHash, findLists).insert(probes);
  replaceBody(*method.graph(), *body);

  CodePrinter printer(readConstants(reader));
  printer.print(module);
  CodePrinter::Records printed = printer.records();
  for (size_t index = 0; index < printed.size(); index += 2)
    if (!isSameRecord(reader, printed[index].first, printed[index].second)) {
      records.push_back(std::move(printed[index]));
      records.push_back(std::move(printed[index + 1]));
    }
  // Code that uses newer forms of ops says so.
  if (printer.version() > reader.version())
    records.push_back(
        {reader.hasRecord(".data/version") ? ".data/version" : "version",
         std::to_string(printer.version()) + "\n"});
}

bool mpopt::torchscript::writeProbes(
    const std::string &path, const std::string &method,
    const std::vector<std::pair<uint64_t, uint64_t>> &attributes,
    const std::vector<PlacedProbe> &probes, const std::string &ledgerHash,
    const FindLists &findLists,
    std::vector<std::pair<std::string, std::string>> &records,
    std::string &error) {
  try {
    std::vector<FileRange> ranges;
    for (auto [begin, end] : attributes)
      ranges.push_back({begin, end, true});
    write(std::make_shared<MappedArchive>(path, std::move(ranges)), method,
          probes, ledgerHash, findLists, records);
    return true;
  } catch (const c10::Error &failure) {
    error = firstLine(failure.what_without_backtrace());
  } catch (const std::exception &failure) {
    error = firstLine(failure.what());
  }
  return false;
}
