//===- Evaluation.cpp - Runs the nodes that are no tensor ops -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The first input decides which table is asked: a list, a dictionary, a tensor
// or a number. Nodes of prim:: are tried as such first, and never become ops.
//
//===----------------------------------------------------------------------===//

#include "Evaluation.h"

#include "mpopt/Dialect/Names.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::aten;

namespace {

struct Handlers {
  HandlerTable prims, lists, dicts, tensors, modes, scalars;

  Handlers() {
    registerModuleHandlers(prims);
    registerPrimHandlers(prims);
    registerListHandlers(lists);
    registerDictHandlers(dicts);
    registerTensorHandlers(tensors);
    registerModeHandlers(modes);
    registerScalarHandlers(scalars);
    registerStringHandlers(scalars);
    registerRangeHandlers(scalars);
  }

  LogicalResult runContainer(Evaluation &evaluation) const {
    if (evaluation.numInputs() == 0)
      return failure();
    switch (evaluation.input(0).kind) {
    case Item::Kind::List:
    case Item::Kind::Tuple:
      return lists.run(evaluation);
    case Item::Kind::Dict:
      return dicts.run(evaluation);
    default:
      return failure();
    }
  }

  LogicalResult runTensor(Evaluation &evaluation) const {
    if (evaluation.numInputs() == 0 || evaluation.numOutputs() != 1 ||
        !evaluation.input(0).isTensor())
      return failure();
    return tensors.run(evaluation);
  }

  LogicalResult runScalar(Evaluation &evaluation) const {
    if (evaluation.numOutputs() != 1)
      return failure();
    if (succeeded(modes.run(evaluation)))
      return success();
    return evaluateScalar(evaluation, scalars);
  }
};

} // namespace

bool GraphImporter::evaluate(const Node &node) {
  static const Handlers handlers;
  StringRef name = node.op;
  bool isPrim = name.consume_front("prim::");
  if (!isPrim && !name.consume_front("aten::"))
    return false;
  Evaluation evaluation(*this, node, name);
  if (succeeded(isPrim ? handlers.prims.run(evaluation)
                       : handlers.runContainer(evaluation)) ||
      succeeded(handlers.runTensor(evaluation)) ||
      succeeded(handlers.runScalar(evaluation)))
    return true;
  // A member of a collection, or a list of members.
  return isPrim &&
         succeeded(evaluation.giveUnknownMember(evaluation.numInputs()));
}

std::vector<Item> Evaluation::inputs() const {
  std::vector<Item> all;
  for (unsigned index = 0; index < numInputs(); ++index)
    all.push_back(input(index));
  return all;
}

const Constant *Evaluation::findAttribute(StringRef name) const {
  auto found = node.attributes.find(name.str());
  return found == node.attributes.end() ? nullptr : &found->second;
}

StringRef Evaluation::getString(StringRef name) const {
  const Constant *found = findAttribute(name);
  return found ? StringRef(found->string) : StringRef();
}

LogicalResult Evaluation::give(Item item, unsigned index) {
  importer.set(node, index, std::move(item));
  return success();
}

LogicalResult Evaluation::giveUnknown() {
  return give(unknownItem(resultType()));
}

LogicalResult Evaluation::giveUnknownMember(unsigned count) {
  Roots roots;
  for (unsigned index = 0; index < count; ++index)
    State::findRoots(input(index), roots);
  importer.setUnknown(node, roots);
  return success();
}

Item Evaluation::readModule(StringRef path) {
  Item item = importer.attribute(path, resultType(), node);
  // A parameter is named where it is read first.
  if (item.isTensor() && getTensorPath(item.variable->value) == path &&
      !importer.result.places.count(path.str()))
    importer.recordPlace(item.variable->value, node.outputs.front());
  return item;
}

void Evaluation::writeModule(StringRef path, const StaticType &type,
                             const Item &item) {
  importer.setAttribute(path, type, item, node);
}

bool Evaluation::isAutocastEnabled() const {
  return !importer.autocast.empty() && importer.autocast.back().isSet &&
         importer.autocast.back().enabled;
}
