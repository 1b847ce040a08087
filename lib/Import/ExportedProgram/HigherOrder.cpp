//===- HigherOrder.cpp - Operators that take graphs -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//
// Branches and loops become those of TorchScript, which the importer of aten
// ops runs; regions that only set a mode, and graphs that are called, become
// part of the graph around them. Others stay one unknown node. Source:
// torch/_higher_order_ops.
//
//===----------------------------------------------------------------------===//

#include "GraphReader.h"

#include "Provenance.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mpopt;
using namespace mpopt::exported;
using aten::Constant;
using aten::ValueId;
using llvm::ArrayRef;
using llvm::StringRef;
namespace json = llvm::json;

/// Rounds up to which the importer follows lists that a loop appends to.
static constexpr int64_t kMaxListed = 256;

static Constant makeConstant(Constant::Kind kind, int64_t value) {
  Constant constant;
  constant.kind = kind;
  constant.integer = value;
  return constant;
}

static Constant makeText(StringRef text) {
  Constant constant;
  constant.kind = Constant::Kind::String;
  constant.string = text.str();
  return constant;
}

//===----------------------------------------------------------------------===//
// Operands, bodies and results
//===----------------------------------------------------------------------===//

GraphReader::Operands GraphReader::readOperands(const Choice &argument,
                                                Scope &scope,
                                                aten::GraphBlock &block) {
  Operands operands;
  StringRef kind = argument.kind;
  bool isNamed = kind == "as_tensors";
  if (isNamed || kind == "as_optional_tensors" || kind == "as_sym_ints" ||
      kind == "as_sym_floats" || kind == "as_sym_bools") {
    for (const json::Value &member : argument.array(damage)) {
      Choice choice =
          isNamed ? Choice{kind, &member} : getChoice(member, damage);
      operands.push_back(isNamed ? find(scope, choice.name(damage), block)
                         : choice.kind == "as_name"
                             ? find(scope, choice.string(damage), block)
                             : readArgument(member, scope, block));
    }
    return operands;
  }
  StringRef element = kind == "as_ints"     ? "as_int"
                      : kind == "as_floats" ? "as_float"
                      : kind == "as_bools"  ? "as_bool"
                                            : "";
  if (element.empty()) {
    json::Object alone{{kind, *argument.value}};
    operands.push_back(
        readArgument(json::Value(std::move(alone)), scope, block));
    return operands;
  }
  for (const json::Value &member : argument.array(damage)) {
    json::Object alone{{element, member}};
    operands.push_back(
        readArgument(json::Value(std::move(alone)), scope, block));
  }
  return operands;
}

GraphReader::Operands GraphReader::inlineBody(const Body &body,
                                              ArrayRef<ValueId> operands,
                                              const Scope &outer,
                                              aten::GraphBlock &block) {
  Scope inner = open(*body.graph, outer.prefix + body.name + ".");
  // The condition of a loop is read for its start and for each round.
  if (Inlined &known = inlined[inner.prefix]; ++known.count == 2)
    for (ValueId value : known.values)
      graph.values[value].repeats = true;
  const json::Array &inputs = getArray(*body.graph, "inputs", damage);
  if (inputs.size() != operands.size()) {
    damage.report("gives " + llvm::Twine(operands.size()) + " values to '" +
                  body.name + "', which takes " + llvm::Twine(inputs.size()));
    return {};
  }
  for (auto [input, operand] : llvm::zip_equal(inputs, operands)) {
    Choice choice = getChoice(input, damage);
    if (choice.kind.starts_with("as_sym_"))
      choice = getChoice(*choice.value, damage);
    StringRef name = choice.kind == "as_name"      ? choice.string(damage)
                     : choice.value->getAsObject() ? choice.name(damage)
                                                   : StringRef();
    if (name.empty())
      continue;
    inner.values[name] = operand;
    // A value that a loop carries has no name outside of it.
    if (graph.values[operand].origin.empty())
      place(inner, name, operand);
  }
  std::string node = damage.currentNode;
  readNodes(*body.graph, inner, block);
  Operands results;
  if (damage.isThere())
    return results;
  damage.currentNode = std::move(node);
  for (const json::Value &output : getArray(*body.graph, "outputs", damage))
    llvm::append_range(results,
                       readOperands(getChoice(output, damage), inner, block));
  return results;
}

