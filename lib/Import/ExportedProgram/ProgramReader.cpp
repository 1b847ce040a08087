//===- ProgramReader.cpp - A saved program to a graph of aten -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ProgramReader.h"

#include "llvm/ADT/STLExtras.h"

#include <set>

using namespace mpopt;
using namespace mpopt::exported;
using aten::Constant;
using aten::ValueId;
using llvm::StringRef;
using llvm::Twine;
namespace json = llvm::json;

/// SCHEMA_VERSION of torch/_export/serde/schema.py: PyTorch 2.4 writes 5, and
/// 2.7 and later 8. What 8 has and 5 lacks may be missing in 8, too; a minor
/// version adds fields only.
static constexpr int64_t kFirstMajor = 5, kMajor = 8;

namespace {

class ProgramReader {
public:
  ProgramReader(const Document &parts, const Payload &payload,
                const std::map<std::string, int64_t> &dims, Damage &damage)
      : parts(parts),
        document(asObject(parts.outline(), "ExportedProgram", damage)),
        payload(payload), dims(dims), damage(damage),
        reader(program.graph, dims, damage) {}

  Program run();

private:
  void checkVersion();
  void checkDims();
  void readInput(const json::Value &spec, GraphReader::Scope &scope);
  void addState(StringRef value, StringRef path);
  std::string firstNameOf(StringRef path, const aten::Tensor &tensor);
  void readOutput(const json::Value &spec, GraphReader::Scope &scope);
  void summarise();

  const Document &parts;
  const json::Object &document;
  const Payload &payload;
  const std::map<std::string, int64_t> &dims;
  Damage &damage;
  Program program;
  GraphReader reader;
  std::map<std::string, int64_t> indices;     ///< path -> number of the tensor
  std::multimap<int64_t, std::string> shared; ///< memory -> paths of parameters
  SymbolRanges ranges;
  unsigned losses = 0, gradients = 0;
};

} // namespace

void ProgramReader::checkVersion() {
  const json::Object &version = getObject(document, "schema_version", damage);
  int64_t major = getInteger(version, "major", damage);
  if (!damage.isThere() && (major < kFirstMajor || major > kMajor))
    damage.report("the archive has version " + Twine(major) +
                      " of the schema of exported programs, and versions " +
                      Twine(kFirstMajor) + " to " + Twine(kMajor) + " are read",
                  ImportCode::NotAModel);
}

void ProgramReader::checkDims() {
  ranges = readRanges(document, damage);
  for (const auto &[symbol, size] : dims) {
    auto found = ranges.find(symbol);
    if (found == ranges.end())
      continue;
    auto [least, most] = found->second;
    if (size < least || size > most)
      damage.report(
          "dim '" + symbol + "' cannot be " + Twine(size) +
              ": the program was exported for " + Twine(least) +
              (most == INT64_MAX ? " and more" : " to " + Twine(most).str()),
          ImportCode::BadDim);
  }
}

/// The first name of a tied parameter, which `Module.named_parameters` has: the
/// program may read the tensor by any of its names.
std::string ProgramReader::firstNameOf(StringRef path,
                                       const aten::Tensor &tensor) {
  if (!tensor.isParameter)
    return path.str();
  auto [first, last] = shared.equal_range(tensor.memory);
  for (auto known = first; known != last; ++known) {
    const aten::Tensor *other = payload.find(known->second);
    if (other && other->scalarType == tensor.scalarType &&
        other->sizes == tensor.sizes && other->strides == tensor.strides &&
        other->fileOffset == tensor.fileOffset)
      return known->second;
  }
  shared.emplace(tensor.memory, path.str());
  return path.str();
}

void ProgramReader::addState(StringRef value, StringRef name) {
  const aten::Tensor *tensor = payload.find(name);
  if (!tensor)
    return damage.report("the archive lacks the values of '" + name + "'",
                         ImportCode::DataLength);
  std::string path = firstNameOf(name, *tensor);
  auto [index, isNew] = indices.try_emplace(path, indices.size());
  if (isNew) {
    program.graph.tensors.push_back(*payload.find(path));
    Constant constant;
    constant.kind = Constant::Kind::Tensor;
    constant.integer = index->second;
    program.graph.attributes[path] = std::move(constant);
    program.graph.slots[path] = index->second;
    if (tensor->isParameter) {
      uint64_t count = 1;
      for (int64_t size : tensor->sizes)
        count *= uint64_t(size);
      program.graph.parameters += count;
    }
  }
  reader.state[value] = path;
}

