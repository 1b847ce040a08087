//===- RelationSupport.cpp - Recognising related values
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpopt/Ranges/Relations/RelationSupport.h"

#include "mpopt/Ranges/Value/RowSupport.h"

#include "mpopt/Dialect/ConstantSupport.h"
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
  return {2 * rows::roundoff(*format), format->minSubnormal};
}

Rounding relations::functionError(Value value, TransferContext &ctx) {
  const FloatFormat &format = ctx.functionFormat(value);
  Rounding error = storeError(value);
  error.add({16 * rows::roundoff(format), format.minSubnormal});
  return error;
}

/// Whether the cast is between floats and rounds to nearest.
static bool isPlainCast(mp::CastOp cast) {
  return getFloatFormat(getElementType(cast.getInput())) &&
         getFloatFormat(getElementType(cast.getResult())) &&
         !cast.getSaturate() && !cast.getRoundMode();
}

Value relations::peel(Value value, Rounding *error) {
  while (Operation *op = value.getDefiningOp()) {
    auto cast = dyn_cast<mp::CastOp>(op);
    if (!isa<mp::IdentityOp>(op) && !(cast && isPlainCast(cast)))
      break;
    if (cast && error) {
      const FloatFormat *from = getFloatFormat(getElementType(cast.getInput()));
      const FloatFormat *to = getFloatFormat(getElementType(cast.getResult()));
      if (from->digits > to->digits || from->minSubnormal < to->minSubnormal)
        error->add(storeError(value));
    }
    value = op->getOperand(0);
  }
  return value;
}

bool relations::isSameExpression(Value lhs, Value rhs, unsigned depth) {
  lhs = peel(lhs);
  rhs = peel(rhs);
  if (lhs == rhs)
    return true;
  Operation *left = lhs.getDefiningOp(), *right = rhs.getDefiningOp();
  if (depth == 0 || !left || !right || left->getName() != right->getName() ||
      left->getNumOperands() != right->getNumOperands() ||
      left->getNumRegions() != 0 ||
      !isa<mp::SubOp, mp::MulOp, mp::AddOp, mp::ReduceMeanOp, mp::ReduceSumOp,
           mp::ConstantOp>(left))
    return false;
  auto known = [](Operation *op) {
    NamedAttrList attributes(op->getAttrDictionary());
    attributes.erase("mp.idiom");
    attributes.erase("mp.category");
    return attributes.getDictionary(op->getContext());
  };
  return getElementType(lhs) == getElementType(rhs) &&
         known(left) == known(right) &&
         llvm::all_of(llvm::zip(left->getOperands(), right->getOperands()),
                      [&](auto pair) {
                        auto [a, b] = pair;
                        return isSameExpression(a, b, depth - 1);
                      });
}

bool relations::isSquare(Operation *op) {
  if (isa<mp::SquareOp>(op))
    return true;
  if (isa<mp::PowOp>(op))
    return getSplatConstant(op->getOperand(1)) == 2.0;
  return isa<mp::MulOp>(op) &&
         isSameExpression(op->getOperand(0), op->getOperand(1));
}

std::optional<Axes> relations::reducedAxes(Operation *reduction,
                                           TransferContext &ctx) {
  MaybeShape shape = getShape(reduction->getOperand(0));
  if (!shape)
    return std::nullopt;
  int64_t rank = shape->size();
  Axes axes;
  if (reduction->getNumOperands() > 1) {
    std::optional<SmallVector<int64_t>> known =
        ctx.shapes().constants(reduction->getOperand(1));
    if (!known)
      return std::nullopt;
    axes.assign(known->begin(), known->end());
  } else if (auto attribute =
                 reduction->getAttrOfType<DenseI64ArrayAttr>("axes")) {
    axes.assign(attribute.asArrayRef().begin(), attribute.asArrayRef().end());
  }
  if (axes.empty())
    axes = llvm::to_vector<4>(llvm::seq<int64_t>(0, rank));
  for (int64_t &axis : axes) {
    std::optional<int64_t> from = normalizeAxis(axis, rank);
    if (!from)
      return std::nullopt;
    axis = *from;
  }
  llvm::sort(axes);
  axes.erase(llvm::unique(axes), axes.end());
  return axes;
}

bool relations::isRowScale(Value scale, Value rows, ArrayRef<int64_t> axes) {
  MaybeShape of = getShape(scale), shape = getShape(rows);
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
      shape ? rows::countAlong(*shape, axes) : std::nullopt;
  if (!count || *count <= 0)
    return std::nullopt;
  return double(*count);
}

Operation *relations::getReduction(Value value, Rounding *error) {
  value = peel(value, error);
  // Elements stay in their order, so equal shapes mean equal places; the
  // shape is for the caller to check (isRowScale).
  while (auto unsqueeze = value.getDefiningOp<mp::UnsqueezeOp>())
    value = peel(unsqueeze->getOperand(0), error);
  return value.getDefiningOp();
}

void relations::clamp(AbstractValue &value, double lo, double hi) {
  if (llvm::all_of(value.cells(), [&](const Cell &cell) {
        return cell.lo >= lo && cell.hi <= hi;
      }))
    return;
  for (Cell &cell : value.mutableCells()) {
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
