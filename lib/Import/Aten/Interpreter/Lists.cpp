//===- Lists.cpp - Methods of lists and tuples ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A list is shared by all that refer to it, so what changes it touches it
// first. Where the change is not known, nothing is known of the list any more.
//
//===----------------------------------------------------------------------===//

#include "Evaluation.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::aten;

std::optional<size_t> aten::positionIn(const Item &collection,
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

/// A list is repeated as often as this at most.
static constexpr int64_t kMaxRepeats = 1024;

static LogicalResult giveUnknownMember(Evaluation &evaluation) {
  return evaluation.giveUnknownMember(1);
}

/// Methods that change a list may give it back.
static LogicalResult giveList(Evaluation &evaluation, const Item &list) {
  return evaluation.numOutputs() ? evaluation.give(list) : success();
}

static bool isList(const Item &item) { return item.kind == Item::Kind::List; }

static LogicalResult getLength(Evaluation &evaluation) {
  const Collection &list = *evaluation.input(0).collection;
  if (!list.known)
    return giveUnknownMember(evaluation);
  return evaluation.give(Item::integerOf(list.items.size()));
}

static LogicalResult getItem(Evaluation &evaluation) {
  const Item &list = evaluation.input(0);
  std::optional<size_t> position = positionIn(list, evaluation.input(1));
  if (!position)
    return giveUnknownMember(evaluation);
  return evaluation.give(list.collection->items[*position]);
}

static LogicalResult append(Evaluation &evaluation) {
  Item list = evaluation.input(0), member = evaluation.input(1);
  evaluation.touch(list);
  if (list.collection->known)
    list.collection->items.push_back(member);
  return giveList(evaluation, list);
}

static LogicalResult extend(Evaluation &evaluation) {
  Item list = evaluation.input(0), other = evaluation.input(1);
  if (!list.collection->known || !other.collection ||
      !other.collection->known) {
    evaluation.forget(list);
    return success();
  }
  std::vector<Item> members = other.collection->items;
  evaluation.touch(list);
  llvm::append_range(list.collection->items, members);
  return success();
}

/// `list.insert(position, member)` and `list[position] = member`.
template <bool kInserts> static LogicalResult putItem(Evaluation &evaluation) {
  Item list = evaluation.input(0), member = evaluation.input(2);
  std::optional<size_t> position = positionIn(list, evaluation.input(1));
  if (!position) {
    evaluation.forget(list);
    return giveList(evaluation, list);
  }
  evaluation.touch(list);
  std::vector<Item> &items = list.collection->items;
  if (kInserts)
    items.insert(items.begin() + *position, member);
  else
    items[*position] = member;
  return giveList(evaluation, list);
}

static LogicalResult pop(Evaluation &evaluation) {
  Item list = evaluation.input(0), last = Item::integerOf(-1);
  std::optional<size_t> position =
      positionIn(list, evaluation.numInputs() > 1 ? evaluation.input(1) : last);
  if (!position) {
    evaluation.forget(list);
    return giveUnknownMember(evaluation);
  }
  std::vector<Item> &items = list.collection->items;
  Item member = items[*position];
  evaluation.touch(list);
  items.erase(items.begin() + *position);
  return evaluation.give(member);
}

static LogicalResult clear(Evaluation &evaluation) {
  Item list = evaluation.input(0);
  evaluation.touch(list);
  list.collection->items.clear();
  return success();
}

static LogicalResult reverse(Evaluation &evaluation) {
  Item list = evaluation.input(0);
  evaluation.touch(list);
  std::vector<Item> &items = list.collection->items;
  std::reverse(items.begin(), items.end());
  return success();
}

/// A bound of a slice: negative ones count from the end. Nothing if it is not
/// known now.
static std::optional<int64_t> findBound(Evaluation &evaluation, unsigned index,
                                        int64_t size, int64_t otherwise) {
  if (evaluation.numInputs() <= index || evaluation.input(index).isNone())
    return otherwise;
  if (!evaluation.input(index).isStatic())
    return std::nullopt;
  int64_t at = evaluation.input(index).integer;
  return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size);
}

static LogicalResult slice(Evaluation &evaluation) {
  const Item &list = evaluation.input(0);
  if (!isList(list))
    return failure();
  if (!list.collection->known)
    return giveUnknownMember(evaluation);
  const std::vector<Item> &items = list.collection->items;
  int64_t size = items.size();
  std::optional<int64_t> begin = findBound(evaluation, 1, size, 0);
  std::optional<int64_t> end = findBound(evaluation, 2, size, size);
  int64_t step = evaluation.numInputs() > 3 && evaluation.input(3).isStatic()
                     ? evaluation.input(3).integer
                     : 1;
  if (!begin || !end || step <= 0)
    return giveUnknownMember(evaluation);
  std::vector<Item> members;
  for (int64_t at = *begin; at < *end; at += step)
    members.push_back(items[at]);
  return evaluation.give(Item::list(std::move(members)));
}

/// `list + other`, and `list += other`, which changes the list.
template <bool kInPlace> static LogicalResult concat(Evaluation &evaluation) {
  Item list = evaluation.input(0);
  const Item &other = evaluation.input(1);
  if (!isList(list) || !other.collection)
    return failure();
  if (!list.collection->known || !other.collection->known)
    return giveUnknownMember(evaluation);
  std::vector<Item> members = list.collection->items;
  llvm::append_range(members, other.collection->items);
  if (!kInPlace)
    return evaluation.give(Item::list(std::move(members)));
  evaluation.touch(list);
  list.collection->items = std::move(members);
  return evaluation.give(list);
}

static LogicalResult repeat(Evaluation &evaluation) {
  const Item &list = evaluation.input(0), &times = evaluation.input(1);
  if (!isList(list) || !times.isStatic())
    return failure();
  if (!list.collection->known)
    return giveUnknownMember(evaluation);
  std::vector<Item> members;
  for (int64_t time = 0; time < std::min(times.integer, kMaxRepeats); ++time)
    llvm::append_range(members, list.collection->items);
  return evaluation.give(Item::list(std::move(members)));
}

static LogicalResult copy(Evaluation &evaluation) {
  const Collection &list = *evaluation.input(0).collection;
  if (!list.known)
    return giveUnknownMember(evaluation);
  return evaluation.give(Item::list(list.items));
}

static LogicalResult contains(Evaluation &evaluation) {
  const Collection &list = *evaluation.input(0).collection;
  bool found = llvm::any_of(list.items, [&](const Item &member) {
    return isSame(member, evaluation.input(1));
  });
  bool comparable = llvm::all_of(list.items, [](const Item &member) {
    return member.isStatic() || member.kind == Item::Kind::String;
  });
  if (!list.known || (!found && !comparable))
    return giveUnknownMember(evaluation);
  return evaluation.give(Item::boolean(found));
}

void aten::registerListHandlers(HandlerTable &lists) {
  lists.add("len", getLength);
  lists.add("__getitem__", getItem);
  lists.add("append", append);
  lists.add("extend", extend);
  lists.add("insert", putItem<true>);
  lists.add("_set_item", putItem<false>);
  lists.add("pop", pop);
  lists.add("clear", clear);
  lists.add("reverse", reverse);
  lists.add("slice", slice);
  lists.add("add", concat<false>);
  lists.add("add_", concat<true>);
  lists.add("mul", repeat);
  lists.add({"list", "copy"}, copy);
  lists.add("__contains__", contains);
}
