//===- ProbeInserter.cpp - Probe nodes in a JIT graph ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A probe comes right after what makes its value: later changes in place are
// not what the value's name means. Values in loops that the importer unrolled
// share one probe, which chooses the id by the loops' counters.
//
//===----------------------------------------------------------------------===//

#include "ProbeInserter.h"

#include "ParameterProbes.h"

#include "mpopt/Kernels/TorchOps.h"

#include <torch/csrc/jit/ir/constants.h>
#include <torch/library.h>

#include <stdexcept>

using namespace mpopt::torchscript;
namespace jit = torch::jit;

// The schemas alone: nothing runs here.
TORCH_LIBRARY(mpopt, library) {
  for (const char *op : mpopt::kernels::kTorchProbeOps)
    library.def(torch::schema(op, c10::AliasAnalysisKind::CONSERVATIVE));
}

ProbeInserter::ProbeInserter(jit::Graph &graph, std::string ledgerHash,
                             FindLists findLists)
    : graph(graph), ledgerHash(std::move(ledgerHash)),
      findLists(std::move(findLists)) {
  collect(*graph.block());
}

void ProbeInserter::collect(jit::Block &block) {
  // Inputs of the method are found by number, counters of loops by name.
  for (Value *argument : block.inputs())
    values[argument->debugName()] = argument;
  for (jit::Node *node : block.nodes()) {
    for (Value *output : node->outputs())
      values[output->debugName()] = output;
    for (jit::Block *inner : node->blocks())
      collect(*inner);
  }
}

ProbeInserter::Value *ProbeInserter::find(const GraphPlace &place) const {
  if (place.input >= 0) {
    size_t index = size_t(place.input) + 1; // after `self`
    if (index >= graph.inputs().size())
      throw std::runtime_error("the method has no such input");
    return graph.inputs()[index];
  }
  auto found = values.find(place.value);
  if (found == values.end())
    throw std::runtime_error("the method has no value '" + place.value + "'");
  return found->second;
}

void ProbeInserter::setInsertPoint(const Value *value) {
  jit::Node *node = const_cast<jit::Node *>(value->node());
  graph.setInsertPoint(node->kind() == c10::prim::Param
                           ? *node->owningBlock()->nodes().begin()
                           : node->next());
}

void ProbeInserter::addNode(const char *op, std::vector<Value *> inputs,
                            const Value *probed) {
  inputs.push_back(graph.insertConstant(ledgerHash));
  jit::Node *node =
      graph.create(c10::Symbol::fromQualString(op), inputs, /*num_outputs=*/0);
  node->setSourceRange(probed->node()->sourceRange());
  graph.insertNode(node);
}

ProbeInserter::Value *ProbeInserter::unpack(Value *value,
                                            std::vector<int64_t> &members) {
  setInsertPoint(value);
  while (!members.empty()) {
    auto tuple = value->type()->cast<c10::TupleType>();
    if (!tuple)
      break;
    int64_t index = members.front();
    if (index < 0 || size_t(index) >= tuple->elements().size())
      throw std::runtime_error("a tuple has no such member");
    value =
        graph
            .insertNode(graph.createTupleIndex(
                value, graph.insertConstant(index), tuple->elements()[index]))
            ->output();
    members.erase(members.begin());
  }
  return value;
}

static bool isTensorList(const c10::TypePtr &type) {
  auto list = type->cast<c10::ListType>();
  return list && list->getElementType()->kind() == c10::TypeKind::TensorType;
}

// The probe on the value itself would hook itself to it, too, where all
// gradients are asked for: it looks at one without a gradient.
ProbeInserter::Value *ProbeInserter::insertGradient(Value *value, int64_t id) {
  jit::Node *node = graph.create(
      c10::Symbol::fromQualString("mpopt::probe_grad"),
      {value, graph.insertConstant(id), graph.insertConstant(ledgerHash)});
  node->setSourceRange(value->node()->sourceRange());
  graph.insertNode(node);
  value->replaceAllUsesAfterNodeWith(node, node->output());
  jit::Node *detached = graph.create(c10::aten::detach, {node->output()});
  return graph.insertNode(detached)->output();
}

