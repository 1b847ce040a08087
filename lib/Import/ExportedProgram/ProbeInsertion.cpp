//===- ProbeInsertion.cpp - Probes in an exported program -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Import/ExportedProgram/ProbeInsertion.h"

#include "Archive.h"
#include "Fields.h"

#include "mpopt/Support/BoundedJson.h"
#include "mpopt/Support/JsonText.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <map>

using namespace mpopt;
using namespace mpopt::exported;
using llvm::StringRef;
namespace json = llvm::json;

namespace mpopt::exported {
/// Goes through the parsed program and its text side by side.
class SlotFinder {
public:
  SlotFinder(ProbeInsertion &into, Damage &damage)
      : into(into), text(into.text), damage(damage) {}

  void run(const json::Object &document);

private:
  using Gap = ProbeInsertion::Gap;

  size_t find(size_t object, StringRef key);
  void visit(const json::Object &graph, size_t at, const std::string &prefix);
  void visitBodies(const json::Object &node, size_t at,
                   const std::string &prefix);
  void define(const std::string &prefix, StringRef name, Gap gap,
              StringRef moduleStack);

  ProbeInsertion &into;
  JsonText text;
  Damage &damage;
};
} // namespace mpopt::exported

size_t SlotFinder::find(size_t object, StringRef key) {
  if (std::optional<size_t> found = text.find(object, key))
    return *found;
  damage.report("the graph's field '" + key + "' is not where it should be");
  return 0;
}

void SlotFinder::define(const std::string &prefix, StringRef name, Gap gap,
                        StringRef moduleStack) {
  auto [slot, isNew] = into.slots.try_emplace(prefix + name.str());
  if (isNew)
    slot->second = {name.str(), gap, moduleStack.str(), false};
  else
    slot->second.isShared = true;
}

/// The names of the tensors in an argument, lists taken apart.
static std::vector<StringRef> listTensors(const json::Value &argument,
                                          Damage &damage) {
  std::vector<StringRef> names;
  Choice choice = getChoice(argument, damage);
  if (choice.kind == "as_tensor")
    names.push_back(choice.name(damage));
  if (choice.kind == "as_tensors")
    for (const json::Value &member : choice.array(damage))
      names.push_back(Choice{choice.kind, &member}.name(damage));
  if (choice.kind == "as_optional_tensors")
    for (const json::Value &member : choice.array(damage))
      if (Choice one = getChoice(member, damage); one.kind == "as_tensor")
        names.push_back(one.name(damage));
  return names;
}

void SlotFinder::visitBodies(const json::Object &node, size_t at,
                             const std::string &prefix) {
  const json::Array &inputs = getArray(node, "inputs", damage);
  auto isBody = [](const json::Value &input) {
    const json::Object *fields = input.getAsObject();
    const json::Object *argument = fields ? fields->getObject("arg") : nullptr;
    return argument && argument->getObject("as_graph");
  };
  if (llvm::none_of(inputs, isBody))
    return;
  std::vector<size_t> offsets = text.elements(find(at, "inputs"));
  for (auto [input, offset] : llvm::zip(inputs, offsets)) {
    if (!isBody(input))
      continue;
    const json::Object &body =
        *input.getAsObject()->getObject("arg")->getObject("as_graph");
    visit(getObject(body, "graph", damage),
          find(find(find(offset, "arg"), "as_graph"), "graph"),
          prefix + getString(body, "name", damage).str() + ".");
  }
}

void SlotFinder::visit(const json::Object &graph, size_t at,
                       const std::string &prefix) {
  const json::Array &nodes = getArray(graph, "nodes", damage);
  size_t array = find(at, "nodes");
  std::vector<size_t> offsets = text.elements(array);
  if (offsets.size() != nodes.size())
    damage.report("the graph's field 'nodes' is not where it should be");
  if (damage.isThere())
    return;
  Gap start{array + 1, false, !nodes.empty()};
  if (prefix.empty())
    into.start = start;
  for (const json::Value &input : getArray(graph, "inputs", damage))
    for (StringRef name : listTensors(input, damage))
      define(prefix, name, start, "");
  for (auto [value, offset] : llvm::zip_equal(nodes, offsets)) {
    const json::Object &node = asObject(value, "nodes", damage);
    const json::Object *metadata = node.getObject("metadata");
    StringRef stack =
        metadata ? metadata->getString("nn_module_stack").value_or("") : "";
    // It begins with the whole.
    if (into.rootModule.empty())
      into.rootModule = stack.split(';').first;
    for (const json::Value &output : getArray(node, "outputs", damage))
      for (StringRef name : listTensors(output, damage))
        define(prefix, name, {text.end(offset), true, true}, stack);
    visitBodies(node, offset, prefix);
    if (damage.isThere())
      return;
  }
}

