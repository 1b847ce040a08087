//===- NodeImport.cpp - One node of a graph -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A node is tried in turn as one that the interpreter runs (Evaluation.h) and
// as a tensor op with a lowering. All others become opaque ops.
//
//===----------------------------------------------------------------------===//

#include "NodeLowering.h"

#include "../Lowering/Complex.h"

#include "mpopt/Dialect/MPDialect.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Origin.h"
#include "mpopt/Dialect/TypeInference.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::aten;

//===----------------------------------------------------------------------===//
// Items and values
//===----------------------------------------------------------------------===//

Value GraphImporter::valueOf(const Item &item) {
  switch (item.kind) {
  case Item::Kind::Tensor:
    return state.read(item.variable);
  case Item::Kind::Bool:
  case Item::Kind::Int:
  case Item::Kind::Float: {
    if (item.dynamic)
      return item.dynamic;
    RankedTensorType type = numberType(item.kind, context);
    mlir::Type element = type.getElementType();
    Attribute value = isa<FloatType>(element)
                          ? Attribute(builder.getFloatAttr(element, item.real))
                          : builder.getIntegerAttr(element, item.integer);
    return makeConstant(type, DenseElementsAttr::get(type, value),
                        UnknownLoc::get(context));
  }
  default:
    return {};
  }
}

Item GraphImporter::tensorItem(Value value) {
  Item item;
  item.kind = Item::Kind::Tensor;
  item.variable = state.makeVariable(value);
  return item;
}

Item GraphImporter::unknownItem(const StaticType &type, Location location,
                                const Roots &shared) {
  auto makeValue = [&](mlir::Type result) {
    auto opaque = mp::OpaqueOp::create(builder, location, TypeRange(result),
                                       "torch::unknown", ValueRange(), 0);
    return opaque->getResult(0);
  };
  if (std::optional<Item::Kind> number = numberKindOf(type))
    return Item::computed(*number, makeValue(numberType(*number, context)));
  switch (type.kind) {
  case StaticType::Kind::Tensor: {
    Item item = tensorItem(makeValue(getUnknownTensor(context)));
    state.share(item.variable, shared);
    return item;
  }
  case StaticType::Kind::None:
    return Item::none();
  case StaticType::Kind::Tuple: {
    std::vector<Item> members;
    for (const StaticType &element : type.elements)
      members.push_back(unknownItem(element, location, shared));
    return Item::tuple(std::move(members));
  }
  case StaticType::Kind::List:
  case StaticType::Kind::Dict: {
    Item item = Item::collectionOf(type.kind == StaticType::Kind::List
                                       ? Item::Kind::List
                                       : Item::Kind::Dict,
                                   {});
    item.collection->known = false;
    item.collection->sources = shared;
    return item;
  }
  default:
    return {};
  }
}

/// The name of a list's member: its own one where somebody renamed its node, as
/// those of outputs are; FX calls it `getitem`.
std::string GraphImporter::memberName(ValueId list, int64_t member,
                                      const std::string &name) const {
  const std::vector<std::string> &origins = graph.values[list].memberOrigins;
  if (size_t(member) < origins.size() && !origins[member].empty()) {
    StringRef origin = origins[member];
    if (!origin.starts_with("getitem") && !origin.contains('.'))
      return origin.str();
  }
  return name + "." + std::to_string(member);
}

void GraphImporter::nameResults(const Node &node,
                                ArrayRef<NamedResult> results) {
  auto isNamed = [](const NamedResult &named) {
    return named.value.getDefiningOp() &&
           !named.value.getDefiningOp<mp::ConstantOp>();
  };
  llvm::SmallMapVector<Operation *, SmallVector<std::string, 1>, 1> ops;
  for (const NamedResult &named : results) {
    if (!isNamed(named))
      continue;
    auto result = cast<OpResult>(named.value);
    Operation *op = result.getOwner();
    auto [entry, isNew] = ops.try_emplace(op);
    SmallVector<std::string, 1> &names = entry->second;
    if (isNew)
      for (Value other : op->getResults())
        names.push_back(getValueName(other).str());
    std::string &name = names[result.getResultNumber()];
    name = valueName(named.id);
    if (named.member >= 0)
      name = memberName(named.id, named.member, name);
  }
  for (auto &[op, names] : ops) {
    SmallVector<StringRef> values(names.begin(), names.end());
    op->setLoc(op->getLoc() == pending ? locationOf(node, values)
                                       : withValues(op->getLoc(), values));
  }
  for (const NamedResult &named : results)
    if (isNamed(named))
      recordPlace(named.value, named.id, named.member);
}

void GraphImporter::set(const Node &node, unsigned index, Item item) {
  items[node.outputs[index]] = std::move(item);
}