namespace {
struct Output {
  StringRef name; ///< empty if nothing reads it
  Kind kind;
};
} // namespace

/// The outputs of a node, lists taken apart.
static llvm::SmallVector<Output> listOutputs(const json::Object &node,
                                             Damage &damage) {
  llvm::SmallVector<Output> outputs;
  for (const json::Value &value : getArray(node, "outputs", damage)) {
    Choice output = getChoice(value, damage);
    StringRef kind = output.kind;
    if (kind == "as_tensors") {
      for (const json::Value &member : output.array(damage))
        outputs.push_back({Choice{kind, &member}.name(damage), Kind::Tensor});
    } else if (kind == "as_tensor") {
      outputs.push_back({output.name(damage), Kind::Tensor});
    } else if (kind == "as_sym_int" || kind == "as_sym_float" ||
               kind == "as_sym_bool") {
      Choice named = getChoice(*output.value, damage);
      outputs.push_back(
          {named.kind == "as_name" ? named.string(damage) : StringRef(),
           kind == "as_sym_int"     ? Kind::Int
           : kind == "as_sym_float" ? Kind::Float
                                    : Kind::Bool});
    } else {
      outputs.push_back({"", Kind::Other});
    }
  }
  return outputs;
}

void GraphReader::bind(const Call &call, ArrayRef<ValueId> values,
                       Scope &scope) {
  auto outputs = listOutputs(*call.node, damage);
  if (outputs.size() != values.size())
    return damage.report("names " + llvm::Twine(outputs.size()) +
                         " results of " + llvm::Twine(values.size()));
  for (auto [output, value] : llvm::zip_equal(outputs, values))
    if (!output.name.empty() &&
        !scope.values.try_emplace(output.name, value).second)
      damage.report("defines '" + output.name + "' twice",
                    ImportCode::DuplicateName);
}

ValueId GraphReader::defineOutput(Scope &scope, StringRef name, Kind kind) {
  return name.empty() ? addValue("unused", {kind, {}})
                      : define(scope, name, kind);
}

GraphReader::Operands GraphReader::readOperands(ArrayRef<Choice> arguments,
                                                Scope &scope,
                                                aten::GraphBlock &block) {
  Operands operands;
  for (const Choice &argument : arguments)
    llvm::append_range(operands, readOperands(argument, scope, block));
  return operands;
}

ValueId GraphReader::addInteger(int64_t value, aten::GraphBlock &block) {
  return addConstant(makeConstant(Constant::Kind::Int, value), block);
}

ValueId GraphReader::addNode(const Call &call, std::string op,
                             ArrayRef<ValueId> inputs,
                             ArrayRef<StringRef> arguments,
                             aten::StaticType type, aten::GraphBlock &block) {
  aten::Node node = call.like;
  node.op = std::move(op);
  node.inputs = inputs;
  for (StringRef argument : arguments)
    node.arguments.push_back(argument.str());
  node.arguments.resize(inputs.size());
  node.writes.resize(inputs.size());
  node.shares.resize(inputs.size());
  node.outputs = {addValue(llvm::StringRef(node.op).rsplit(':').second.str(),
                           std::move(type))};
  block.nodes.push_back(std::move(node));
  return block.nodes.back().outputs.front();
}

ValueId GraphReader::addTruth(const Call &call, ValueId value,
                              aten::GraphBlock &block) {
  if (graph.values[value].type.kind != Kind::Tensor)
    return value;
  return addNode(call, "aten::Bool", {value}, {"self"}, {Kind::Bool, {}},
                 block);
}

//===----------------------------------------------------------------------===//
// Branches and loops
//===----------------------------------------------------------------------===//

void GraphReader::addCond(const Call &call, Scope &scope,
                          aten::GraphBlock &block) {
  if (call.bodies.size() != 2 || call.arguments.empty())
    return damage.report("is a branch without two bodies and a condition");
  Operands condition = readOperands(call.arguments.front(), scope, block);
  Operands operands =
      readOperands(ArrayRef(call.arguments).drop_front(), scope, block);
  if (damage.isThere() || condition.size() != 1)
    return damage.report("has no condition");
  aten::Node node = call.like;
  node.op = "prim::If";
  node.inputs = {addTruth(call, condition.front(), block)};
  for (const Body &body : call.bodies) {
    aten::GraphBlock branch;
    Operands results = inlineBody(body, operands, scope, branch);
    branch.results.assign(results.begin(), results.end());
    node.blocks.push_back(std::move(branch));
  }
  auto outputs = listOutputs(*call.node, damage);
  for (const aten::GraphBlock &branch : node.blocks)
    if (branch.results.size() != outputs.size())
      return damage.report(
          "has a branch with " + llvm::Twine(branch.results.size()) +
          " results instead of " + llvm::Twine(outputs.size()));
  for (const Output &output : outputs)
    node.outputs.push_back(defineOutput(scope, output.name, output.kind));
  block.nodes.push_back(std::move(node));
}

