//===- NodeLowering.cpp - The context that lowerings see ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "NodeLowering.h"

#include "mpopt/Dialect/MPDialect.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"

#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::aten;

NodeLowering::NodeLowering(GraphImporter &importer, const Node &node,
                           bool inPlace)
    : NodeContext(importer.builder, importer.pending, importer.facts),
      importer(importer), node(node), opName(node.op), inPlace(inPlace) {
  opName = opName.substr(opName.find("::") + 2);
  if (inPlace)
    opName = opName.drop_back();
}

std::function<NodeContext &()> NodeLowering::keep() const {
  // By then another node is imported, maybe in another round of a loop.
  return [kept = std::make_shared<NodeLowering>(*this),
          round = importer.iteration]() -> NodeContext & {
    llvm::SaveAndRestore here(kept->importer.iteration, round);
    kept->location = kept->importer.locationOf(kept->node);
    return *kept;
  };
}

const Item *NodeLowering::find(StringRef input) const {
  for (auto [index, argument] : llvm::enumerate(node.arguments))
    if (argument == input) {
      const Item &item = importer.items[node.inputs[index]];
      return item.isNone() ? nullptr : &item;
    }
  // A member of a collection.
  auto [whole, position] = input.rsplit('.');
  size_t index = 0;
  if (position.empty() || position.getAsInteger(10, index))
    return nullptr;
  const Item *collection = find(whole);
  if (!collection || !collection->isCollection() ||
      !collection->collection->known ||
      index >= collection->collection->items.size())
    return nullptr;
  const Item &member = collection->collection->items[index];
  return member.isNone() ? nullptr : &member;
}

bool NodeLowering::has(StringRef input) const { return find(input); }

Value NodeLowering::tensor(StringRef input) {
  const Item *item = find(input);
  return item ? importer.valueOf(*item) : Value();
}

bool NodeLowering::isScalar(StringRef input) const {
  const Item *item = find(input);
  return item && item->isNumber();
}

std::optional<SmallVector<Value>> NodeLowering::tensors(StringRef input) {
  const Item *item = find(input);
  if (!item || !item->isCollection() || !item->collection->known)
    return std::nullopt;
  SmallVector<Value> values;
  for (const Item &member : item->collection->items)
    values.push_back(importer.valueOf(member));
  return values;
}

/// A number that is known, also as a rank-0 tensor with known elements.
static std::optional<int64_t> knownInt(const Item &item,
                                       const ShapeFacts &facts) {
  Value value = item.dynamic;
  if (item.isTensor())
    value = State::rootOf(item.variable) == item.variable ? item.variable->value
                                                          : Value();
  if (value) {
    auto elements = facts.constants(value);
    if (elements && elements->size() == 1)
      return elements->front();
    return std::nullopt;
  }
  if (item.isNumber() && item.kind != Item::Kind::Float)
    return item.integer;
  if (item.kind == Item::Kind::Float && item.real == int64_t(item.real))
    return int64_t(item.real);
  return std::nullopt;
}

std::optional<int64_t> NodeLowering::findInt(StringRef input) const {
  const Item *item = find(input);
  return item ? knownInt(*item, facts()) : std::nullopt;
}

std::optional<double> NodeLowering::findNumber(StringRef input) const {
  const Item *item = find(input);
  if (!item)
    return std::nullopt;
  if (item->isStatic())
    return item->number();
  if (std::optional<int64_t> known = knownInt(*item, facts()))
    return double(*known);
  return std::nullopt;
}

std::optional<StringRef> NodeLowering::findString(StringRef input) const {
  const Item *item = find(input);
  if (!item || item->kind != Item::Kind::String)
    return std::nullopt;
  return StringRef(item->text);
}

