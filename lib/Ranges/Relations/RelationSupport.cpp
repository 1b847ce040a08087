//===- RelationSupport.cpp - Recognising related values
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Ranges/Relations/RelationSupport.h"

#include "mpopt/Ranges/Value/RowSupport.h"

#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/ReductionOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::relations;

Rounding relations::storeError(Value value) {
  const FloatFormat *format = getFloatFormat(getElementType(value));
  if (!format)
    return {};
  return {2 * format->unitRoundoff(), format->minSubnormal};
}

Rounding relations::functionError(Value value, TransferContext &ctx) {
  const FloatFormat &format = ctx.functionFormat(value);
  Rounding error = storeError(value);
  error.add({16 * format.unitRoundoff(), format.minSubnormal});
  return error;
}

Value relations::peel(Value value, Rounding *error) {
  if (!error)
    return mpopt::peel(value, Peel::Rounded);
  return mpopt::peel(value, Peel::Rounded, [&](mp::CastOp cast) {
    const FloatFormat *from = getFloatFormat(getElementType(cast.getInput()));
    const FloatFormat *to = getFloatFormat(getElementType(cast.getResult()));
    if (from->digits > to->digits || from->minSubnormal < to->minSubnormal)
      error->add(storeError(cast.getResult()));
  });
}

bool relations::areAttributesEqual(Operation *lhs, Operation *rhs) {
  auto known = [](Operation *op) {
    NamedAttrList attributes(op->getAttrDictionary());
    attributes.erase("mp.idiom");
    attributes.erase("mp.category");
    return attributes.getDictionary(op->getContext());
  };
  return known(lhs) == known(rhs);
}

bool relations::isSameExpression(Value lhs, Value rhs, unsigned depth) {
  lhs = peel(lhs, Peel::Rounded);
  rhs = peel(rhs, Peel::Rounded);
  if (lhs == rhs)
    return true;
  Operation *left = lhs.getDefiningOp(), *right = rhs.getDefiningOp();
  if (depth == 0 || !left || !right || left->getName() != right->getName() ||
      left->getNumOperands() != right->getNumOperands() ||
      left->getNumRegions() != 0 ||
      !isa<mp::SubOp, mp::MulOp, mp::AddOp, mp::ReduceMeanOp, mp::ReduceSumOp,
           mp::ConstantOp>(left))
    return false;
  return getElementType(lhs) == getElementType(rhs) &&
         areAttributesEqual(left, right) &&
         llvm::all_of(llvm::zip(left->getOperands(), right->getOperands()),
                      [&](auto pair) {
                        auto [a, b] = pair;
                        return isSameExpression(a, b, depth - 1);
                      });
}

Value relations::getSquared(Operation *op, TransferContext &ctx) {
  return mpopt::getSquared(
      op, {[](Value lhs, Value rhs) {
             return isSameBehind(lhs, rhs, Peel::Rounded);
           },
           [&](Value number) { return ctx.of(number).constant(); }});
}

bool relations::isSquaredExpression(Operation *op) {
  return bool(mpopt::getSquared(
      op, {[](Value lhs, Value rhs) { return isSameExpression(lhs, rhs); },
           nullptr}));
}

Value relations::peelExpand(Value value) {
  auto expand = value.getDefiningOp<mp::ExpandOp>();
  return expand && TransferContext::rankOf(expand.getInput()) ==
                       TransferContext::rankOf(value)
             ? expand.getInput()
             : value;
}

bool relations::isRowScale(Value scale, Value rows, ArrayRef<int64_t> axes) {
  scale = peelExpand(scale);
  MaybeShape of = getShape(scale), shape = getShape(rows);
  if (of && shape && axes.size() == shape->size() &&
      of->size() <= shape->size() && getNumElements(of) == 1)
    return true;
  if (!of || !shape || of->size() != shape->size())
    return false;
  for (size_t axis = 0; axis < shape->size(); ++axis)
    if (llvm::is_contained(axes, axis) ? (*of)[axis] != 1
                                       : (*of)[axis] != (*shape)[axis])
      return false;
  return true;
}

std::optional<double> relations::rowLength(Value value,
                                           ArrayRef<int64_t> axes) {
  MaybeShape shape = getShape(value);
  std::optional<int64_t> count =
      shape ? cells::countAlong(*shape, axes) : std::nullopt;
  if (!count || *count <= 0)
    return std::nullopt;
  return double(*count);
}

Operation *relations::getReduction(Value value, Rounding *error) {
  value = peel(peelExpand(peel(value, error)), error);
  // Elements stay in their order, so equal shapes mean equal places; the
  // shape is for the caller to check (isRowScale).
  while (auto unsqueeze = value.getDefiningOp<mp::UnsqueezeOp>())
    value = peel(unsqueeze->getOperand(0), error);
  return value.getDefiningOp();
}

void relations::expectLike(AbstractValue &value,
                           const AbstractValue &expected) {
  if (!value.hasLikely() || !expected.hasLikely() ||
      expected.rank() != value.rank())
    return;
  AbstractValue like = expected.regrouped(value.dims());
  for (auto [group, cell] : llvm::enumerate(value.mutableCells()))
    cells::setLikely(cell, like.cell(group));
}

void relations::expectWithin(AbstractValue &value, const Interval &interval) {
  for (CellRef cell : value.mutableCells())
    cells::setLikely(cell, cells::getLikely(cell).within(interval));
}

void relations::clamp(AbstractValue &value, double lo, double hi) {
  if (llvm::all_of(value.cells(), [&](const Cell &cell) {
        return cell.lo >= lo && cell.hi <= hi;
      }))
    return;
  for (CellRef cell : value.mutableCells()) {
    cell.lo = std::max(cell.lo, lo);
    cell.hi = std::min(cell.hi, hi);
  }
}

void relations::setNorm(AbstractValue &value, int64_t axis, double bound,
                        int64_t count) {
  if (!std::isfinite(bound) || count <= 0 ||
      (value.norm && value.norm->bound <= bound))
    return;
  value.norm = NormFact{axis, bound, count};
}