void SlotFinder::run(const json::Object &document) {
  const json::Object &module = getObject(document, "graph_module", damage);
  size_t at = find(find(text.root(), "graph_module"), "graph");
  if (!damage.isThere())
    visit(getObject(module, "graph", damage), at, "");
}

llvm::Expected<ProbeInsertion> ProbeInsertion::open(StringRef archive,
                                                    GraphPlaces places) {
  llvm::Expected<Archive> read = Archive::open(archive);
  if (!read)
    return read.takeError();
  llvm::Expected<std::string> text = read->readModel();
  if (!text)
    return text.takeError();
  ProbeInsertion made;
  made.memberName = read->modelMember();
  made.text = std::move(*text);
  made.places = std::move(places);
  llvm::Expected<json::Value> document = parseJson(made.text);
  if (!document)
    return document.takeError();
  Damage damage;
  SlotFinder(made, damage).run(asObject(*document, "ExportedProgram", damage));
  if (damage.isThere())
    return llvm::createStringError(damage.text());
  for (const auto &[tensor, found] : made.places)
    for (const GraphPlace &place : found)
      if (place.input < 0)
        ++made.uses[place.value];
  return made;
}

bool ProbeInsertion::hasProbes() const {
  return StringRef(text).contains("\"torch.ops.mpopt.");
}

/// The slot of a tensor that has one place.
const ProbeInsertion::Slot *ProbeInsertion::find(StringRef tensor) const {
  const GraphPlace &place = places.at(tensor.str()).front();
  // Inputs are called what they are called in the graph.
  auto found = slots.find(place.input >= 0 ? tensor : StringRef(place.value));
  bool isWhole = place.members.empty() && place.rounds.empty();
  return found != slots.end() && isWhole ? &found->second : nullptr;
}

std::string ProbeInsertion::whyNot(StringRef tensor) const {
  auto found = places.find(tensor.str());
  if (found == places.end() || found->second.empty())
    return "no value of the program is this tensor";
  if (found->second.size() > 1)
    return "more than one value of the program has this name";
  const GraphPlace &place = found->second.front();
  if (!place.rounds.empty())
    return "its loop was followed round by round, and one node computes it in "
           "all of them";
  const Slot *slot = find(tensor);
  if (!slot)
    return "no node of the program gives it as a tensor";
  if (place.repeats || slot->isShared || uses.lookup(place.value) > 1)
    return "its node computes other tensors, too: the graph that it is in runs "
           "at several places";
  return {};
}

static json::Object makeInput(StringRef name, StringRef kind,
                              json::Value value) {
  // ArgumentKind.POSITIONAL
  return json::Object{{"name", name},
                      {"arg", json::Object{{kind, std::move(value)}}},
                      {"kind", 1}};
}

static std::string makeNode(StringRef op, json::Array inputs,
                            StringRef moduleStack) {
  json::Object metadata;
  // A program is taken apart into modules by it.
  if (!moduleStack.empty())
    metadata["nn_module_stack"] = moduleStack;
  std::string node;
  llvm::raw_string_ostream(node) << json::Value(
      json::Object{{"target", ("torch.ops.mpopt." + op + ".default").str()},
                   {"inputs", std::move(inputs)},
                   {"outputs", json::Array()},
                   {"metadata", std::move(metadata)}});
  return node;
}

std::string ProbeInsertion::insert(llvm::ArrayRef<PlacedProbe> probes,
                                   StringRef ledgerHash) const {
  std::map<size_t, std::pair<Gap, std::vector<std::string>>> nodes;
  auto add = [&](Gap gap, std::string node) {
    auto &entry = nodes[gap.offset];
    entry.first = gap;
    entry.second.push_back(std::move(node));
  };
  // Probes of one call share a step: it begins before all of them.
  add(start, makeNode("begin_run",
                      json::Array{makeInput("ledger", "as_string", ledgerHash)},
                      rootModule));
  for (const PlacedProbe &probe : probes) {
    const Slot &slot = *find(probe.tensor);
    json::Array inputs{
        makeInput("x", "as_tensor", json::Object{{"name", slot.name}}),
        makeInput("id", "as_int", probe.id)};
    bool hasChannels = probe.channelAxis >= 0;
    if (hasChannels)
      inputs.push_back(makeInput("axis", "as_int", probe.channelAxis));
    inputs.push_back(makeInput("ledger", "as_string", ledgerHash));
    add(slot.gap,
        makeNode(hasChannels ? "probe_channels" : "probe", std::move(inputs),
                 slot.moduleStack.empty() ? rootModule : slot.moduleStack));
  }
  std::string result;
  size_t done = 0;
  for (const auto &[offset, entry] : nodes) {
    const auto &[gap, added] = entry;
    result.append(text, done, offset - done);
    done = offset;
    if (gap.hasBefore)
      result += ", ";
    result += llvm::join(added, ", ");
    if (!gap.hasBefore && gap.hasBehind)
      result += ", ";
  }
  return result.append(text, done);
}
