//===- Copies.cpp - The same elements, shared, copied or overwritten ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ShapeValues.h"
#include "Subfamilies.h"
#include "ViewSteps.h"

#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/IndexingOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"
#include "mpopt/Dialect/StopGradient.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::aten;

static LogicalResult lowerAlias(NodeContext &context) {
  context.setAlias(0, "self");
  return success();
}

/// The same memory, through which no gradient passes.
static LogicalResult lowerDetach(NodeContext &context) {
  Value self = context.tensor("self");
  if (!self || !isa<FloatType>(getElementType(self)))
    return lowerAlias(context);
  auto derive = [](NodeContext &context, Value base) -> Value {
    Value same = context.make<mp::IdentityOp>(base);
    same.getDefiningOp()->setAttr(kStopsGradientAttr,
                                  UnitAttr::get(base.getContext()));
    return same;
  };
  auto writeBack = [](NodeContext &, Value, Value updated) { return updated; };
  return giveView(context, "self", {derive, writeBack});
}

static LogicalResult lowerClone(NodeContext &context) {
  context.setOutput(0, context.tensor("self"));
  return success();
}

/// The op, behind changes of shape, that leaves elements where they are or
/// picks some; null if all lie in order.
static Operation *findStrided(Value value) {
  Operation *op = value.getDefiningOp();
  while (isa_and_nonnull<mp::ReshapeOp, mp::SqueezeOp, mp::UnsqueezeOp>(op))
    op = op->getOperand(0).getDefiningOp();
  return isa_and_nonnull<mp::TransposeOp, mp::ExpandOp, mp::SliceOp,
                         mp::GatherOp>(op)
             ? op
             : nullptr;
}

/// True if this view of a contiguous tensor is not contiguous itself, so that
/// `contiguous` copies it.
static bool isOutOfOrder(Operation *op) {
  MaybeShape from = getShape(op->getOperand(0)),
             to = getShape(op->getResult(0));
  if (!getNumElements(from) || getNumElements(to).value_or(0) == 0 ||
      findStrided(op->getOperand(0)))
    return false;
  if (auto transpose = dyn_cast<mp::TransposeOp>(op)) {
    SmallVector<int64_t> order;
    std::optional<ArrayRef<int64_t>> perm = transpose.getPerm();
    if (!perm)
      return false;
    for (int64_t axis : *perm)
      if ((*from)[axis] != 1)
        order.push_back(axis);
    return !llvm::is_sorted(order);
  }
  if (isa<mp::ExpandOp>(op))
    return getNumElements(from) != getNumElements(to);
  // Cut along an axis behind one of several elements.
  bool several = false;
  for (auto [before, after] : llvm::zip(*from, *to)) {
    if (before != after)
      return several && from->size() == to->size();
    several |= before != 1;
  }
  return false;
}

static LogicalResult lowerContiguous(NodeContext &context) {
  // A copy where the layout was another one, the tensor itself otherwise.
  Value self = context.tensor("self");
  Operation *strided = findStrided(self);
  if (!strided)
    context.setAlias(0, "self");
  else if (strided == self.getDefiningOp() && isOutOfOrder(strided))
    context.setOutput(0, self);
  else
    context.setOutputSharing(0, self, "self");
  return success();
}

//===----------------------------------------------------------------------===//
// Overwriting
//===----------------------------------------------------------------------===//

static LogicalResult lowerCopy(NodeContext &context) {
  Value self = context.tensor("self");
  Value source = context.tensor(context.has("src") ? "src" : "other");
  if (!source)
    return context.unsupported();
  Type element = getElementType(self);
  if (!isUnknown(element))
    source = context.cast(source, element, /*promotion=*/false);
  context.write("self", expandLike(context, source, self));
  context.setAlias(0, "self");
  return success();
}

/// `copy`, which gives what `copy_` would leave.
static LogicalResult lowerFunctionalCopy(NodeContext &context) {
  Value self = context.tensor("self"), source = context.tensor("src");
  if (!self || !source || isUnknown(getElementType(self)))
    return context.unsupported();
  source = context.cast(source, getElementType(self), /*promotion=*/false);
  context.setOutput(0, expandLike(context, source, self));
  return success();
}

static LogicalResult lowerFill(NodeContext &context) {
  Value self = context.tensor("self");
  Type element = getElementType(self);
  if (isUnknown(element))
    return context.unsupported();
  std::optional<double> number =
      context.has("value") ? context.findNumber("value") : 0;
  Value shape = shapeValue(context, self);
  Value filled = number ? fill(context, shape, *number, element) : Value();
  if (!filled) {
    Value value = context.tensor("value");
    if (!value)
      return context.unsupported();
    filled = expand(context, context.cast(value, element, false), shape);
  }
  context.setOutput(0, filled);
  return success();
}

static LogicalResult lowerSetData(NodeContext &context) {
  context.write("self", context.tensor("new_data"));
  return success();
}

void aten::registerCopies(LoweringRegistry &registry) {
  registry.add({"alias", "resolve_conj", "resolve_neg", "lift_fresh", "lift",
                "requires_grad_"},
               lowerAlias);
  registry.add({"detach", "data"}, lowerDetach);
  registry.add({"clone", "detach_copy", "lift_fresh_copy"}, lowerClone);
  registry.add("contiguous", lowerContiguous);
  registry.add("copy_", lowerCopy);
  registry.add("copy", lowerFunctionalCopy);
  registry.add({"fill", "zero"}, lowerFill);
  registry.add("set_data", lowerSetData);
}