void GraphReader::addWhile(const Call &call, Scope &scope,
                           aten::GraphBlock &block) {
  if (call.bodies.size() != 2 || call.arguments.empty())
    return damage.report("is a loop without a condition and a body");
  Operands carried = readOperands(call.arguments.front(), scope, block);
  Operands captured =
      readOperands(ArrayRef(call.arguments).drop_front(), scope, block);
  auto test = [&](const Operands &values, aten::GraphBlock &into) -> ValueId {
    Operands all = values;
    llvm::append_range(all, captured);
    Operands results = inlineBody(call.bodies[0], all, scope, into);
    if (results.size() == 1)
      return addTruth(call, results.front(), into);
    damage.report("has a condition that is not one value");
    return 0;
  };
  aten::Node node = call.like;
  node.op = "prim::Loop";
  ValueId trips = addInteger(INT64_MAX, block);
  ValueId start = test(carried, block);
  if (damage.isThere())
    return;
  node.inputs = {trips, start};
  node.inputs.insert(node.inputs.end(), carried.begin(), carried.end());
  aten::GraphBlock body;
  body.arguments.push_back(addValue("round", {Kind::Int, {}}));
  Operands arguments;
  for (ValueId value : carried)
    arguments.push_back(addValue("carried", graph.values[value].type));
  body.arguments.insert(body.arguments.end(), arguments.begin(),
                        arguments.end());
  llvm::append_range(arguments, captured);
  Operands results = inlineBody(call.bodies[1], arguments, scope, body);
  if (results.size() != carried.size())
    return damage.report("carries " + llvm::Twine(carried.size()) +
                         " values, and its body gives " +
                         llvm::Twine(results.size()));
  body.results = {test(results, body)};
  body.results.insert(body.results.end(), results.begin(), results.end());
  node.blocks.push_back(std::move(body));
  auto outputs = listOutputs(*call.node, damage);
  if (outputs.size() != carried.size())
    return damage.report("carries " + llvm::Twine(carried.size()) +
                         " values, and names " + llvm::Twine(outputs.size()));
  for (const Output &output : outputs)
    node.outputs.push_back(defineOutput(scope, output.name, output.kind));
  block.nodes.push_back(std::move(node));
}

struct GraphReader::Scan {
  const Call &call;
  Scope &scope;
  aten::GraphBlock &outer;
  ValueId zero, trips, round;
  aten::Node loop;
  aten::GraphBlock body;
};

/// A list to which each round appends `value`.
ValueId GraphReader::addResultList(Scan &scan, ValueId value) {
  ValueId list = addList({}, Kind::Tensor, scan.outer);
  addNode(scan.call, "aten::append", {list, value}, {"self", "el"},
          {Kind::List, {{Kind::Tensor, {}}}}, scan.body);
  return list;
}

/// A carried tensor of which each round writes one slice, `value`.
void GraphReader::addResultTensor(Scan &scan, ValueId value, StringRef name) {
  const aten::StaticType tensor{Kind::Tensor, {}};
  int dtype = graph.values[value].declaredType;
  std::vector<int64_t> sizes = graph.values[value].declaredSizes;
  std::vector<ValueId> dims{scan.trips};
  for (int64_t size : sizes)
    dims.push_back(addInteger(size, scan.outer));
  ValueId shape = addList(dims, Kind::Int, scan.outer);
  ValueId type = addInteger(dtype, scan.outer);
  scan.loop.inputs.push_back(addNode(scan.call, "aten::zeros", {shape, type},
                                     {"size", "dtype"}, tensor, scan.outer));
  ValueId whole = addValue("stacked", tensor);
  scan.body.arguments.push_back(whole);
  scan.body.results.push_back(addNode(
      scan.call, "aten::select_scatter", {whole, value, scan.zero, scan.round},
      {"self", "src", "dim", "index"}, tensor, scan.body));
  scan.loop.outputs.push_back(defineOutput(scan.scope, name, Kind::Tensor));
}

