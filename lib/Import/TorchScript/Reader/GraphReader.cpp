//===- GraphReader.cpp - JIT graphs to plain data -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Submodules are known while reading, so that fetching one needs no node; what
// is fetched from them is named by its path. Attributes that are no module stay
// nodes, since a method may change them.
//
//===----------------------------------------------------------------------===//

#include "GraphReader.h"

#include <torch/csrc/jit/ir/constants.h>

using namespace mpopt::torchscript;
namespace aten = mpopt::aten;
namespace jit = torch::jit;

aten::StaticType mpopt::torchscript::convertType(const c10::TypePtr &type) {
  using Kind = aten::StaticType::Kind;
  switch (type->kind()) {
  case c10::TypeKind::TensorType:
    return {Kind::Tensor, {}};
  case c10::TypeKind::IntType:
    return {Kind::Int, {}};
  case c10::TypeKind::FloatType:
    return {Kind::Float, {}};
  case c10::TypeKind::BoolType:
    return {Kind::Bool, {}};
  case c10::TypeKind::ComplexType:
    return {Kind::Complex, {}};
  case c10::TypeKind::NumberType:
    return {Kind::Number, {}};
  case c10::TypeKind::StringType:
    return {Kind::String, {}};
  case c10::TypeKind::DeviceObjType:
    return {Kind::Device, {}};
  case c10::TypeKind::NoneType:
    return {Kind::None, {}};
  case c10::TypeKind::OptionalType:
    return {
        Kind::Optional,
        {convertType(type->castRaw<c10::OptionalType>()->getElementType())}};
  case c10::TypeKind::ListType:
    return {Kind::List,
            {convertType(type->castRaw<c10::ListType>()->getElementType())}};
  case c10::TypeKind::DictType:
    return {Kind::Dict,
            {convertType(type->castRaw<c10::DictType>()->getKeyType()),
             convertType(type->castRaw<c10::DictType>()->getValueType())}};
  case c10::TypeKind::TupleType: {
    aten::StaticType result{Kind::Tuple, {}};
    for (const c10::TypePtr &element : type->containedTypes())
      result.elements.push_back(convertType(element));
    return result;
  }
  case c10::TypeKind::ClassType:
  case c10::TypeKind::InterfaceType:
    return {Kind::Object, {}};
  default:
    return {Kind::Other, {}};
  }
}

GraphReader::GraphReader(const jit::Module &module, ConstantReader &constants,
                         aten::Graph &graph)
    : constants(constants), graph(graph), self{"", module._ivalue()} {}

aten::ValueId GraphReader::idOf(const jit::Value *value) {
  auto [entry, isNew] = ids.try_emplace(value, graph.values.size());
  if (isNew)
    graph.values.push_back(
        {value->debugName(), convertType(value->type()), {}, -1});
  return entry->second;
}

void GraphReader::read(const jit::Graph &source) {
  auto inputs = source.inputs();
  objects[inputs[0]] = self;
  for (size_t index = 1; index < inputs.size(); ++index)
    graph.inputs.push_back(idOf(inputs[index]));
  graph.body = readBlock(*source.block());
  graph.body.arguments = graph.inputs;
}

aten::GraphBlock GraphReader::readBlock(const jit::Block &block) {
  aten::GraphBlock result;
  for (const jit::Value *argument : block.inputs())
    if (!objects.count(argument))
      result.arguments.push_back(idOf(argument));
  for (const jit::Node *node : block.nodes())
    if (!fetchesObject(*node))
      result.nodes.push_back(readNode(*node));
  for (const jit::Value *value : block.outputs())
    result.results.push_back(idOf(value));
  return result;
}

bool GraphReader::fetchesObject(const jit::Node &node) {
  if (node.kind() != c10::prim::GetAttr)
    return false;
  auto holder = objects.find(node.input());
  if (holder == objects.end())
    return false;
  const std::string &name = node.s(c10::attr::name);
  c10::IValue value = holder->second.value.toObjectRef().getAttr(name);
  if (!value.isObject() || value.isCustomClass())
    return false;
  const std::string &path = holder->second.path;
  objects[node.output()] = {path.empty() ? name : path + "." + name, value};
  return true;
}

