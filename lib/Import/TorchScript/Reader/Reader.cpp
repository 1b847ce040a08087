//===- Reader.cpp - A TorchScript archive to a Graph ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Import/TorchScript/Reader.h"

#include "GraphReader.h"
#include "UnknownOps.h"

#include <caffe2/serialize/inline_container.h>
#include <torch/csrc/jit/passes/inline_fork_wait.h>
#include <torch/csrc/jit/passes/inliner.h>
#include <torch/csrc/jit/serialization/import.h>
#include <torch/csrc/jit/serialization/import_read.h>

#include <algorithm>

using namespace mpopt::torchscript;
namespace aten = mpopt::aten;
namespace jit = torch::jit;

std::string mpopt::torchscript::firstLine(const char *what) {
  // Complaints about code begin with an empty line.
  std::string text = what;
  size_t begin = text.find_first_not_of(" \n");
  if (begin == std::string::npos)
    return "LibTorch gives no reason";
  return text.substr(begin, text.find('\n', begin) - begin);
}

static bool isTraced(const jit::Graph &graph) {
  for (const jit::Node *node : graph.nodes())
    if (node->kind() == c10::prim::If || node->kind() == c10::prim::Loop)
      return false;
  return true;
}

jit::Method mpopt::torchscript::findMethod(const jit::Module &module,
                                           const std::string &name) {
  if (std::optional<jit::Method> method = module.find_method(name))
    return *method;
  std::string known;
  for (const jit::Method &other : module.get_methods())
    if (other.name().rfind("__", 0) != 0)
      known += (known.empty() ? "" : ", ") + other.name();
  throw std::runtime_error("the model has no method '" + name + "'" +
                           (known.empty() ? "" : " (it has " + known + ")"));
}

static void readMethod(const jit::Module &module, const std::string &name,
                       const MappedArchive &archive, aten::Graph &graph) {
  jit::Method method = findMethod(module, name);
  graph.method = name;
  graph.modelClass = module.type()->name()
                         ? module.type()->name()->qualifiedName()
                         : std::string();
  graph.training = module.is_training();
  std::shared_ptr<jit::Graph> source = method.graph()->copy();
  jit::Inline(*source);
  // Tasks that run beside the rest are part of it.
  jit::InlineForkWait(source);
  jit::Inline(*source);
  graph.isTraced = isTraced(*source);
  ConstantReader constants(archive, graph);
  GraphReader(module, constants, graph).read(*source);
  const auto &arguments = method.function().getSchema().arguments();
  for (size_t index = 0; index < graph.inputs.size(); ++index)
    graph.values[graph.inputs[index]].name = arguments[index + 1].name();
}

/// torch.jit.save keeps the shapes of the inputs that a module was traced with:
/// a dictionary from methods to lists of tensors without data.
static void readTracedInputs(const std::shared_ptr<MappedArchive> &archive,
                             aten::Graph &graph) {
  try {
    caffe2::serialize::PyTorchStreamReader reader(archive);
    if (!reader.hasRecord("traced_inputs.pkl"))
      return;
    c10::IValue saved = jit::readArchiveAndTensors(
        "traced_inputs", "", "traced_inputs/", std::nullopt, std::nullopt,
        at::kCPU, reader);
    auto methods = saved.toGenericDict();
    auto found = methods.find(graph.method);
    if (found == methods.end())
      return;
    auto inputs = found->value().toListRef();
    for (size_t index = 0; index < inputs.size() && index < graph.inputs.size();
         ++index) {
      if (!inputs[index].isTensor())
        continue;
      const at::Tensor &tensor = inputs[index].toTensor();
      aten::GraphValue &value = graph.values[graph.inputs[index]];
      value.tracedSizes = tensor.sizes().vec();
      value.tracedType = int(tensor.scalar_type());
    }
  } catch (const std::exception &) {
    // A convenience of the file: the shapes stay open without it.
    return;
  }
}

/// Archives call ops of libraries that are not linked here.
static constexpr unsigned kMostUnknownOps = 256;

/// Loads the archive, with ops declared that LibTorch does not have.
static std::pair<jit::Module, std::shared_ptr<MappedArchive>>
load(const std::string &path, const std::vector<FileRange> &weights) {
  for (unsigned round = 0;; ++round) {
    auto archive = std::make_shared<MappedArchive>(path, weights);
    try {
      return {jit::load(archive, at::kCPU, /*load_debug_files=*/true), archive};
    } catch (const std::exception &failure) {
      if (round == kMostUnknownOps || !declareUnknownOp(failure.what()))
        throw;
    }
  }
}

bool mpopt::torchscript::readArchive(
    const std::string &path, const std::string &method,
    const std::vector<std::pair<uint64_t, uint64_t>> &weights,
    const std::vector<std::pair<uint64_t, uint64_t>> &attributes,
    aten::Graph &graph, std::string &error) {
  try {
    std::vector<FileRange> ranges;
    for (const auto &range : weights)
      ranges.push_back({range.first, range.second,
                        std::ranges::binary_search(attributes, range)});
    auto [module, archive] = load(path, ranges);
    readMethod(module, method, *archive, graph);
    readTracedInputs(archive, graph);
    return true;
  } catch (const c10::Error &failure) {
    error = firstLine(failure.what_without_backtrace());
  } catch (const std::exception &failure) {
    error = firstLine(failure.what());
  }
  return false;
}
