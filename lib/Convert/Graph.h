//===- Graph.h - A model as the values that change their type ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nodes, values and bodies of an ONNX model, with the element type of every
// value. Each call of one of the model's functions is a graph of its own, since
// another call may need other types.
//
// A Group is what becomes low as a whole: what one type variable of a node
// stands for, a state that a loop carries, a value of the interface. A value
// has the type of the group that defines it; a reader whose group has another
// type gets a cast.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CONVERT_GRAPH_H
#define MPOPT_LIB_CONVERT_GRAPH_H

#include "Signature.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <deque>
#include <functional>
#include <memory>
#include <string>

namespace mpopt::convert {

struct Graph;
struct Node;

/// The type of a value: a tensor, or a sequence or optional of tensors.
struct Kind {
  int32_t dtype = 0; ///< 0: not known
  uint8_t depth = 0; ///< sequences and optionals around the tensor

  bool isFloat() const { return dtype == onnx::TensorProto::FLOAT; }
};

struct Group {
  Group *parent = nullptr;
  /// FP32 for the reason `why`.
  bool isWide = false;
  /// FP32 since there is no low form: no request changes that.
  bool isForced = false;
  /// Low by request, whatever reads it.
  bool staysLow = false;
  /// It crosses the border of a body or of the model: nothing is computed.
  bool isBorder = false;
  std::string why;
};

struct Use {
  Node *node = nullptr; ///< null: it is an output of `graph`
  Graph *graph = nullptr;
  unsigned index = 0;
  /// In which it is read; null: in any type.
  Group *group = nullptr;
};

struct Value {
  std::string name;
  Graph *graph = nullptr;
  Node *maker = nullptr;
  Kind kind;
  /// Null for what is no FP32 in the source, and for constants.
  Group *def = nullptr;
  /// The FP32 constant, which is stored in each type in which it is read.
  const onnx::TensorProto *constant = nullptr;
  /// The elements of another constant.
  const onnx::TensorProto *stored = nullptr;
  bool isInput = false;   ///< of the model
  bool isDefault = false; ///< an input that has a value in the file
  bool isLive = false;
  /// A constant that keeps from 0 what it is added to, or a lower limit.
  bool isGuard = false;
  std::vector<Use> uses;

  /// The name in FP32 and in the low type; empty: not needed.
  std::string names[2];
  bool isNeeded[2] = {false, false};
};

struct Node {
  onnx::NodeProto *proto = nullptr;
  Graph *graph = nullptr;
  unsigned index = 0; ///< in the file
  std::string label;  ///< name, or TYPE_INDEX
  llvm::SmallVector<Value *, 4> inputs, outputs;
  /// The group of each operand and result that is FP32 in the source.
  llvm::SmallVector<Group *, 4> reads, gives;
  std::vector<std::unique_ptr<Graph>> bodies; ///< or the called function
  const onnx::FunctionProto *callee = nullptr;
  const Signature *signature = nullptr;
  bool isLive = false;

  bool isStandard(llvm::StringRef type) const {
    return proto->op_type() == type &&
           onnx_import::normalizeDomain(proto->domain()).empty();
  }
};

struct Graph {
  onnx::GraphProto *proto = nullptr;
  /// The copy of a called function, which its call owns.
  std::unique_ptr<onnx::FunctionProto> function;
  Graph *outer = nullptr; ///< whose values it sees
  Graph *frame = nullptr; ///< the function or main graph that holds it
  Node *owner = nullptr;
  std::string path;

  // Fields of a frame only.
  onnx_import::OpsetMap opsets;
  llvm::StringMap<const onnx::AttributeProto *> attributes;
  llvm::StringSet<> names; ///< taken, in the frame

  llvm::StringMap<Value *> values;
  std::deque<Value> storage;
  std::vector<std::unique_ptr<Node>> nodes; ///< sorted
  llvm::SmallVector<Value *, 4> inputs, outputs;
  llvm::SmallVector<Group *, 4> outputGroups;

