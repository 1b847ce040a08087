//===- HalfModels.cpp - Models of FP16 on their way to BF16
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// FP32 has the numbers of FP16, so that a model of FP16 is made FP32 first and
// each number is rounded once. What the file keeps in FP32 stays there.
//
//===----------------------------------------------------------------------===//

#include "HalfModels.h"

#include "llvm/ADT/STLExtras.h"

using namespace mpopt;
using namespace mpopt::convert;
using llvm::StringRef;
using onnx::TensorProto;

static bool isHalf(const Value *value) {
  return value && value->kind.dtype == TensorProto::FLOAT16;
}

std::optional<std::vector<WideNode>> convert::listWide(Model &model) {
  bool holdsHalf = llvm::any_of(model.main.inputs, isHalf);
  model.forEachNode(
      [&](Node &node) { holdsHalf |= llvm::any_of(node.outputs, isHalf); });
  if (!holdsHalf)
    return std::nullopt;
  std::vector<WideNode> wide;
  model.forEachNode([&](Node &node) {
    // Plans know it by its index, which is another one when casts are gone.
    if (node.proto->name().empty())
      node.proto->set_name(node.label);
    if (node.outputs.empty() || !node.outputs[0] ||
        !node.outputs[0]->kind.isFloat() || node.isStandard("Cast") ||
        node.isStandard("Constant") || !node.bodies.empty())
      return;
    wide.push_back(
        {{node.graph->path, node.label}, {}, "the file's own island in FP32"});
  });
  return wide;
}

namespace {
class BorderRestorer {
public:
  explicit BorderRestorer(Graph &graph) : graph(graph) {}

  /// Both are false if the value cannot be FP16.
  bool input(onnx::ValueInfoProto &info);
  bool output(onnx::ValueInfoProto &info);
  /// Puts the casts where they belong.
  void finish();

private:
  static bool setHalf(onnx::ValueInfoProto &info);
  static bool rename(NodeList &nodes, StringRef from, const std::string &to,
                     bool sparesCasts);

  Graph &graph;
  NodeList front, back;
};
} // namespace

bool BorderRestorer::setHalf(onnx::ValueInfoProto &info) {
  if (!info.type().has_tensor_type())
    return false;
  info.mutable_type()->mutable_tensor_type()->set_elem_type(
      TensorProto::FLOAT16);
  return true;
}

/// Lets nodes read another value, those of bodies too; true if any does.
bool BorderRestorer::rename(NodeList &nodes, StringRef from,
                            const std::string &to, bool sparesCasts) {
  bool found = false;
  for (onnx::NodeProto &node : nodes) {
    if (sparesCasts && node.op_type() == "Cast")
      continue;
    for (std::string &name : *node.mutable_input())
      if (name == from) {
        name = to;
        found = true;
      }
    for (onnx::AttributeProto &attribute : *node.mutable_attribute())
      if (attribute.has_g()) {
        found |= rename(*attribute.mutable_g()->mutable_node(), from, to,
                        sparesCasts);
        for (onnx::ValueInfoProto &info :
             *attribute.mutable_g()->mutable_output())
          if (info.name() == from) {
            info.set_name(to);
            found = true;
          }
      }
  }
  return found;
}

bool BorderRestorer::input(onnx::ValueInfoProto &info) {
  std::string wide = graph.makeName(info.name() + "_fp32");
  if (!setHalf(info))
    return false;
  if (rename(*graph.proto->mutable_node(), info.name(), wide,
             /*sparesCasts=*/true))
    emitCast(graph, info.name(), wide, TensorProto::FLOAT, front);
  return true;
}

bool BorderRestorer::output(onnx::ValueInfoProto &info) {
  for (onnx::NodeProto &node : *graph.proto->mutable_node())
    for (std::string &name : *node.mutable_output()) {
      if (name != info.name() || !setHalf(info))
        continue;
      std::string wide = graph.makeName(info.name() + "_fp32");
      bool isRead = rename(*graph.proto->mutable_node(), info.name(), wide,
                           /*sparesCasts=*/false);
      if (!isRead && node.op_type() == "Cast") {
        setDtype(node, "to", TensorProto::FLOAT16, graph.opsets.version(""));
        return true;
      }
      name = wide;
      emitCast(graph, wide, info.name(), TensorProto::FLOAT16, back);
      return true;
    }
  return false;
}

void BorderRestorer::finish() {
  NodeList &nodes = *graph.proto->mutable_node();
  for (NodeList *list : {&nodes, &back})
    for (onnx::NodeProto &node : *list)
      front.Add()->Swap(&node);
  nodes.Swap(&front);
}

void convert::restoreBorders(Model &model,
                             llvm::ArrayRef<ConvertedBorder> source,
                             Conversion &report) {
  BorderRestorer restorer(model.main);
  onnx::GraphProto &graph = *model.main.proto;
  for (ConvertedBorder &border : report.io) {
    auto hasName = [&](const auto &its) { return its.name == border.name; };
    auto before = llvm::find_if(source, hasName);
    if (before == source.end())
      continue;
    border.from = before->from;
    if (border.from != "float16" || border.to != "float")
      continue;
    auto isNamed = [&](const onnx::ValueInfoProto &info) {
      return info.name() == border.name;
    };
    auto &inputs = *graph.mutable_input(), &outputs = *graph.mutable_output();
    auto input = llvm::find_if(inputs, isNamed);
    bool isRestored = input != inputs.end()
                          ? restorer.input(*input)
                          : restorer.output(*llvm::find_if(outputs, isNamed));
    if (isRestored)
      border.to = border.from;
  }
  restorer.finish();
}
