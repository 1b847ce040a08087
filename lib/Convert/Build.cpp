//===- Build.cpp - From protobuf to values with types
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Graph.h"

#include "lib/Import/Onnx/TopologicalOrder.h"

#include "llvm/ADT/STLExtras.h"

using namespace mpopt;
using namespace mpopt::convert;
using llvm::StringRef;
using onnx::AttributeProto;
using onnx::TensorProto;

using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

Value *Model::define(Graph &graph, StringRef name, Kind kind) {
  Value &value = graph.storage.emplace_back();
  value.name = name.str();
  value.graph = &graph;
  value.kind = kind;
  graph.values[name] = &value;
  return &value;
}

void Model::use(Value *value, Use use) {
  if (value)
    value->uses.push_back(use);
}

void Model::takeNames(Graph &frame, const onnx::NodeProto &node) {
  frame.names.insert(node.name());
  for (const std::string &name : node.input())
    frame.names.insert(name);
  for (const std::string &name : node.output())
    frame.names.insert(name);
  for (const AttributeProto &attribute : node.attribute()) {
    if (attribute.has_g())
      takeNames(frame, attribute.g());
    for (const onnx::GraphProto &graph : attribute.graphs())
      takeNames(frame, graph);
  }
}

void Model::takeNames(Graph &frame, const onnx::GraphProto &graph) {
  for (const onnx::ValueInfoProto &value : graph.input())
    frame.names.insert(value.name());
  for (const TensorProto &tensor : graph.initializer())
    frame.names.insert(tensor.name());
  for (const onnx::NodeProto &node : graph.node())
    takeNames(frame, node);
}

/// A constant in the file: in which type it is stored follows from its readers.
void Model::addConstants(Graph &graph) {
  if (!graph.proto)
    return;
  llvm::StringSet<> inputs;
  // Before IR version 4 every constant is among the inputs.
  if (graph.isMain() && proto.ir_version() >= 4)
    for (const onnx::ValueInfoProto &input : graph.proto->input())
      inputs.insert(input.name());
  for (const TensorProto &tensor : graph.proto->initializer()) {
    if (inputs.contains(tensor.name())) {
      graph.values[tensor.name()]->isDefault = true;
      continue;
    }
    Value *value = define(graph, tensor.name(), {tensor.data_type(), 0});
    (value->kind.isFloat() ? value->constant : value->stored) = &tensor;
  }
  for (const onnx::SparseTensorProto &sparse :
       graph.proto->sparse_initializer()) {
    Value *value =
        define(graph, sparse.values().name(), {sparse.values().data_type(), 0});
    if (value->kind.isFloat())
      widen(value->def = makeGroup(), "a sparse constant", /*force=*/true);
  }
}

void Model::buildGraph(Graph &graph,
                       llvm::ArrayRef<std::pair<Kind, Group *>> given) {
  llvm::StringSet<> constants;
  if (graph.isMain() && proto.ir_version() < 4)
    for (const TensorProto &tensor : graph.proto->initializer())
      constants.insert(tensor.name());
  for (auto [index, input] : llvm::enumerate(graph.proto->input())) {
    if (constants.contains(input.name()))
      continue;
    Kind kind = readKind(input.type());
    Group *group = nullptr;
    if (index < given.size()) {
      kind = kind.dtype ? kind : given[index].first;
      group = given[index].second;
    }
    Value *value = define(graph, input.name(), kind);
    value->isInput = graph.isMain();
    if (kind.isFloat())
      value->def = group ? group : makeGroup(/*isBorder=*/true);
    graph.inputs.push_back(value);
  }
  addConstants(graph);
  addNodes(graph, *graph.proto->mutable_node());
  for (const onnx::ValueInfoProto &output : graph.proto->output())
    graph.outputs.push_back(graph.find(output.name()));
  graph.outputGroups.assign(graph.outputs.size(), nullptr);
}

void Model::addNodes(Graph &graph, Nodes &nodes) {
  for (unsigned index : onnx_import::sortNodes(nodes).order)
    addNode(graph, nodes[int(index)], index);
}

