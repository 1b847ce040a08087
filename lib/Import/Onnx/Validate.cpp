//===- Validate.cpp - Structure of a model, before it is imported
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The requirements of onnx/checker.cc, but without stopping at the first thing
// that is wrong. Types and shapes are not looked at here.
//
//===----------------------------------------------------------------------===//

#include "Validate.h"

#include "TopologicalOrder.h"

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::onnx_import;

namespace {

using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

/// Names that one graph defines, and the graphs around it.
struct Names {
  const Names *outer = nullptr;
  const Nodes *nodes = nullptr;
  llvm::DenseSet<StringRef> defined; ///< so far
  /// By all of the graph's nodes; empty until a name is looked for in vain.
  mutable llvm::DenseSet<StringRef> produced;
  mutable bool unsorted = false;

  bool isDefined(StringRef name) const {
    return defined.contains(name) || (outer && outer->isDefined(name));
  }
  /// True if this graph or one around it defines the name later; that graph is
  /// then out of order.
  bool isProduced(StringRef name) const {
    if (produced.empty() && nodes)
      for (const onnx::NodeProto &node : *nodes)
        for (const std::string &output : node.output())
          if (!output.empty())
            produced.insert(output);
    if (produced.contains(name))
      return unsorted = true;
    return outer && outer->isProduced(name);
  }
};

class Validator {
public:
  Validator(ErrorSink &sink, NodeOrders &orders) : sink(sink), orders(orders) {}

  bool run(const onnx::ModelProto &model);

private:
  void error(ImportCode code, StringRef node, const Twine &reason) {
    valid = false;
    sink.error(code, node, reason);
  }
  void define(Names &names, StringRef name, const Twine &what);
  void checkGraph(const onnx::GraphProto &graph, const Names *outer);
  void checkFunction(const onnx::FunctionProto &function, int64_t irVersion);
  void checkNodes(const Nodes &nodes, Names &names);
  void checkNode(const onnx::NodeProto &node, StringRef name,
                 const Names &names);
  void checkAttributes(const onnx::NodeProto &node, const Names &names);
  void checkOrder(const Nodes &nodes);
  void checkDomain(const onnx::NodeProto &node, StringRef name);
  void checkSchema(const onnx::NodeProto &node, StringRef name,
                   const onnx::OpSchema &schema);

  ErrorSink &sink;
  NodeOrders &orders;
  const OpsetMap *opsets = nullptr;
  llvm::StringSet<> reportedDomains;
  std::map<std::string, unsigned> unknownAttributes;
  bool valid = true;
};

std::string nameOf(const onnx::NodeProto &node, unsigned index) {
  return node.name().empty() ? node.op_type() + "_" + std::to_string(index)
                             : node.name();
}

} // namespace

void Validator::define(Names &names, StringRef name, const Twine &what) {
  if (!name.empty() && !names.defined.insert(name).second)
    error(ImportCode::DuplicateName, name,
          "is defined a second time, as " + what);
}

void Validator::checkDomain(const onnx::NodeProto &node, StringRef name) {
  StringRef domain = normalizeDomain(node.domain());
  if (opsets->version(domain) > 0 || !reportedDomains.insert(domain).second)
    return;
  // Runtimes know their own domain without an import.
  if (domain.starts_with("com.microsoft")) {
    sink.warn("'" + domain + "' is used but not in opset_import");
    return;
  }
  error(ImportCode::OpsetImport, name,
        "is of domain '" + (domain.empty() ? "ai.onnx" : domain) +
            "', which opset_import does not list");
}

void Validator::checkAttributes(const onnx::NodeProto &node,
                                const Names &names) {
  for (const onnx::AttributeProto &attribute : node.attribute()) {
    if (attribute.has_g())
      checkGraph(attribute.g(), &names);
    for (const onnx::GraphProto &graph : attribute.graphs())
      checkGraph(graph, &names);
  }
}

void Validator::checkSchema(const onnx::NodeProto &node, StringRef name,
                            const onnx::OpSchema &schema) {
  auto unknown = [&](const onnx::AttributeProto &attribute) {
    return !schema.attributes().count(attribute.name()) &&
           !StringRef(attribute.name()).starts_with("__");
  };
  try {
    if (llvm::none_of(node.attribute(), unknown))
      return schema.Verify(node);
    // Exporters and optimisers leave notes of their own in attributes.
    onnx::NodeProto copy = node;
    copy.clear_attribute();
    for (const onnx::AttributeProto &attribute : node.attribute())
      if (unknown(attribute))
        ++unknownAttributes[attribute.name()];
      else
        *copy.add_attribute() = attribute;
    schema.Verify(copy);
  } catch (const std::exception &exception) {
    error(ImportCode::BadNode, name, exception.what());
  }
}