  Value *find(llvm::StringRef name) const {
    for (const Graph *graph = this; graph; graph = graph->outer)
      if (auto it = graph->values.find(name); it != graph->values.end())
        return it->second;
    return nullptr;
  }
  bool isMain() const { return !outer && !owner; }
  /// A name that the frame does not have yet.
  std::string makeName(llvm::StringRef wanted);
};

/// Sets an attribute that names a type of element.
void setDtype(onnx::NodeProto &node, llvm::StringRef name, int32_t dtype,
              int64_t opset);

using NodeList = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

/// Appends a Cast of `graph`.
void emitCast(Graph &graph, llvm::StringRef from, llvm::StringRef to,
              int32_t dtype, NodeList &out);

/// The attribute of a node, that of the call where it refers to one; null if
/// there is none.
const onnx::AttributeProto *findAttribute(const Node &node,
                                          llvm::StringRef name);
int64_t getInt(const Node &node, llvm::StringRef name, int64_t otherwise);

/// The types of a node's results, whose operands and bodies are known.
llvm::SmallVector<Kind> inferKinds(const Node &node);
Kind readKind(const onnx::TypeProto &type);

/// Which operands of a node become inputs of its body, and which outputs of the
/// body its results.
struct BodyShape {
  unsigned operands = 0; ///< the first that an input of the body takes
  unsigned inputs = 0;   ///< inputs of the body before that
  unsigned outputs = 0;  ///< outputs of the body before the first result
  unsigned states = 0;   ///< results that are states from trip to trip
};

/// The whole model.
class Model {
public:
  /// `low`: the bit of the low type.
  Model(onnx::ModelProto &proto, uint8_t low,
        const onnx_import::FunctionTable &functions,
        llvm::ArrayRef<std::string> assumed)
      : proto(proto), low(low), functions(functions), assumed(assumed) {}

  void build();

  Group *makeGroup(bool isBorder = false);
  static Group *find(Group *group);
  static bool isWide(Group *group) { return group && find(group)->isWide; }
  void unite(Group *a, Group *b);
  /// Makes a group FP32; true if it was not. The first reason stays.
  static bool widen(Group *group, const llvm::Twine &why, bool force = false);

  void forEachNode(llvm::function_ref<void(Node &)> visit);
  void forEachGraph(llvm::function_ref<void(Graph &)> visit);

  onnx::ModelProto &proto;
  const uint8_t low;
  Graph main;

private:
  friend class GroupMaker;
  using Border = llvm::SmallVector<std::pair<Kind, Group *>>;

  void buildGraph(Graph &graph, llvm::ArrayRef<std::pair<Kind, Group *>> given);
  void addConstants(Graph &graph);
  void addNodes(Graph &graph,
                google::protobuf::RepeatedPtrField<onnx::NodeProto> &nodes);
  void addNode(Graph &graph, onnx::NodeProto &proto, unsigned index);
  void addOutputs(Node &node);
  void buildBodies(Node &node);
  Border bindOperands(Node &node, const BodyShape &shape, unsigned inputs);
  void bindResults(Node &node, Graph &body, const BodyShape &shape,
                   llvm::MutableArrayRef<Kind> kinds);
  void buildCall(Node &node);
  bool isConstantNode(Node &node);
  Value *define(Graph &graph, llvm::StringRef name, Kind kind);
  static void use(Value *value, Use use);
  void takeNames(Graph &frame, const onnx::GraphProto &graph);
  void takeNames(Graph &frame, const onnx::NodeProto &node);

  const onnx_import::FunctionTable &functions;
  llvm::ArrayRef<std::string> assumed;
  Signatures signatures;
  std::deque<Group> groups;
  std::deque<onnx::TensorProto> made; ///< of constants that were numbers
};

/// The groups of a node without bodies, and which of them have no low form.
class GroupMaker {
public:
  GroupMaker(Model &model, Node &node) : model(model), node(node) {}
  void run();

private:
  void bySignature(const Signature &signature);
  void allWide(const llvm::Twine &why);
  void allOne();
  void tieWrapped();
  Group *groupOf(const Slot &slot);

  Model &model;
  Node &node;
  llvm::StringMap<Group *> byVariable;
};

} // namespace mpopt::convert

#endif // MPOPT_LIB_CONVERT_GRAPH_H
