//===- Rewrite.cpp - Nodes in the types that were decided
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Rewrite.h"

#include "Rewriter.h"

#include "llvm/ADT/STLExtras.h"

using namespace mpopt;
using namespace mpopt::convert;
using llvm::StringRef;
using onnx::AttributeProto;
using onnx::TensorProto;

int32_t Rewriter::dtypeOf(Width width) const {
  return width == kWide            ? TensorProto::FLOAT
         : model.low == kTakesHalf ? TensorProto::FLOAT16
                                   : TensorProto::BFLOAT16;
}

/// The attribute as one of the node's own: what referred to the call's is cut
/// off.
static AttributeProto &getOwn(onnx::NodeProto &node, StringRef name) {
  for (AttributeProto &attribute : *node.mutable_attribute())
    if (attribute.name() == name) {
      attribute.clear_ref_attr_name();
      return attribute;
    }
  AttributeProto &attribute = *node.add_attribute();
  attribute.set_name(name.str());
  return attribute;
}

void convert::setDtype(onnx::NodeProto &node, StringRef name, int32_t dtype,
                       int64_t opset) {
  AttributeProto &attribute = getOwn(node, name);
  // Opsets before 6 had the type as a word.
  if (opset < 6) {
    attribute.clear_i();
    attribute.set_type(AttributeProto::STRING);
    attribute.set_s(TensorProto::DataType_Name(TensorProto::DataType(dtype)));
    return;
  }
  attribute.set_type(AttributeProto::INT);
  attribute.set_i(dtype);
}

void convert::emitCast(Graph &graph, StringRef from, StringRef to,
                       int32_t dtype, NodeList &out) {
  onnx::NodeProto &cast = *out.Add();
  cast.set_op_type("Cast");
  cast.set_name(graph.makeName((to + "_cast").str()));
  cast.add_input(from.str());
  cast.add_output(to.str());
  setDtype(cast, "to", dtype, graph.frame->opsets.version(""));
}

void Rewriter::emitTwins(Value &value, Nodes &out) {
  if (value.constant || !isTyped(value))
    return;
  Width own = widthOf(value), other = own == kWide ? kLow : kWide;
  if (!value.isNeeded[other])
    return;
  emitCast(*value.graph, value.names[own], value.names[other], dtypeOf(other),
           out);
  // The reason is that of the reader, or of the op that gives it.
  const Group *wide = own == kWide ? value.def : nullptr;
  for (const Use &use : value.uses)
    if (!wide && use.group && widthOf(use.group) == kWide)
      wide = use.group;
  std::string why =
      wide ? Model::find(const_cast<Group *>(wide))->why : std::string();
  report.casts.push_back({value.graph->path, value.name, typeOf(other),
                          why.empty() ? "its type is not known" : why});
}

void Rewriter::emitConstant(Node &node, Nodes &out) {
  Value &value = *node.outputs[0];
  bool isFirst = true;
  for (Width width : {kWide, kLow}) {
    if (!value.isNeeded[width])
      continue;
    onnx::NodeProto &copy = *out.Add();
    copy = *node.proto;
    if (!isFirst && !copy.name().empty())
      copy.set_name(node.graph->makeName(copy.name()));
    isFirst = false;
    copy.set_output(0, value.names[width]);
    if (width == kWide)
      continue;
    copy.clear_attribute();
    AttributeProto &attribute = getOwn(copy, "value");
    attribute.set_type(AttributeProto::TENSOR);
    storeConstant(value, "", width, *attribute.mutable_t());
  }
}

