//===- GraphReader.cpp - The nodes of a program ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "GraphReader.h"

#include "Provenance.h"
#include "Schemas.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mpopt;
using namespace mpopt::exported;
using aten::ValueId;
using llvm::StringRef;
namespace json = llvm::json;

/// Bodies of loops are read more than once: nested ones grow by powers.
static constexpr size_t kMaxNodes = 1 << 22;

/// Ops that check a promise and give nothing.
static bool isAssertion(StringRef op) {
  static const llvm::StringSet<> assertions = {"_assert_async",
                                               "_assert_scalar",
                                               "_assert_tensor_metadata",
                                               "_functional_assert_async",
                                               "_functional_assert_scalar",
                                               "sym_constrain_range",
                                               "sym_constrain_range_for_size"};
  return assertions.contains(op);
}

void GraphReader::readProvenance(const json::Object &from, aten::Node &node) {
  const json::Object *metadata = from.getObject("metadata");
  if (!metadata)
    return;
  if (auto trace = metadata->getString("stack_trace"))
    readStackTrace(*trace, node);
  if (auto stack = metadata->getString("nn_module_stack"))
    node.scope = readModuleStack(*stack);
}

void GraphReader::readInputs(const json::Object &from, StringRef op,
                             aten::Node &node, Scope &scope,
                             aten::GraphBlock &block) {
  // From name to argument, in the order of the file.
  std::vector<std::pair<StringRef, const json::Value *>> given;
  for (const json::Value &input : getArray(from, "inputs", damage)) {
    const json::Object &fields = asObject(input, "inputs", damage);
    const json::Value *argument = fields.get("arg");
    if (!argument)
      return damage.report("has an input without a value");
    given.push_back({getString(fields, "name", damage), argument});
  }
  auto add = [&](StringRef name, ValueId value, bool writes, bool shares) {
    node.arguments.push_back(name.str());
    node.inputs.push_back(value);
    node.writes.push_back(writes);
    node.shares.push_back(shares);
  };
  std::optional<std::vector<SchemaArgument>> schema;
  if (op.consume_front("aten::"))
    schema = findSchema(op);
  if (!schema) {
    // An operator of another library with a name like `add_` changes its first
    // argument, and one without results is there for its side effect.
    bool isInPlace = op.split('.').first.ends_with("_");
    bool changesAll = getArray(from, "outputs", damage).empty();
    for (auto [index, input] : llvm::enumerate(given)) {
      bool isGraph = getChoice(*input.second, damage).kind == "as_graph";
      if (!isGraph)
        add(input.first, readArgument(*input.second, scope, block),
            changesAll || (isInPlace && index == 0), false);
    }
    return;
  }
  for (const SchemaArgument &argument : *schema) {
    auto found = llvm::find_if(
        given, [&](auto &input) { return input.first == argument.name; });
    ValueId value =
        found != given.end()
            ? readArgument(*found->second, scope, block)
            : addConstant(argument.byDefault.value_or(aten::Constant()), block);
    add(argument.name, value, argument.isWritten, argument.isShared);
  }
}

