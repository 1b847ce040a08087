//===- If.cpp - prim::If
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A branch whose condition is known is imported in place; one that only raises
// is taken not to run. Otherwise both bodies are imported, each from the state
// before it, and whatever they give back or changed becomes results of mp.if.
//
//===----------------------------------------------------------------------===//

#include "ControlFlow.h"

#include "mpopt/Dialect/MPDialect.h"
#include "mpopt/Dialect/Ops/ControlFlowOps.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::aten;

/// One `prim::If` of which both branches may run.
class GraphImporter::IfOp {
public:
  /// Imports the branches.
  IfOp(GraphImporter &importer, const Node &node);
  /// Makes the op and binds the node's outputs.
  void make();

private:
  /// An output of the node: one item whichever branch runs, one whose leaves
  /// the op gives, or one of which nothing is known.
  enum class Form { Same, Joined, Unknown };
  /// An attribute that a branch set. Nothing is known of it if the branches
  /// leave items of different form there.
  struct SetAttribute {
    StringRef path;
    Item after;
    bool isJoined;
  };

  Value predicate();
  /// Each of these adds to what the branches yield.
  void addLeaves(const Item &first, const Item &second);
  void addOutputs();
  void addTensors();
  void addAttributes();
  bool isTouched(const Item &item) const;
  Operation *makeOp();
  /// `next`: the first result of the op that is not yet taken.
  void bindOutput(unsigned index, Operation *op, unsigned &next);

  GraphImporter &importer;
  State &state;
  const Node &node;
  Location location;
  Value condition;
  Body bodies[2];
  SmallVector<Value> leaves[2];            ///< what each body yields
  SmallVector<Form> forms;                 ///< of the outputs
  llvm::SetVector<TensorVariable *> roots; ///< tensors that a branch changed
  SmallVector<SetAttribute> attributes;
  SmallVector<NamedResult> named;
};

GraphImporter::IfOp::IfOp(GraphImporter &importer, const Node &node)
    : importer(importer), state(importer.state), node(node),
      location(importer.locationOf(node)), condition(predicate()),
      bodies{importer.importBody(node.blocks[0], {}, {}, location),
             importer.importBody(node.blocks[1], {}, {}, location)} {}

Value GraphImporter::IfOp::predicate() {
  if (Value known = importer.valueOf(importer.items[node.inputs[0]]))
    return known;
  return importer.valueOf(
      importer.unknownItem({StaticType::Kind::Bool, {}}, location));
}

void GraphImporter::IfOp::addLeaves(const Item &first, const Item &second) {
  const Item *both[2] = {&first, &second};
  for (int side : {0, 1}) {
    OpBuilder::InsertionGuard guard(importer.builder);
    importer.builder.setInsertionPointToEnd(&bodies[side].block());
    Leaves::collect(
        *both[side], [&](const Item &item) { return importer.valueOf(item); },
        leaves[side]);
  }
}

bool GraphImporter::IfOp::isTouched(const Item &item) const {
  if (!item.isTensor())
    return item.isCollection();
  TensorVariable *root = State::rootOf(item.variable);
  return llvm::any_of(bodies, [&](const Body &body) {
    return body.changes.tensors.contains(root);
  });
}

void GraphImporter::IfOp::addOutputs() {
  for (size_t index = 0; index < node.outputs.size(); ++index) {
    const Item &first = bodies[0].results[index];
    const Item &second = bodies[1].results[index];
    if (isSame(first, second) && !isTouched(first)) {
      forms.push_back(Form::Same);
    } else if (Leaves::match(first, second)) {
      forms.push_back(Form::Joined);
      addLeaves(bodies[0].frozen[index], bodies[1].frozen[index]);
    } else {
      forms.push_back(Form::Unknown);
    }
  }
}

void GraphImporter::IfOp::addTensors() {
  for (Body &body : bodies)
    for (auto &[root, value] : body.changes.tensors)
      roots.insert(root);
  for (TensorVariable *root : roots)
    for (int side : {0, 1}) {
      auto changed = bodies[side].changes.tensors.find(root);
      leaves[side].push_back(changed == bodies[side].changes.tensors.end()
                                 ? root->value
                                 : changed->second);
    }
}

