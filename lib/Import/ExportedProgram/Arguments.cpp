//===- Arguments.cpp - What a node of a program reads ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "GraphReader.h"

using namespace mpopt;
using namespace mpopt::exported;
using aten::Constant;
using aten::ValueId;
using llvm::StringRef;
namespace json = llvm::json;

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

std::string GraphReader::uniqueName(std::string name) {
  std::string result = name;
  while (unsigned count = names[result]++)
    result = name + "." + std::to_string(count);
  return result;
}

ValueId GraphReader::addValue(std::string name, aten::StaticType type) {
  aten::GraphValue value;
  value.name = uniqueName(std::move(name));
  value.type = std::move(type);
  graph.values.push_back(std::move(value));
  return ValueId(graph.values.size() - 1);
}

ValueId GraphReader::define(Scope &scope, StringRef name, Kind kind) {
  aten::StaticType staticType{kind, {}};
  if (kind == Kind::List)
    staticType.elements.push_back({Kind::Tensor, {}});
  ValueId id = addValue(scope.prefix + name.str(), std::move(staticType));
  if (!scope.values.try_emplace(name, id).second)
    damage.report("defines '" + name + "' twice", ImportCode::DuplicateName);
  place(scope, name, id);
  if (kind != Kind::Tensor)
    return id;
  json::Value type = nullptr;
  const json::Object *meta = nullptr;
  if (scope.parts) {
    if (StringRef text = scope.parts->type(name); !text.empty())
      type = parsePart(text, damage);
    meta = type.getAsObject();
  } else if (scope.tensors) {
    meta = scope.tensors->getObject(name);
  }
  if (!meta)
    return id;
  TensorMeta declared = readTensorMeta(*meta, name, dims, damage);
  aten::GraphValue &value = graph.values[id];
  value.declaredType = declared.scalarType;
  value.declaredSizes = std::move(declared.sizes);
  value.dimNames = std::move(declared.symbols);
  return id;
}

void GraphReader::place(const Scope &scope, StringRef name, ValueId id) {
  aten::GraphValue &value = graph.values[id];
  value.origin = scope.prefix + name.str();
  if (scope.prefix.empty())
    return;
  Inlined &body = inlined[scope.prefix];
  body.values.push_back(id);
  value.repeats = body.count > 1;
}

void GraphReader::nameResult(StringRef name, ValueId id) {
  aten::GraphValue &value = graph.values[id];
  // A name of FX has no dots, which are those of inner graphs; `getitem` is its
  // own name for a part of what such a graph gives, and says less.
  if (StringRef(value.origin).contains('.') && !name.starts_with("getitem"))
    value.name = uniqueName(name.str());
}

GraphReader::Scope GraphReader::open(const json::Object &from,
                                     std::string prefix) {
  Scope scope;
  scope.prefix = std::move(prefix);
  scope.tensors = &getObject(from, "tensor_values", damage);
  return scope;
}