void ProgramReader::readInput(const json::Value &spec,
                              GraphReader::Scope &scope) {
  Choice input = getChoice(spec, damage);
  const json::Object &fields = input.object(damage);
  auto value = [&] {
    return getString(getObject(fields, "arg", damage), "name", damage);
  };
  auto addInput = [&](StringRef name, Kind kind) {
    ValueId id = reader.define(scope, name, kind);
    program.graph.inputs.push_back(id);
  };
  if (input.kind == "parameter")
    return addState(value(), getString(fields, "parameter_name", damage));
  if (input.kind == "buffer")
    return addState(value(), getString(fields, "buffer_name", damage));
  if (input.kind == "tensor_constant")
    return addState(value(), getString(fields, "tensor_constant_name", damage));
  if (input.kind == "custom_obj" || input.kind == "token") {
    reader.define(scope, value(), Kind::Object);
    return;
  }
  // Python's own values are part of the graph.
  if (input.kind == "constant_input")
    return;
  const json::Value *argument = fields.get("arg");
  if (input.kind != "user_input" || !argument)
    return damage.report("has an input of the unknown kind '" + input.kind +
                         "'");
  Choice choice = getChoice(*argument, damage);
  if (choice.kind == "as_tensor")
    return addInput(choice.name(damage), Kind::Tensor);
  if (choice.kind == "as_custom_obj")
    return addInput(choice.name(damage), Kind::Object);
  Kind kind = choice.kind == "as_sym_int"     ? Kind::Int
              : choice.kind == "as_sym_float" ? Kind::Float
              : choice.kind == "as_sym_bool"  ? Kind::Bool
                                              : Kind::None;
  if (kind == Kind::None)
    return;
  if (Choice named = getChoice(*choice.value, damage); named.kind == "as_name")
    addInput(named.string(damage), kind);
}

void ProgramReader::readOutput(const json::Value &spec,
                               GraphReader::Scope &scope) {
  aten::GraphBlock &body = program.graph.body;
  Choice output = getChoice(spec, damage);
  const json::Object &fields = output.object(damage);
  losses += output.kind == "loss_output";
  gradients += output.kind.starts_with("gradient_to_");
  if (output.kind == "token")
    return;
  const json::Value *argument = fields.get("arg");
  if (!argument)
    return damage.report("has an output without a value");
  auto value = [&] {
    return reader.find(
        scope, getString(getObject(fields, "arg", damage), "name", damage),
        body);
  };
  if (output.kind == "user_output") {
    Choice choice = getChoice(*argument, damage);
    // Python's own values are what the program was exported with.
    bool isTensor = choice.kind == "as_tensor";
    if (isTensor || choice.kind.starts_with("as_sym_"))
      body.results.push_back(reader.readArgument(*argument, scope, body));
    if (isTensor)
      reader.nameResult(choice.name(damage), body.results.back());
    return;
  }
  bool isBuffer = output.kind == "buffer_mutation";
  if (!isBuffer && output.kind != "parameter_mutation") {
    // Losses, gradients and inputs that are changed in place.
    body.results.push_back(value());
    return;
  }
  StringRef path =
      getString(fields, isBuffer ? "buffer_name" : "parameter_name", damage);
  if (!indices.count(path.str()))
    return damage.report("changes '" + path + "', which it does not hold",
                         ImportCode::UndefinedName);
  aten::Node set;
  set.op = "prim::SetAttr";
  set.attributes["path"].kind = Constant::Kind::String;
  set.attributes["path"].string = path.str();
  set.inputs = {value()};
  body.nodes.push_back(std::move(set));
}

void ProgramReader::summarise() {
  std::set<std::string> symbols;
  for (ValueId input : program.graph.inputs)
    for (const std::string &symbol : program.graph.values[input].dimNames)
      if (!symbol.empty())
        symbols.insert(symbol);
  program.dimNames.assign(symbols.begin(), symbols.end());
  std::vector<std::string> &warnings = program.graph.warnings;
  for (const std::string &symbol : symbols)
    if (auto range = ranges.find(symbol);
        range != ranges.end() && !dims.count(symbol))
      warnings.push_back("dim '" + symbol + "' is " +
                         std::to_string(range->second.least) +
                         (range->second.most == INT64_MAX
                              ? " or more"
                              : " to " + std::to_string(range->second.most)) +
                         " (--dim " + symbol + "=... for one size)");
  for (const std::string &name : payload.unread())
    if (indices.count(name))
      warnings.push_back("the values of '" + name +
                         "' are pickled, which is not read");
  if (losses || gradients)
    warnings.push_back("the program is a training step: it computes " +
                       std::to_string(gradients) +
                       " gradients itself, which are judged as the tensors "
                       "that they are");
}

Program ProgramReader::run() {
  checkVersion();
  if (damage.isThere())
    return {};
  checkDims();
  const json::Object &module = getObject(document, "graph_module", damage);
  const json::Object &graph = getObject(module, "graph", damage);
  const json::Object &signature = getObject(module, "signature", damage);
  const json::Array &inputs = getArray(signature, "input_specs", damage);
  const json::Array &outputs = getArray(signature, "output_specs", damage);
  size_t numInputs = getArray(graph, "inputs", damage).size(),
         numOutputs = getArray(graph, "outputs", damage).size();
  if (inputs.size() != numInputs || outputs.size() != numOutputs)
    damage.report("the signature has " + Twine(inputs.size()) + " inputs and " +
                  Twine(outputs.size()) + " outputs, and the graph " +
                  Twine(numInputs) + " and " + Twine(numOutputs));
  if (damage.isThere())
    return {};
  program.graph.method = "forward";
  GraphReader::Scope scope = reader.open(graph, "");
  if (parts.isApart())
    scope.parts = &parts;
  for (const json::Value &input : inputs)
    readInput(input, scope);
  program.graph.body.arguments = program.graph.inputs;
  reader.readNodes(graph, scope, program.graph.body);
  if (!damage.isThere())
    for (const json::Value &output : outputs)
      readOutput(output, scope);
  summarise();
  return std::move(program);
}

Program exported::readProgram(const Document &document, const Payload &payload,
                              const std::map<std::string, int64_t> &dims,
                              Damage &damage) {
  return ProgramReader(document, payload, dims, damage).run();
}
