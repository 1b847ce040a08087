//===- Inputs.cpp - The arguments of a method -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each tensor becomes an input of its own: members of a tuple, of a list of
// known length, and of a dictionary whose keys are known.
//
//===----------------------------------------------------------------------===//

#include "GraphImporter.h"

#include "mpopt/Dialect/MPDialect.h"
#include "mpopt/Dialect/Origin.h"

#include "mlir/AsmParser/AsmParser.h"

#include "llvm/ADT/STLExtras.h"

#include <set>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::aten;

static const InputShape *findShape(const ImportOptions &options,
                                   StringRef name) {
  for (const InputShape &shape : options.inputShapes)
    if (shape.input == name)
      return &shape;
  return nullptr;
}

/// True for ops whose result holds elements of their operand, in another shape.
static bool moves(StringRef op) {
  return llvm::is_contained(
      {"aten::select", "aten::slice", "aten::view", "aten::reshape",
       "aten::unsqueeze", "aten::squeeze", "aten::expand", "aten::flatten",
       "aten::contiguous", "aten::unbind", "aten::detach", "aten::clone",
       "aten::repeat", "aten::transpose", "aten::t", "prim::ListConstruct",
       "prim::ListUnpack"},
      op);
}

namespace {
/// Finds if a value, or a part of it, picks elements of a tensor: only integers
/// do.
class IndexSearch {
public:
  explicit IndexSearch(const GraphBlock &body) : body(body) {}
  bool run(ValueId value) { return look(body, value); }

private:
  bool look(const GraphBlock &block, ValueId value) {
    return llvm::any_of(block.nodes, [&](const Node &node) {
      for (auto [at, input] : llvm::enumerate(node.inputs))
        if (input == value && isIndexOf(node, at))
          return true;
      return llvm::any_of(node.blocks, [&](const GraphBlock &inner) {
        return look(inner, value);
      });
    });
  }

  bool isIndexOf(const Node &node, size_t at) {
    StringRef op = node.op, argument;
    if (at < node.arguments.size())
      argument = node.arguments[at];
    if (op.starts_with("aten::") &&
        (argument == "index" || argument == "indices"))
      return true;
    if (!moves(op) || (at > 0 && op != "prim::ListConstruct"))
      return false;
    return llvm::any_of(node.outputs, [&](ValueId part) {
      return seen.insert(part).second && run(part);
    });
  }

  const GraphBlock &body;
  std::set<ValueId> seen;
};
} // namespace

/// Null if the model has none of that name.
static const GraphValue *findInput(const Graph &graph, StringRef name) {
  for (ValueId input : graph.inputs)
    if (graph.values[input].name == name)
      return &graph.values[input];
  return nullptr;
}

mlir::Type GraphImporter::declaredInputType(const GraphValue &value,
                                            const InputShape *given) {
  mlir::Type element = NodeContext::elementTypeOf(context, value.declaredType);
  Shape dims;
  for (int64_t size : value.declaredSizes)
    dims.push_back(size < 0 ? kDynamic : size);
  auto declared = RankedTensorType::get(dims, element);
  if (!given)
    return declared;
  bool agrees = given->dims.size() == dims.size();
  for (size_t dim = 0; agrees && dim < dims.size(); ++dim) {
    agrees = dims[dim] == kDynamic || given->dims[dim] < 0 ||
             dims[dim] == given->dims[dim];
    if (given->dims[dim] >= 0)
      dims[dim] = given->dims[dim];
  }
  if (!given->elementType.empty())
    agrees &= parseType(given->elementType, context) == element;
  if (agrees)
    return RankedTensorType::get(dims, element);
  sink.error(ImportCode::InputShapeConflict, value.name,
             "the given shape contradicts the model's");
  return declared;
}