void ProbeInserter::insertOne(Value *value, const PlacedProbe &probe) {
  const c10::TypePtr &type = value->type();
  const char *op = nullptr;
  if (type->kind() == c10::TypeKind::TensorType)
    op = "mpopt::probe";
  else if (type->isSubtypeOf(*c10::OptionalType::ofTensor()))
    op = "mpopt::probe_optional";
  else if (type->isSubtypeOf(*c10::NumberType::get()) ||
           type->kind() == c10::TypeKind::BoolType)
    op = "mpopt::probe_number";
  else
    throw std::runtime_error("a probe on what is no tensor: " +
                             type->repr_str());
  setInsertPoint(value);
  if (probe.gradient && type->kind() == c10::TypeKind::TensorType)
    value = insertGradient(value, probe.id);
  std::vector<Value *> inputs{value, graph.insertConstant(probe.id)};
  if (probe.channelAxis >= 0 && type->kind() == c10::TypeKind::TensorType) {
    op = "mpopt::probe_channels";
    inputs.push_back(graph.insertConstant(probe.channelAxis));
  }
  addNode(op, inputs, value);
}

void ProbeInserter::insertTable(const RowKey &key,
                                const std::vector<int64_t> &table) {
  Value *value = key.first;
  setInsertPoint(value);
  auto numbers = [&](const std::vector<Value *> &members) {
    return graph.insertNode(graph.createList(c10::IntType::get(), members))
        ->output();
  };
  Value *list = value;
  if (!isTensorList(value->type())) {
    if (value->type()->kind() != c10::TypeKind::TensorType)
      throw std::runtime_error("a probe on what is no tensor: " +
                               value->type()->repr_str());
    list = graph.insertNode(graph.createList(c10::TensorType::get(), {value}))
               ->output();
  }
  std::vector<Value *> counters, cells;
  for (const std::string &name : key.second) {
    auto counter = values.find(name);
    if (counter == values.end() ||
        counter->second->type()->kind() != c10::TypeKind::IntType)
      throw std::runtime_error("the method has no loop with '" + name + "'");
    counters.push_back(counter->second);
  }
  for (int64_t cell : table)
    cells.push_back(graph.insertConstant(cell));
  Value *rounds = numbers(counters);
  addNode("mpopt::probe_members", {list, rounds, numbers(cells)}, value);
}

void ProbeInserter::insertBeginRun() {
  graph.setInsertPoint(*graph.nodes().begin());
  addNode("mpopt::begin_run", {}, graph.inputs().front());
}

void ProbeInserter::insertParameters(const std::vector<PlacedProbe> &probes) {
  std::vector<Value *> order;
  std::map<Value *, std::pair<int64_t, int64_t>> ids;
  for (const PlacedProbe &probe : probes) {
    if (!probe.isParameter)
      continue;
    Value *value = find(probe.place);
    auto [entry, isNew] = ids.try_emplace(value, -1, -1);
    if (isNew)
      order.push_back(value);
    (probe.isCast ? entry->second.first : entry->second.second) = probe.id;
  }
  if (order.empty())
    return;
  ParameterProbes parameters(graph, ledgerHash, findLists);
  for (Value *value : order)
    parameters.insert(value, ids[value].first, ids[value].second);
}

void ProbeInserter::insert(const std::vector<PlacedProbe> &probes) {
  // First, so that the other probes are no uses of parameters.
  insertParameters(probes);
  std::vector<RowKey> order;
  std::map<RowKey, std::vector<int64_t>> tables;
  for (const PlacedProbe &probe : probes) {
    if (probe.isParameter)
      continue;
    std::vector<int64_t> members = probe.place.members;
    Value *value = find(probe.place);
    if (!members.empty())
      value = unpack(value, members);
    if (members.size() > 1)
      throw std::runtime_error("a probe in a list of lists");
    if (members.empty() && probe.place.rounds.empty()) {
      insertOne(value, probe);
      continue;
    }
    RowKey key{value, {}};
    for (const auto &[counter, count] : probe.place.rounds)
      key.second.push_back(counter);
    auto [table, isNew] = tables.try_emplace(key);
    if (isNew)
      order.push_back(key);
    for (const auto &[counter, count] : probe.place.rounds)
      table->second.push_back(count);
    table->second.push_back(members.empty() ? 0 : members.front());
    table->second.push_back(probe.id);
  }
  for (const RowKey &key : order)
    insertTable(key, tables.at(key));
  // Last, so that it comes before the probes on inputs.
  insertBeginRun();
  graph.lint();
}