std::optional<SmallVector<int64_t>>
NodeLowering::findInts(StringRef input) const {
  const Item *item = find(input);
  if (!item)
    return std::nullopt;
  if (!item->isCollection()) {
    std::optional<int64_t> single = findInt(input);
    if (!single)
      return std::nullopt;
    return SmallVector<int64_t>{*single};
  }
  if (!item->collection->known)
    return std::nullopt;
  SmallVector<int64_t> ints;
  for (const Item &member : item->collection->items) {
    std::optional<int64_t> known = knownInt(member, facts());
    if (!known)
      return std::nullopt;
    ints.push_back(*known);
  }
  return ints;
}

std::optional<SmallVector<double>>
NodeLowering::findNumbers(StringRef input) const {
  const Item *item = find(input);
  if (!item || !item->isCollection() || !item->collection->known)
    return std::nullopt;
  SmallVector<double> numbers;
  for (const Item &member : item->collection->items) {
    if (!member.isStatic())
      return std::nullopt;
    numbers.push_back(member.number());
  }
  return numbers;
}

/// Appends the numbers of a nested list in row-major order. `dims` are those of
/// the first member at each depth; false if another one differs.
static bool flattenArray(const Item &item, size_t depth,
                         SmallVectorImpl<int64_t> &dims, bool &isFirst,
                         SmallVectorImpl<const Item *> &numbers) {
  if (item.isNumber()) {
    isFirst = false;
    numbers.push_back(&item);
    return depth == dims.size();
  }
  if (!item.isCollection() || !item.collection->known)
    return false;
  int64_t size = item.collection->items.size();
  if (isFirst && depth == dims.size())
    dims.push_back(size);
  if (depth >= dims.size() || dims[depth] != size)
    return false;
  return llvm::all_of(item.collection->items, [&](const Item &member) {
    return flattenArray(member, depth + 1, dims, isFirst, numbers);
  });
}

Value NodeLowering::array(StringRef input) {
  const Item *item = find(input);
  SmallVector<int64_t> dims;
  SmallVector<const Item *> numbers;
  bool isFirst = true;
  if (!item || !flattenArray(*item, 0, dims, isFirst, numbers))
    return {};
  mlir::Type element = opBuilder.getI1Type();
  for (const Item *number : numbers) {
    if (number->kind == Item::Kind::Float)
      element = opBuilder.getF64Type();
    else if (number->kind == Item::Kind::Int && !isa<FloatType>(element))
      element = opBuilder.getI64Type();
  }
  if (numbers.empty())
    element = opBuilder.getF64Type();
  auto type = RankedTensorType::get(dims, element);
  if (llvm::all_of(numbers,
                   [](const Item *number) { return number->isStatic(); })) {
    SmallVector<Attribute> elements;
    for (const Item *number : numbers)
      elements.push_back(
          isa<FloatType>(element)
              ? Attribute(opBuilder.getFloatAttr(element, number->number()))
              : opBuilder.getIntegerAttr(element, number->integer));
    return makeTyped<mp::ConstantOp>({type},
                                     DenseElementsAttr::get(type, elements))
        .getResult();
  }
  Value one = makeInts({1});
  SmallVector<Value> members;
  for (const Item *number : numbers)
    members.push_back(
        make<mp::ReshapeOp>(cast(importer.valueOf(*number), element), one,
                            /*allow_zero=*/false));
  Value flat =
      members.size() == 1 ? members.front() : make<mp::ConcatOp>(members, 0);
  return make<mp::ReshapeOp>(flat, makeInts(dims), /*allow_zero=*/false);
}

Value NodeLowering::shapeOf(StringRef input) {
  if (std::optional<SmallVector<int64_t>> known = findInts(input))
    return makeInts(*known);
  const Item *item = find(input);
  if (!item || !item->isCollection() || !item->collection->known ||
      item->collection->items.empty())
    return {};
  Value one = makeInts({1});
  SmallVector<Value> dims;
  for (const Item &member : item->collection->items) {
    Value value = importer.valueOf(member);
    if (!value)
      return {};
    dims.push_back(make<mp::ReshapeOp>(cast(value, opBuilder.getI64Type()), one,
                                       /*allow_zero=*/false));
  }
  return make<mp::ConcatOp>(dims, 0);
}

