//===- PlanPatch.cpp - A changed module, compared with its model
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ops of the copy are compared with those of the module. Ops that are new
// become nodes where an op that was there reads them; an op that reads another
// value is a node that does. Ops and values are those of the file by their
// names (mpopt/Dialect/Origin.h). What happens inside a node, between the
// several ops that it became, has no form in the file, and in a function other
// calls would have it, too.
//
//===----------------------------------------------------------------------===//

#include "ModulePatch.h"

#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Origin.h"
#include "mpopt/Dialect/Settings.h"
#include "mpopt/Dialect/TypeSupport.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mpopt;
using namespace mpopt::convert;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using mlir::Operation;

static Error refuse(const llvm::Twine &why) {
  return llvm::createStringError(why.str());
}

namespace {
class PatchPlanner {
public:
  PatchPlanner(Model &model, const ModuleCopy &copy)
      : model(model), copy(copy),
        isAsIs(&getPrecision(copy.before) == &Precision::asIs()) {}
  Expected<ModulePatch> run();

private:
  using Key = std::pair<Graph *, std::string>;

  void index();
  void indexNodes();
  Graph *findGraph(StringRef path) const;
  Graph *graphOf(Operation *op) const;
  Graph *graphOf(mlir::Block *block);
  mlir::Value peelOld(mlir::Value value) const;
  mlir::Value peelNew(mlir::Value value) const;
  mlir::Value getOld(mlir::Value value) const {
    return oldValues.lookup(value);
  }

  Value *findValue(mlir::Value old, const Graph &graph) const;
  Expected<Operand> nameValue(mlir::Value value, Graph &graph);
  Expected<Operand> nameResult(Operation *op);
  Expected<Node *> findNode(Operation *old) const;
  Error compare(Operation *op, Operation *old);
  Error compareAttributes(Operation *op, Operation *old);
  Error compareOperands(Operation *op, Operation *old);
  Error rewireNode(Operation *old, mlir::Value from, mlir::Value to);
  Error rewireOutput(Operation *old, mlir::Value from, mlir::Value to);
  void nameOutputs();
  void giveName(ModulePatch::Rewire &output);
  bool isRead(const Value &value) const;
  void removeUnread();
  void drop(Value *value, llvm::SmallVectorImpl<Value *> &work);

  Model &model;
  const ModuleCopy &copy;
  const bool isAsIs;
  bool hasLow = false; ///< 16-bit floats in the file
  ModulePatch patch;

  llvm::DenseMap<Operation *, Operation *> oldOps;
  llvm::DenseMap<mlir::Value, mlir::Value> oldValues;
  /// The graphs of the model that are no function, by path.
  llvm::StringMap<Graph *> graphs;
  llvm::DenseMap<mlir::Block *, Graph *> blocks;
  /// Null: several nodes have the label.
  std::map<Key, Node *> nodes;
  /// The ops that a node became, and the one that gives a name's value.
  std::map<Key, std::vector<Operation *>> parts;
  std::map<std::pair<std::string, std::string>, Operation *> makers;
  llvm::DenseMap<Operation *, Operand> made;
};
} // namespace

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

void PatchPlanner::indexNodes() {
  model.forEachGraph([&](Graph &graph) {
    if (graph.frame == &model.main)
      graphs[graph.path] = &graph;
    for (auto &node : graph.nodes) {
      auto [known, isNew] =
          nodes.try_emplace({&graph, node->label}, node.get());
      if (!isNew)
        known->second = nullptr;
    }
    for (const Value &value : graph.storage)
      hasLow |= value.kind.dtype == onnx::TensorProto::FLOAT16 ||
                value.kind.dtype == onnx::TensorProto::BFLOAT16;
  });
}

void PatchPlanner::index() {
  for (auto [from, to] : copy.mapping.getOperationMap())
    oldOps[to] = from;
  for (auto [from, to] : copy.mapping.getValueMap())
    oldValues[to] = from;
  indexNodes();
  copy.before->walk([&](Operation *op) {
    if (isInserted(op))
      return;
    if (Graph *graph = graphOf(op))
      parts[{graph, getNodeName(op).str()}].push_back(op);
    for (mlir::Value result : op->getResults())
      if (StringRef name = getValueName(result); !name.empty())
        makers[{getValueScope(op).str(), name.str()}] = op;
  });
}

