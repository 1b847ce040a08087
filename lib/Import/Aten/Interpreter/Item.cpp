//===- Item.cpp - The value of a graph while it is imported ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Item.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <cmath>

using namespace mlir;
using namespace mpopt::aten;

Item Item::floating(double value) {
  Item item = make(Kind::Float);
  item.real = value;
  return item;
}

Item Item::string(StringRef text) {
  Item item = make(Kind::String);
  item.text = text.str();
  return item;
}

Item Item::computed(Kind kind, Value value) {
  Item item = make(kind);
  item.dynamic = value;
  return item;
}

Item Item::collectionOf(Kind kind, std::vector<Item> items) {
  Item item = make(kind);
  item.collection = std::make_shared<Collection>();
  item.collection->items = std::move(items);
  return item;
}

bool mpopt::aten::isSame(const Item &lhs, const Item &rhs) {
  if (lhs.kind != rhs.kind || lhs.variable != rhs.variable ||
      lhs.dynamic != rhs.dynamic || lhs.integer != rhs.integer ||
      lhs.text != rhs.text || lhs.imaginary != rhs.imaginary ||
      (lhs.real != rhs.real && !(std::isnan(lhs.real) && std::isnan(rhs.real))))
    return false;
  if (lhs.collection == rhs.collection)
    return true;
  // Lists are equal by identity, tuples by content.
  return lhs.kind == Item::Kind::Tuple && lhs.collection && rhs.collection &&
         llvm::equal(lhs.collection->items, rhs.collection->items, isSame);
}

std::optional<Item::Kind> mpopt::aten::numberKindOf(const StaticType &type) {
  switch (type.kind) {
  case StaticType::Kind::Bool:
    return Item::Kind::Bool;
  case StaticType::Kind::Int:
    return Item::Kind::Int;
  case StaticType::Kind::Float:
  case StaticType::Kind::Number:
    return Item::Kind::Float;
  default:
    return std::nullopt;
  }
}

RankedTensorType mpopt::aten::numberType(Item::Kind kind,
                                         MLIRContext *context) {
  Builder builder(context);
  return RankedTensorType::get(
      {}, kind == Item::Kind::Float ? mlir::Type(builder.getF64Type())
          : kind == Item::Kind::Int ? mlir::Type(builder.getI64Type())
                                    : mlir::Type(builder.getI1Type()));
}

TensorVariable *State::makeVariable(Value value) {
  TensorVariable &variable = variables.emplace_back();
  variable.number = variables.size();
  variable.value = value;
  variable.version = ++versions;
  return &variable;
}

TensorVariable *State::makeView(TensorVariable *base, Value value,
                                ViewFunctions view) {
  TensorVariable *variable = makeVariable(value);
  variable->base = base;
  variable->baseVersion = base->version;
  variable->view = std::move(view);
  return variable;
}

void State::record(TensorVariable *variable) {
  Entry entry;
  entry.variable = variable;
  entry.variableBefore = *variable;
  journal.push_back(std::move(entry));
}

void State::set(TensorVariable *variable, Value value) {
  record(variable);
  variable->value = value;
  variable->version = ++versions;
  if (variable->base)
    variable->baseVersion = variable->base->version;
  for (auto &[root, version] : variable->shares)
    version = root->version;
}

Value State::read(TensorVariable *variable) {
  if (!variable->base) {
    bool stale = false;
    for (auto [root, version] : variable->shares) {
      read(root);
      stale |= root->version != version;
    }
    if (stale)
      set(variable, lose(variable->value));
    return variable->value;
  }
  Value base = read(variable->base);
  if (variable->base->version == variable->baseVersion)
    return variable->value;
  Value derived = base ? variable->view.derive(base) : Value();
  set(variable, derived ? derived : lose(variable->value));
  return variable->value;
}

TensorVariable *State::rootOf(TensorVariable *variable) {
  while (variable->base)
    variable = variable->base;
  return variable;
}

