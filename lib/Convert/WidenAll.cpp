//===- WidenAll.cpp - 16-bit models back to FP32
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "WidenAll.h"

#include "Tensors.h"

#include "llvm/ADT/STLExtras.h"

#include <map>
#include <set>

using namespace mpopt;
using namespace mpopt::convert;
using llvm::StringRef;
using onnx::TensorProto;

static bool isLow(int64_t dtype) {
  return dtype == TensorProto::FLOAT16 || dtype == TensorProto::BFLOAT16;
}

static bool widenType(onnx::TypeProto &type) {
  if (type.has_sequence_type())
    return widenType(*type.mutable_sequence_type()->mutable_elem_type());
  if (type.has_optional_type())
    return widenType(*type.mutable_optional_type()->mutable_elem_type());
  if (!type.has_tensor_type() || !isLow(type.tensor_type().elem_type()))
    return false;
  type.mutable_tensor_type()->set_elem_type(TensorProto::FLOAT);
  return true;
}

// Attributes that name a type of element.
static constexpr StringRef kTypeAttributes[] = {
    "to", "dtype", "output_dtype", "output_datatype", "stash_type"};

namespace {
class Widener {
public:
  bool changed = false;

  void graph(onnx::GraphProto &graph);
  template <typename Nodes> void nodes(Nodes &nodes);

private:
  void node(onnx::NodeProto &node);
};
} // namespace

void Widener::node(onnx::NodeProto &node) {
  for (onnx::AttributeProto &attribute : *node.mutable_attribute()) {
    if (attribute.type() == onnx::AttributeProto::INT &&
        llvm::is_contained(kTypeAttributes, attribute.name()) &&
        isLow(attribute.i())) {
      attribute.set_i(TensorProto::FLOAT);
      changed = true;
    }
    if (attribute.has_tp())
      changed |= widenType(*attribute.mutable_tp());
    if (attribute.has_g())
      graph(*attribute.mutable_g());
    for (onnx::GraphProto &body : *attribute.mutable_graphs())
      graph(body);
  }
}

template <typename Nodes> void Widener::nodes(Nodes &nodes) {
  for (onnx::NodeProto &inner : nodes)
    node(inner);
}

void Widener::graph(onnx::GraphProto &graph) {
  for (auto *list : {graph.mutable_input(), graph.mutable_output(),
                     graph.mutable_value_info()})
    for (onnx::ValueInfoProto &value : *list)
      if (value.has_type())
        changed |= widenType(*value.mutable_type());
  nodes(*graph.mutable_node());
}

bool convert::widenAll(onnx::ModelProto &model, Conversion &report) {
  auto name = [](const onnx::ValueInfoProto &value) {
    return StringRef(TensorProto::DataType_Name(TensorProto::DataType(
                         value.type().tensor_type().elem_type())))
        .lower();
  };
  auto forEachBorder = [&](auto visit) {
    for (auto *list : {model.mutable_graph()->mutable_input(),
                       model.mutable_graph()->mutable_output()})
      for (onnx::ValueInfoProto &value : *list)
        visit(value);
  };
  forEachBorder([&](onnx::ValueInfoProto &value) {
    report.io.push_back({value.name(), name(value), ""});
  });
  Widener widener;
  widener.graph(*model.mutable_graph());
  for (onnx::FunctionProto &function : *model.mutable_functions()) {
    widener.nodes(*function.mutable_node());
    for (onnx::ValueInfoProto &value : *function.mutable_value_info())
      if (value.has_type())
        widener.changed |= widenType(*value.mutable_type());
  }
  forEachTensor(model, [&](TensorProto &tensor) {
    if (!isLow(tensor.data_type()))
      return;
    convertLater(tensor, TensorProto::FLOAT);
    widener.changed = true;
  });
  size_t at = 0;
  forEachBorder(
      [&](onnx::ValueInfoProto &value) { report.io[at++].to = name(value); });
  return widener.changed;
}

//===----------------------------------------------------------------------===//
// Casts
//===----------------------------------------------------------------------===//

namespace {
class CastDropper {
public:
  explicit CastDropper(Model &model) : model(model) {}
  void run();

private:
  static bool isFloat(const Value *value) {
    return value && value->kind.depth == 0 &&
           (value->kind.isFloat() || isLow(value->kind.dtype));
  }
  static bool changesNothing(const Node &node) {
    return node.isStandard("Cast") && isFloat(node.inputs[0]) &&
           isFloat(node.outputs[0]);
  }
  const Value &resolve(const Value &value) const;
  std::string nameOf(const Value *value) const;
  void choose(Graph &graph);
  bool moveOutput(Graph &graph, const Value &output);
  void rewrite(Graph &graph);

  Model &model;
  std::set<const Node *> dropped;
  std::map<const Value *, std::string> renamed;
};
} // namespace

const Value &CastDropper::resolve(const Value &value) const {
  const Value *root = &value;
  while (root->maker && dropped.count(root->maker))
    root = root->maker->inputs[0];
  return *root;
}

std::string CastDropper::nameOf(const Value *value) const {
  const Value &root = resolve(*value);
  auto it = renamed.find(&root);
  return it == renamed.end() ? root.name : it->second;
}

/// True if the op in front of a cast can give the output in its place.
bool CastDropper::moveOutput(Graph &graph, const Value &output) {
  const Value &root = resolve(*output.maker->inputs[0]);
  if (root.graph != &graph || !root.maker || renamed.count(&root) ||
      llvm::is_contained(graph.outputs, &root))
    return false;
  renamed[&root] = output.name;
  return true;
}

void CastDropper::choose(Graph &graph) {
  for (auto &node : graph.nodes)
    if (changesNothing(*node) &&
        (!llvm::is_contained(graph.outputs, node->outputs[0]) ||
         moveOutput(graph, *node->outputs[0])))
      dropped.insert(node.get());
}

void CastDropper::rewrite(Graph &graph) {
  google::protobuf::RepeatedPtrField<onnx::NodeProto> kept;
  for (auto &node : graph.nodes) {
    if (dropped.count(node.get()))
      continue;
    if (!node->callee)
      for (auto &body : node->bodies)
        rewrite(*body);
    onnx::NodeProto &copy = *kept.Add();
    copy = *node->proto;
    for (auto [index, value] : llvm::enumerate(node->inputs))
      if (value)
        copy.set_input(int(index), nameOf(value));
    for (auto [index, value] : llvm::enumerate(node->outputs))
      if (value)
        copy.set_output(int(index), nameOf(value));
  }
  *graph.proto->mutable_node() = kept;
  google::protobuf::RepeatedPtrField<onnx::ValueInfoProto> values;
  for (const onnx::ValueInfoProto &info : graph.proto->value_info())
    if (const Value *value = graph.values.lookup(info.name());
        value && nameOf(value) == info.name())
      *values.Add() = info;
  *graph.proto->mutable_value_info() = values;
}

void CastDropper::run() {
  model.forEachGraph([&](Graph &graph) {
    if (graph.frame->isMain())
      choose(graph);
  });
  rewrite(model.main);
}

void convert::dropCasts(Model &model) { CastDropper(model).run(); }