/// Null for a function.
Graph *PatchPlanner::findGraph(StringRef path) const {
  return graphs.lookup(path);
}

Graph *PatchPlanner::graphOf(Operation *op) const {
  return findGraph(getScope(op));
}

/// The graph in which new ops of a block are: that of the ops that it had, of
/// which some may be of functions.
Graph *PatchPlanner::graphOf(mlir::Block *block) {
  auto [known, isNew] = blocks.try_emplace(block, nullptr);
  if (!isNew)
    return known->second;
  Operation *parent = block->getParentOp();
  if (mlir::isa_and_present<mlir::func::FuncOp>(parent))
    return blocks[block] = &model.main;
  Operation *before = oldOps.lookup(parent);
  unsigned region = block->getParent()->getRegionNumber();
  if (!before || !block->isEntryBlock())
    return nullptr;
  Graph *found = nullptr;
  for (Operation &op : before->getRegion(region).front().without_terminator()) {
    Graph *graph = getNodeName(&op).empty() ? nullptr : graphOf(&op);
    if (graph && (!found || graph->path.size() < found->path.size()))
      found = graph;
  }
  return blocks[block] = found;
}

mlir::Value PatchPlanner::peelOld(mlir::Value value) const {
  return peel(value, Peel::InsertedCasts);
}

/// Where a precision was applied, the casts of a fix are between types that the
/// file has not.
mlir::Value PatchPlanner::peelNew(mlir::Value value) const {
  while (auto cast = value.getDefiningOp<mp::CastOp>()) {
    bool isOfFix = !isAsIs && !oldOps.contains(cast);
    if (!isInserted(cast) && !isOfFix)
      break;
    value = cast.getInput();
  }
  return value;
}

/// Null if it is inside of a node.
Value *PatchPlanner::findValue(mlir::Value old, const Graph &graph) const {
  StringRef name = getValueName(old);
  if (name.empty())
    return nullptr;
  if (Operation *op = old.getDefiningOp()) {
    auto maker = makers.find({getValueScope(op).str(), name.str()});
    if (maker == makers.end() || maker->second != op)
      return nullptr;
  }
  return graph.find(name);
}

Expected<Node *> PatchPlanner::findNode(Operation *old) const {
  Graph *graph = graphOf(old);
  if (!graph)
    return refuse("it is in a function");
  auto node = nodes.find({graph, getNodeName(old).str()});
  if (node == nodes.end() || !node->second)
    return refuse("no one node has its name");
  return node->second;
}

Expected<Operand> PatchPlanner::nameValue(mlir::Value value, Graph &graph) {
  value = peelNew(value);
  Operation *op = value.getDefiningOp();
  if (op && !oldOps.contains(op)) {
    if (auto constant = mlir::dyn_cast<mp::ConstantOp>(op))
      return Operand(); // a number, of which the reader says the type
    return nameResult(op);
  }
  mlir::Value old = getOld(value);
  if (!old && op)
    old = oldOps.lookup(op)->getResult(
        mlir::cast<mlir::OpResult>(value).getResultNumber());
  Value *found = old ? findValue(old, graph) : nullptr;
  if (!found)
    return refuse("it reads what is inside of a node");
  return Operand{found->name, found->kind.dtype};
}

Expected<Operand> PatchPlanner::nameResult(Operation *op) {
  auto known = made.find(op);
  if (known != made.end())
    return known->second;
  Graph *graph = graphOf(op->getBlock());
  if (!graph)
    return refuse("it is in a function");
  llvm::SmallVector<Operand> operands;
  for (mlir::Value operand : op->getOperands()) {
    Expected<Operand> named = nameValue(operand, *graph);
    if (!named)
      return named.takeError();
    operands.push_back(std::move(*named));
  }
  AddedNodes &added = patch.added[graph];
  std::optional<Operand> result = NodeWriter(*graph, added).write(op, operands);
  if (!result)
    return refuse("ONNX has no '" +
                  op->getName().getStringRef().split('.').second +
                  "' at the model's opset");
  return made[op] = *result;
}