mlir::Type GraphImporter::inputType(StringRef name) {
  if (const GraphValue *value = findInput(graph, name);
      value && value->declaredType >= 0)
    return declaredInputType(*value, findShape(options, name));
  const GraphValue *traced = nullptr;
  mlir::Type assumed = defaultFloat;
  for (ValueId input : graph.inputs) {
    if (graph.values[input].name != name)
      continue;
    if (graph.values[input].tracedType >= 0)
      traced = &graph.values[input];
    if (IndexSearch(graph.body).run(input))
      assumed = builder.getI64Type();
  }
  for (ValueId member : memberReads[name.str()])
    if (IndexSearch(graph.body).run(member))
      assumed = builder.getI64Type();
  const InputShape *given = findShape(options, name);
  if (!given && traced) {
    if (mlir::Type element =
            NodeContext::elementTypeOf(context, traced->tracedType)) {
      std::string dims;
      for (int64_t size : traced->tracedSizes)
        dims += (dims.empty() ? "" : "x") + std::to_string(size);
      sink.warn("input '" + name + "' is taken as " +
                (dims.empty() ? "a scalar" : dims) +
                ", as it was traced (--input-shape " + name +
                "=... for "
                "another shape)");
      return RankedTensorType::get(traced->tracedSizes, element);
    }
  }
  if (!given) {
    sink.warn("the shape of input '" + name + "' is not known (--input-shape " +
              name + "=...)");
    return UnrankedTensorType::get(assumed);
  }
  mlir::Type element = assumed;
  if (!given->elementType.empty())
    element = parseType(given->elementType, context);
  Shape dims;
  for (int64_t dim : given->dims)
    dims.push_back(dim < 0 ? kDynamic : dim);
  return RankedTensorType::get(dims, element);
}

void GraphImporter::collectInputNames(const StaticType &type,
                                      const std::string &name,
                                      std::vector<std::string> &names) const {
  if (type.kind == StaticType::Kind::Tuple)
    for (auto [index, element] : llvm::enumerate(type.elements))
      collectInputNames(element, name + "." + std::to_string(index), names);
  else
    names.push_back(name);
}

static GraphPlace memberOf(GraphPlace place, int64_t index) {
  place.members.push_back(index);
  return place;
}

//===----------------------------------------------------------------------===//
// Dictionaries
//===----------------------------------------------------------------------===//

using KeyOf = std::map<ValueId, std::string>;

/// The strings and integers that are constants of the graph.
static void findLiterals(const GraphBlock &block, KeyOf &literals) {
  for (const Node &node : block.nodes) {
    for (const GraphBlock &inner : node.blocks)
      findLiterals(inner, literals);
    auto value = node.attributes.find("value");
    if (node.op != "prim::Constant" || value == node.attributes.end() ||
        node.outputs.empty())
      continue;
    const Constant &constant = value->second;
    if (constant.kind == Constant::Kind::String)
      literals[node.outputs.front()] = constant.string;
    else if (constant.kind == Constant::Kind::Int)
      literals[node.outputs.front()] = std::to_string(constant.integer);
  }
}

namespace {
/// The uses that a method makes of a dictionary's members.
struct DictUse {
  /// Keys in the order in which they are read, with what is read.
  std::vector<std::pair<std::string, std::vector<ValueId>>> reads;
  std::set<std::string> written;

  void find(const GraphBlock &block, ValueId dict, const KeyOf &literals) {
    for (const Node &node : block.nodes) {
      for (const GraphBlock &inner : node.blocks)
        find(inner, dict, literals);
      if (node.inputs.size() < 2 || node.inputs[0] != dict)
        continue;
      auto key = literals.find(node.inputs[1]);
      if (key == literals.end())
        continue;
      if (node.op == "aten::_set_item")
        written.insert(key->second);
      else if (node.op == "aten::__getitem__")
        readsOf(key->second).push_back(node.outputs.front());
    }
  }

private:
  std::vector<ValueId> &readsOf(const std::string &key) {
    for (auto &[known, values] : reads)
      if (known == key)
        return values;
    return reads.emplace_back(key, std::vector<ValueId>()).second;
  }
};
} // namespace