/// Attributes that say of which type a result is.
void Rewriter::retype(Node &node, onnx::NodeProto &out) {
  if (node.gives.empty() || !node.gives[0] ||
      !onnx_import::normalizeDomain(out.domain()).empty())
    return;
  Width width = widthOf(node.gives[0]);
  StringRef op = out.op_type();
  if (op == "Cast")
    return setDtype(out, "to", dtypeOf(width),
                    node.graph->frame->opsets.version(""));
  if (op == "SequenceEmpty")
    return setDtype(out, "dtype", dtypeOf(width), INT64_MAX);
  if (op == "Optional" && node.inputs.empty())
    return setType(*getOwn(out, "type").mutable_tp(), width);
  // Without the attribute the type is that of the operand, which may change.
  if (op == "EyeLike" || op == "RandomNormalLike" ||
      op == "RandomUniformLike" || op == "Bernoulli")
    return setDtype(out, "dtype", dtypeOf(width), INT64_MAX);
  if (op != "ConstantOfShape" || width == kWide)
    return;
  TensorProto value;
  if (const AttributeProto *given = findAttribute(node, "value"))
    value = given->t();
  else {
    value.set_data_type(TensorProto::FLOAT);
    value.add_dims(1);
    value.add_float_data(0);
  }
  AttributeProto &attribute = getOwn(out, "value");
  attribute.set_type(AttributeProto::TENSOR);
  store(value, "", width, *attribute.mutable_t());
}

/// Calls that need the same types call the same function.
void Rewriter::emitCall(Node &node, onnx::NodeProto &out) {
  Graph &body = *node.bodies.front();
  emitGraph(body);
  onnx::FunctionProto &function = *body.function;
  std::string content = function.SerializeAsString();
  auto &known = forms[node.callee];
  auto it = llvm::find_if(
      known, [&](const auto &form) { return form.first == content; });
  if (it == known.end()) {
    std::string name = function.name();
    if (!known.empty())
      name += "_" + std::to_string(known.size());
    known.emplace_back(std::move(content), name);
    it = std::prev(known.end());
  }
  out.set_op_type(it->second);
}

void Rewriter::emitNode(Node &node, Nodes &out) {
  // A copy: bodies are read where they were while they are written.
  onnx::NodeProto &emitted = *out.Add();
  emitted = *node.proto;
  for (auto [index, value] : llvm::enumerate(node.inputs))
    if (value)
      emitted.set_input(int(index), nameFor(*value, node.reads[index]));
  for (auto [index, value] : llvm::enumerate(node.outputs))
    if (value)
      emitted.set_output(int(index), nameFor(*value, nullptr));
  if (node.callee) {
    emitCall(node, emitted);
  } else if (node.bodies.empty()) {
    retype(node, emitted);
  } else {
    unsigned at = 0;
    for (AttributeProto &attribute : *emitted.mutable_attribute())
      if (attribute.has_g()) {
        Graph &body = *node.bodies[at++];
        body.proto = attribute.mutable_g();
        emitGraph(body);
      }
  }
  describe(node);
  describeOwnCast(node);
  for (Value *value : node.outputs)
    if (value)
      emitTwins(*value, out);
}

void Rewriter::emitOutputs(Graph &graph, Nodes &out) {
  for (auto [index, value] : llvm::enumerate(graph.outputs)) {
    if (!value)
      continue;
    Group *group = graph.outputGroups[index];
    std::string name = nameFor(*value, group);
    if (name.empty() || (group && value->graph != &graph && !value->constant &&
                         widthOf(group) != widthOf(*value))) {
      // The value belongs to a graph around the body.
      name = graph.makeName(value->name + "_inner");
      emitCast(graph, nameFor(*value, nullptr), name, dtypeOf(widthOf(group)),
               out);
      report.casts.push_back({graph.path, value->name, typeOf(widthOf(group)),
                              "results of a branch have one type"});
    }
    if (graph.function) {
      graph.function->set_output(int(index), name);
      continue;
    }
    onnx::ValueInfoProto &output = *graph.proto->mutable_output(int(index));
    output.set_name(name);
    if (group && output.has_type())
      setType(*output.mutable_type(), widthOf(group));
  }
}