ValueId GraphReader::find(Scope &scope, StringRef name,
                          aten::GraphBlock &block) {
  auto known = scope.values.find(name);
  if (known != scope.values.end())
    return known->second;
  auto held = state.find(name);
  if (!scope.prefix.empty() || held == state.end()) {
    damage.report("reads '" + name + "', which nothing defines",
                  ImportCode::UndefinedName);
    return addValue("undefined", {Kind::Other, {}});
  }
  // Where it is used first: the order of weights is that of the layers.
  aten::Node node;
  node.op = "prim::GetAttr";
  Constant path;
  path.kind = Constant::Kind::String;
  path.string = held->second;
  node.attributes["path"] = std::move(path);
  node.outputs = {define(scope, name, Kind::Tensor)};
  block.nodes.push_back(std::move(node));
  return block.nodes.back().outputs.front();
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

static Constant makeInt(int64_t value) {
  Constant constant;
  constant.kind = Constant::Kind::Int;
  constant.integer = value;
  return constant;
}

static Constant makeText(Constant::Kind kind, StringRef text) {
  Constant constant;
  constant.kind = kind;
  constant.string = text.str();
  return constant;
}

static Constant makeFloat(double value) {
  Constant constant;
  constant.kind = Constant::Kind::Float;
  constant.real = value;
  return constant;
}

static Constant makeBool(const json::Value &value, Damage &damage) {
  Constant constant;
  constant.kind = Constant::Kind::Bool;
  if (!value.getAsBoolean())
    damage.report("the graph's field 'as_bool' is no truth value");
  constant.integer = value.getAsBoolean().value_or(false);
  return constant;
}

/// The constant that an argument of one value is; nothing for other kinds.
static std::optional<Constant> readScalar(const Choice &argument,
                                          Damage &damage) {
  StringRef kind = argument.kind;
  if (kind == "as_none")
    return Constant();
  if (kind == "as_bool")
    return makeBool(*argument.value, damage);
  if (kind == "as_int")
    return makeInt(argument.integer(damage));
  if (kind == "as_float")
    return makeFloat(asNumber(*argument.value, damage));
  if (kind == "as_string" || kind == "as_operator")
    return makeText(Constant::Kind::String, argument.string(damage));
  if (kind == "as_scalar_type")
    return makeInt(toC10ScalarType(argument.integer(damage)));
  if (kind == "as_memory_format")
    return makeInt(toC10MemoryFormat(argument.integer(damage)));
  if (kind == "as_layout")
    return makeInt(toC10Layout(argument.integer(damage)));
  if (kind == "as_device")
    return makeText(Constant::Kind::Device,
                    getString(argument.object(damage), "type", damage));
  if (kind != "as_complex")
    return std::nullopt;
  static const json::Value null = nullptr;
  const json::Object &parts = argument.object(damage);
  const json::Value *real = parts.get("real"), *imaginary = parts.get("imag");
  Constant constant;
  constant.kind = Constant::Kind::Complex;
  constant.real = asNumber(real ? *real : null, damage);
  constant.imaginary = asNumber(imaginary ? *imaginary : null, damage);
  return constant;
}

std::optional<Constant> GraphReader::readLiteral(const Choice &argument) {
  if (auto scalar = readScalar(argument, damage))
    return scalar;
  StringRef kind = argument.kind;
  // `as_ints` and `as_int_lists`: a list of what `as_int` is, or of such lists.
  StringRef element = kind == "as_ints" || kind == "as_int_lists" ? "as_int"
                      : kind == "as_floats" || kind == "as_float_lists"
                          ? "as_float"
                      : kind == "as_bools"   ? "as_bool"
                      : kind == "as_strings" ? "as_string"
                                             : "";
  if (element.empty())
    return std::nullopt;
  auto readAll = [&](const json::Array &members) {
    Constant list;
    list.kind = Constant::Kind::List;
    for (const json::Value &member : members)
      list.elements.push_back(*readScalar({element, &member}, damage));
    return list;
  };
  if (!kind.ends_with("_lists"))
    return readAll(argument.array(damage));
  Constant lists;
  lists.kind = Constant::Kind::List;
  for (const json::Value &member : argument.array(damage))
    lists.elements.push_back(readAll(Choice{kind, &member}.array(damage)));
  return lists;
}

static Kind kindOf(const Constant &constant) {
  switch (constant.kind) {
  case Constant::Kind::None:
    return Kind::None;
  case Constant::Kind::Bool:
    return Kind::Bool;
  case Constant::Kind::Int:
    return Kind::Int;
  case Constant::Kind::Float:
    return Kind::Float;
  case Constant::Kind::Complex:
    return Kind::Complex;
  case Constant::Kind::String:
    return Kind::String;
  case Constant::Kind::Device:
    return Kind::Device;
  case Constant::Kind::Tensor:
    return Kind::Tensor;
  case Constant::Kind::List:
    return Kind::List;
  case Constant::Kind::Tuple:
    return Kind::Tuple;
  case Constant::Kind::Dict:
    return Kind::Dict;
  case Constant::Kind::Object:
    return Kind::Object;
  }
  return Kind::Other;
}

static aten::StaticType typeOf(const Constant &constant) {
  aten::StaticType type{kindOf(constant), {}};
  if (type.kind == Kind::List)
    type.elements.push_back(constant.elements.empty()
                                ? aten::StaticType{Kind::Int, {}}
                                : typeOf(constant.elements.front()));
  return type;
}

ValueId GraphReader::addConstant(Constant value, aten::GraphBlock &block) {
  aten::Node node;
  node.op = "prim::Constant";
  node.outputs = {addValue("constant", typeOf(value))};
  node.attributes["value"] = std::move(value);
  block.nodes.push_back(std::move(node));
  return block.nodes.back().outputs.front();
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

ValueId GraphReader::addList(llvm::ArrayRef<ValueId> members, Kind element,
                             aten::GraphBlock &block) {
  aten::Node node;
  node.op = "prim::ListConstruct";
  node.inputs = members;
  node.outputs = {addValue("list", {Kind::List, {{element, {}}}})};
  block.nodes.push_back(std::move(node));
  return block.nodes.back().outputs.front();
}

ValueId GraphReader::readList(const Choice &list, Scope &scope,
                              aten::GraphBlock &block) {
  std::vector<ValueId> members;
  Kind element = Kind::Tensor;
  for (const json::Value &member : list.array(damage)) {
    if (list.kind == "as_tensors") {
      members.push_back(
          find(scope, Choice{list.kind, &member}.name(damage), block));
    } else if (list.kind == "as_nested_tensors") {
      members.push_back(readList({"as_tensors", &member}, scope, block));
      element = Kind::List;
    } else {
      // Each member is a union of a name and a value.
      Choice choice = getChoice(member, damage);
      if (list.kind != "as_optional_tensors")
        element = list.kind == "as_sym_ints"     ? Kind::Int
                  : list.kind == "as_sym_floats" ? Kind::Float
                                                 : Kind::Bool;
      members.push_back(choice.kind == "as_name"
                            ? find(scope, choice.string(damage), block)
                            : readArgument(member, scope, block));
    }
  }
  return addList(members, element, block);
}

ValueId GraphReader::readArgument(const json::Value &argument, Scope &scope,
                                  aten::GraphBlock &block) {
  Choice choice = getChoice(argument, damage);
  StringRef kind = choice.kind;
  if (kind == "as_tensor" || kind == "as_token" || kind == "as_custom_obj")
    return find(scope, choice.name(damage), block);
  if (kind == "as_sym_int" || kind == "as_sym_float" || kind == "as_sym_bool") {
    Choice symbol = getChoice(*choice.value, damage);
    return symbol.kind == "as_name" ? find(scope, symbol.string(damage), block)
                                    : readArgument(*choice.value, scope, block);
  }
  if (kind == "as_optional_tensor")
    return readArgument(*choice.value, scope, block);
  if (kind == "as_tensors" || kind == "as_optional_tensors" ||
      kind == "as_nested_tensors" || kind == "as_sym_ints" ||
      kind == "as_sym_floats" || kind == "as_sym_bools")
    return readList(choice, scope, block);
  if (std::optional<Constant> literal = readLiteral(choice))
    return addConstant(std::move(*literal), block);
  // A kind of a later version: known to be there, and no more.
  Constant unknown;
  unknown.kind = Constant::Kind::Object;
  unknown.string = kind.str();
  return addConstant(std::move(unknown), block);
}
