//===- GradientErrors.cpp - How far roundings move gradients
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Errors of different elements and operands are taken as independent of each
// other and of the values. Then an op's squared errors are sums of its
// operands', each times the expected square of the derivative; a product has
// K (n_a q_b + q_a n_b) for K terms, with n the squared errors and q the mean
// squares. Whatever has no formula here passes relative errors on, the squares
// added.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Effects/GradientErrors.h"

#include "MeanSquare.h"
#include "Storage.h"

#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/GradientOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Gradients/GradientAnalysis.h"
#include "mpopt/Gradients/SoftmaxRows.h"
#include "mpopt/Hazards/AddedTerms.h"
#include "mpopt/Numerics/StorageError.h"
#include "mpopt/Numerics/Unary.h"
#include "mpopt/Ranges/Analysis/RangeAnalysis.h"
#include "mpopt/Ranges/Value/FunctionOf.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

#include <algorithm>
#include <cmath>
#include <numbers>

using namespace mlir;
using namespace mpopt;

namespace {
/// The mean square of a tensor's elements, their variance, in all and (where
/// groups are told apart) within a group, and the mean square of their errors.
struct Noisy {
  double square = 0, variance = 0, within = 0, error = 0;

  double relative() const { return square > 0 ? error / square : 0; }
};

class Walk {
public:
  Walk(const RangeAnalysis &ranges, const GradientAnalysis &gradients,
       int exponent)
      : ranges(ranges), gradients(gradients), storage(ranges),
        exponent(exponent) {}

  void visitArgument(BlockArgument argument);
  void visit(Operation *op);

  llvm::DenseMap<Value, Noisy> known;

private:
  const AbstractValue &estimate(Value value) const {
    return gradients.isGradient(value) ? gradients.of(value)
                                       : ranges.preRounding(value);
  }
  std::optional<Noisy> sizeOf(Value value) const;
  std::optional<double> errorOf(Operation *op, OpResult result,
                                const Noisy &size);
  std::optional<double> errorOfFunction(Operation *op, OpResult result,
                                        const Noisy &size);
  double errorOfProduct(Operation *op, const Noisy &size);
  double errorOfGradient(Operation *op, const Noisy &size);
  double errorOfLoss(Operation *op, Value operand) const;
  std::optional<double> storageError(Value value);
  void give(Value value, std::optional<double> error);
  Noisy of(Value value) const { return known.lookup(value); }
  SmallVector<Noisy, 4> operandsOf(Operation *op) const;

  const RangeAnalysis &ranges;
  const GradientAnalysis &gradients;
  Storage storage;
  int exponent;
};
} // namespace

static double countElements(Value value) {
  double count = 1;
  if (MaybeShape shape = getShape(value))
    for (int64_t dim : *shape)
      count *= double(std::max<int64_t>(dim, 1));
  return count;
}

static bool isFloat(Value value) {
  return isa<FloatType>(getElementType(value));
}