void NodeLowering::setOutput(unsigned index, Value value) {
  importer.set(node, index, importer.tensorItem(value));
}

void NodeLowering::setOutputTensors(unsigned index, ArrayRef<Value> values) {
  std::vector<Item> members;
  for (Value value : values)
    members.push_back(importer.tensorItem(value));
  importer.set(node, index, Item::list(std::move(members)));
}

void NodeLowering::setOutputNumber(unsigned index, Value value) {
  mlir::Type element = getElementType(value);
  Item::Kind kind = isa<FloatType>(element)        ? Item::Kind::Float
                    : element.isSignlessInteger(1) ? Item::Kind::Bool
                                                   : Item::Kind::Int;
  importer.set(node, index, Item::computed(kind, value));
}

void NodeLowering::setAlias(unsigned index, StringRef input) {
  const Item *item = find(input);
  importer.set(node, index, item ? *item : Item::none());
}

void NodeLowering::setOutputSharing(unsigned index, Value value, StringRef of) {
  Item item = importer.tensorItem(value);
  if (const Item *base = find(of)) {
    Roots roots;
    State::findRoots(*base, roots);
    importer.state.share(item.variable, roots);
  }
  importer.set(node, index, item);
}

Item NodeLowering::viewItem(const Item *base, TensorView view) {
  Item item;
  item.kind = Item::Kind::Tensor;
  item.variable = base && base->isTensor()
                      ? importer.state.makeView(
                            base->variable, view.value,
                            {std::move(view.derive), std::move(view.writeBack)})
                      : importer.state.makeVariable(view.value);
  return item;
}

void NodeLowering::setView(unsigned index, StringRef of, Value value,
                           std::function<Value(Value)> derive,
                           std::function<Value(Value, Value)> writeBack) {
  importer.set(
      node, index,
      viewItem(find(of), {value, std::move(derive), std::move(writeBack)}));
}

void NodeLowering::setOutputViews(unsigned index, StringRef of,
                                  ArrayRef<TensorView> views) {
  std::vector<Item> members;
  for (const TensorView &view : views)
    members.push_back(viewItem(find(of), view));
  importer.set(node, index, Item::list(std::move(members)));
}

void NodeLowering::write(StringRef input, Value value) {
  const Item *item = find(input);
  if (!item || !item->isTensor())
    return;
  mlir::Type before = getElementType(importer.valueOf(*item));
  if (!isUnknown(before))
    value = cast(value, before);
  importer.writeTensor(item->variable, value);
}

LogicalResult NodeLowering::error(const Twine &reason) {
  failed = true;
  importer.sink.error(ImportCode::BadNode, importer.currentNode, reason);
  return failure();
}

void NodeLowering::complete() {
  // `x.add_(y)` gives x; `torch.add(x, y, out=z)` gives z.
  StringRef target = inPlace ? "self" : has("out") ? "out" : "";
  if (!target.empty() && node.outputs.size() == 1) {
    const Item &made = importer.items[node.outputs.front()];
    const Item *written = find(target);
    if (made.isTensor() && written && written->isTensor() &&
        made.variable != written->variable) {
      Value value = importer.valueOf(made);
      importer.nameResults(node, {{value, node.outputs.front()}});
      write(target, value);
      setAlias(0, target);
      return;
    }
  }
  SmallVector<GraphImporter::NamedResult> named;
  for (ValueId output : node.outputs) {
    const Item &item = importer.items[output];
    // An alias keeps the name of what it is.
    if (item.isTensor() && item.variable->value &&
        item.variable->value.getLoc() == location)
      named.push_back({item.variable->value, output});
    if (item.kind != Item::Kind::List)
      continue;
    for (auto [number, member] : llvm::enumerate(item.collection->items))
      if (member.isTensor() && member.variable->value &&
          member.variable->value.getLoc() == location)
        named.push_back({member.variable->value, output, int64_t(number)});
  }
  importer.nameResults(node, named);
}