/// Numbers that a node `Constant` has in another form than a tensor.
static bool makeTensor(const AttributeProto &attribute, TensorProto &tensor) {
  if (attribute.name() == "value_float")
    tensor.add_float_data(attribute.f());
  else if (attribute.name() == "value_floats") {
    tensor.add_dims(attribute.floats_size());
    *tensor.mutable_float_data() = attribute.floats();
  } else
    return false;
  tensor.set_data_type(TensorProto::FLOAT);
  return true;
}

bool Model::isConstantNode(Node &node) {
  if (!node.isStandard("Constant") || node.proto->attribute_size() != 1 ||
      node.outputs.empty() || !node.outputs[0])
    return false;
  const AttributeProto &attribute = node.proto->attribute(0);
  if (!attribute.ref_attr_name().empty())
    return false;
  if (attribute.name() == "value") {
    bool isFloat = attribute.t().data_type() == TensorProto::FLOAT;
    Value *value = node.outputs[0];
    (isFloat ? value->constant : value->stored) = &attribute.t();
    return isFloat;
  }
  TensorProto &tensor = made.emplace_back();
  if (!makeTensor(attribute, tensor))
    return false;
  node.outputs[0]->constant = &tensor;
  return true;
}

void Model::addNode(Graph &graph, onnx::NodeProto &proto, unsigned index) {
  Node &node = *graph.nodes.emplace_back(std::make_unique<Node>());
  node.proto = &proto;
  node.graph = &graph;
  node.index = index;
  node.label = proto.name().empty()
                   ? proto.op_type() + "_" + std::to_string(index)
                   : proto.name();
  for (const std::string &input : proto.input())
    node.inputs.push_back(input.empty() ? nullptr : graph.find(input));
  node.callee = functions.find(proto);
  if (!node.callee)
    node.signature = signatures.find(proto, graph.frame->opsets);
  bool hasBodies =
      llvm::any_of(proto.attribute(), [](const AttributeProto &attribute) {
        return attribute.has_g() || attribute.graphs_size() > 0;
      });
  node.reads.assign(node.inputs.size(), nullptr);
  if (node.callee)
    buildCall(node);
  else if (hasBodies)
    buildBodies(node);
  else
    addOutputs(node);
  for (auto [at, value] : llvm::enumerate(node.inputs))
    use(value, {&node, nullptr, unsigned(at), node.reads[at]});
}

/// Declared types of values that ONNX's definitions leave open.
static Kind findDeclared(const Graph &graph, StringRef name) {
  if (!graph.proto)
    return {};
  for (const auto *list : {&graph.proto->value_info(), &graph.proto->output()})
    for (const onnx::ValueInfoProto &value : *list)
      if (value.name() == name)
        return readKind(value.type());
  return {};
}

void Model::addOutputs(Node &node) {
  llvm::SmallVector<Kind> kinds = inferKinds(node);
  for (auto [name, kind] : llvm::zip(node.proto->output(), kinds)) {
    if (name.empty()) {
      node.outputs.push_back(nullptr);
      continue;
    }
    if (!kind.dtype)
      kind = findDeclared(*node.graph, name);
    Value *value = define(*node.graph, name, kind);
    value->maker = &node;
    node.outputs.push_back(value);
  }
  if (isConstantNode(node)) {
    node.gives.assign(1, nullptr);
    return;
  }
  GroupMaker(*this, node).run();
  for (auto [value, group] : llvm::zip(node.outputs, node.gives))
    if (value && value->kind.isFloat())
      value->def = group;
}

//===----------------------------------------------------------------------===//
// Bodies and calls
//===----------------------------------------------------------------------===//

static BodyShape getShape(const Node &node, const onnx::GraphProto &body) {
  if (node.isStandard("Loop"))
    return {2, 2, 1, unsigned(std::max(node.proto->input_size() - 2, 0))};
  if (!node.isStandard("Scan"))
    return {};
  // Opset 8 had the lengths of sequences in front.
  unsigned first = node.graph->frame->opsets.version("") < 9 ? 1 : 0;
  int64_t scanned = getInt(node, "num_scan_inputs", 0);
  int64_t states = std::max<int64_t>(0, body.input_size() - scanned);
  return {first, 0, 0, unsigned(states)};
}