void GraphReader::readOutput(const json::Value &output,
                             const std::string &listName, aten::Node &node,
                             Scope &scope, std::vector<aten::Node> &unpacks) {
  Choice choice = getChoice(output, damage);
  StringRef kind = choice.kind;
  auto symbol = [&](Kind type) {
    Choice named = getChoice(*choice.value, damage);
    return named.kind == "as_name" ? define(scope, named.string(damage), type)
                                   : addValue("number", {type, {}});
  };
  if (kind == "as_tensor") {
    node.outputs.push_back(define(scope, choice.name(damage), Kind::Tensor));
  } else if (kind == "as_sym_int") {
    node.outputs.push_back(symbol(Kind::Int));
  } else if (kind == "as_sym_float") {
    node.outputs.push_back(symbol(Kind::Float));
  } else if (kind == "as_sym_bool") {
    node.outputs.push_back(symbol(Kind::Bool));
  } else if (kind == "as_token" || kind == "as_custom_obj") {
    node.outputs.push_back(define(scope, choice.name(damage), Kind::Object));
  } else if (kind == "as_tensors" || kind == "as_optional_tensors") {
    aten::Node unpack;
    unpack.op = "prim::ListUnpack";
    unpack.inputs = {addValue(listName, {Kind::List, {{Kind::Tensor, {}}}})};
    std::vector<std::string> origins;
    for (const json::Value &member : choice.array(damage)) {
      Choice one = kind == "as_tensors" ? Choice{kind, &member}
                                        : getChoice(member, damage);
      bool isThere = one.kind != "as_none";
      unpack.outputs.push_back(
          isThere ? define(scope, one.name(damage), Kind::Tensor)
                  : addValue("none", {Kind::None, {}}));
      origins.push_back(graph.values[unpack.outputs.back()].origin);
    }
    graph.values[unpack.inputs.front()].memberOrigins = std::move(origins);
    node.outputs.push_back(unpack.inputs.front());
    unpacks.push_back(std::move(unpack));
  } else {
    node.outputs.push_back(addValue("unused", {Kind::Other, {}}));
  }
}

void GraphReader::finish(aten::Node node, const json::Object &from,
                         Scope &scope, aten::GraphBlock &block) {
  std::vector<aten::Node> unpacks;
  // The field is not in files of older minor versions.
  StringRef own = from.getString("name").value_or("");
  std::string listName = own.empty() ? "list" : scope.prefix + own.str();
  for (const json::Value &output : getArray(from, "outputs", damage))
    readOutput(output, listName, node, scope, unpacks);
  block.nodes.push_back(std::move(node));
  for (aten::Node &unpack : unpacks)
    block.nodes.push_back(std::move(unpack));
}

void GraphReader::addOperator(const json::Object &from, StringRef op,
                              Scope &scope, aten::GraphBlock &block) {
  aten::Node node;
  readProvenance(from, node);
  readInputs(from, op, node, scope, block);
  StringRef name, overload;
  std::tie(name, overload) = op.split('.');
  node.op = name.str();
  // TorchScript's name of the only form is empty.
  if (overload != "default")
    node.overload = overload.str();
  finish(std::move(node), from, scope, block);
}

void GraphReader::readNode(const json::Object &from, Scope &scope,
                           aten::GraphBlock &block) {
  StringRef target = getString(from, "target", damage);
  if (addSymbolic(from, target, scope, block))
    return;
  StringRef op = target;
  if (!op.consume_front("torch.ops."))
    return addOperator(from, target, scope, block);
  auto [space, name] = op.split('.');
  if (space == "higher_order")
    return addHigherOrder(from, name, scope, block);
  StringRef plain = name.split('.').first;
  if (space == "aten" && isAssertion(plain))
    return;
  if (space == "aten" &&
      (plain.starts_with("_nested_") || plain.contains("_nested_tensor")))
    return damage.report("runs " + target + ": nested tensors are not read",
                         ImportCode::BadNode);
  addOperator(from, (space + "::" + name).str(), scope, block);
}

bool GraphReader::addNode(const json::Value &value, Scope &scope,
                          aten::GraphBlock &block) {
  const json::Object &node = asObject(value, "nodes", damage);
  if (StringRef name = node.getString("name").value_or(""); !name.empty())
    damage.currentNode = name.str();
  if (++numNodes > kMaxNodes)
    damage.report("the program has more nodes than any model",
                  ImportCode::TooManyNodes);
  if (!damage.isThere())
    readNode(node, scope, block);
  if (damage.isThere())
    return false;
  damage.currentNode.clear();
  return true;
}

void GraphReader::readNodes(const json::Object &from, Scope &scope,
                            aten::GraphBlock &block) {
  if (!scope.parts) {
    for (const json::Value &value : getArray(from, "nodes", damage))
      if (!addNode(value, scope, block))
        return;
    return;
  }
  for (StringRef text : scope.parts->nodes())
    if (!addNode(parsePart(text, damage), scope, block))
      return;
}
