//===- Prims.cpp - prim:: nodes -------------------------------------------===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Constants, attributes, tuples and lists: no ops come of them.
//
//===----------------------------------------------------------------------===//

#include "GraphImporter.h"

#include "mpopt/Dialect/Names.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::aten;

static StringRef stringOf(const Node &node, StringRef attribute) {
  auto found = node.attributes.find(attribute.str());
  return found == node.attributes.end() ? StringRef()
                                        : StringRef(found->second.string);
}

/// The place of a member of an object, which is a list of names and values.
static std::optional<size_t> findMember(const Item &object, StringRef name) {
  if (!object.collection)
    return std::nullopt;
  for (size_t index = 0; index + 1 < object.collection->items.size();
       index += 2)
    if (object.collection->items[index].text == name)
      return index + 1;
  return std::nullopt;
}

/// Python counts from the end.
static std::optional<size_t> positionIn(const Item &collection,
                                        const Item &index) {
  if (!collection.collection || !collection.collection->known ||
      !index.isStatic())
    return std::nullopt;
  int64_t size = collection.collection->items.size();
  int64_t position = index.integer < 0 ? index.integer + size : index.integer;
  if (position < 0 || position >= size)
    return std::nullopt;
  return position;
}

bool GraphImporter::importPrim(const Node &node) {
  StringRef op = node.op;
  if (!op.consume_front("prim::"))
    return false;
  auto input = [&](unsigned index) -> Item & {
    return items[node.inputs[index]];
  };
  auto inputs = [&] {
    std::vector<Item> all;
    for (ValueId id : node.inputs)
      all.push_back(items[id]);
    return all;
  };
  auto unknown = [&] {
    // A member of a collection, or a list of them.
    Roots roots;
    for (ValueId id : node.inputs)
      State::findRoots(items[id], roots);
    setUnknown(node, roots);
    return true;
  };
  if (op == "Constant") {
    auto value = node.attributes.find("value");
    set(node, 0,
        value == node.attributes.end()
            ? Item::none()
            : importConstant(value->second, locationOf(node)));
    return true;
  }
  if (op == "GetAttr") {
    StringRef path = stringOf(node, "path");
    if (!path.empty()) {
      Item item = attribute(path, graph.values[node.outputs.front()].type,
                            locationOf(node));
      // A parameter is named where it is read first.
      if (item.isTensor() && getTensorPath(item.variable->value) == path &&
          !result.places.count(path.str()))
        recordPlace(item.variable->value, node.outputs.front());
      set(node, 0, std::move(item));
      return true;
    }
    std::optional<size_t> member = findMember(input(0), stringOf(node, "name"));
    if (!member)
      return unknown();
    set(node, 0, input(0).collection->items[*member]);
    return true;
  }
  if (op == "SetAttr") {
    StringRef path = stringOf(node, "path");
    if (!path.empty()) {
      setAttribute(path, graph.values[node.inputs[0]].type, input(0),
                   locationOf(node));
      return true;
    }
    Item &object = input(0);
    if (!object.collection)
      return true;
    state.touch(object.collection);
    if (std::optional<size_t> member =
            findMember(object, stringOf(node, "name"))) {
      object.collection->items[*member] = input(1);
    } else {
      object.collection->items.push_back(Item::string(stringOf(node, "name")));
      object.collection->items.push_back(input(1));
    }
    return true;
  }
  if (op == "CreateObject") {
    Item object = Item::collectionOf(Item::Kind::Object, {});
    object.text = stringOf(node, "class").str();
    set(node, 0, object);
    return true;
  }
  if (op == "ListConstruct") {
    set(node, 0, Item::list(inputs()));
    return true;
  }
  if (op == "TupleConstruct") {
    set(node, 0, Item::tuple(inputs()));
    return true;
  }
  if (op == "DictConstruct") {
    set(node, 0, Item::collectionOf(Item::Kind::Dict, inputs()));
    return true;
  }
  if (op == "TupleUnpack" || op == "ListUnpack") {
    const Item &from = input(0);
    if (!from.collection || !from.collection->known ||
        from.collection->items.size() != node.outputs.size())
      return unknown();
    std::vector<Item> members = from.collection->items;
    for (auto [index, member] : llvm::enumerate(members))
      set(node, index, member);
    return true;
  }
  if (op == "TupleIndex") {
    std::optional<size_t> position = positionIn(input(0), input(1));
    if (!position)
      return unknown();
    set(node, 0, Item(input(0).collection->items[*position]));
    return true;
  }
  if (op == "TupleSlice") {
    auto begin = node.attributes.find("beg"), end = node.attributes.find("end");
    if (!input(0).collection || begin == node.attributes.end() ||
        end == node.attributes.end())
      return unknown();
    const std::vector<Item> &members = input(0).collection->items;
    int64_t size = members.size();
    int64_t first = std::clamp<int64_t>(begin->second.integer, 0, size);
    int64_t last = std::clamp<int64_t>(end->second.integer, first, size);
    set(node, 0,
        Item::tuple({members.begin() + first, members.begin() + last}));
    return true;
  }
  if (op == "Enter") {
    enter(input(0));
    if (!node.outputs.empty())
      set(node, 0, input(0));
    return true;
  }
  if (op == "Exit") {
    exit();
    return true;
  }
  // What changes the type of a value for the type checker only.
  if (op == "unchecked_cast" || op == "unchecked_unwrap_optional" ||
      op == "AutogradAnyNonZero" || op == "Drop") {
    if (!node.outputs.empty())
      set(node, 0, node.inputs.empty() ? Item::none() : Item(input(0)));
    return true;
  }
  if (op == "NumToTensor") {
    mlir::Value value = valueOf(input(0));
    if (!value)
      return unknown();
    set(node, 0, tensorItem(value));
    return true;
  }
  // What nothing reads: the value of a branch that was left before.
  if (op == "Uninitialized") {
    set(node, 0, Item());
    return true;
  }
  if (op == "Print" || op == "RaiseException" || op == "AddStatValue" ||
      op == "TimePoint" || op == "profile")
    return true;
  // dtype, device, is_cuda and the like ask about a tensor.
  if (importTensorFact(node))
    return true;
  if (importScalar(node))
    return true;
  return unknown();
}