void Rewriter::emitGraph(Graph &graph) {
  Nodes out;
  for (Value &value : graph.storage)
    if (!value.maker)
      emitTwins(value, out);
  for (auto &node : graph.nodes) {
    if (!node->isLive)
      continue;
    if (!node->outputs.empty() && node->outputs[0] &&
        node->outputs[0]->constant)
      emitConstant(*node, out);
    else
      emitNode(*node, out);
  }
  emitOutputs(graph, out);
  // ONNX Runtime takes no two nodes of one name.
  llvm::StringSet<> taken;
  for (onnx::NodeProto &node : out)
    if (!node.name().empty() && !taken.insert(node.name()).second)
      node.set_name(graph.makeName(node.name()));
  Nodes &nodes = graph.function ? *graph.function->mutable_node()
                                : *graph.proto->mutable_node();
  nodes.Clear();
  for (onnx::NodeProto &node : out)
    nodes.Add()->Swap(&node);
  emitDeclarations(graph);
}

void Rewriter::describe(Node &node) {
  if (node.isStandard("Cast") || node.isStandard("CastLike") ||
      !node.bodies.empty())
    return;
  KeptNode kept{node.graph->path, node.label, node.proto->op_type(), {}, ""};
  bool isAll = true;
  auto note = [&](Group *group) {
    if (!group)
      return false;
    bool wide = widthOf(group) == kWide;
    if (wide && kept.why.empty())
      kept.why = Model::find(group)->why;
    isAll &= wide;
    return wide;
  };
  for (Group *group : node.gives)
    note(group);
  for (auto [index, group] : llvm::enumerate(node.reads))
    if (note(group))
      kept.operands.push_back(index);
  if (kept.why.empty())
    return;
  if (isAll)
    kept.operands.clear();
  report.kept.push_back(std::move(kept));
}

/// A cast of the file's own that changed nothing may do so now.
void Rewriter::describeOwnCast(Node &node) {
  if (!node.isStandard("Cast") || node.inputs.empty() || !node.inputs[0] ||
      node.gives.empty() || !node.gives[0] || !node.inputs[0]->kind.isFloat())
    return;
  const Value &from = *node.inputs[0];
  Width to = widthOf(node.gives[0]);
  Width had = from.constant ? kWide : widthOf(from);
  if (had != to)
    report.casts.push_back({node.graph->path, from.name, typeOf(to),
                            "the file's own cast, whose types have changed"});
}

/// True if a number keeps from 0 what it is added to, or is a lower limit.
static bool isGuard(const Value &value) {
  return llvm::all_of(value.uses, [](const Use &use) {
    return Model::isWide(use.group) ||
           (use.node &&
            (use.node->isStandard("Add") || use.node->isStandard("Max") ||
             (use.node->isStandard("Clip") && use.index == 1)));
  });
}

void Rewriter::run() {
  model.forEachGraph([&](Graph &graph) {
    if (graph.owner && !graph.owner->isLive)
      return;
    for (Value &value : graph.storage)
      if (value.isLive || !value.maker)
        findNeeds(value);
  });
  model.forEachGraph([&](Graph &graph) {
    for (Value &value : graph.storage) {
      nameValue(value);
      // Before nodes move to the new graph.
      value.isGuard = value.constant && isGuard(value);
    }
  });
  emitGraph(model.main);
  model.proto.clear_functions();
  for (auto &[function, list] : forms)
    for (auto &[content, name] : list) {
      onnx::FunctionProto &made = *model.proto.add_functions();
      made.ParseFromString(content);
      made.set_name(name);
    }
}

void Rewriter::describeAll() {
  model.forEachNode([&](Node &node) {
    if (node.isLive)
      describe(node);
  });
}

void convert::listKept(Model &model, Conversion &report) {
  Rewriter(model, report).describeAll();
}

void convert::rewrite(Model &model, Conversion &report) {
  Rewriter(model, report).run();
}