// Said of ops with bodies that are none of ONNX's three.
static constexpr llvm::StringLiteral kNotKnown =
    "the types that the op takes are not known";
static constexpr llvm::StringLiteral kNoBorder =
    "bodies neither take nor give the low type at this opset";

static bool isLoop(const Node &node) {
  return node.isStandard("Loop") || node.isStandard("Scan");
}

/// Before opset 16 no value of BF16 crosses the border of a body.
static bool passes(const Node &node, uint8_t low) {
  const Slot *slot = node.signature ? node.signature->output(0) : nullptr;
  return !slot || (slot->accepts & low);
}

/// The types and groups of a body's inputs, which are those of the node's
/// operands.
Model::Border Model::bindOperands(Node &node, const BodyShape &shape,
                                  unsigned inputs) {
  Border given(shape.inputs);
  if (node.isStandard("Loop")) {
    given[0].first.dtype = TensorProto::INT64;
    given[1].first.dtype = TensorProto::BOOL;
  }
  if (node.isStandard("If"))
    return given;
  for (unsigned at = shape.operands; at < node.inputs.size(); ++at) {
    Kind kind = node.inputs[at] ? node.inputs[at]->kind : Kind();
    Group *group = kind.isFloat() ? makeGroup(/*isBorder=*/true) : nullptr;
    node.reads[at] = group;
    if (!passes(node, low))
      widen(group, kNoBorder, /*force=*/true);
    if (kind.depth > 0 && node.inputs[at]->def)
      unite(node.inputs[at]->def, group);
    if (isLoop(node))
      given.emplace_back(kind, group);
    else
      widen(group, kNotKnown, /*force=*/true);
  }
  while (!isLoop(node) && given.size() < inputs)
    widen(given.emplace_back(Kind(), makeGroup()).second, kNotKnown,
          /*force=*/true);
  return given;
}

/// The groups of the node's results, which are those of the body's outputs;
/// states have those of operands.
void Model::bindResults(Node &node, Graph &body, const BodyShape &shape,
                        llvm::MutableArrayRef<Kind> kinds) {
  for (unsigned at = 0; at < node.gives.size(); ++at) {
    unsigned from = at + shape.outputs;
    if (from >= body.outputs.size() || !body.outputs[from])
      continue;
    Value *value = body.outputs[from];
    if (!kinds[at].dtype)
      kinds[at] = value->kind;
    if (!kinds[at].isFloat())
      continue;
    Group *&group = node.gives[at];
    if (at < shape.states && shape.operands + at < node.reads.size())
      group = node.reads[shape.operands + at];
    if (!group)
      group = makeGroup(/*isBorder=*/true);
    if (!isLoop(node) && !node.isStandard("If"))
      widen(group, kNotKnown, /*force=*/true);
    if (!passes(node, low))
      widen(group, kNoBorder, /*force=*/true);
    body.outputGroups[from] = group;
    if (value->kind.depth > 0)
      unite(value->def, group);
  }
  for (auto [at, value] : llvm::enumerate(body.outputs))
    use(value, {nullptr, &body, unsigned(at), body.outputGroups[at]});
}

void Model::buildBodies(Node &node) {
  llvm::SmallVector<Kind> kinds(node.proto->output_size());
  node.gives.assign(node.proto->output_size(), nullptr);
  for (AttributeProto &attribute : *node.proto->mutable_attribute()) {
    if (!attribute.has_g())
      continue;
    onnx::GraphProto &proto = *attribute.mutable_g();
    BodyShape shape = getShape(node, proto);
    Graph &body = *node.bodies.emplace_back(std::make_unique<Graph>());
    body.proto = &proto;
    body.outer = node.graph;
    body.frame = node.graph->frame;
    body.owner = &node;
    body.path = node.graph->path + (node.graph->path.empty() ? "" : "/") +
                node.label + "/" + attribute.name();
    buildGraph(body, bindOperands(node, shape, unsigned(proto.input_size())));
    bindResults(node, body, shape, kinds);
  }
  for (auto [name, kind, group] :
       llvm::zip(node.proto->output(), kinds, node.gives)) {
    Value *value = name.empty() ? nullptr : define(*node.graph, name, kind);
    node.outputs.push_back(value);
    if (!value)
      continue;
    value->maker = &node;
    if (kind.isFloat())
      value->def = group ? group : makeGroup(/*isBorder=*/true);
  }
}

