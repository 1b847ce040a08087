//===- ApplyPatch.cpp - The messages of a changed model
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ModulePatch.h"

#include "Checks.h"

#include "mpopt/Dialect/ConstantSupport.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Format.h"

#include <cstring>

using namespace mpopt;
using namespace mpopt::convert;
using llvm::ArrayRef;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using onnx::AttributeProto;
using onnx::NodeProto;
using onnx::TensorProto;

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

ConstantInFile::ConstantInFile(const Value &value) {
  if (!value.maker && value.graph->proto)
    for (TensorProto &stored : *value.graph->proto->mutable_initializer())
      if (stored.name() == value.name)
        tensor = &stored;
  if (!value.maker || !value.maker->isStandard("Constant"))
    return;
  for (AttributeProto &its : *value.maker->proto->mutable_attribute()) {
    if (its.name() == "value" && its.ref_attr_name().empty())
      tensor = its.mutable_t();
    else if (StringRef(its.name()).starts_with("value_float"))
      attribute = &its;
  }
}

int32_t ConstantInFile::dtype() const {
  return tensor ? tensor->data_type() : TensorProto::FLOAT;
}

static std::string toText(double number) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%g", number);
  return text;
}

static std::vector<double> toNumbers(ArrayRef<char> raw, int32_t dtype) {
  std::string wide;
  if (dtype == TensorProto::FLOAT16 || dtype == TensorProto::BFLOAT16) {
    wide.resize(raw.size() * 2);
    widen(raw, dtype, wide.data());
    raw = wide;
  }
  std::vector<float> floats(raw.size() / sizeof(float));
  std::memcpy(floats.data(), raw.data(), floats.size() * sizeof(float));
  return {floats.begin(), floats.end()};
}

Expected<std::vector<double>> ConstantInFile::read(TensorSource &source) const {
  if (!tensor) {
    if (attribute->name() == "value_float")
      return std::vector<double>{attribute->f()};
    return std::vector<double>(attribute->floats().begin(),
                               attribute->floats().end());
  }
  std::string storage;
  Expected<ArrayRef<char>> raw = source.read(*tensor, storage);
  if (!raw)
    return raw.takeError();
  return toNumbers(*raw, dtype());
}

void ConstantInFile::write(ArrayRef<char> raw) {
  std::vector<double> numbers = toNumbers(raw, dtype());
  if (tensor && tensor->float_data_size() > 0) {
    for (auto [index, number] : llvm::enumerate(numbers))
      tensor->set_float_data(int(index), float(number));
  } else if (tensor) {
    TensorSource::setRaw(*tensor, std::string(raw.data(), raw.size()));
  } else if (attribute->name() == "value_float") {
    attribute->set_f(float(numbers.front()));
  } else {
    for (auto [index, number] : llvm::enumerate(numbers))
      attribute->set_floats(int(index), float(number));
  }
}

/// The elements of a constant of the module, in its type.
static Expected<std::string> getRaw(mp::ConstantOp constant, int32_t dtype,
                                    size_t count) {
  std::optional<ConstantBytes> bytes = getConstantBytes(constant);
  unsigned bits = getBits(dtype);
  if (!bytes || bits < 16 || bits > 32)
    return llvm::createStringError("its elements cannot be written");
  size_t width = bits / 8;
  if (!bytes->splat && bytes->data.size() == count * width)
    return std::string(bytes->data.data(), bytes->data.size());
  if (!bytes->splat || bytes->data.size() < width)
    return llvm::createStringError("the file has it in another type");
  std::string raw;
  for (size_t at = 0; at < count; ++at)
    raw.append(bytes->data.data(), width);
  return raw;
}

namespace {
/// A constant's numbers in the file, and the elements that replace them.
struct ChangedNumbers {
  std::vector<double> before;
  std::string raw;
};
} // namespace

static Expected<ChangedNumbers> readNumbers(const ConstantInFile &constant,
                                            mp::ConstantOp now,
                                            TensorSource &source) {
  Expected<std::vector<double>> before = constant.read(source);
  if (!before)
    return before.takeError();
  Expected<std::string> raw = getRaw(now, constant.dtype(), before->size());
  if (!raw)
    return raw.takeError();
  return ChangedNumbers{std::move(*before), std::move(*raw)};
}

