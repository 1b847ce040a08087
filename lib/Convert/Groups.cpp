//===- Groups.cpp - What of a node becomes low as a whole
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Graph.h"

#include "llvm/ADT/STLExtras.h"

using namespace mpopt;
using namespace mpopt::convert;
using llvm::StringRef;

Group *Model::makeGroup(bool isBorder) {
  groups.emplace_back();
  groups.back().isBorder = isBorder;
  return &groups.back();
}

Group *Model::find(Group *group) {
  while (group->parent) {
    if (group->parent->parent)
      group->parent = group->parent->parent;
    group = group->parent;
  }
  return group;
}

void Model::unite(Group *a, Group *b) {
  if (!a || !b)
    return;
  a = find(a);
  b = find(b);
  if (a == b)
    return;
  if (b->isWide && !a->isWide)
    a->why = b->why;
  a->isWide |= b->isWide;
  a->isForced |= b->isForced;
  a->staysLow |= b->staysLow;
  a->isBorder &= b->isBorder;
  b->parent = a;
}

bool Model::widen(Group *group, const llvm::Twine &why, bool force) {
  if (!group)
    return false;
  group = find(group);
  group->isForced |= force;
  if (group->isWide || (group->staysLow && !force))
    return false;
  group->isWide = true;
  group->why = why.str();
  return true;
}

/// A float in the source, or a value of unknown type that is read as one.
static bool isFloat(const Value *value) { return value->kind.isFloat(); }

Group *GroupMaker::groupOf(const Slot &slot) {
  Group *&group = byVariable[slot.variable];
  if (!group || slot.isFree)
    group = model.makeGroup();
  return group;
}

static bool isWrapped(const Value *value) {
  return value && value->kind.depth > 0 && isFloat(value);
}

static bool holdsSequence(const Node &node) {
  return llvm::any_of(node.inputs, isWrapped) ||
         llvm::any_of(node.outputs, isWrapped);
}

static std::string getTypeName(uint8_t low) {
  return low == kTakesHalf ? "FP16" : "BF16";
}

void GroupMaker::bySignature(const Signature &signature) {
  std::string noForm = node.proto->op_type() + " has no " +
                       getTypeName(model.low) + " form here";
  llvm::StringSet<> floats;
  auto note = [&](const Value *value, const Slot *slot) {
    if (value && slot && isFloat(value))
      floats.insert(slot->variable);
  };
  for (auto [index, value] : llvm::enumerate(node.inputs))
    note(value, signature.input(index));
  auto bind = [&](Value *value, const Slot *slot) -> Group * {
    if (!value || !slot)
      return value && isFloat(value) ? model.makeGroup() : nullptr;
    bool isUnknown = value->kind.dtype == 0 && floats.contains(slot->variable);
    if (!isFloat(value) && !isUnknown)
      return nullptr;
    Group *group = groupOf(*slot);
    if (!(slot->accepts & model.low))
      Model::widen(group, noForm, /*force=*/true);
    return group;
  };
  for (auto [index, value] : llvm::enumerate(node.inputs))
    node.reads[index] = bind(value, signature.input(index));
  for (auto [index, value] : llvm::enumerate(node.outputs)) {
    const Slot *slot = signature.output(index);
    node.gives[index] = bind(value, slot);
    // As the mean of LayerNormalization, whose type is `stash_type`; sequences
    // are tied to what they hold.
    if (node.gives[index] && slot && !holdsSequence(node) &&
        !signature.hasInput(slot->variable) &&
        !node.isStandard("ConstantOfShape"))
      Model::widen(node.gives[index], "its type does not follow an operand's",
                   /*force=*/true);
  }
}

void GroupMaker::allOne() {
  Group *group = model.makeGroup();
  for (auto [index, value] : llvm::enumerate(node.inputs))
    if (value && isFloat(value))
      node.reads[index] = group;
  for (auto [index, value] : llvm::enumerate(node.outputs))
    if (value && isFloat(value))
      node.gives[index] = group;
}

void GroupMaker::allWide(const llvm::Twine &why) {
  allOne();
  for (Group *group : llvm::concat<Group *>(node.reads, node.gives))
    Model::widen(group, why, /*force=*/true);
}

/// No op casts a sequence or an optional: what makes one and what reads it have
/// one type, as have the tensors that it is made of.
void GroupMaker::tieWrapped() {
  if (!holdsSequence(node))
    return;
  Group *first = nullptr;
  for (Group *group : llvm::concat<Group *>(node.reads, node.gives)) {
    if (group && first)
      model.unite(first, group);
    first = first ? first : group;
  }
  for (auto [index, value] : llvm::enumerate(node.inputs))
    if (isWrapped(value) && value->def)
      model.unite(value->def, node.reads[index]);
}

// Their results depend on the type in which they are drawn, or runtimes have
// kernels for FP32 only and no operand by which they could notice: ONNX Runtime
// puts casts around an op for which it has no kernel by the types of operands.
static constexpr StringRef kMadeByAttribute[] = {
    "EyeLike",           "RandomNormal",   "RandomUniform", "RandomNormalLike",
    "RandomUniformLike", "Bernoulli",      "HannWindow",    "HammingWindow",
    "BlackmanWindow",    "MelWeightMatrix"};

void GroupMaker::run() {
  node.reads.assign(node.inputs.size(), nullptr);
  node.gives.assign(node.outputs.size(), nullptr);
  StringRef op = node.proto->op_type();
  StringRef domain = onnx_import::normalizeDomain(node.proto->domain());
  if (domain.empty() && (op == "Cast" || op == "CastLike")) {
    // Reads any type.
    Value *result = node.outputs.empty() ? nullptr : node.outputs[0];
    if (result && isFloat(result))
      node.gives[0] = model.makeGroup();
    if (op == "CastLike" && node.inputs.size() > 1 && node.inputs[1] &&
        node.gives[0])
      node.reads[1] = node.gives[0];
    return;
  }
  if ((domain.empty() || domain == "com.microsoft") &&
      (op == "QuantizeLinear" || op == "DequantizeLinear" ||
       op == "DynamicQuantizeLinear"))
    return allWide("scales keep their type");
  if (domain.empty() && llvm::is_contained(kMadeByAttribute, op)) {
    allWide("its type is an attribute, for which runtimes have FP32 only");
    // The tensor whose shape it takes is of any type.
    node.reads.assign(node.inputs.size(), nullptr);
    return;
  }
  // ONNX Runtime adds 16-bit floats up on GPUs alone, and each addition rounds.
  if (domain.empty() && (op == "ScatterElements" || op == "ScatterND"))
    if (const onnx::AttributeProto *by = findAttribute(node, "reduction");
        by && by->s() != "none")
      return allWide("adds up in the type of its elements");
  if (node.signature)
    bySignature(*node.signature);
  else if (llvm::is_contained(model.assumed, onnx_import::qualifiedType(
                                                 node.proto->domain(), op)))
    allOne();
  else
    allWide("the types that the op takes are not known");
  tieWrapped();
}
