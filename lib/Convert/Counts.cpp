//===- Counts.cpp - Floats that become shapes, indices and counts
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One rounding moves Floor(x) to another integer, and then a tensor has another
// shape or another element is read: no error of the kind that a budget is
// about.
//
//===----------------------------------------------------------------------===//

#include "Decide.h"
#include "SettledCounts.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

using namespace mpopt;
using namespace mpopt::convert;
using llvm::StringRef;
using onnx::TensorProto;

namespace {
class Counts {
public:
  Counts(Model &model, TensorSource &tensors)
      : model(model),
        settled(tensors, model.low == kTakesHalf ? FloatFormat::f16()
                                                 : FloatFormat::bf16()) {}
  void run();

private:
  bool isCount(const Value *value);
  bool isCountIn(const Use &use);
  void keepSlice(Value *value, StringRef why);
  void keepArgument(Value *value, StringRef why);
  void keepPositions(Node &node);

  Model &model;
  SettledCounts settled;
  llvm::DenseMap<const Value *, bool> known;
  llvm::DenseSet<const Value *> kept;
};
} // namespace

static bool isInteger(const Value *value) {
  return llvm::is_contained({TensorProto::INT64, TensorProto::INT32,
                             TensorProto::INT16, TensorProto::UINT64,
                             TensorProto::UINT32, TensorProto::UINT16},
                            value->kind.dtype);
}

/// Float operands that decide a shape.
static bool isFloatCount(const Node &node, unsigned index) {
  StringRef op = node.proto->op_type();
  if (!onnx_import::normalizeDomain(node.proto->domain()).empty())
    return false;
  if (op == "Range")
    return true;
  if (op == "OneHot" || op == "Upsample")
    return index == 1;
  return op == "Resize" && index > 0 && index + 1 == node.inputs.size();
}

bool Counts::isCountIn(const Use &use) {
  const Node *node = use.node;
  if (!node) {
    // The results of the node that holds the body.
    return use.graph->owner &&
           llvm::any_of(use.graph->owner->outputs, [&](const Value *result) {
             return result && isInteger(result) && isCount(result);
           });
  }
  if (isFloatCount(*node, use.index))
    return true;
  if (node->callee) {
    const Graph &body = *node->bodies.front();
    Value *inner = int(use.index) < node->callee->input_size()
                       ? body.values.lookup(node->callee->input(int(use.index)))
                       : nullptr;
    return inner && isCount(inner);
  }
  const Slot *slot =
      node->signature ? node->signature->input(use.index) : nullptr;
  // An operand that may be INT64 and no float is a shape, an index or a count.
  if (slot && (slot->accepts & kTakesInt64) && !(slot->accepts & kTakesFloats))
    return true;
  return llvm::any_of(node->outputs, [&](const Value *result) {
    return result && isInteger(result) && isCount(result);
  });
}

bool Counts::isCount(const Value *value) {
  auto [it, isNew] = known.try_emplace(value, false);
  if (!isNew)
    return it->second;
  bool found =
      llvm::any_of(value->uses, [&](const Use &use) { return isCountIn(use); });
  return known[value] = found;
}

void Counts::keepSlice(Value *first, StringRef why) {
  llvm::SmallVector<Value *> pending{first};
  while (!pending.empty()) {
    Value *value = pending.pop_back_val();
    if (!value || !value->kind.isFloat() || value->constant ||
        !kept.insert(value).second)
      continue;
    // A graph's own input is read as it is given.
    if (!value->isInput)
      Model::widen(value->def, why, /*force=*/true);
    if (!value->maker || !value->maker->bodies.empty())
      continue;
    for (auto [operand, group] :
         llvm::zip(value->maker->inputs, value->maker->reads)) {
      if (!operand || !operand->kind.isFloat())
        continue;
      Model::widen(group, why, /*force=*/true);
      pending.push_back(operand);
    }
  }
}

/// A value is read before any rounding, behind Floor and its like the operand
/// of that.
void Counts::keepArgument(Value *value, StringRef why) {
  while (value && value->kind.isFloat() && value->maker && value->def &&
         value->maker->bodies.empty()) {
    Node &node = *value->maker;
    for (Group *group : llvm::concat<Group *>(node.reads, node.gives))
      Model::widen(group, why, /*force=*/true);
    if (!isView(node) && !llvm::is_contained({"Floor", "Ceil", "Round", "Clip"},
                                             StringRef(node.proto->op_type())))
      return;
    value = node.inputs.empty() ? nullptr : node.inputs[0];
  }
}

/// Whole numbers that are compared, as positions with a length. Past a power of
/// two the low type has only every other one. Where either side stays below,
/// the order is right whatever becomes of the other.
void Counts::keepPositions(Node &node) {
  constexpr StringRef why = "compares positions";
  if (!llvm::is_contained(
          {"Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal"},
          StringRef(node.proto->op_type())) ||
      !onnx_import::normalizeDomain(node.proto->domain()).empty() ||
      node.inputs.size() != 2)
    return;
  double most = model.low == kTakesHalf ? 0x1p11 : 0x1p8;
  auto isPosition = [](const Value *value) {
    while (value && value->maker && isView(*value->maker))
      value = value->maker->inputs[0];
    return value && value->maker && value->maker->isStandard("Cast") &&
           value->maker->inputs[0] && isInteger(value->maker->inputs[0]);
  };
  if (llvm::none_of(node.inputs, isPosition) ||
      llvm::any_of(node.inputs, [&](const Value *value) {
        return !value || !value->kind.isFloat() || settled.isBelow(value, most);
      }))
    return;
  for (auto [value, group] : llvm::zip(node.inputs, node.reads)) {
    Model::widen(group, why, /*force=*/true);
    keepArgument(value, why);
  }
}

void Counts::run() {
  constexpr StringRef why = "leads to a shape, an index or a count";
  model.forEachNode([&](Node &node) {
    if (!node.isLive)
      return;
    for (auto [index, value] : llvm::enumerate(node.inputs))
      if (value && value->kind.isFloat() && isFloatCount(node, index))
        keepSlice(value, why);
    keepPositions(node);
    // Sign jumps at 0, which small constants are rounded to.
    if (node.isStandard("Sign") && node.inputs[0] && node.inputs[0]->constant)
      for (Group *group : node.reads)
        Model::widen(group, "the sign of constants that may round to 0");
    if (!node.isStandard("Cast") || node.inputs.empty() || !node.inputs[0] ||
        !node.inputs[0]->kind.isFloat() || node.outputs.empty() ||
        !node.outputs[0] || !isInteger(node.outputs[0]) ||
        settled.holds(node.outputs[0]))
      return;
    if (isCount(node.outputs[0]))
      keepSlice(node.inputs[0], why);
    else
      keepArgument(node.inputs[0], "a cast to integers reads it");
  });
}

void convert::keepCounts(Model &model, TensorSource &tensors) {
  Counts(model, tensors).run();
}