static Expected<std::string> describeNumbers(const ModulePatch::Numbers &change,
                                             TensorSource &source) {
  ConstantInFile constant(*change.value);
  Expected<ChangedNumbers> numbers = readNumbers(constant, change.now, source);
  if (!numbers)
    return numbers.takeError();
  const std::vector<double> &before = numbers->before;
  std::vector<double> after = toNumbers(numbers->raw, constant.dtype());
  size_t count = 0, first = 0;
  for (size_t at = before.size(); at-- > 0;)
    if (before[at] != after[at] &&
        !(std::isnan(before[at]) && std::isnan(after[at]))) {
      ++count;
      first = at;
    }
  if (count == 0)
    return std::string();
  std::string text = change.value->name + ": " + toText(before[first]) +
                     " -> " + toText(after[first]);
  if (before.size() > 1)
    text += ", the first of " + std::to_string(count) + " of " +
            std::to_string(before.size()) + " elements";
  return text;
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

static std::string describeAttribute(const AttributeProto &attribute) {
  auto list = [](const auto &items) {
    return "[" +
           llvm::join(llvm::map_range(
                          items, [](int64_t it) { return std::to_string(it); }),
                      ", ") +
           "]";
  };
  switch (attribute.type()) {
  case AttributeProto::INT:
    return attribute.name() + "=" + std::to_string(attribute.i());
  case AttributeProto::FLOAT:
    return attribute.name() + "=" + toText(attribute.f());
  case AttributeProto::INTS:
    return attribute.name() + "=" + list(attribute.ints());
  default:
    return attribute.name();
  }
}

/// As ONNX's textual form has it: `y = Softmax <axis=1> (x)`. Numbers that are
/// added stand for their names.
static std::string describe(const NodeProto &node,
                            const llvm::StringMap<std::string> &numbers) {
  std::vector<std::string> attributes, inputs;
  for (const AttributeProto &attribute : node.attribute())
    attributes.push_back(describeAttribute(attribute));
  for (const std::string &input : node.input()) {
    auto number = numbers.find(input);
    inputs.push_back(number == numbers.end() ? input : number->second);
  }
  std::string text = llvm::join(node.output(), ", ") + " = " + node.op_type();
  if (!attributes.empty())
    text += " <" + llvm::join(attributes, ", ") + ">";
  return text + " (" + llvm::join(inputs, ", ") + ")";
}

/// The nodes that stay, as they are with the patch.
static llvm::MapVector<Node *, NodeProto>
changeNodes(const ModulePatch &patch) {
  llvm::MapVector<Node *, NodeProto> changed;
  auto get = [&](Node *node) -> NodeProto & {
    return changed.try_emplace(node, *node->proto).first->second;
  };
  auto isGone = [&](Node *node) {
    return !node || patch.removed.contains(node);
  };
  for (const ModulePatch::Rewire &rewire : patch.rewires)
    if (!isGone(rewire.node))
      for (std::string &input : *get(rewire.node).mutable_input())
        if (input == rewire.from->name)
          input = rewire.to;
  for (const ModulePatch::Rename &rename : patch.renames) {
    for (std::string &output : *get(rename.value->maker).mutable_output())
      if (output == rename.value->name)
        output = rename.to;
    for (const Use &use : rename.value->uses)
      if (!isGone(use.node) && int(use.index) < use.node->proto->input_size())
        if (std::string &input = *get(use.node).mutable_input(int(use.index));
            // Not where a rewire has put the new value.
            use.node->proto->input(int(use.index)) == input &&
            llvm::none_of(patch.rewires, [&](const auto &rewire) {
              return rewire.node == use.node && rewire.from == rename.value;
            }))
          input = rename.to;
  }
  for (const ModulePatch::Setting &setting : patch.settings) {
    NodeProto &node = get(setting.node);
    AttributeProto *attribute = nullptr;
    for (AttributeProto &its : *node.mutable_attribute())
      if (its.name() == setting.attribute)
        attribute = &its;
    if (!attribute)
      attribute = node.add_attribute();
    attribute->set_name(setting.attribute);
    attribute->set_type(AttributeProto::FLOAT);
    attribute->set_f(float(setting.number));
  }
  return changed;
}

Expected<ModelDiff> convert::describePatch(const ModulePatch &patch,
                                           TensorSource &source) {
  ModelDiff lines;
  for (const ModulePatch::Numbers &change : patch.numbers) {
    Expected<std::string> line = describeNumbers(change, source);
    if (!line)
      return line.takeError();
    if (!line->empty())
      lines.push_back(std::move(*line));
  }
  llvm::StringMap<std::string> numbers;
  for (const auto &[graph, added] : patch.added)
    for (const TensorProto &tensor : added.tensors)
      if (tensor.dims_size() == 0)
        numbers[tensor.name()] = toText(
            toNumbers({tensor.raw_data().data(), tensor.raw_data().size()},
                      tensor.data_type())
                .front());
  auto add = [&](StringRef sign, const NodeProto &node) {
    lines.push_back((sign + " " + describe(node, numbers)).str());
  };
  for (const Node *node : patch.removed)
    if (!node->isStandard("Constant"))
      add("-", *node->proto);
  llvm::MapVector<Node *, NodeProto> changed = changeNodes(patch);
  for (const auto &[node, now] : changed)
    add("-", *node->proto);
  for (const auto &[graph, added] : patch.added)
    for (const NodeProto &node : added.nodes)
      add("+", node);
  for (const auto &[node, now] : changed)
    add("+", now);
  return lines;
}

//===----------------------------------------------------------------------===//
// The messages
//===----------------------------------------------------------------------===//

static Error writeNumbers(const ModulePatch &patch, TensorSource &source) {
  for (const ModulePatch::Numbers &change : patch.numbers) {
    ConstantInFile constant(*change.value);
    Expected<ChangedNumbers> numbers =
        readNumbers(constant, change.now, source);
    if (!numbers)
      return numbers.takeError();
    constant.write(numbers->raw);
  }
  return Error::success();
}

namespace {
/// The messages that go, by graph.
struct Gone {
  llvm::DenseSet<const void *> messages;
  llvm::StringSet<> values;

  explicit Gone(const ModulePatch &patch);
  void takeFrom(onnx::GraphProto &graph) const;
};
} // namespace

Gone::Gone(const ModulePatch &patch) {
  for (const Node *node : patch.removed) {
    messages.insert(node->proto);
    for (const std::string &output : node->proto->output())
      values.insert(output);
  }
  for (const Value *value : patch.removedTensors)
    for (const TensorProto &tensor : value->graph->proto->initializer())
      if (tensor.name() == value->name)
        messages.insert(&tensor);
}

void Gone::takeFrom(onnx::GraphProto &graph) const {
  auto isGone = [&](const auto &message) {
    return messages.contains(&message);
  };
  auto takeFrom = [&](auto &list) {
    std::remove_reference_t<decltype(list)> kept;
    for (auto &message : list)
      if (!isGone(message))
        kept.Add()->Swap(&message);
    list.Swap(&kept);
  };
  takeFrom(*graph.mutable_initializer());
  takeFrom(*graph.mutable_node());
  // Entries of other values stay: a value that takes an output's name has the
  // output's type.
  auto &types = *graph.mutable_value_info();
  types.erase(llvm::remove_if(types,
                              [&](const onnx::ValueInfoProto &value) {
                                return values.contains(value.name());
                              }),
              types.end());
}

Error convert::applyPatch(ModulePatch &patch, TensorSource &source) {
  if (Error error = writeNumbers(patch, source))
    return error;
  for (auto &[node, now] : changeNodes(patch)) {
    // Its bodies stay where they are.
    *node->proto->mutable_input() = now.input();
    *node->proto->mutable_output() = now.output();
    if (node->bodies.empty())
      *node->proto->mutable_attribute() = now.attribute();
  }
  std::vector<Graph *> touched;
  for (const ModulePatch::Rewire &rewire : patch.rewires) {
    touched.push_back(rewire.graph);
    // An output of a body goes by its place.
    if (!rewire.node && !rewire.graph->isMain())
      for (onnx::ValueInfoProto &output :
           *rewire.graph->proto->mutable_output())
        if (output.name() == rewire.from->name)
          output.set_name(rewire.to);
  }
  for (Node *node : patch.removed)
    touched.push_back(node->graph);
  for (Value *value : patch.removedTensors)
    touched.push_back(value->graph);
  for (auto &[graph, added] : patch.added)
    touched.push_back(graph);
  // Inner ones first: the message of a node that moves takes its bodies along.
  llvm::stable_sort(touched, [](const Graph *lhs, const Graph *rhs) {
    return lhs->path.size() > rhs->path.size();
  });
  Gone gone(patch);
  llvm::DenseSet<Graph *> done;
  for (Graph *graph : touched) {
    if (!done.insert(graph).second)
      continue;
    gone.takeFrom(*graph->proto);
    AddedNodes &added = patch.added[graph];
    for (NodeProto &node : added.nodes)
      graph->proto->add_node()->Swap(&node);
    for (TensorProto &tensor : added.tensors)
      graph->proto->add_initializer()->Swap(&tensor);
    sortNodes(*graph->proto);
  }
  return Error::success();
}
