//===- If.cpp - prim::If
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
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

bool GraphImporter::raises(const GraphBlock &block) const {
  return llvm::any_of(block.nodes, [](const Node &node) {
    return node.op == "prim::RaiseException";
  });
}

void GraphImporter::importIf(const Node &node) {
  const Item condition = items[node.inputs[0]];
  auto runInPlace = [&](const GraphBlock &block) {
    importNodes(block.nodes);
    for (auto [index, id] : llvm::enumerate(block.results))
      set(node, index, Item(items[id]));
  };
  std::optional<bool> known;
  if (condition.isStatic())
    known = condition.number() != 0;
  else if (condition.dynamic)
    if (auto elements = facts.constants(condition.dynamic);
        elements && elements->size() == 1)
      known = elements->front() != 0;
  if (!known && raises(node.blocks[0]) != raises(node.blocks[1]))
    known = raises(node.blocks[1]);
  if (known)
    return runInPlace(node.blocks[*known ? 0 : 1]);

  Location location = locationOf(node);
  Value predicate = valueOf(condition);
  if (!predicate)
    predicate = valueOf(unknownItem({StaticType::Kind::Bool, {}}, location));
  result.coverage.ops += trial == 0;
  result.coverage.modelled += trial == 0;
  Body bodies[2] = {importBody(node.blocks[0], {}, {}, location),
                    importBody(node.blocks[1], {}, {}, location)};
  SmallVector<Value> leaves[2];
  auto addLeaves = [&](const Item &first, const Item &second) {
    const Item *both[2] = {&first, &second};
    for (int side : {0, 1}) {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToEnd(&bodies[side].block());
      Leaves::collect(
          *both[side], [&](const Item &item) { return valueOf(item); },
          leaves[side]);
    }
  };
  // Outputs of the node.
  enum class Form { Same, Joined, Unknown };
  SmallVector<Form> forms;
  auto touched = [&](const Item &item) {
    if (!item.isTensor())
      return item.isCollection();
    TensorVariable *root = State::rootOf(item.variable);
    return bodies[0].changes.tensors.contains(root) ||
           bodies[1].changes.tensors.contains(root);
  };
  for (size_t index = 0; index < node.outputs.size(); ++index) {
    const Item &first = bodies[0].results[index];
    const Item &second = bodies[1].results[index];
    if (isSame(first, second) && !touched(first)) {
      forms.push_back(Form::Same);
    } else if (Leaves::match(first, second)) {
      forms.push_back(Form::Joined);
      addLeaves(bodies[0].frozen[index], bodies[1].frozen[index]);
    } else {
      forms.push_back(Form::Unknown);
    }
  }
  // Tensors that either side changed.
  llvm::SetVector<TensorVariable *> roots;
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
  // Attributes that either side set.
  llvm::SetVector<StringRef> paths;
  for (Body &body : bodies)
    for (auto &[path, item] : body.changes.attributes)
      paths.insert(path);
  SmallVector<std::pair<Item, bool>> attributes;
  for (StringRef path : paths) {
    Item after[2];
    for (int side : {0, 1}) {
      auto changed = bodies[side].changes.attributes.find(path);
      after[side] = changed == bodies[side].changes.attributes.end()
                        ? *state.findAttribute(path)
                        : changed->second;
    }
    bool matched = Leaves::match(after[0], after[1]);
    attributes.push_back({after[0], matched});
    if (matched)
      addLeaves(after[0], after[1]);
  }
  OperationState made(location, mp::IfOp::getOperationName());
  made.addOperands(predicate);
  made.addTypes(
      SmallVector<mlir::Type>(leaves[0].size(), getUnknownTensor(context)));
  for (int side : {0, 1}) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(&bodies[side].block());
    mp::YieldOp::create(builder, location, leaves[side]);
    made.addRegion(std::move(bodies[side].region));
  }
  Operation *op = builder.create(made);
  finish(op);
  unsigned next = 0;
  for (auto [index, form] : llvm::enumerate(forms)) {
    // Roots of either branch's result: the run decides which tensor it is.
    Roots shared;
    for (const Body &body : bodies)
      State::findRoots(body.results[index], shared, bodies[0].before);
    if (form == Form::Same) {
      set(node, index, bodies[0].results[index]);
    } else if (form == Form::Unknown) {
      set(node, index,
          unknownItem(graph.values[node.outputs[index]].type, location,
                      shared));
    } else {
      set(node, index,
          Leaves::rebuild(bodies[0].frozen[index], state, op->getResults(),
                          next, shared));
      const Item &joined = items[node.outputs[index]];
      if (joined.isTensor())
        nameResult(joined.variable->value, node.outputs[index]);
    }
  }
  for (TensorVariable *root : roots)
    state.write(root, op->getResult(next++));
  for (auto [path, attribute] : llvm::zip(paths, attributes))
    state.setAttribute(path, attribute.second
                                 ? Leaves::rebuild(attribute.first, state,
                                                   op->getResults(), next, {})
                                 : Item());
  for (Body &body : bodies)
    forgetCollections(body);
}