//===----------------------------------------------------------------------===//
// Differences
//===----------------------------------------------------------------------===//

Error PatchPlanner::compareAttributes(Operation *op, Operation *old) {
  for (mlir::NamedAttribute attribute : op->getAttrs()) {
    StringRef name = attribute.getName();
    if (old->getAttr(name) == attribute.getValue())
      continue;
    auto number = mlir::dyn_cast<mlir::FloatAttr>(attribute.getValue());
    Expected<Node *> node = findNode(old);
    if (!node)
      return node.takeError();
    if (name != "epsilon" || !number)
      return refuse("it changes '" + name + "'");
    patch.settings.push_back({*node, name.str(), number.getValueAsDouble()});
  }
  return Error::success();
}

Error PatchPlanner::rewireNode(Operation *old, mlir::Value from,
                               mlir::Value to) {
  Expected<Node *> node = findNode(old);
  if (!node)
    return node.takeError();
  Graph *graph = (*node)->graph;
  Value *read = findValue(from, *graph);
  if (!read || !llvm::is_contained((*node)->inputs, read))
    return refuse("it is inside of a node");
  // The node reads the value once, for all of its ops.
  for (Operation *part : parts[{graph, getNodeName(old).str()}]) {
    Operation *now = copy.mapping.lookupOrNull(part);
    for (auto [index, operand] : llvm::enumerate(part->getOperands()))
      if (peelOld(operand) == from &&
          (!now || !now->getBlock() ||
           peelNew(now->getOperand(unsigned(index))) != to))
        return refuse("a part of a node reads what it read before");
  }
  Expected<Operand> named = nameValue(to, *graph);
  if (!named)
    return named.takeError();
  if (named->name.empty())
    return refuse("a number would take the place of a value");
  bool isKnown = llvm::any_of(patch.rewires, [&](const auto &rewire) {
    return rewire.node == *node && rewire.from == read;
  });
  if (!isKnown)
    patch.rewires.push_back({*node, graph, read, named->name});
  return Error::success();
}

/// `old` is what ends the function or a body.
Error PatchPlanner::rewireOutput(Operation *old, mlir::Value from,
                                 mlir::Value to) {
  Operation *maker = from.getDefiningOp();
  Graph *graph = mlir::isa<mlir::func::ReturnOp>(old) ? &model.main
                 : maker                              ? graphOf(maker)
                                                      : nullptr;
  Value *given = graph ? findValue(from, *graph) : nullptr;
  if (!given || !llvm::is_contained(graph->outputs, given))
    return refuse("it gives what is inside of a node");
  Expected<Operand> named = nameValue(to, *graph);
  if (!named)
    return named.takeError();
  if (named->name.empty())
    return refuse("a number would be an output");
  patch.rewires.push_back({nullptr, graph, given, named->name});
  return Error::success();
}

Error PatchPlanner::compareOperands(Operation *op, Operation *old) {
  if (op->getNumOperands() != old->getNumOperands())
    return refuse("it has other operands");
  for (auto [now, before] : llvm::zip(op->getOperands(), old->getOperands())) {
    mlir::Value to = peelNew(now), from = peelOld(before);
    if (getOld(to) == from || copy.mapping.lookupOrNull(from) == to)
      continue;
    bool ends = op->hasTrait<mlir::OpTrait::IsTerminator>();
    if (Error error =
            ends ? rewireOutput(old, from, to) : rewireNode(old, from, to))
      return error;
  }
  return Error::success();
}

Error PatchPlanner::compare(Operation *op, Operation *old) {
  if (isInserted(op))
    return Error::success();
  if (auto constant = mlir::dyn_cast<mp::ConstantOp>(op)) {
    if (constant.getValueAttr() ==
        mlir::cast<mp::ConstantOp>(old).getValueAttr())
      return Error::success();
    Graph *graph = graphOf(old);
    Value *value = graph ? findValue(old->getResult(0), *graph) : nullptr;
    if (!value || !ConstantInFile(*value))
      return refuse("it is no constant of the file");
    patch.numbers.push_back({value, constant});
    return Error::success();
  }
  if (op->getResultTypes() != old->getResultTypes())
    return refuse("it gives another type");
  if (Error error = compareAttributes(op, old))
    return error;
  return compareOperands(op, old);
}