static bool isParameterOf(const c10::IValue &object, const std::string &name) {
  auto type = object.toObjectRef().type();
  auto slot = type->findAttributeSlot(name);
  return slot && type->is_parameter(*slot);
}

void GraphReader::readGetAttr(const jit::Node &from, aten::Node &to) {
  auto holder = objects.find(from.input(0));
  const std::string &name = from.s(c10::attr::name);
  if (holder == objects.end()) {
    to.attributes["name"] = {aten::Constant::Kind::String, 0, 0, 0, name, {}};
    for (const jit::Value *input : from.inputs())
      to.inputs.push_back(idOf(input));
    return;
  }
  std::string path = holder->second.path;
  path += path.empty() ? name : "." + name;
  to.attributes["path"] = {aten::Constant::Kind::String, 0, 0, 0, path, {}};
  const c10::IValue &object = holder->second.value;
  const void *address = &object.toObjectRef();
  graph.slots[path] =
      slots.try_emplace({address, name}, slots.size()).first->second;
  if (!graph.attributes.count(path))
    graph.attributes[path] = constants.read(object.toObjectRef().getAttr(name),
                                            path, isParameterOf(object, name));
  for (size_t index = 1; index < from.inputs().size(); ++index)
    to.inputs.push_back(idOf(from.input(index)));
}

void GraphReader::readAttributes(const jit::Node &from, aten::Node &to) {
  if (from.kind() == c10::prim::Constant) {
    if (auto value = jit::toIValue(from.output()))
      to.attributes["value"] = constants.read(*value, "");
    return;
  }
  for (c10::Symbol name : from.attributeNames()) {
    aten::Constant value;
    switch (from.kindOf(name)) {
    case jit::AttributeKind::i:
      value = constants.read(from.i(name), "");
      break;
    case jit::AttributeKind::f:
      value = constants.read(from.f(name), "");
      break;
    case jit::AttributeKind::s:
      value = constants.read(from.s(name), "");
      break;
    case jit::AttributeKind::ival:
      value = constants.read(from.ival(name), "");
      break;
    case jit::AttributeKind::t:
      value = constants.read(from.t(name), "");
      break;
    default:
      continue;
    }
    to.attributes[name.toUnqualString()] = value;
  }
}

aten::Node GraphReader::readNode(const jit::Node &node) {
  aten::Node result;
  result.op = node.kind().toQualString();
  if (const c10::FunctionSchema *schema = node.maybeSchema()) {
    result.overload = schema->overload_name();
    const auto &arguments = schema->arguments();
    bool gives = false;
    for (const c10::Argument &given : schema->returns())
      gives |= given.alias_info() != nullptr;
    for (size_t index = 0; index < node.inputs().size(); ++index) {
      const c10::Argument *argument =
          index < arguments.size() ? &arguments[index] : nullptr;
      result.arguments.push_back(argument ? argument->name() : "");
      const c10::AliasInfo *alias = argument ? argument->alias_info() : nullptr;
      result.writes.push_back(alias && alias->isWrite());
      result.shares.push_back(alias && gives);
    }
  }
  result.source = findSource(node);
  result.scope = findScope(node);
  if (node.kind() == c10::prim::GetAttr || node.kind() == c10::prim::SetAttr) {
    readGetAttr(node, result);
  } else {
    for (const jit::Value *input : node.inputs())
      result.inputs.push_back(idOf(input));
    readAttributes(node, result);
  }
  // `repr_str` has the address of the compilation unit behind the name.
  if (node.kind() == c10::prim::CreateObject)
    if (auto type = node.output()->type()->cast<c10::ClassType>();
        type && type->name())
      result.attributes["class"] = {aten::Constant::Kind::String,  0, 0, 0,
                                    type->name()->qualifiedName(), {}};
  for (const jit::Value *output : node.outputs())
    result.outputs.push_back(idOf(output));
  for (const jit::Block *block : node.blocks())
    result.blocks.push_back(readBlock(*block));
  return result;
}