void Model::buildCall(Node &node) {
  Graph &body = *node.bodies.emplace_back(std::make_unique<Graph>());
  body.function = std::make_unique<onnx::FunctionProto>(*node.callee);
  body.frame = &body;
  body.owner = &node;
  body.path =
      node.graph->path + (node.graph->path.empty() ? "" : "/") + node.label;
  body.opsets = onnx_import::OpsetMap::read(node.callee->opset_import(),
                                            proto.ir_version(), "", nullptr);
  for (const AttributeProto &attribute : node.callee->attribute_proto())
    body.attributes[attribute.name()] = &attribute;
  for (const AttributeProto &attribute : node.proto->attribute())
    if (const AttributeProto *found = findAttribute(node, attribute.name()))
      body.attributes[attribute.name()] = found;
  for (const onnx::NodeProto &inner : node.callee->node())
    takeNames(body, inner);
  for (auto [index, name] : llvm::enumerate(node.callee->input())) {
    body.names.insert(name);
    Value *outer = index < node.inputs.size() ? node.inputs[index] : nullptr;
    if (!outer)
      continue;
    Value *value = define(body, name, outer->kind);
    if (outer->kind.isFloat()) {
      // A constant is stored in the type in which it is passed.
      value->def = outer->def ? outer->def : makeGroup(/*isBorder=*/true);
      node.reads[index] = value->def;
    }
    body.inputs.push_back(value);
  }
  addNodes(body, *body.function->mutable_node());
  for (auto [index, name] : llvm::enumerate(body.function->output())) {
    Value *inner = body.find(name);
    body.outputs.push_back(inner);
    body.outputGroups.push_back(nullptr);
    use(inner, {nullptr, &body, unsigned(index), nullptr});
  }
  for (auto [index, name] : llvm::enumerate(node.proto->output())) {
    Value *inner = index < body.outputs.size() ? body.outputs[index] : nullptr;
    Value *value = name.empty() || !inner
                       ? nullptr
                       : define(*node.graph, name, inner->kind);
    node.outputs.push_back(value);
    node.gives.push_back(value ? inner->def : nullptr);
    if (!value)
      continue;
    value->maker = &node;
    value->def = inner->def;
    // A function that returns a constant.
    if (inner->constant) {
      Group *group = value->def = node.gives.back() = makeGroup(true);
      body.outputGroups[index] = group;
      inner->uses.back().group = group;
    }
  }
}

void Model::build() {
  main.proto = proto.mutable_graph();
  main.frame = &main;
  main.opsets = onnx_import::OpsetMap::read(proto.opset_import(),
                                            proto.ir_version(), "", nullptr);
  takeNames(main, *main.proto);
  buildGraph(main, {});
  for (auto [index, value] : llvm::enumerate(main.outputs)) {
    if (value && value->kind.isFloat())
      main.outputGroups[index] =
          value->def && (value->isInput || value->kind.depth > 0)
              ? value->def
              : makeGroup(/*isBorder=*/true);
    use(value, {nullptr, &main, unsigned(index), main.outputGroups[index]});
  }
}

static void visitNodes(Graph &graph, llvm::function_ref<void(Node &)> visit) {
  for (auto &node : graph.nodes) {
    visit(*node);
    for (auto &body : node->bodies)
      visitNodes(*body, visit);
  }
}

void Model::forEachNode(llvm::function_ref<void(Node &)> visit) {
  visitNodes(main, visit);
}

static void visitGraphs(Graph &graph, llvm::function_ref<void(Graph &)> visit) {
  visit(graph);
  for (auto &node : graph.nodes)
    for (auto &body : node->bodies)
      visitGraphs(*body, visit);
}

void Model::forEachGraph(llvm::function_ref<void(Graph &)> visit) {
  visitGraphs(main, visit);
}
