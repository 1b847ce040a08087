//===- Decide.cpp - Which groups stay in FP32
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Decide.h"

#include "Selector.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

using namespace mpopt;
using namespace mpopt::convert;
using llvm::Error;
using llvm::StringRef;
using llvm::Twine;
using onnx::TensorProto;

//===----------------------------------------------------------------------===//
// Used values
//===----------------------------------------------------------------------===//

static void markValue(Value *value);

static void markNode(Node &node) {
  if (node.isLive)
    return;
  node.isLive = true;
  for (Value *output : node.outputs)
    if (output)
      output->isLive = true;
  for (Value *input : node.inputs)
    markValue(input);
  for (auto &body : node.bodies) {
    for (Value *output : body->outputs)
      markValue(output);
    // Ops that only print or check something have no result.
    for (auto &inner : body->nodes)
      if (inner->outputs.empty())
        markNode(*inner);
    if (body->owner && body->outer == nullptr)
      continue;
    for (Value *input : body->inputs)
      markValue(input);
  }
}

static void markValue(Value *value) {
  if (!value || value->isLive)
    return;
  value->isLive = true;
  if (value->maker)
    markNode(*value->maker);
  else if (value->graph->owner)
    markNode(*value->graph->owner);
}

void convert::markLive(Model &model) {
  for (Value *output : model.main.outputs)
    markValue(output);
  for (auto &node : model.main.nodes)
    if (node->outputs.empty())
      markNode(*node);
}

//===----------------------------------------------------------------------===//
// Requests
//===----------------------------------------------------------------------===//

/// All that the node reads and gives; a call's function with it and, if
/// `wholly`, other bodies.
static void widenAll(Node &node, const Twine &why, bool wholly) {
  for (Group *group : llvm::concat<Group *>(node.reads, node.gives))
    Model::widen(group, why);
  for (auto &body : node.bodies)
    if (node.callee || wholly)
      for (auto &inner : body->nodes)
        widenAll(*inner, why, wholly);
}

/// The groups of those operands and results that the plan names, of all if it
/// names none, or none that the node has.
static void applyPlan(Node &node, const WideNode &planned) {
  bool found = false;
  auto widen = [&](llvm::ArrayRef<Value *> values,
                   llvm::ArrayRef<Group *> groups) {
    for (auto [value, group] : llvm::zip(values, groups))
      if (value && llvm::is_contained(planned.tensors, value->name)) {
        Model::widen(group, planned.why);
        found = true;
      }
  };
  widen(node.inputs, node.reads);
  widen(node.outputs, node.gives);
  if (!found)
    widenAll(node, planned.why, /*wholly=*/false);
}

static Error applyRequest(Model &model, const ConvertRequest &request) {
  std::map<PlannedNode, const WideNode *> planned;
  for (const WideNode &node : request.plan.wide)
    planned.try_emplace(node.node, &node);
  NodeSelector keep("--keep", request.keep), never("--never", request.never);
  model.forEachNode([&](Node &node) {
    bool isNever = never.fits(node);
    if (keep.fits(node))
      widenAll(node, "asked for by --keep", /*wholly=*/true);
    else if (auto it = planned.find({node.graph->path, node.label});
             it != planned.end() && !isNever)
      applyPlan(node, *it->second);
  });
  if (Error error = keep.checkUsed())
    return error;
  return never.checkUsed();
}

//===----------------------------------------------------------------------===//
// The file's own islands
//===----------------------------------------------------------------------===//

static bool isLow(const Value *value) {
  return value && (value->kind.dtype == TensorProto::FLOAT16 ||
                   value->kind.dtype == TensorProto::BFLOAT16);
}