/// The node that stacks a list behind the loop.
void GraphReader::addStack(const Scan &scan, ValueId list, StringRef name) {
  aten::Node stack = scan.call.like;
  stack.op = "aten::stack";
  stack.inputs = {list, scan.zero};
  stack.arguments = {"tensors", "dim"};
  stack.writes = stack.shares = {false, false};
  stack.outputs = {defineOutput(scan.scope, name, Kind::Tensor)};
  scan.outer.nodes.push_back(std::move(stack));
}

/// The arguments of a round: what is carried, and a slice of each of `scanned`.
GraphReader::Operands GraphReader::addRoundArguments(Scan &scan,
                                                     const Operands &carried,
                                                     const Operands &scanned) {
  scan.round = addValue("round", {Kind::Int, {}});
  scan.body.arguments.push_back(scan.round);
  Operands arguments;
  for (ValueId value : carried)
    arguments.push_back(addValue("carried", graph.values[value].type));
  scan.body.arguments.insert(scan.body.arguments.end(), arguments.begin(),
                             arguments.end());
  for (ValueId value : scanned)
    arguments.push_back(
        addNode(scan.call, "aten::select", {value, scan.zero, scan.round},
                {"self", "dim", "index"}, {Kind::Tensor, {}}, scan.body));
  for (aten::Node &node : scan.body.nodes)
    node.overload = "int";
  return arguments;
}

/// `scan(f, init, xs, others)` carries `init` and stacks the further results of
/// all rounds; `map(f, xs, others)` carries nothing.
void GraphReader::addScan(const Call &call, bool isMap, Scope &scope,
                          aten::GraphBlock &block) {
  size_t first = isMap ? 0 : 1;
  if (call.bodies.size() != 1 || call.arguments.size() <= first)
    return damage.report("is a loop without a body and its operands");
  ArrayRef<Choice> given = call.arguments;
  Operands carried = readOperands(given.take_front(first), scope, block);
  Operands scanned = readOperands(given[first], scope, block);
  Operands captured = readOperands(given.drop_front(first + 1), scope, block);
  if (scanned.empty())
    return damage.report("runs over no tensor");
  Scan scan{call, scope, block};
  scan.zero = addInteger(0, block);
  scan.trips = addNode(call, "aten::size", {scanned.front(), scan.zero},
                       {"self", "dim"}, {Kind::Int, {}}, block);
  ValueId yes = addConstant(makeConstant(Constant::Kind::Bool, 1), block);

  Operands arguments = addRoundArguments(scan, carried, scanned);
  llvm::append_range(arguments, captured);
  Operands results =
      inlineBody(call.bodies.front(), arguments, scope, scan.body);
  auto outputs = listOutputs(*call.node, damage);
  if (damage.isThere() || results.size() < carried.size() ||
      results.size() != outputs.size())
    return damage.report("names " + llvm::Twine(outputs.size()) +
                         " results of " + llvm::Twine(results.size()));

  scan.loop = call.like;
  scan.loop.op = "prim::Loop";
  scan.loop.inputs = {scan.trips, yes};
  scan.loop.inputs.insert(scan.loop.inputs.end(), carried.begin(),
                          carried.end());
  scan.body.results = {yes};
  scan.body.results.insert(scan.body.results.end(), results.begin(),
                           results.begin() + carried.size());
  for (const Output &output : ArrayRef(outputs).take_front(carried.size()))
    scan.loop.outputs.push_back(defineOutput(scope, output.name, output.kind));
  // Where rounds are followed one by one a list is enough.
  ArrayRef<int64_t> sizes = graph.values[scanned.front()].declaredSizes;
  bool isListed =
      !sizes.empty() && sizes.front() >= 0 && sizes.front() <= kMaxListed;
  std::vector<std::pair<StringRef, ValueId>> lists;
  for (auto [output, value] :
       llvm::drop_begin(llvm::zip_equal(outputs, results), carried.size())) {
    const aten::GraphValue &like = graph.values[value];
    if (isListed || like.declaredType < 0 ||
        llvm::is_contained(like.declaredSizes, -1))
      lists.push_back({output.name, addResultList(scan, value)});
    else
      addResultTensor(scan, value, output.name);
  }
  scan.loop.blocks.push_back(std::move(scan.body));
  block.nodes.push_back(std::move(scan.loop));
  for (auto [name, list] : lists)
    addStack(scan, list, name);
}

