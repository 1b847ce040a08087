//===- WrittenOut.cpp - Functions that a model writes out
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WrittenOut.h"

#include "mpopt/Dialect/Interfaces/ShapeFacts.h"
#include "mpopt/Dialect/MPDialect.h"
#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/ActivationOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mpopt;

/// The one tensor from elsewhere that members read, beside constants.
static Value findInput(const WrittenOut &composite) {
  llvm::SmallDenseSet<Operation *> members(composite.members.begin(),
                                           composite.members.end());
  Value input, source;
  for (Operation *op : composite.members)
    for (Value operand : op->getOperands()) {
      Value from = peel(operand);
      if (members.contains(from.getDefiningOp()) || isConstant(from) ||
          !isa<FloatType>(getElementType(operand)))
        continue;
      if (source && source != from)
        return {};
      source = from;
      if (!input)
        input = operand;
    }
  return input;
}

std::vector<WrittenOut> mpopt::findWrittenOut(ModuleOp module) {
  llvm::MapVector<int64_t, WrittenOut> byId;
  module.walk([&](Operation *op) {
    auto idiom = op->getAttrOfType<mp::IdiomAttr>("mp.idiom");
    if (!idiom)
      return;
    WrittenOut &composite = byId[idiom.getId()];
    composite.members.push_back(op);
    if (idiom.getResult())
      composite.result = op;
  });
  std::vector<WrittenOut> found;
  for (auto &[id, composite] : byId)
    if (composite.result && composite.result->getNumResults() == 1)
      if ((composite.input = findInput(composite)))
        found.push_back(std::move(composite));
  return found;
}

/// The axis over which a member reduces the input.
static std::optional<int64_t> findAxis(const WrittenOut &composite) {
  for (Operation *op : composite.members)
    if (hasRole(op, Role::Reduction))
      if (auto axes = getReducedAxes(op, ShapeFacts());
          axes && axes->size() == 1)
        return axes->front();
  return std::nullopt;
}

Operation *mpopt::fuse(const WrittenOut &composite) {
  Operation *result = composite.result;
  auto idiom = result->getAttrOfType<mp::IdiomAttr>("mp.idiom");
  std::string name = ("mp." + idiom.getKind().getValue()).str();
  const OpMeaning *meaning =
      getMeaning(idiom.getKind().getValue(), result->getContext());
  auto known = RegisteredOperationName::lookup(name, result->getContext());
  if (!meaning || !known ||
      composite.input.getType() != result->getResult(0).getType() ||
      hasRole(meaning, Role::Normalization))
    return nullptr;
  OpBuilder builder(result->getContext());
  builder.setInsertionPointAfter(result);
  OperationState state(result->getLoc(), name);
  state.addOperands(composite.input);
  state.addTypes(result->getResult(0).getType());
  if (hasRole(meaning, Role::Softmax)) {
    std::optional<int64_t> axis = findAxis(composite);
    if (!axis)
      return nullptr;
    state.addAttribute("axis", builder.getI64IntegerAttr(*axis));
  }
  Operation *made = builder.create(state);
  result->getResult(0).replaceAllUsesWith(made->getResult(0));
  return made;
}