/// A file that computes low, and in FP32 behind a cast up, has reasons.
static void keepIslands(Model &model) {
  constexpr StringRef why = "the file's own island in FP32";
  llvm::SmallVector<Value *> pending;
  llvm::DenseMap<Value *, bool> seen;
  auto add = [&](Value *value) {
    if (value && value->kind.isFloat() && seen.try_emplace(value).second)
      pending.push_back(value);
  };
  model.forEachNode([&](Node &node) {
    if (!node.isStandard("Cast") || node.inputs.empty())
      return;
    Value *from = node.inputs[0];
    bool isComputed = isLow(from) && from->maker &&
                      !from->maker->isStandard("Cast") &&
                      !from->maker->isStandard("Constant");
    if (!isComputed || !node.gives[0])
      return;
    Model::widen(node.gives[0], why, /*force=*/true);
    add(node.outputs[0]);
  });
  while (!pending.empty()) {
    Value *value = pending.pop_back_val();
    for (const Use &use : value->uses) {
      if (!use.group || (use.graph && use.graph->isMain()))
        continue;
      Model::widen(use.group, why);
      if (!use.node) {
        for (Value *result : use.graph->owner->outputs)
          if (result && result->def &&
              Model::find(result->def) == Model::find(use.group))
            add(result);
        continue;
      }
      for (auto [result, group] : llvm::zip(use.node->outputs, use.node->gives))
        if (group && Model::find(group) == Model::find(use.group))
          add(result);
      for (auto &body : use.node->bodies)
        for (Value *input : body->inputs)
          if (input->def && Model::find(input->def) == Model::find(use.group))
            add(input);
    }
  }
}

//===----------------------------------------------------------------------===//
// Consequences
//===----------------------------------------------------------------------===//

// Their results are elements of their operands.
static constexpr StringRef kMoves[] = {
    "Identity",       "Reshape",         "Flatten",   "Squeeze",
    "Unsqueeze",      "Slice",           "Transpose", "Gather",
    "GatherElements", "GatherND",        "Expand",    "Tile",
    "Concat",         "Split",           "Pad",       "Where",
    "Dropout",        "ReverseSequence", "Compress",  "DepthToSpace",
    "SpaceToDepth"};

namespace {
/// Widens what lies between FP32 ops, until nothing changes.
class Between {
public:
  explicit Between(Model &model) : model(model) {}
  void run();

private:
  static bool isMove(const Node &node);
  bool comesFromWide(const Value *value);
  bool goesToWide(const Value *value);
  bool isReadWide(const Value *value, bool byAll) const;
  bool widenMoves();
  bool widenMakers();
  bool widenBorders();
  bool widenInputs();

  Model &model;
  llvm::DenseMap<const Value *, bool> from, to;
};
} // namespace

bool Between::isMove(const Node &node) {
  return onnx_import::normalizeDomain(node.proto->domain()).empty() &&
         node.bodies.empty() &&
         llvm::is_contained(kMoves, StringRef(node.proto->op_type()));
}

/// FP32 there already, or moved from where it is.
bool Between::comesFromWide(const Value *value) {
  if (value->constant || (value->isInput && value->def))
    return true;
  if (Model::isWide(value->def))
    return true;
  if (!value->maker || !isMove(*value->maker))
    return false;
  auto [it, isNew] = from.try_emplace(value, false);
  if (!isNew)
    return it->second;
  bool wide = llvm::all_of(value->maker->inputs, [&](const Value *operand) {
    return !operand || !operand->kind.isFloat() || comesFromWide(operand);
  });
  return from[value] = wide;
}

bool Between::goesToWide(const Value *value) {
  auto [it, isNew] = to.try_emplace(value, false);
  if (!isNew)
    return it->second;
  bool any = false;
  for (const Use &use : value->uses) {
    if (use.node && !use.node->isLive)
      continue;
    if (!use.group)
      continue;
    any = true;
    if (Model::isWide(use.group))
      continue;
    bool moved =
        use.node && isMove(*use.node) &&
        llvm::all_of(use.node->outputs, [&](const Value *result) {
          return !result || !result->kind.isFloat() || goesToWide(result);
        });
    if (!moved)
      return to[value] = false;
  }
  return to[value] = any;
}

bool Between::widenMoves() {
  from.clear();
  to.clear();
  bool changed = false;
  model.forEachNode([&](Node &node) {
    if (!node.isLive || !isMove(node))
      return;
    for (auto [result, group] : llvm::zip(node.outputs, node.gives))
      if (group && !Model::isWide(group) && comesFromWide(result) &&
          goesToWide(result))
        changed |= Model::widen(group, "moves values between ops in FP32");
  });
  return changed;
}