void Validator::checkNode(const onnx::NodeProto &node, StringRef name,
                          const Names &names) {
  for (const std::string &input : node.input()) {
    if (input.empty() || names.isDefined(input))
      continue;
    if (!names.isProduced(input))
      error(ImportCode::UndefinedName, name,
            "reads '" + Twine(input) + "', which nothing defines");
  }
  if (node.op_type().empty())
    error(ImportCode::BadNode, name, "has no operator");
  checkDomain(node, name);
  if (const onnx::OpSchema *schema = findSchema(node, *opsets))
    checkSchema(node, name, *schema);
  checkAttributes(node, names);
}

void Validator::checkOrder(const Nodes &nodes) {
  NodeOrder sorted = sortNodes(nodes);
  ArrayRef<unsigned> cycle = sorted.cycle;
  if (cycle.empty()) {
    // The standard wants an order; runtimes do not insist.
    sink.warn("nodes are not in topological order, and were sorted");
    orders[&nodes] = std::move(sorted.order);
    return;
  }
  std::string path;
  for (unsigned index : cycle.take_front(8))
    path += nameOf(nodes[index], index) + " -> ";
  std::string first = nameOf(nodes[cycle[0]], cycle[0]);
  path += cycle.size() > 8 ? "..." : first;
  error(ImportCode::Cycle, first, "depends on itself: " + Twine(path));
}

void Validator::checkNodes(const Nodes &nodes, Names &names) {
  names.nodes = &nodes;
  names.defined.reserve(names.defined.size() + nodes.size());
  for (auto [index, node] : llvm::enumerate(nodes)) {
    std::string name = nameOf(node, index);
    checkNode(node, name, names);
    for (const std::string &output : node.output())
      define(names, output, "an output of node '" + Twine(name) + "'");
  }
  if (names.unsorted)
    checkOrder(nodes);
}

void Validator::checkGraph(const onnx::GraphProto &graph, const Names *outer) {
  Names names;
  names.outer = outer;
  llvm::DenseSet<StringRef> inputs;
  for (const auto &input : graph.input()) {
    define(names, input.name(), "a graph input");
    inputs.insert(input.name());
  }
  // An initializer may give an input its value, once.
  auto initializer = [&](StringRef name) {
    if (!inputs.erase(name))
      define(names, name, "an initializer");
  };
  for (const auto &tensor : graph.initializer())
    initializer(tensor.name());
  for (const auto &sparse : graph.sparse_initializer())
    initializer(sparse.values().name());
  checkNodes(graph.node(), names);
  for (const auto &output : graph.output())
    if (!names.isDefined(output.name()))
      error(ImportCode::MissingOutput, output.name(),
            "the graph output is never produced");
}

void Validator::checkFunction(const onnx::FunctionProto &function,
                              int64_t irVersion) {
  std::string owner = qualifiedType(function.domain(), function.name());
  OpsetMap own =
      OpsetMap::read(function.opset_import(), irVersion, owner, &sink);
  opsets = &own;
  reportedDomains.clear();
  Names names;
  for (const std::string &input : function.input())
    define(names, input, "a function input");
  checkNodes(function.node(), names);
  for (const std::string &output : function.output())
    if (!names.isDefined(output))
      error(ImportCode::MissingOutput, output,
            "the output of function '" + Twine(owner) + "' is never produced");
}

bool Validator::run(const onnx::ModelProto &model) {
  if (!model.has_graph()) {
    error(ImportCode::NoGraph, "", "the model has no graph");
    return false;
  }
  size_t before = sink.mark().errors;
  OpsetMap own =
      OpsetMap::read(model.opset_import(), model.ir_version(), "", &sink);
  opsets = &own;
  checkGraph(model.graph(), nullptr);
  for (const onnx::FunctionProto &function : model.functions())
    checkFunction(function, model.ir_version());
  for (const auto &[attribute, count] : unknownAttributes)
    sink.warn("attribute '" + Twine(attribute) + "' of " + Twine(count) +
              " nodes is not in their operators' definitions, and ignored");
  return valid && sink.mark().errors == before;
}

bool onnx_import::validateModel(const onnx::ModelProto &model, ErrorSink &sink,
                                NodeOrders &orders) {
  return Validator(sink, orders).run(model);
}
