//===- Prims.cpp - prim:: nodes -------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tuples, lists, regions and changes of a static type: no ops come of them.
//
//===----------------------------------------------------------------------===//

#include "Evaluation.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::aten;

static LogicalResult makeList(Evaluation &evaluation) {
  return evaluation.give(Item::list(evaluation.inputs()));
}

static LogicalResult makeTuple(Evaluation &evaluation) {
  return evaluation.give(Item::tuple(evaluation.inputs()));
}

static LogicalResult makeDict(Evaluation &evaluation) {
  return evaluation.give(
      Item::collectionOf(Item::Kind::Dict, evaluation.inputs()));
}

static LogicalResult unpack(Evaluation &evaluation) {
  const Item &from = evaluation.input(0);
  if (!from.collection || !from.collection->known ||
      from.collection->items.size() != evaluation.numOutputs())
    return evaluation.giveUnknownMember(evaluation.numInputs());
  std::vector<Item> members = from.collection->items;
  for (auto [index, member] : llvm::enumerate(members))
    (void)evaluation.give(member, index);
  return success();
}

static LogicalResult indexTuple(Evaluation &evaluation) {
  const Item &tuple = evaluation.input(0);
  std::optional<size_t> position = positionIn(tuple, evaluation.input(1));
  if (!position)
    return evaluation.giveUnknownMember(evaluation.numInputs());
  return evaluation.give(tuple.collection->items[*position]);
}

static LogicalResult sliceTuple(Evaluation &evaluation) {
  const Constant *begin = evaluation.findAttribute("beg");
  const Constant *end = evaluation.findAttribute("end");
  const Item &tuple = evaluation.input(0);
  if (!tuple.collection || !begin || !end)
    return evaluation.giveUnknownMember(evaluation.numInputs());
  const std::vector<Item> &members = tuple.collection->items;
  int64_t size = members.size();
  int64_t first = std::clamp<int64_t>(begin->integer, 0, size);
  int64_t last = std::clamp<int64_t>(end->integer, first, size);
  return evaluation.give(
      Item::tuple({members.begin() + first, members.begin() + last}));
}

static LogicalResult enterRegion(Evaluation &evaluation) {
  evaluation.enterRegion(evaluation.input(0));
  if (evaluation.numOutputs() == 0)
    return success();
  return evaluation.give(evaluation.input(0));
}

static LogicalResult exitRegion(Evaluation &evaluation) {
  evaluation.exitRegion();
  return success();
}

/// Passes a value on whose type changes for the type checker only.
static LogicalResult passOn(Evaluation &evaluation) {
  if (evaluation.numOutputs() == 0)
    return success();
  return evaluation.give(evaluation.numInputs() ? evaluation.input(0)
                                                : Item::none());
}

static LogicalResult makeTensor(Evaluation &evaluation) {
  Value value = evaluation.valueOf(evaluation.input(0));
  if (!value)
    return evaluation.giveUnknownMember(evaluation.numInputs());
  return evaluation.give(evaluation.tensorItem(value));
}

/// Nothing reads the value: it stands for a branch that was left before.
static LogicalResult makeUninitialized(Evaluation &evaluation) {
  return evaluation.give(Item());
}

static LogicalResult ignore(Evaluation &) { return success(); }

void aten::registerPrimHandlers(HandlerTable &prims) {
  prims.add("ListConstruct", makeList);
  prims.add("TupleConstruct", makeTuple);
  prims.add("DictConstruct", makeDict);
  prims.add({"TupleUnpack", "ListUnpack"}, unpack);
  prims.add("TupleIndex", indexTuple);
  prims.add("TupleSlice", sliceTuple);
  prims.add("Enter", enterRegion);
  prims.add("Exit", exitRegion);
  prims.add({"unchecked_cast", "unchecked_unwrap_optional",
             "AutogradAnyNonZero", "Drop"},
            passOn);
  prims.add("NumToTensor", makeTensor);
  prims.add("Uninitialized", makeUninitialized);
  prims.add({"Print", "RaiseException", "AddStatValue", "TimePoint", "profile"},
            ignore);
}