void GraphImporter::setUnknown(const Node &node, const Roots &shared) {
  for (auto [index, output] : llvm::enumerate(node.outputs))
    set(node, index, unknownItem(graph.values[output].type, pending, shared));
}

void GraphImporter::writeTensor(TensorVariable *variable, Value value) {
  if (state.write(variable, value))
    return;
  // The write reached the base in a way that has no counterpart.
  TensorVariable *root = State::rootOf(variable);
  sink.warn("'" + currentNode +
            "' writes to a view in a way that is not followed");
  state.write(root, loseValue(root->value));
}

Value GraphImporter::loseValue(Value before) {
  // Not by the name of what it was.
  return mp::OpaqueOp::create(builder, withValues(before.getLoc(), {}),
                              TypeRange(before.getType()), kLostName,
                              ValueRange(before), 0)
      ->getResult(0);
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

bool GraphImporter::isOp(const Node &node) const {
  if (node.op == "prim::If" || node.op == "prim::Loop")
    return true;
  if (StringRef(node.op).starts_with("prim::"))
    return false;
  auto holdsTensor = [](const StaticType &type) {
    return type.kind == StaticType::Kind::Tensor ||
           (type.kind == StaticType::Kind::List && !type.elements.empty() &&
            type.elements.front().kind == StaticType::Kind::Tensor);
  };
  return llvm::any_of(
             node.outputs,
             [&](ValueId id) { return holdsTensor(graph.values[id].type); }) ||
         llvm::is_contained(node.writes, true);
}

void GraphImporter::importNodes(ArrayRef<Node> nodes) {
  for (const Node &node : nodes)
    importNode(node);
}

void GraphImporter::importNode(const Node &node) {
  // Probes only look.
  if (StringRef(node.op).starts_with("mpopt::"))
    return;
  std::string outer = std::exchange(currentNode, nodeName(node));
  if (node.op == "prim::If")
    importIf(node);
  else if (node.op == "prim::Loop")
    importLoop(node);
  else
    importOp(node);
  currentNode = std::move(outer);
}

Operation *GraphImporter::lastOp() const {
  Block *block = builder.getInsertionBlock();
  return block->empty() ? nullptr : &block->back();
}

void GraphImporter::locateSteps(const Node &node, Operation *before) {
  LocationAttr steps;
  for (Operation *op = lastOp(); op && op != before; op = op->getPrevNode()) {
    if (op->getLoc() != pending)
      continue;
    if (!steps)
      steps = locationOf(node);
    op->setLoc(steps);
  }
}

void GraphImporter::importOp(const Node &node) {
  Operation *before = lastOp();
  if (!evaluate(node))
    lower(node);
  locateSteps(node, before);
}

/// Behind a check that fails whatever the inputs are, None is typed as a
/// tensor; so are members of lists.
bool GraphImporter::hasTensors(const Node &node) {
  auto isThere = [](const Item &item) {
    return item.isNumber() ||
           (item.isTensor() && State::rootOf(item.variable)->value);
  };
  return llvm::all_of(llvm::enumerate(node.inputs), [&](auto input) {
    ValueId id = input.value();
    const StaticType &type = graph.values[id].type;
    const Item &item = items[id];
    if (type.kind == StaticType::Kind::Tensor)
      return isThere(item);
    // Dims that are not indexed have None, whatever the list is typed as.
    if (input.index() < node.arguments.size() &&
        node.arguments[input.index()] == "indices")
      return true;
    return type.kind != StaticType::Kind::List || type.elements.empty() ||
           type.elements.front().kind != StaticType::Kind::Tensor ||
           !item.isCollection() ||
           llvm::all_of(item.collection->items, isThere);
  });
}

void GraphImporter::lower(const Node &node) {
  bool counted = trial == 0 && isOp(node);
  result.coverage.ops += counted;
  bool inPlace = false;
  // Values of static type Tensor are tensors, known or not.
  for (ValueId id : node.inputs)
    if (const StaticType &type = graph.values[id].type;
        items[id].kind == Item::Kind::Unknown &&
        type.kind == StaticType::Kind::Tensor) {
      items[id] = unknownItem(type, pending);
      resolved.push_back(id);
    }
  Lowering lowering = registry.find(node, inPlace);
  if (lowering && hasTensors(node)) {
    // Ops that a lowering made before it gave up are dead; they stay out.
    Operation *before = lastOp();
    Value self =
        inPlace && !node.inputs.empty() && items[node.inputs[0]].isTensor()
            ? valueOf(items[node.inputs[0]])
            : Value();
    NodeLowering context(*this, node, inPlace);
    std::optional<LogicalResult> byParts = lowerByParts(context, lowering);
    LogicalResult lowered = byParts ? *byParts : lowering(context);
    if (context.hasFailed()) {
      makeOpaque(node);
      return;
    }
    if (succeeded(lowered)) {
      context.complete();
      Block *block = builder.getInsertionBlock();
      markParts(node, self,
                before ? before->getNextNode()
                       : (block->empty() ? nullptr : &block->front()));
      result.coverage.modelled += counted;
      return;
    }
    Block *block = builder.getInsertionBlock();
    while (!block->empty() && &block->back() != before &&
           block->back().use_empty())
      block->back().erase();
  }
  if (counted)
    ++result.coverage.unmodelled[node.op];
  makeOpaque(node);
}

bool GraphImporter::updatesStatistics(const Node &node, unsigned input) const {
  if (node.arguments[input] != "running_mean" &&
      node.arguments[input] != "running_var")
    return false;
  for (auto [index, argument] : llvm::enumerate(node.arguments)) {
    const Item &item = items[node.inputs[index]];
    if ((argument == "training" || argument == "use_input_stats") &&
        item.isStatic() && !item.integer)
      return false;
  }
  return true;
}

/// Ops that give their input itself though their schema does not say so.
static bool mayGiveInput(StringRef op) {
  op.consume_front("aten::");
  return op.starts_with("atleast_") || op.ends_with("dropout") ||
         op == "type_as" || op == "broadcast_tensors" || op == "meshgrid";
}

void GraphImporter::shareOutputs(const Node &node) {
  Roots roots;
  for (auto [index, input] : llvm::enumerate(node.inputs))
    if (mayGiveInput(node.op) ||
        (index < node.shares.size() && node.shares[index]))
      State::findRoots(items[input], roots);
  for (ValueId output : node.outputs) {
    const Item &item = items[output];
    if (item.isTensor())
      state.share(item.variable, roots);
    else if (item.collection && !item.collection->known)
      item.collection->sources = roots;
  }
}

mlir::Type GraphImporter::opaqueType(const GraphValue &value) const {
  if (value.type.kind == StaticType::Kind::Tensor) {
    mlir::Type element =
        NodeContext::elementTypeOf(context, value.declaredType);
    if (!element || isa<ComplexType>(element))
      return getUnknownTensor(context);
    Shape dims;
    for (int64_t size : value.declaredSizes)
      dims.push_back(size < 0 ? kDynamic : size);
    return RankedTensorType::get(dims, element);
  }
  if (std::optional<Item::Kind> number = numberKindOf(value.type))
    return numberType(*number, context);
  return {};
}

void GraphImporter::makeOpaque(const Node &node) {
  SmallVector<Value> inputs;
  auto collect = [&](auto &self, const Item &item) -> void {
    if (item.isCollection()) {
      for (const Item &member : item.collection->items)
        self(self, member);
      return;
    }
    if (Value value = item.isTensor() ? valueOf(item) : Value())
      inputs.push_back(value);
  };
  for (ValueId input : node.inputs)
    collect(collect, items[input]);
  // One result for each tensor or number, and one for each tensor it writes.
  SmallVector<mlir::Type> types;
  for (ValueId output : node.outputs)
    if (mlir::Type type = opaqueType(graph.values[output]))
      types.push_back(type);
  size_t numGiven = types.size();
  SmallVector<TensorVariable *> written;
  for (auto [index, input] : llvm::enumerate(node.inputs)) {
    if (index >= node.writes.size() || !items[input].isTensor() ||
        (!node.writes[index] && !updatesStatistics(node, index)))
      continue;
    written.push_back(items[input].variable);
    types.push_back(valueOf(items[input]).getType());
  }
  auto opaque = mp::OpaqueOp::create(builder, pending, types, node.qualified(),
                                     inputs, 0);
  markAutocast(opaque);
  bindOpaque(node, opaque);
  for (auto [index, variable] : llvm::enumerate(written))
    writeTensor(variable, opaque->getResult(numGiven + index));
}

void GraphImporter::bindOpaque(const Node &node, Operation *opaque) {
  std::vector<std::string> names(opaque->getNumResults());
  unsigned next = 0;
  for (auto [index, output] : llvm::enumerate(node.outputs)) {
    const StaticType &type = graph.values[output].type;
    if (!opaqueType(graph.values[output])) {
      set(node, index, unknownItem(type, pending));
      continue;
    }
    names[next] = valueName(output);
    Value value = opaque->getResult(next++);
    std::optional<Item::Kind> number = numberKindOf(type);
    set(node, index,
        number ? Item::computed(*number, value) : tensorItem(value));
  }
  opaque->setLoc(
      locationOf(node, SmallVector<StringRef>(names.begin(), names.end())));
  shareOutputs(node);
  next = 0;
  for (ValueId output : node.outputs)
    if (opaqueType(graph.values[output]))
      recordPlace(opaque->getResult(next++), output);
}