void GraphImporter::IfOp::addAttributes() {
  llvm::SetVector<StringRef> paths;
  for (Body &body : bodies)
    for (auto &[path, item] : body.changes.attributes)
      paths.insert(path);
  for (StringRef path : paths) {
    Item after[2];
    for (int side : {0, 1}) {
      auto changed = bodies[side].changes.attributes.find(path);
      after[side] = changed == bodies[side].changes.attributes.end()
                        ? *state.findAttribute(path)
                        : changed->second;
    }
    bool isJoined = Leaves::match(after[0], after[1]);
    attributes.push_back({path, after[0], isJoined});
    if (isJoined)
      addLeaves(after[0], after[1]);
  }
}

Operation *GraphImporter::IfOp::makeOp() {
  OperationState made(location, mp::IfOp::getOperationName());
  made.addOperands(condition);
  made.addTypes(SmallVector<mlir::Type>(leaves[0].size(),
                                        getUnknownTensor(importer.context)));
  for (int side : {0, 1}) {
    OpBuilder::InsertionGuard guard(importer.builder);
    importer.builder.setInsertionPointToEnd(&bodies[side].block());
    mp::YieldOp::create(importer.builder, location, leaves[side]);
    made.addRegion(std::move(bodies[side].region));
  }
  Operation *op = importer.builder.create(made);
  importer.finish(op);
  return op;
}

void GraphImporter::IfOp::bindOutput(unsigned index, Operation *op,
                                     unsigned &next) {
  ValueId output = node.outputs[index];
  // Roots of either branch's result: the run decides which tensor it is.
  Roots shared;
  for (const Body &body : bodies)
    State::findRoots(body.results[index], shared, bodies[0].before);
  switch (forms[index]) {
  case Form::Same:
    return importer.set(node, index, bodies[0].results[index]);
  case Form::Unknown:
    return importer.set(node, index,
                        importer.unknownItem(importer.graph.values[output].type,
                                             location, shared));
  case Form::Joined:
    importer.set(node, index,
                 Leaves::rebuild(bodies[0].frozen[index], state,
                                 op->getResults(), next, shared));
    if (const Item &joined = importer.items[output]; joined.isTensor())
      named.push_back({joined.variable->value, output});
  }
}

void GraphImporter::IfOp::make() {
  addOutputs();
  addTensors();
  addAttributes();
  Operation *op = makeOp();
  unsigned next = 0;
  for (unsigned index = 0; index < forms.size(); ++index)
    bindOutput(index, op, next);
  importer.nameResults(node, named);
  for (TensorVariable *root : roots)
    state.write(root, op->getResult(next++));
  for (const SetAttribute &attribute : attributes)
    state.setAttribute(attribute.path,
                       attribute.isJoined
                           ? Leaves::rebuild(attribute.after, state,
                                             op->getResults(), next, {})
                           : Item());
  for (const Body &body : bodies)
    importer.forgetCollections(body);
}

/// True if a run of the block ends in an exception.
static bool raises(const GraphBlock &block) {
  return llvm::any_of(block.nodes, [](const Node &node) {
    return node.op == "prim::RaiseException";
  });
}

const GraphBlock *GraphImporter::onlyBranch(const Node &node) {
  const GraphBlock *then = &node.blocks[0], *otherwise = &node.blocks[1];
  const Item &condition = items[node.inputs[0]];
  if (condition.isStatic())
    return condition.number() != 0 ? then : otherwise;
  if (condition.dynamic)
    if (auto elements = facts.constants(condition.dynamic);
        elements && elements->size() == 1)
      return elements->front() != 0 ? then : otherwise;
  if (raises(*then) != raises(*otherwise))
    return raises(*then) ? otherwise : then;
  return nullptr;
}

void GraphImporter::importIf(const Node &node) {
  if (const GraphBlock *block = onlyBranch(node)) {
    importNodes(block->nodes);
    for (auto [index, id] : llvm::enumerate(block->results))
      set(node, index, Item(items[id]));
    return;
  }
  result.coverage.ops += trial == 0;
  result.coverage.modelled += trial == 0;
  IfOp(*this, node).make();
}