/// An op that makes floats of something else is exact in FP32.
bool Between::widenMakers() {
  bool changed = false;
  model.forEachNode([&](Node &node) {
    bool makes = node.isStandard("ConstantOfShape") ||
                 (node.isStandard("Cast") && !node.inputs.empty() &&
                  node.inputs[0] && !node.inputs[0]->kind.isFloat());
    if (!makes || !node.isLive)
      return;
    for (auto [result, group] : llvm::zip(node.outputs, node.gives))
      if (group && !Model::isWide(group) &&
          llvm::any_of(result->uses, [](const Use &use) {
            return use.node && use.node->isLive && Model::isWide(use.group);
          }))
        changed |= Model::widen(group, "an op in FP32 reads it");
  });
  return changed;
}

/// The result of an FP32 op in a body leaves the body in FP32.
bool Between::widenBorders() {
  bool changed = false;
  model.forEachGraph([&](Graph &graph) {
    if (graph.isMain())
      return;
    for (auto [value, group] : llvm::zip(graph.outputs, graph.outputGroups))
      if (group && value && Model::isWide(value->def) && !value->isInput)
        changed |= Model::widen(group, "an op in FP32 gives it");
  });
  return changed;
}

/// An input that an FP32 op reads: the low type may not hold it.
bool Between::widenInputs() {
  bool changed = false;
  for (Value *input : model.main.inputs)
    if (input->def && !Model::isWide(input->def) &&
        llvm::any_of(input->uses, [](const Use &use) {
          return use.node && use.node->isLive && Model::isWide(use.group);
        }))
      changed |= Model::widen(input->def, "an op in FP32 reads it");
  return changed;
}

void Between::run() {
  bool changed = true;
  while (changed) {
    changed = widenMoves();
    changed |= widenMakers();
    changed |= widenBorders();
    changed |= widenInputs();
  }
}

//===----------------------------------------------------------------------===//
// Inputs and outputs
//===----------------------------------------------------------------------===//

static Error keepBorders(Model &model, const ConvertRequest &request) {
  BorderSelector selector(request.keepsAllIo, request.keepIo);
  auto keep = [&](StringRef name, Group *group,
                  llvm::ArrayRef<WideBorder> planned) {
    BorderSelector::Choice choice = selector.choose(name);
    if (choice == BorderSelector::Kept)
      Model::widen(group, "keeps its type");
    if (choice == BorderSelector::Low && group)
      Model::find(group)->staysLow = true;
    for (const WideBorder &border : planned)
      if (border.name == name)
        Model::widen(group, border.why);
  };
  for (Value *input : model.main.inputs)
    keep(input->name, input->def, request.plan.inputs);
  for (auto [value, group] :
       llvm::zip(model.main.outputs, model.main.outputGroups))
    if (value)
      keep(value->name, group, request.plan.outputs);
  return selector.checkUsed();
}

/// A cache goes in as `past` and comes out as `present`.
static void pairStates(Model &model) {
  for (Value *input : model.main.inputs) {
    std::string name = input->name;
    size_t at = name.find("past");
    if (at == std::string::npos || !input->def)
      continue;
    name.replace(at, 4, "present");
    std::string dotted = name;
    if (size_t end = dotted.find("present_key_values");
        end != std::string::npos)
      dotted.replace(end, 18, "present");
    for (auto [value, group] :
         llvm::zip(model.main.outputs, model.main.outputGroups))
      if (value && (value->name == name || value->name == dotted) && group)
        model.unite(input->def, group);
  }
}

/// An output that does not keep its type has that of what gives it.
static void settleOutputs(Model &model) {
  for (auto [value, group] :
       llvm::zip(model.main.outputs, model.main.outputGroups))
    if (group && value && Model::isWide(value->def))
      Model::widen(group, "an op in FP32 gives it");
}

Error convert::decide(Model &model, const ConvertRequest &request,
                      TensorSource &tensors) {
  markLive(model);
  pairStates(model);
  if (Error error = keepBorders(model, request))
    return error;
  keepCounts(model, tensors);
  keepIslands(model);
  if (Error error = applyRequest(model, request))
    return error;
  Between(model).run();
  settleOutputs(model);
  return Error::success();
}

bool convert::becomesLow(Model &model) {
  bool found = false;
  model.forEachNode([&](Node &node) {
    for (Group *group : node.gives)
      found |= group && node.isLive && !Model::isWide(group);
    for (Group *group : node.reads)
      found |= group && node.isLive && !Model::isWide(group);
  });
  return found;
}
