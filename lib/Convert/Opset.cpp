//===- Opset.cpp - Models of later opsets
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Opset.h"

#include "Raiser.h"

#include "onnx/shape_inference/implementation.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace mpopt;
using namespace mpopt::convert;
using llvm::Error;
using llvm::StringRef;
using onnx::AttributeProto;
using onnx::NodeProto;
using onnx::TensorProto;

namespace {
class OpsetRaiser {
public:
  OpsetRaiser(int64_t from, int64_t to) : from(from), to(to) {}
  void noteGraph(const onnx::GraphProto &graph);
  void noteTypes(const onnx::GraphProto &graph);
  Error raise(NodeList &nodes);

private:
  Error raiseNode(NodeProto &node, NodeList &out);
  void note(const NodeList &nodes);

  int64_t from, to;
  std::set<std::string> names;
  /// Null where a name stands for several values, in branches.
  llvm::StringMap<const onnx::TypeProto_Tensor *> types;
  llvm::StringMap<const TensorProto *> constants;

  friend Error convert::raiseOpset(onnx::ModelProto &, int64_t);
};
} // namespace

template <typename T>
static void insert(llvm::StringMap<const T *> &map, StringRef name,
                   const T &value) {
  if (auto [it, isNew] = map.try_emplace(name, &value); !isNew)
    it->second = nullptr;
}

void OpsetRaiser::note(const NodeList &nodes) {
  for (const NodeProto &node : nodes) {
    names.insert(node.name());
    names.insert(node.input().begin(), node.input().end());
    names.insert(node.output().begin(), node.output().end());
    for (const AttributeProto &attribute : node.attribute()) {
      if (attribute.has_g())
        noteGraph(attribute.g());
      if (node.op_type() == "Constant" && attribute.has_t() &&
          node.output_size() == 1)
        insert(constants, node.output(0), attribute.t());
    }
  }
}

void OpsetRaiser::noteGraph(const onnx::GraphProto &graph) {
  for (const onnx::ValueInfoProto &input : graph.input())
    names.insert(input.name());
  for (const TensorProto &tensor : graph.initializer()) {
    names.insert(tensor.name());
    insert(constants, tensor.name(), tensor);
  }
  note(graph.node());
}

void OpsetRaiser::noteTypes(const onnx::GraphProto &graph) {
  for (const auto *list : {&graph.input(), &graph.value_info()})
    for (const onnx::ValueInfoProto &value : *list)
      if (value.type().has_tensor_type())
        insert(types, value.name(), value.type().tensor_type());
  for (const NodeProto &node : graph.node())
    for (const AttributeProto &attribute : node.attribute())
      if (attribute.has_g())
        noteTypes(attribute.g());
}

Error OpsetRaiser::raiseNode(NodeProto &node, NodeList &out) {
  for (AttributeProto &attribute : *node.mutable_attribute())
    if (attribute.has_g())
      if (Error error = raise(*attribute.mutable_g()->mutable_node()))
        return error;
  bool isStandard = onnx_import::normalizeDomain(node.domain()).empty();
  Raiser at(names, node);
  at.constant = [&](StringRef name) {
    for (const NodeProto &made : at.before)
      if (made.output(0) == name && made.op_type() == "Constant")
        return &made.attribute(0).t();
    return constants.lookup(name);
  };
  if (node.input_size() > 0)
    at.type = types.lookup(node.input(0));
  for (const OpsetRule &rule : getOpsetRules())
    if (isStandard && rule.op == node.op_type() && from < rule.since &&
        rule.since <= to)
      rule.apply(at);
  if (!at.fault.empty())
    return llvm::createStringError("--opset: " + node.op_type() + " '" +
                                   node.name() + "': " + at.fault);
  for (NodeProto &made : at.before)
    out.Add()->Swap(&made);
  *out.Add() = node;
  for (NodeProto &made : at.after)
    out.Add()->Swap(&made);
  return Error::success();
}

Error OpsetRaiser::raise(NodeList &nodes) {
  NodeList out;
  for (auto [index, node] : llvm::enumerate(nodes)) {
    // A node without a name goes by its place, which may change.
    if (node.name().empty())
      node.set_name(node.op_type() + "_" + std::to_string(index));
    if (Error error = raiseNode(node, out))
      return error;
  }
  nodes.Swap(&out);
  return Error::success();
}

static int64_t
raiseImport(google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto> &list,
            int64_t opset) {
  int64_t before = 1;
  for (onnx::OperatorSetIdProto &import : list)
    if (onnx_import::normalizeDomain(import.domain()).empty()) {
      before = import.version();
      import.set_version(std::max(before, opset));
    }
  return before;
}

/// With what ONNX's inference finds; a file that tells nothing is raised all
/// the same.
static onnx::ModelProto inferTypes(const onnx::ModelProto &model) {
  onnx::ModelProto copy = model;
  try {
    onnx::shape_inference::InferShapes(copy);
  } catch (const std::exception &) {
    // Types that it has found until then may be wrong.
    copy = model;
  }
  return copy;
}

Error convert::raiseOpset(onnx::ModelProto &model, int64_t opset) {
  onnx::ModelProto source = inferTypes(model);
  int64_t from = raiseImport(*model.mutable_opset_import(), opset);
  auto refuse = [&](const std::string &why) {
    return llvm::createStringError("--opset: the model is of opset " +
                                   std::to_string(from) + why);
  };
  if (from > opset)
    return refuse(", which is only raised");
  if (from < kFirstOpset && from < opset)
    return refuse(", and there are rules from " + std::to_string(kFirstOpset) +
                  " on");
  if (opset > kLastOpset && from < opset)
    return refuse(", and there are rules up to " + std::to_string(kLastOpset));
  OpsetRaiser raiser(from, opset);
  raiser.noteGraph(source.graph());
  raiser.noteTypes(source.graph());
  if (Error error = raiser.raise(*model.mutable_graph()->mutable_node()))
    return error;
  for (onnx::FunctionProto &function : *model.mutable_functions()) {
    int64_t before = raiseImport(*function.mutable_opset_import(), opset);
    OpsetRaiser inner(before, opset);
    inner.note(function.node());
    if (Error error = inner.raise(*function.mutable_node()))
      return error;
  }
  return Error::success();
}
