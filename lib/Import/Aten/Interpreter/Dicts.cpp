//===- Dicts.cpp - Methods of dictionaries --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A dictionary is a collection of keys and values in turn.
//
//===----------------------------------------------------------------------===//

#include "Evaluation.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::aten;

/// Finds a key among the keys and values.
static std::optional<size_t> findKey(const Item &dict, const Item &key) {
  for (size_t index = 0; index + 1 < dict.collection->items.size(); index += 2)
    if (isSame(dict.collection->items[index], key))
      return index;
  return std::nullopt;
}

static LogicalResult getLength(Evaluation &evaluation) {
  const Collection &dict = *evaluation.input(0).collection;
  if (!dict.known)
    return evaluation.giveUnknownMember(1);
  return evaluation.give(Item::integerOf(dict.items.size() / 2));
}

static LogicalResult contains(Evaluation &evaluation) {
  const Item &dict = evaluation.input(0);
  if (!dict.collection->known)
    return evaluation.giveUnknownMember(1);
  return evaluation.give(
      Item::boolean(findKey(dict, evaluation.input(1)).has_value()));
}

static LogicalResult getItem(Evaluation &evaluation) {
  const Item &dict = evaluation.input(0);
  if (!dict.collection->known)
    return evaluation.giveUnknownMember(1);
  if (std::optional<size_t> at = findKey(dict, evaluation.input(1)))
    return evaluation.give(dict.collection->items[*at + 1]);
  return evaluation.give(evaluation.numInputs() > 2 ? evaluation.input(2)
                                                    : Item::none());
}

static LogicalResult setItem(Evaluation &evaluation) {
  Item dict = evaluation.input(0);
  Item key = evaluation.input(1), value = evaluation.input(2);
  evaluation.touch(dict);
  std::vector<Item> &items = dict.collection->items;
  if (std::optional<size_t> at = findKey(dict, key)) {
    items[*at + 1] = value;
  } else {
    items.push_back(key);
    items.push_back(value);
  }
  return success();
}

/// Lists a function of each key and value.
template <typename Function>
static LogicalResult list(Evaluation &evaluation, Function memberOf) {
  const Collection &dict = *evaluation.input(0).collection;
  if (!dict.known)
    return evaluation.giveUnknownMember(1);
  std::vector<Item> members;
  for (size_t index = 0; index + 1 < dict.items.size(); index += 2)
    members.push_back(memberOf(dict.items[index], dict.items[index + 1]));
  return evaluation.give(Item::list(std::move(members)));
}

static LogicalResult listKeys(Evaluation &evaluation) {
  return list(evaluation,
              [](const Item &key, const Item &) -> Item { return key; });
}

static LogicalResult listValues(Evaluation &evaluation) {
  return list(evaluation,
              [](const Item &, const Item &value) -> Item { return value; });
}

static LogicalResult listItems(Evaluation &evaluation) {
  return list(evaluation, [](const Item &key, const Item &value) {
    return Item::tuple({key, value});
  });
}

void aten::registerDictHandlers(HandlerTable &dicts) {
  dicts.add("len", getLength);
  dicts.add("__contains__", contains);
  dicts.add({"__getitem__", "get"}, getItem);
  dicts.add("_set_item", setItem);
  dicts.add("keys", listKeys);
  dicts.add("values", listValues);
  dicts.add("items", listItems);
}