bool State::write(TensorVariable *variable, Value value) {
  if (variable->base) {
    if (!variable->view.writeBack)
      return false;
    Value base = variable->view.writeBack(read(variable->base), value);
    if (!base || !write(variable->base, base))
      return false;
  }
  // The next call begins with what is written now.
  if (variable->memory >= 0)
    written.memory.insert(variable->memory);
  for (auto [root, version] : variable->shares)
    write(root, lose(read(root)));
  set(variable, value);
  return true;
}

void State::share(TensorVariable *variable, const Roots &roots) {
  for (TensorVariable *root : roots)
    if (root != variable &&
        llvm::none_of(variable->shares,
                      [&](const auto &share) { return share.first == root; }))
      variable->shares.push_back({root, root->version});
}

void State::findRoots(const Item &item, Roots &roots, size_t most) {
  if (item.isTensor()) {
    SmallVector<TensorVariable *> work = {rootOf(item.variable)};
    Roots seen;
    while (!work.empty()) {
      TensorVariable *root = work.pop_back_val();
      if (!seen.insert(root))
        continue;
      if (root->number <= most)
        roots.insert(root);
      for (auto [other, version] : root->shares)
        work.push_back(other);
    }
  } else if (item.collection) {
    for (TensorVariable *source : item.collection->sources)
      if (source->number <= most)
        roots.insert(source);
    for (const Item &member : item.collection->items)
      findRoots(member, roots, most);
  }
}

void State::forget(const std::shared_ptr<Collection> &collection) {
  touch(collection);
  for (const Item &member : collection->items)
    findRoots(member, collection->sources);
  collection->items.clear();
  collection->known = false;
}

void State::touch(const std::shared_ptr<Collection> &collection) {
  if (collection->slot >= 0)
    written.slots.try_emplace(collection->slot);
  Entry entry;
  entry.collection = collection;
  entry.collectionBefore = *collection;
  journal.push_back(std::move(entry));
}

const Item *State::findAttribute(StringRef path) const {
  auto found = attributes.find(path);
  return found == attributes.end() ? nullptr : &found->second;
}

void State::setAttribute(StringRef path, Item item) {
  Entry entry;
  entry.attribute = path.str();
  if (const Item *before = findAttribute(path))
    entry.attributeBefore = *before;
  journal.push_back(std::move(entry));
  attributes[path.str()] = std::move(item);
}

static void makeOldest(const Item &item) {
  if (item.isTensor())
    item.variable->number = 0;
  if (!item.collection)
    return;
  item.collection->number = 0;
  llvm::for_each(item.collection->items, makeOldest);
}

void State::addAttribute(StringRef path, Item item) {
  makeOldest(item);
  attributes[path.str()] = std::move(item);
}

std::vector<std::string> State::attributesSince(Mark mark) const {
  std::vector<std::string> paths;
  for (const Entry &entry : llvm::drop_begin(journal, mark.changes))
    if (!entry.variable && !entry.collection &&
        !llvm::is_contained(paths, entry.attribute))
      paths.push_back(entry.attribute);
  return paths;
}

State::Changes State::takeBack(Mark mark) {
  Changes changes;
  for (const Entry &entry : llvm::drop_begin(journal, mark.changes)) {
    if (entry.variable) {
      if (!entry.variable->base && entry.variable->number <= mark.variables)
        changes.tensors[entry.variable] = entry.variable->value;
    } else if (entry.collection) {
      if (entry.collection->number <= mark.collections &&
          changes.collections
              .insert({entry.collection.get(), *entry.collection})
              .second)
        changes.owners.push_back(entry.collection);
    } else {
      auto now = attributes.find(entry.attribute);
      if (entry.attributeBefore && !isSame(*entry.attributeBefore, now->second))
        changes.attributes[now->first] = now->second;
    }
  }
  for (; journal.size() > mark.changes; journal.pop_back()) {
    Entry &entry = journal.back();
    if (entry.variable)
      *entry.variable = std::move(entry.variableBefore);
    else if (entry.collection)
      *entry.collection = std::move(entry.collectionBefore);
    else if (entry.attributeBefore)
      attributes[entry.attribute] = std::move(*entry.attributeBefore);
  }
  return changes;
}