/// The members are those that shapes are given for (`data.pos`), and those that
/// the method reads and does not set; any other is not there.
Item GraphImporter::importDict(const StaticType &type, const std::string &name,
                               const GraphPlace &place, func::FuncOp function) {
  Location location =
      makeOrigin(context, name, "Input", "", {name}, UnknownLoc::get(context));
  recordUnfollowed(type, name);
  KeyOf literals;
  findLiterals(graph.body, literals);
  DictUse use;
  for (ValueId input : graph.inputs)
    if (graph.values[input].name == name)
      use.find(graph.body, input, literals);
  std::vector<std::string> keys;
  for (const InputShape &shape : options.inputShapes)
    if (StringRef key = shape.input; key.consume_front(name + "."))
      keys.push_back(key.str());
  bool isDeclared = !keys.empty();
  for (auto &[key, values] : use.reads) {
    memberReads[name + "." + key] = values;
    if (!isDeclared && !use.written.count(key))
      keys.push_back(key);
  }
  bool isText = type.elements.front().kind == StaticType::Kind::String;
  std::vector<Item> members;
  for (const std::string &key : keys) {
    int64_t number = 0;
    if (!isText && StringRef(key).getAsInteger(10, number))
      continue;
    std::string member = name + "." + key;
    members.push_back(isText ? Item::string(key) : Item::integerOf(number));
    members.push_back(
        importInput(type.elements.back(), member, place, function));
    // Probes do not look into dictionaries.
    recordUnfollowed(type.elements.back(), member);
  }
  if (!members.empty())
    return Item::collectionOf(Item::Kind::Dict, std::move(members));
  sink.warn("which members input '" + name +
            "' has is not known (--input-shape " + name + ".KEY=...)");
  return unknownItem(type, location);
}

Item GraphImporter::importInput(const StaticType &type, const std::string &name,
                                const GraphPlace &place,
                                func::FuncOp function) {
  Location location =
      makeOrigin(context, name, "Input", "", {name}, UnknownLoc::get(context));
  auto argument = [&](mlir::Type argumentType) {
    unsigned index = function.getNumArguments();
    SmallVector<NamedAttribute> attributes{
        builder.getNamedAttr("mp.name", builder.getStringAttr(name))};
    const GraphValue *value = findInput(graph, name);
    if (value && llvm::any_of(value->dimNames, [](const std::string &dim) {
          return !dim.empty();
        }))
      attributes.push_back(builder.getNamedAttr(
          "mp.dim_params",
          builder.getStrArrayAttr(SmallVector<StringRef>(
              value->dimNames.begin(), value->dimNames.end()))));
    (void)function.insertArgument(
        index, argumentType, builder.getDictionaryAttr(attributes), location);
    result.inputs.push_back(name);
    recordPlace(name, place);
    return function.getArgument(index);
  };
  if (std::optional<Item::Kind> number = numberKindOf(type))
    return Item::computed(*number, argument(numberType(*number, context)));
  switch (type.kind) {
  case StaticType::Kind::Tuple: {
    std::vector<Item> members;
    for (auto [index, element] : llvm::enumerate(type.elements))
      members.push_back(importInput(element, name + "." + std::to_string(index),
                                    memberOf(place, index), function));
    return Item::tuple(std::move(members));
  }
  case StaticType::Kind::Optional:
    // As the caller leaves it, unless a shape says that it is there.
    if (!findShape(options, name))
      return Item::none();
    return importInput(type.elements.front(), name, place, function);
  case StaticType::Kind::List: {
    // As many members as shapes are given for (`xs.0`, `xs.1`).
    std::vector<Item> members;
    while (findShape(options, name + "." + std::to_string(members.size())))
      members.push_back(importInput(type.elements.front(),
                                    name + "." + std::to_string(members.size()),
                                    memberOf(place, members.size()), function));
    if (!members.empty())
      return Item::list(std::move(members));
    sink.warn("how many members input '" + name +
              "' has is not known (--input-shape " + name + ".0=...)");
    recordUnfollowed(type, name);
    return unknownItem(type, location);
  }
  case StaticType::Kind::Dict:
    return importDict(type, name, place, function);
  case StaticType::Kind::Tensor:
    return tensorItem(argument(inputType(name)));
  default:
    return unknownItem(type, location);
  }
}