std::optional<Noisy> Walk::sizeOf(Value value) const {
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

SmallVector<Noisy, 4> Walk::operandsOf(Operation *op) const {
  SmallVector<Noisy, 4> operands;
  for (Value operand : op->getOperands())
    if (isFloat(operand))
      operands.push_back(of(operand));
  return operands;
}

//===----------------------------------------------------------------------===//
// Storage
//===----------------------------------------------------------------------===//

/// The mean squared error of storing the value; 0 if that rounds nothing.
std::optional<double> Walk::storageError(Value value) {
  if (!storage.rounds(value))
    return 0;
  if (!gradients.isGradient(value)) {
    std::optional<AbstractValue> error = storage.errorOf(value, 0, {});
    if (!error)
      return 0;
    if (!error->hasLikely())
      return std::nullopt;
    return meanSquare(*error);
  }
  const FloatFormat &format = *getFloatFormat(getElementType(value));
  const AbstractValue &exact = gradients.of(value);
  // Exact zeros make the others larger.
  double live = std::max(1 - gradients.spread(value).zero, 1e-6);
  double sum = 0;
  for (const Cell &cell : exact.cells()) {
    double square = meanSquare(cell) / live;
    StorageError error =
        storageErrorOf(0, std::ldexp(square, 2 * exponent), format);
    sum += std::ldexp(error.square - error.overflowed, -2 * exponent) * live;
  }
  return sum / double(exact.groups());
}

void Walk::give(Value value, std::optional<double> error) {
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

void Walk::visitArgument(BlockArgument argument) {
  if (isFloat(argument))
    give(argument, 0);
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

/// E (f'(x + e) - f'(x))^2 of normal x and e, e small: where f' is smooth
/// E e^2 f''(x)^2, where it jumps by J the density of x there times J^2 E |e|,
/// since a jump counts for all x that are closer to it than e.
static double squaredChangeOfSlope(const Unary &function, const Cell &x,
                                   double error) {
  double deviation = std::sqrt(x.variance), step = std::sqrt(error);
  if (!(deviation > 0) || !(step > 0))
    return 0;
  constexpr int kIntervals = 64, kHalvings = 24;
  constexpr double kReach = 4;
  double sum = 0;
  for (int i = 0; i < kIntervals; ++i) {
    double lo = x.mean + deviation * kReach * (2.0 * i / kIntervals - 1);
    double hi = x.mean + deviation * kReach * (2.0 * (i + 1) / kIntervals - 1);
    double first = derivative(function, lo), last = derivative(function, hi);
    double change = last - first, width = hi - lo;
    if (!std::isfinite(change) || change == 0)
      continue;
    double low = first, high = last;
    for (int halving = 0; halving < kHalvings; ++halving) {
      double middle = (lo + hi) / 2, slope = derivative(function, middle);
      bool isLeft = std::abs(slope - low) > std::abs(high - slope);
      (isLeft ? hi : lo) = middle;
      (isLeft ? high : low) = slope;
    }
    double at = (lo + hi) / 2 - x.mean;
    double density = std::exp(-at * at / (2 * x.variance)) /
                     (deviation * std::sqrt(2 * std::numbers::pi));
    double jump = high - low;
    bool jumps = std::abs(jump) > std::abs(change) / 2;
    double moves = step * std::sqrt(2 / std::numbers::pi);
    sum += density * (jumps ? jump * jump * std::min(moves, width)
                            : change * change * error / width);
  }
  return sum;
}

/// f(x): E f'^2 n. dY f'(x): the error of dY, and that of the slope, which is
/// how far it moves where x moves by its error.
std::optional<double> Walk::errorOfFunction(Operation *op, OpResult result,
                                            const Noisy &size) {
  std::optional<Unary> function = getFunction(op);
  std::optional<Unary> passed = getFunctionOfGradient(op);
  if ((!function && !passed) || op->getNumOperands() > 2)
    return std::nullopt;
  Value x = op->getOperands().back();
  if (passed) {
    // Where the op reads f(x), x is what f' is a function of.
    Value stored = peel(x, Peel::InsertedCasts);
    Operation *maker = stored.getDefiningOp();
    std::optional<Unary> made = maker ? getFunction(maker) : std::nullopt;
    if (made && made->function == passed->function)
      x = maker->getOperand(0);
  }
  const AbstractValue &at = estimate(x);
  if (!at.hasLikely() || !known.count(x))
    return std::nullopt;
  Cell hull = at.hull();
  const Unary &slopeOf = function ? *function : *passed;
  double squaredSlope = momentsOf(hull.mean, hull.variance, [&](double number) {
                          double slope = derivative(slopeOf, number);
                          return slope * slope;
                        }).mean;
  double error = of(x).error;
  if (function)
    return squaredSlope * error;
  double relative = of(op->getOperand(0)).relative();
  if (squaredSlope > 0)
    relative += squaredChangeOfSlope(*passed, hull, error) / squaredSlope;
  return relative * size.square;
}

/// K (n_a q_b + q_a n_b), and the error of a bias.
double Walk::errorOfProduct(Operation *op, const Noisy &size) {
  Noisy lhs = of(op->getOperand(0)), rhs = of(op->getOperand(1));
  double bias = 0;
  if (op->getNumOperands() > 2 && isFloat(op->getOperand(2)))
    bias = of(op->getOperand(2)).error;
  if (std::optional<int64_t> terms = countProducts(op))
    return double(*terms) * (lhs.error * rhs.square + lhs.square * rhs.error) +
           bias;
  return (lhs.relative() + rhs.relative()) * size.square + bias;
}

/// The elements of a row of classes or keys.
static double countLast(Value value) {
  MaybeShape shape = getShape(value);
  return shape && !shape->empty() ? double(std::max<int64_t>(shape->back(), 1))
                                  : 1;
}

/// E sigmoid'(x)^2 of normal x, which is 0 but around 0.
static double squaredBellOf(const Cell &x) {
  constexpr double kStep = 0.125;
  constexpr int kSteps = 128; // on either side of 0
  double deviation = std::sqrt(x.variance), sum = 0;
  auto bell = [](double at) {
    double slope = derivative({UnaryFunction::Sigmoid}, at);
    return slope * slope;
  };
  // Steps of the integral are short beside the density.
  if (deviation < 4 * kStep)
    return momentsOf(x.mean, x.variance, bell).mean;
  for (int step = -kSteps; step <= kSteps; ++step) {
    double at = step * kStep;
    double far = (at - x.mean) / deviation;
    sum += bell(at) * std::exp(-far * far / 2);
  }
  return sum * kStep / (deviation * std::sqrt(2 * std::numbers::pi));
}

/// The relative squared error that a prediction or target brings into the slope
/// of a loss. P - onehot moves by P (e - sum P e), nothing where one class has
/// it all; sigmoid(x) - t by sigmoid'(x) e, x - t by e; targets are
/// independent of predictions, as nothing has been learnt.
double Walk::errorOfLoss(Operation *op, Value operand) const {
  const Cell at = estimate(operand).hull();
  double error = of(operand).error;
  if (isa<mp::CrossEntropyGradOp>(op)) {
    double count = countLast(operand);
    double square = collisionsOf(count, at.variance) + 1 - 2 / count;
    return square > 0 ? error * logitSquare({count}, count, at.variance) *
                            count / square
                      : 0;
  }
  const Cell target = estimate(op->getOperand(2)).hull();
  if (isa<mp::BinaryCrossEntropyWithLogitsGradOp>(op)) {
    Moments chance = momentsOf(at.mean, at.variance, [](double x) {
      return evaluate({UnaryFunction::Sigmoid}, x);
    });
    double far = chance.mean - target.mean;
    double square =
        far * far + chance.square - chance.mean * chance.mean + target.variance;
    return square > 0 ? error * squaredBellOf(at) / square : 0;
  }
  if (isa<mp::MseLossGradOp, mp::SmoothL1LossGradOp, mp::HuberLossGradOp>(op)) {
    const Cell x = estimate(op->getOperand(1)).hull();
    double square = (x.mean - target.mean) * (x.mean - target.mean) +
                    x.variance + target.variance;
    return square > 0 ? error / square : 0;
  }
  return of(operand).relative();
}

/// E (P (e - sum P e))^2 of errors e with mean square 1.
static double squareThrough(Value probabilities, double square) {
  double count = countLast(probabilities);
  double collisions = std::min(square * count, 1.0);
  return logitSquare({count}, count, logitVariance(count, collisions));
}

/// The mean square of what a norm divides: of x, of x without the mean of a
/// row, or of a channel.
static double spreadSeenBy(const OpMeaning *norm, const Noisy &x) {
  if (hasRole(norm, Role::BatchNorm))
    return x.within;
  return hasRole(norm, Role::Centring) ? x.variance : x.square;
}

/// Ops that compute gradients are linear in the incoming one, operand 0.
double Walk::errorOfGradient(Operation *op, const Noisy &size) {
  const OpMeaning *forward = getMeaning(gradientOf(op), op->getContext());
  Noisy incoming = of(op->getOperand(0));
  double relative = 0, absolute = 0;
  for (Value operand : op->getOperands()) {
    if (!isFloat(operand))
      continue;
    Noisy value = of(operand);
    bool isLoss =
        forward && hasRole(forward, Role::Loss) && operand != op->getOperand(0);
    // A norm sees what is left when the mean is off.
    bool isCentred = forward && hasRole(forward, Role::Normalization) &&
                     operand == op->getOperand(1);
    if (isLoss)
      relative += errorOfLoss(op, operand);
    else if (double spread = isCentred ? spreadSeenBy(forward, value) : 0;
             spread > 0)
      relative += value.error / spread;
    else if (!(forward && hasRole(forward, Role::Softmax) &&
               operand == op->getOperand(0)))
      relative += value.relative();
    else
      // P (dP - sum P dP): errors of dP do not cancel as what its elements
      // have in common does.
      for (Value other : op->getOperands().drop_front())
        if (isFloat(other))
          absolute = incoming.error * squareThrough(other, of(other).square);
  }
  return relative * size.square + absolute;
}

std::optional<double> Walk::errorOf(Operation *op, OpResult result,
                                    const Noisy &size) {
  SmallVector<Noisy, 4> operands = operandsOf(op);
  double all = 0, relative = 0;
  for (const Noisy &operand : operands) {
    all += operand.error;
    relative += operand.relative();
  }
  if (operands.empty() || all == 0)
    return 0;
  if (std::optional<double> error = errorOfFunction(op, result, size))
    return error;
  if (!gradientOf(op).empty())
    return errorOfGradient(op, size);
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

void Walk::visit(Operation *op) {
  bool isKnown = op->getNumRegions() == 0;
  for (Value operand : op->getOperands())
    isKnown &= !isFloat(operand) || known.count(operand);
  if (!isKnown)
    return;
  for (OpResult result : op->getResults()) {
    if (!isFloat(result))
      continue;
    std::optional<Noisy> size = sizeOf(result);
    if (size)
      give(result, errorOf(op, result, *size));
  }
}

//===----------------------------------------------------------------------===//
// The module
//===----------------------------------------------------------------------===//

GradientErrors::GradientErrors(ModuleOp module, AnalysisManager analyses,
                               int exponent) {
  const auto &ranges = analyses.getAnalysis<RangeAnalysis>();
  const auto &gradients = analyses.getAnalysis<GradientAnalysis>();
  Walk walk(ranges, gradients, exponent);
  for (auto function : module.getOps<FunctionOpInterface>()) {
    if (function.isExternal())
      continue;
    Block &body = function.getFunctionBody().front();
    llvm::for_each(body.getArguments(), [&](BlockArgument argument) {
      walk.visitArgument(argument);
    });
    for (Operation &op : body) {
      walk.visit(&op);
      ranges.limitRounded();
    }
  }
  for (const auto &[value, noisy] : walk.known)
    if (noisy.square > 0)
      relative[value] = noisy.relative();
}

std::optional<double> GradientErrors::of(Value value) const {
  auto found = relative.find(value);
  if (found == relative.end())
    return std::nullopt;
  return std::sqrt(found->second);
}
