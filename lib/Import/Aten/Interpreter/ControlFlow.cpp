//===- ControlFlow.cpp - Bodies of branches and loops
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A body is imported from the state before it, into a region of its own, and
// its changes are rolled back: the op that gets the region says what follows.
//
//===----------------------------------------------------------------------===//

#include "ControlFlow.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::aten;

void Leaves::collect(const Item &item, ValueOf valueOf,
                     SmallVectorImpl<Value> &values) {
  if (item.isTensor() || item.isNumber()) {
    values.push_back(valueOf(item));
  } else if (item.collection && item.collection->known) {
    for (const Item &member : item.collection->items)
      collect(member, valueOf, values);
  }
}

bool Leaves::match(const Item &lhs, const Item &rhs) {
  if (lhs.isTensor() || rhs.isTensor())
    return lhs.isTensor() && rhs.isTensor();
  if (lhs.isNumber() || rhs.isNumber())
    return lhs.kind == rhs.kind;
  if (lhs.collection || rhs.collection)
    return lhs.kind == rhs.kind && lhs.collection && rhs.collection &&
           lhs.collection->known && rhs.collection->known &&
           lhs.collection->items.size() == rhs.collection->items.size() &&
           llvm::all_of(llvm::zip(lhs.collection->items, rhs.collection->items),
                        [](auto pair) {
                          return match(std::get<0>(pair), std::get<1>(pair));
                        });
  return isSame(lhs, rhs);
}

Item Leaves::rebuild(const Item &like, State &state, ValueRange values,
                     unsigned &next, const Roots &shared) {
  if (like.isTensor()) {
    Item item = like;
    item.variable = state.makeVariable(values[next++]);
    state.share(item.variable, shared);
    return item;
  }
  if (like.isNumber())
    return Item::computed(like.kind, values[next++]);
  if (!like.collection || !like.collection->known)
    return like;
  std::vector<Item> members;
  for (const Item &member : like.collection->items)
    members.push_back(rebuild(member, state, values, next, shared));
  Item item = Item::collectionOf(like.kind, std::move(members));
  item.text = like.text;
  return item;
}

GraphImporter::Body
GraphImporter::importBody(const GraphBlock &block, ArrayRef<Item> arguments,
                          TypeRange argumentTypes, Location location,
                          llvm::function_ref<void(Block &, Body &)> prepare) {
  OpBuilder::InsertionGuard guard(builder);
  Body body;
  Block *inner = builder.createBlock(body.region.get());
  for (mlir::Type type : argumentTypes)
    facts.set(inner->addArgument(type, location), std::nullopt);
  State::Mark mark = state.mark();
  body.before = mark.variables;
  if (prepare)
    prepare(*inner, body);
  for (auto [id, item] : llvm::zip(block.arguments, arguments))
    items[id] = item;
  builder.setInsertionPointToEnd(inner);
  size_t outside = resolved.size();
  importNodes(block.nodes);
  auto freeze = [&](auto &self, const Item &item) -> Item {
    if (item.isTensor())
      return tensorItem(valueOf(item));
    if (!item.collection || !item.collection->known)
      return item;
    std::vector<Item> members;
    for (const Item &member : item.collection->items)
      members.push_back(self(self, member));
    Item frozen = Item::collectionOf(item.kind, std::move(members));
    frozen.text = item.text;
    return frozen;
  };
  for (ValueId id : block.results) {
    body.results.push_back(items[id]);
    body.frozen.push_back(freeze(freeze, items[id]));
  }
  // As they are at the end: what they hold may have been changed since.
  std::map<std::string, Item> held;
  for (const std::string &path : state.attributesSince(mark))
    held[path] = freeze(freeze, *state.findAttribute(path));
  body.changes = state.takeBack(mark);
  for (auto &[path, item] : body.changes.attributes)
    item = held.at(path.str());
  // The tensors that stand for them are ops of this body.
  for (ValueId id : ArrayRef(resolved).drop_front(outside))
    items[id] = Item();
  resolved.resize(outside);
  return body;
}

void GraphImporter::Body::findRoots(Collection &owner, Roots &roots) const {
  Item after;
  after.collection =
      std::make_shared<Collection>(changes.collections.lookup(&owner));
  State::findRoots(after, roots, before);
}

void GraphImporter::forgetCollections(
    ArrayRef<std::shared_ptr<Collection>> owners) {
  for (const std::shared_ptr<Collection> &owner : owners)
    state.forget(owner);
}

void GraphImporter::forgetCollections(const Body &body) {
  // Members that the body added are not among the items from before.
  for (const std::shared_ptr<Collection> &owner : body.changes.owners) {
    state.forget(owner);
    body.findRoots(*owner, owner->sources);
  }
}
