//===- Modules.cpp - Constants, and attributes of objects -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The attributes of modules are known by their path (GraphImporter::attribute);
// those of other objects are a list of names and values.
//
//===----------------------------------------------------------------------===//

#include "Evaluation.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::aten;

/// Finds the value of a member among the names and values of an object.
static std::optional<size_t> findMember(const Item &object, StringRef name) {
  if (!object.collection)
    return std::nullopt;
  for (size_t index = 0; index + 1 < object.collection->items.size();
       index += 2)
    if (object.collection->items[index].text == name)
      return index + 1;
  return std::nullopt;
}

static LogicalResult makeConstant(Evaluation &evaluation) {
  const Constant *value = evaluation.findAttribute("value");
  return evaluation.give(value ? evaluation.importConstant(*value)
                               : Item::none());
}

static LogicalResult getAttribute(Evaluation &evaluation) {
  if (StringRef path = evaluation.getString("path"); !path.empty())
    return evaluation.give(evaluation.readModule(path));
  const Item &object = evaluation.input(0);
  std::optional<size_t> member =
      findMember(object, evaluation.getString("name"));
  if (!member)
    return evaluation.giveUnknownMember(evaluation.numInputs());
  return evaluation.give(object.collection->items[*member]);
}

static LogicalResult setAttribute(Evaluation &evaluation) {
  if (StringRef path = evaluation.getString("path"); !path.empty()) {
    evaluation.writeModule(path, evaluation.inputType(0), evaluation.input(0));
    return success();
  }
  Item &object = evaluation.input(0);
  if (!object.collection)
    return success();
  evaluation.touch(object);
  StringRef name = evaluation.getString("name");
  if (std::optional<size_t> member = findMember(object, name)) {
    object.collection->items[*member] = evaluation.input(1);
  } else {
    object.collection->items.push_back(Item::string(name));
    object.collection->items.push_back(evaluation.input(1));
  }
  return success();
}

static LogicalResult createObject(Evaluation &evaluation) {
  Item object = Item::collectionOf(Item::Kind::Object, {});
  object.text = evaluation.getString("class").str();
  return evaluation.give(object);
}

void aten::registerModuleHandlers(HandlerTable &prims) {
  prims.add("Constant", makeConstant);
  prims.add("GetAttr", getAttribute);
  prims.add("SetAttr", setAttribute);
  prims.add("CreateObject", createObject);
}