//===----------------------------------------------------------------------===//
// Regions and calls
//===----------------------------------------------------------------------===//

/// `wrap_with_autocast(device, dtype, enabled, cache, body, *operands)`.
void GraphReader::addAutocast(const Call &call, Scope &scope,
                              aten::GraphBlock &block) {
  if (call.bodies.size() != 1 || call.arguments.size() < 4)
    return damage.report("is an autocast region without a body");
  const aten::StaticType object{Kind::Object, {}};
  ValueId region = addNode(call, "prim::CreateObject", {}, {}, object, block);
  block.nodes.back().attributes["class"] = makeText("torch.autocast");
  // The first operands, as fields of torch.autocast.
  constexpr StringRef kFields[] = {"device", "fast_dtype", "_enabled"};
  for (auto [name, argument] : llvm::zip_first(kFields, call.arguments)) {
    Operands value = readOperands(argument, scope, block);
    aten::Node set = call.like;
    set.op = "prim::SetAttr";
    set.attributes["name"] = makeText(name);
    set.inputs = {region};
    set.inputs.insert(set.inputs.end(), value.begin(), value.end());
    block.nodes.push_back(std::move(set));
  }
  Operands operands =
      readOperands(ArrayRef(call.arguments).drop_front(4), scope, block);
  aten::Node mode = call.like;
  mode.inputs = {region};
  mode.op = "prim::Enter";
  block.nodes.push_back(mode);
  Operands results = inlineBody(call.bodies.front(), operands, scope, block);
  mode.op = "prim::Exit";
  block.nodes.push_back(std::move(mode));
  bind(call, results, scope);
}

/// The operands are the last arguments, as many as the body takes.
void GraphReader::addCall(const Call &call, Scope &scope,
                          aten::GraphBlock &block) {
  if (call.bodies.size() != 1)
    return damage.report("calls no graph");
  size_t wanted = getArray(*call.bodies.front().graph, "inputs", damage).size();
  Operands operands;
  for (const Choice &argument : call.arguments)
    llvm::append_range(operands, readOperands(argument, scope, block));
  if (operands.size() > wanted)
    operands.erase(operands.begin(), operands.end() - wanted);
  bind(call, inlineBody(call.bodies.front(), operands, scope, block), scope);
}

void GraphReader::addHigherOrder(const json::Object &from, StringRef op,
                                 Scope &scope, aten::GraphBlock &block) {
  Call call;
  call.node = &from;
  readProvenance(from, call.like);
  for (const json::Value &input : getArray(from, "inputs", damage)) {
    const json::Object &fields = asObject(input, "inputs", damage);
    const json::Value *value = fields.get("arg");
    if (!value)
      return damage.report("has an input without a value");
    Choice argument = getChoice(*value, damage);
    if (argument.kind == "as_graph") {
      const json::Object &body = argument.object(damage);
      call.bodies.push_back({&getObject(body, "graph", damage),
                             getString(body, "name", damage).str()});
    } else if (fields.getInteger("kind").value_or(1) != 2) {
      // Not by keyword: settings of the operator itself.
      call.arguments.push_back(argument);
    }
  }
  static const llvm::StringSet<> calls = {"invoke_subgraph",
                                          "strict_mode",
                                          "tag_activation_checkpoint",
                                          "wrap",
                                          "wrap_activation_checkpoint",
                                          "wrap_with_set_grad_enabled"};
  if (op == "cond")
    return addCond(call, scope, block);
  if (op == "while_loop")
    return addWhile(call, scope, block);
  if (op == "scan")
    return addScan(call, /*isMap=*/false, scope, block);
  if (op == "map_impl" || op == "map")
    return addScan(call, /*isMap=*/true, scope, block);
  if (op == "wrap_with_autocast")
    return addAutocast(call, scope, block);
  if (calls.contains(op))
    return addCall(call, scope, block);
  addOperator(from, ("higher_order::" + op + ".default").str(), scope, block);
}