/// Where a key is among the keys and values of a dictionary.
static std::optional<size_t> findKey(const Item &dict, const Item &key) {
  for (size_t index = 0; index + 1 < dict.collection->items.size(); index += 2)
    if (isSame(dict.collection->items[index], key))
      return index;
  return std::nullopt;
}

bool GraphImporter::importContainer(const Node &node) {
  if (node.inputs.empty())
    return false;
  Item &self = items[node.inputs[0]];
  if (self.kind != Item::Kind::List && self.kind != Item::Kind::Dict &&
      self.kind != Item::Kind::Tuple)
    return false;
  StringRef op = node.op;
  if (!op.consume_front("aten::"))
    return false;
  // A copy: the collection may be replaced below.
  Item list = self;
  Collection &collection = *list.collection;
  auto input = [&](unsigned index) -> const Item & {
    return items[node.inputs[index]];
  };
  // A member, or a list of members, which one is not known.
  auto unknown = [&] {
    Roots roots;
    State::findRoots(list, roots);
    setUnknown(node, roots);
    return true;
  };
  auto forget = [&] { state.forget(list.collection); };
  bool isDict = list.kind == Item::Kind::Dict;
  if (op == "len") {
    if (!collection.known)
      return unknown();
    set(node, 0, Item::integerOf(collection.items.size() / (isDict ? 2 : 1)));
    return true;
  }
  if (isDict) {
    if (op == "__getitem__" || op == "get" || op == "__contains__") {
      if (!collection.known)
        return unknown();
      std::optional<size_t> at = findKey(list, input(1));
      if (op == "__contains__")
        set(node, 0, Item::boolean(at.has_value()));
      else if (at)
        set(node, 0, Item(collection.items[*at + 1]));
      else
        set(node, 0, node.inputs.size() > 2 ? Item(input(2)) : Item::none());
      return true;
    }
    if (op == "_set_item") {
      Item key = input(1), value = input(2);
      state.touch(list.collection);
      if (std::optional<size_t> at = findKey(list, key)) {
        collection.items[*at + 1] = value;
      } else {
        collection.items.push_back(key);
        collection.items.push_back(value);
      }
      return true;
    }
    if (op == "keys" || op == "values" || op == "items") {
      if (!collection.known)
        return unknown();
      std::vector<Item> members;
      for (size_t index = 0; index + 1 < collection.items.size(); index += 2) {
        if (op == "items")
          members.push_back(Item::tuple(
              {collection.items[index], collection.items[index + 1]}));
        else
          members.push_back(collection.items[index + (op == "values")]);
      }
      set(node, 0, Item::list(std::move(members)));
      return true;
    }
    return false;
  }
  if (op == "__getitem__") {
    std::optional<size_t> position = positionIn(list, input(1));
    if (!position)
      return unknown();
    set(node, 0, Item(collection.items[*position]));
    return true;
  }
  if (op == "append") {
    Item member = input(1);
    state.touch(list.collection);
    if (collection.known)
      collection.items.push_back(member);
    if (!node.outputs.empty())
      set(node, 0, list);
    return true;
  }
  if (op == "extend") {
    const Item other = input(1);
    if (!collection.known || !other.collection || !other.collection->known) {
      forget();
      return true;
    }
    std::vector<Item> members = other.collection->items;
    state.touch(list.collection);
    llvm::append_range(collection.items, members);
    return true;
  }
  if (op == "insert" || op == "_set_item") {
    Item member = input(2);
    std::optional<size_t> position = positionIn(list, input(1));
    if (!position) {
      forget();
    } else {
      state.touch(list.collection);
      if (op == "insert")
        collection.items.insert(collection.items.begin() + *position, member);
      else
        collection.items[*position] = member;
    }
    if (!node.outputs.empty())
      set(node, 0, list);
    return true;
  }
  if (op == "pop") {
    Item last = Item::integerOf(-1);
    std::optional<size_t> position =
        positionIn(list, node.inputs.size() > 1 ? input(1) : last);
    if (!position) {
      forget();
      return unknown();
    }
    Item member = collection.items[*position];
    state.touch(list.collection);
    collection.items.erase(collection.items.begin() + *position);
    set(node, 0, member);
    return true;
  }
  if (op == "clear" || op == "reverse") {
    state.touch(list.collection);
    if (op == "clear")
      collection.items.clear();
    else
      std::reverse(collection.items.begin(), collection.items.end());
    return true;
  }
  if (op == "slice" && list.kind == Item::Kind::List) {
    if (!collection.known)
      return unknown();
    int64_t size = collection.items.size();
    auto bound = [&](unsigned index,
                     int64_t otherwise) -> std::optional<int64_t> {
      if (node.inputs.size() <= index || input(index).isNone())
        return otherwise;
      if (!input(index).isStatic())
        return std::nullopt;
      int64_t at = input(index).integer;
      return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size);
    };
    std::optional<int64_t> begin = bound(1, 0), end = bound(2, size);
    int64_t step =
        node.inputs.size() > 3 && input(3).isStatic() ? input(3).integer : 1;
    if (!begin || !end || step <= 0)
      return unknown();
    std::vector<Item> members;
    for (int64_t at = *begin; at < *end; at += step)
      members.push_back(collection.items[at]);
    set(node, 0, Item::list(std::move(members)));
    return true;
  }
  if ((op == "add" || op == "add_") && input(1).collection &&
      list.kind == Item::Kind::List) {
    if (!collection.known || !input(1).collection->known)
      return unknown();
    std::vector<Item> members = collection.items;
    llvm::append_range(members, input(1).collection->items);
    if (op == "add_") {
      state.touch(list.collection);
      collection.items = std::move(members);
      set(node, 0, list);
    } else {
      set(node, 0, Item::list(std::move(members)));
    }
    return true;
  }
  if (op == "mul" && input(1).isStatic() && list.kind == Item::Kind::List) {
    if (!collection.known)
      return unknown();
    std::vector<Item> members;
    for (int64_t time = 0; time < std::min<int64_t>(input(1).integer, 1024);
         ++time)
      llvm::append_range(members, collection.items);
    set(node, 0, Item::list(std::move(members)));
    return true;
  }
  if (op == "list" || op == "copy") {
    if (!collection.known)
      return unknown();
    set(node, 0, Item::list(collection.items));
    return true;
  }
  if (op == "__contains__") {
    bool found = llvm::any_of(collection.items, [&](const Item &member) {
      return isSame(member, input(1));
    });
    bool decided =
        collection.known &&
        (found || llvm::all_of(collection.items, [](const Item &member) {
           return member.isStatic() || member.kind == Item::Kind::String;
         }));
    if (!decided)
      return unknown();
    set(node, 0, Item::boolean(found));
    return true;
  }
  return false;
}
