//===- AlikeErrors.cpp - Errors that positions have in common
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "AlikeErrors.h"

#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/ProductOperands.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Numerics/Unary.h"
#include "mpopt/Propagate/MeanSquare.h"
#include "mpopt/Ranges/Value/FunctionOf.h"

using namespace mlir;
using namespace mpopt;

void AlikeErrors::set(Value value, double alike) {
  if (alike > 0)
    known[value] = std::min(alike, 1.0);
  else
    known.erase(value);
}

double AlikeErrors::commonPart(Value value) const {
  auto [entry, isNew] = common.try_emplace(value, 0);
  if (!isNew)
    return entry->second;
  const AbstractValue &numbers = gradients.of(value);
  const Spread &spread = gradients.spread(value);
  Moments all;
  for (const Cell &cell : numbers.cells()) {
    Moments its = Moments::of(cell, spread);
    all.common += its.common;
    all.square += its.square;
  }
  if (all.square > 0)
    entry->second = std::clamp(all.common / all.square, 0.0, 1.0);
  return entry->second;
}

static SmallVector<int64_t> axesOf(const OperandLayout &layout, AxisPart part) {
  SmallVector<int64_t> axes;
  for (auto [axis, its] : llvm::enumerate(layout.axes))
    if (its == part)
      axes.push_back(int64_t(axis));
  return axes;
}

static SmallVector<int64_t> axesOf(Value value) {
  MaybeShape shape = getShape(value);
  return llvm::to_vector(
      llvm::seq<int64_t>(0, shape ? int64_t(shape->size()) : 0));
}

static double countPositions(Value value, ArrayRef<int64_t> axes,
                             const GradientAnalysis &gradients) {
  MaybeShape shape = getShape(value);
  if (!shape)
    return 1;
  return TermCount::along(*shape, axes, gradients.spread(value).axes,
                          gradients.samples())
      .positions;
}

bool AlikeErrors::hasPositions(Value value, ArrayRef<int64_t> axes) const {
  return countPositions(value, axes, gradients) > 1;
}

/// Positions of a softmax's gradient add up to 0, as their errors do: each is
/// negative where the others are positive.
double AlikeErrors::growth(Operation *op, unsigned operand) const {
  Value value = op->getOperand(operand);
  double alike = of(value);
  SmallVector<int64_t> summed = axesOf(value);
  std::optional<ProductOperands> product = getProductOperands(op);
  if (product)
    summed = axesOf(product->layouts[operand], AxisPart::Contracted);
  else if (auto axes = getReducedAxes(op, ShapeFacts()))
    summed.assign(axes->begin(), axes->end());
  double positions = countPositions(value, summed, gradients);
  if (product && positions > 1 && gradients.isGradient(value) &&
      llvm::is_contained(summed, gradients.spread(value).zeroSum))
    alike = -1 / (positions - 1);
  if (alike == 0)
    return 1;
  if (product)
    alike *= commonPart(op->getOperand(1 - operand));
  return std::max(0.0, 1 + (positions - 1) * alike);
}

/// A product keeps it where positions have the other factor in common, or where
/// the sum leaves them.
double AlikeErrors::passed(Operation *op, OpKind kind, OpResult result,
                           unsigned operand) const {
  Value value = op->getOperand(operand);
  double alike = of(value);
  auto productOperands = getProductOperands(op);
  if (productOperands && operand < 2) {
    auto rowsOf = [&](unsigned side) {
      SmallVector<int64_t> axes =
          axesOf(productOperands->layouts[side], AxisPart::Row);
      axes.append(axesOf(productOperands->layouts[side], AxisPart::Batch));
      return axes;
    };
    Value other = op->getOperand(1 - operand);
    if (!hasPositions(other, rowsOf(1 - operand)))
      return alike;
    return commonPart(other) *
           (hasPositions(value, rowsOf(operand)) ? alike : 1);
  }
  // One gradient for all positions; a number that is divided by, such as a
  // norm, may be one for all channels.
  if (gradients.isGradient(value) && !hasPositions(value, axesOf(value)) &&
      hasPositions(result, axesOf(result)))
    alike = 1;
  switch (kind) {
  case OpKind::Copy:
  case OpKind::Linear:
    return alike;
  case OpKind::Product:
  case OpKind::Quotient:
    for (auto [index, other] : llvm::enumerate(op->getOperands()))
      if (index != operand && hasPositions(other, axesOf(other)))
        alike *= commonPart(other);
    return alike;
  case OpKind::Normalize:
    return hasRole(op, Role::Softmax) ? 0 : alike;
  default:
    return 0;
  }
}