//===----------------------------------------------------------------------===//
// Outputs, and what goes
//===----------------------------------------------------------------------===//

/// An output of the model keeps its name, which the value gets that is the
/// output now.
void PatchPlanner::giveName(ModulePatch::Rewire &output) {
  std::string name = output.from->name, had = output.to;
  AddedNodes &added = patch.added[output.graph];
  bool isNew = llvm::any_of(added.nodes, [&](const onnx::NodeProto &node) {
    return node.output(0) == had;
  });
  if (output.from->maker && !patch.removed.contains(output.from->maker)) {
    std::string free = output.graph->makeName(name + "_before");
    patch.renames.push_back({output.from, free});
    for (onnx::NodeProto &node : added.nodes)
      for (std::string &input : *node.mutable_input())
        if (input == name)
          input = free;
  }
  if (!isNew) {
    onnx::NodeProto &node = *added.nodes.Add();
    node.set_op_type("Identity");
    node.set_name(output.graph->makeName(name + "_Identity"));
    node.add_input(had);
    node.add_output(name);
  } else {
    for (onnx::NodeProto &node : added.nodes) {
      for (std::string &input : *node.mutable_input())
        if (input == had)
          input = name;
      if (node.output(0) == had)
        node.set_output(0, name);
    }
    for (ModulePatch::Rewire &rewire : patch.rewires)
      if (rewire.node && rewire.to == had)
        rewire.to = name;
  }
  output.to = name;
}

bool PatchPlanner::isRead(const Value &value) const {
  for (const Use &use : value.uses) {
    if (use.node && patch.removed.contains(use.node))
      continue;
    bool isRewired =
        llvm::any_of(patch.rewires, [&](const ModulePatch::Rewire &rewire) {
          return rewire.from == &value && rewire.node == use.node &&
                 (use.node || rewire.graph == use.graph);
        });
    if (!isRewired)
      return true;
  }
  auto isNamed = [&](const std::string &name) { return name == value.name; };
  for (const ModulePatch::Rewire &rewire : patch.rewires)
    if (isNamed(rewire.to))
      return true;
  for (const auto &[graph, added] : patch.added)
    for (const onnx::NodeProto &node : added.nodes)
      if (llvm::any_of(node.input(), isNamed))
        return true;
  return false;
}

/// `value` lost a reader.
void PatchPlanner::drop(Value *value, llvm::SmallVectorImpl<Value *> &work) {
  if (value->isInput || value->isDefault || isRead(*value))
    return;
  Node *maker = value->maker;
  if (!maker) {
    if (value->graph->proto)
      patch.removedTensors.insert(value);
    return;
  }
  bool isUsed = llvm::any_of(
      maker->outputs, [&](Value *output) { return output && isRead(*output); });
  // Bodies read values of the graph around, too.
  bool hasBodies = !maker->bodies.empty() && !maker->callee;
  if (isUsed || hasBodies || !patch.removed.insert(maker))
    return;
  for (Value *input : maker->inputs)
    if (input)
      work.push_back(input);
}

void PatchPlanner::removeUnread() {
  llvm::SmallVector<Value *> work;
  for (const ModulePatch::Rewire &rewire : patch.rewires)
    work.push_back(rewire.from);
  while (!work.empty())
    drop(work.pop_back_val(), work);
}

Expected<ModulePatch> PatchPlanner::run() {
  index();
  Error error = Error::success();
  copy.after->walk([&](Operation *op) {
    if (error)
      return;
    if (Operation *old = oldOps.lookup(op); old && op->getBlock())
      error = compare(op, old);
  });
  if (error)
    return std::move(error);
  bool isOfNumbers = patch.rewires.empty() && patch.settings.empty();
  if (!isAsIs && hasLow && !isOfNumbers)
    return refuse("the file has 16-bit floats of its own: judge it with "
                  "--precision as-is");
  removeUnread();
  for (ModulePatch::Rewire &rewire : patch.rewires)
    if (!rewire.node && rewire.graph->isMain())
      giveName(rewire);
  return std::move(patch);
}

Expected<ModulePatch> convert::planPatch(Model &model, const ModuleCopy &copy) {
  return PatchPlanner(model, copy).run();
}
