//===- CarriedErrors.cpp - Errors that travel forward
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "CarriedErrors.h"

#include "mpopt/Propagate/MeanSquare.h"

#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Gradients/SoftmaxRows.h"
#include "mpopt/Numerics/Unary.h"
#include "mpopt/Propagate/AddedTerms.h"
#include "mpopt/Ranges/Analysis/RangeAnalysis.h"
#include "mpopt/Ranges/Value/FunctionOf.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace mpopt;

double mpopt::countElements(Value value) {
  double count = 1;
  if (MaybeShape shape = getShape(value))
    for (int64_t dim : *shape)
      count *= double(std::max<int64_t>(dim, 1));
  return count;
}

static bool isFloat(Value value) {
  return isa<FloatType>(getElementType(value));
}

const AbstractValue &CarriedErrors::estimate(Value value) const {
  return ranges.preRounding(value);
}

std::optional<Noisy> CarriedErrors::sizeOf(Value value) const {
  const AbstractValue &of = estimate(value);
  if (!of.hasLikely())
    return std::nullopt;
  Noisy size;
  for (const Cell &cell : of.cells()) {
    size.square += meanSquare(cell);
    size.within += cell.variance;
  }
  size.square /= double(of.groups());
  size.within /= double(of.groups());
  size.variance = of.hull().variance;
  if (!std::isfinite(size.square))
    return std::nullopt;
  return size;
}

SmallVector<Noisy, 4> CarriedErrors::operandsOf(Operation *op) const {
  SmallVector<Noisy, 4> operands;
  for (Value operand : op->getOperands())
    if (isFloat(operand))
      operands.push_back(of(operand));
  return operands;
}

std::optional<double> CarriedErrors::storageError(Value value) {
  if (!storage.rounds(value))
    return 0;
  std::optional<AbstractValue> error = storage.errorOf(value, 0, {});
  if (!error)
    return 0;
  if (!error->hasLikely())
    return std::nullopt;
  return meanSquare(*error);
}

void CarriedErrors::give(Value value, std::optional<double> error) {
  std::optional<Noisy> size = sizeOf(value);
  if (!size || !error)
    return;
  std::optional<double> stored = storageError(value);
  if (!stored || !std::isfinite(*error + *stored))
    return;
  // However far errors move it, a value has the same distribution.
  size->error = std::min(*error, 2 * size->square) + *stored;
  known[value] = *size;
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

std::optional<double> CarriedErrors::squaredSlope(const Unary &function,
                                                  Value x) const {
  const AbstractValue &at = estimate(x);
  if (!at.hasLikely() || !isKnown(x))
    return std::nullopt;
  Cell hull = at.hull();
  return momentsOf(hull.mean, hull.variance,
                   [&](double number) {
                     double slope = derivative(function, number);
                     return slope * slope;
                   })
      .mean;
}

/// K (n_a q_b + q_a n_b), and the error of a bias.
double CarriedErrors::errorOfProduct(Operation *op, const Noisy &size) const {
  Noisy lhs = of(op->getOperand(0)), rhs = of(op->getOperand(1));
  double bias = 0;
  if (op->getNumOperands() > 2 && isFloat(op->getOperand(2)))
    bias = of(op->getOperand(2)).error;
  if (std::optional<int64_t> terms = countProducts(op))
    return double(*terms) * (lhs.error * rhs.square + lhs.square * rhs.error) +
           bias;
  return (lhs.relative() + rhs.relative()) * size.square + bias;
}

double mpopt::countLast(Value value) {
  MaybeShape shape = getShape(value);
  return shape && !shape->empty() ? double(std::max<int64_t>(shape->back(), 1))
                                  : 1;
}

double mpopt::squareThrough(Value probabilities, double square) {
  double count = countLast(probabilities);
  double collisions = std::min(square * count, 1.0);
  return logitSquare({count}, count, logitVariance(count, collisions));
}

double mpopt::spreadSeenBy(const OpMeaning *norm, const Noisy &x) {
  if (hasRole(norm, Role::BatchNorm))
    return x.within;
  return hasRole(norm, Role::Centring) ? x.variance : x.square;
}

std::optional<double> CarriedErrors::errorOf(Operation *op, OpResult result,
                                             const Noisy &size) {
  SmallVector<Noisy, 4> operands = operandsOf(op);
  double all = 0, relative = 0;
  for (const Noisy &operand : operands) {
    all += operand.error;
    relative += operand.relative();
  }
  std::optional<Unary> function = getFunction(op);
  if (function && op->getNumOperands() <= 2)
    if (std::optional<double> slope =
            squaredSlope(*function, op->getOperands().back()))
      return *slope * of(op->getOperands().back()).error;
  if (isa<mp::CastOp, mp::IdentityOp>(op))
    return operands.front().error;
  if (hasRole(op, Role::CopiesElements | Role::Concatenation | Role::Select |
                      Role::Limit)) {
    double error = 0, count = 0;
    for (Value operand : op->getOperands()) {
      if (!isFloat(operand))
        continue;
      double elements = countElements(operand);
      error += elements * of(operand).error;
      count += elements;
    }
    return error / count;
  }
  if (hasRole(op, Role::Addition | Role::Subtraction))
    return all;
  if (hasRole(op, Role::Multiplication) && op->getNumOperands() == 2) {
    Noisy lhs = operands.front(), rhs = operands.back();
    if (op->getOperand(0) == op->getOperand(1))
      return 4 * lhs.square * lhs.error;
    return lhs.error * rhs.square + lhs.square * rhs.error;
  }
  if (hasRole(op, Role::Contraction) && op->getNumOperands() >= 2 &&
      operands.size() >= 2)
    return errorOfProduct(op, size);
  if (hasRole(op, Role::Reduction | Role::Sum) && operands.size() == 1) {
    double count = countElements(op->getOperand(0)) / countElements(result);
    if (hasRole(op, Role::Mean))
      return all / std::max(count, 1.0);
    if (hasRole(op, Role::Sum))
      return all * std::max(count, 1.0);
    return all;
  }
  if (hasRole(op, Role::Softmax))
    return operands.front().error * (hasRole(op, Role::Probability)
                                         ? squareThrough(result, size.square)
                                         : 1);
  if (hasRole(op, Role::Normalization)) {
    const Noisy &x = operands.front();
    double spread = spreadSeenBy(getMeaning(op), x);
    return spread > 0 ? x.error / spread * size.square : 0;
  }
  return relative * size.square;
}

void CarriedErrors::visit(Operation *op) {
  bool isKnown = op->getNumRegions() == 0;
  for (Value operand : op->getOperands())
    isKnown &= !isFloat(operand) || known.count(operand);
  if (!isKnown)
    return;
  bool hasErrors = llvm::any_of(op->getOperands(), [&](Value operand) {
    return isFloat(operand) && of(operand).error > 0;
  });
  for (OpResult result : op->getResults()) {
    if (!isFloat(result))
      continue;
    if (std::optional<Noisy> size = sizeOf(result))
      give(result, hasErrors ? errorOf(op, result, *size) : 0);
  }
}

void CarriedErrors::visit(Block &body) {
  for (BlockArgument argument : body.getArguments())
    if (isFloat(argument))
      give(argument, 0);
  for (Operation &op : body) {
    visit(&op);
    ranges.limitRounded();
  }
}
