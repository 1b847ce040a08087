//===- GradientErrors.cpp - How far roundings move gradients
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Effects/GradientErrors.h"

#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/GradientOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Gradients/GradientAnalysis.h"
#include "mpopt/Gradients/SoftmaxRows.h"
#include "mpopt/Numerics/StorageError.h"
#include "mpopt/Numerics/Unary.h"
#include "mpopt/Propagate/ErrorMoments.h"
#include "mpopt/Propagate/MeanSquare.h"
#include "mpopt/Ranges/Analysis/RangeAnalysis.h"
#include "mpopt/Ranges/Value/FunctionOf.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

#include <algorithm>
#include <cmath>
#include <numbers>

using namespace mlir;
using namespace mpopt;

namespace {
/// Errors of forward values and of gradients.
class GradientMoments : public ErrorMoments {
public:
  GradientMoments(const RangeAnalysis &ranges,
                  const GradientAnalysis &gradients, int exponent,
                  const AddedErrors *added, bool stores)
      : ErrorMoments(ranges), gradients(gradients), exponent(exponent),
        added(added), stores(stores) {}

private:
  const AbstractValue &estimate(Value value) const override {
    return gradients.isGradient(value) ? gradients.of(value)
                                       : ErrorMoments::estimate(value);
  }
  std::optional<double> storageError(Value value) override;
  std::optional<double> errorOfStored(Value value);
  std::optional<double> errorOf(Operation *op, OpKind kind, OpResult result,
                                const TensorMoments &size) override;
  std::optional<double> errorOfSlope(Operation *op,
                                     const TensorMoments &size) const;
  double errorOfGradient(Operation *op, const TensorMoments &size) const;
  double errorOfLoss(Operation *op, Value operand) const;

  const GradientAnalysis &gradients;
  int exponent;
  const AddedErrors *added;
  bool stores;
};
} // namespace

std::optional<double> GradientMoments::storageError(Value value) {
  double own = added ? added->lookup(value) : 0;
  if (std::isnan(own))
    return std::nullopt;
  if (!stores)
    return own;
  std::optional<double> stored = errorOfStored(value);
  return stored ? std::optional(*stored + own) : std::nullopt;
}

/// Gradients are stored times the loss scale.
std::optional<double> GradientMoments::errorOfStored(Value value) {
  if (!gradients.isGradient(value))
    return ErrorMoments::storageError(value);
  if (!storage.rounds(value))
    return 0;
  const FloatFormat &format = *getFloatFormat(getElementType(value));
  const AbstractValue &exact = gradients.of(value);
  // Exact zeros make the others larger.
  double live = std::max(1 - gradients.spread(value).zero, 1e-6);
  double sum = 0;
  for (const Cell &cell : exact.cells()) {
    double square = meanSquare(cell) / live;
    StorageError error =
        storageErrorOf(0, std::ldexp(square, 2 * exponent), format,
                       /*whole=*/false, /*overflow=*/false);
    sum += std::ldexp(error.square, -2 * exponent) * live;
  }
  return sum / double(exact.groups());
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
  // Normal numbers lie within 4 deviations but for 6e-5 of them; an interval of
  // an eighth of one is halved to the last digit of a float.
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

/// dY f'(x): the error of dY, and that of the slope, which is how far it moves
/// where x moves by its error.
std::optional<double>
GradientMoments::errorOfSlope(Operation *op, const TensorMoments &size) const {
  std::optional<Unary> passed = getFunctionOfGradient(op);
  if (!passed || op->getNumOperands() > 2)
    return std::nullopt;
  Value x = op->getOperands().back();
  // Where the op reads f(x), x is what f' is a function of.
  Value stored = peel(x, Peel::InsertedCasts);
  Operation *maker = stored.getDefiningOp();
  std::optional<Unary> made = maker ? getFunction(maker) : std::nullopt;
  if (made && made->function == passed->function)
    x = maker->getOperand(0);
  std::optional<double> slope = squaredSlope(*passed, x);
  if (!slope)
    return std::nullopt;
  double relative = of(op->getOperand(0)).relative();
  if (*slope > 0)
    relative +=
        squaredChangeOfSlope(*passed, estimate(x).hull(), of(x).error) / *slope;
  return relative * size.square;
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
double GradientMoments::errorOfLoss(Operation *op, Value operand) const {
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

/// Ops that compute gradients are linear in the incoming one, operand 0.
double GradientMoments::errorOfGradient(Operation *op,
                                        const TensorMoments &size) const {
  const OpMeaning *forward = getMeaning(gradientOf(op), op->getContext());
  auto isOf = [&](Role role) { return forward && hasRole(forward, role); };
  TensorMoments incoming = of(op->getOperand(0));
  double relative = 0, absolute = 0;
  for (Value operand : op->getOperands()) {
    if (!isa<FloatType>(getElementType(operand)))
      continue;
    TensorMoments value = of(operand);
    bool isLoss = isOf(Role::Loss) && operand != op->getOperand(0);
    // A norm sees what is left when the mean is off.
    bool isCentred = isOf(Role::Normalization) && operand == op->getOperand(1);
    if (isLoss)
      relative += errorOfLoss(op, operand);
    else if (double spread = isCentred ? spreadSeenBy(forward, value) : 0;
             spread > 0)
      relative += value.error / spread;
    else if (!isOf(Role::Softmax) || operand != op->getOperand(0))
      relative += value.relative();
    else
      // P (dP - sum P dP): errors of dP do not cancel as what its elements
      // have in common does.
      for (Value other : op->getOperands().drop_front())
        if (isa<FloatType>(getElementType(other)))
          absolute = incoming.error * squareThrough(other, of(other).square);
  }
  return relative * size.square + absolute;
}

std::optional<double> GradientMoments::errorOf(Operation *op, OpKind kind,
                                               OpResult result,
                                               const TensorMoments &size) {
  if (std::optional<double> error = errorOfSlope(op, size))
    return error;
  if (!gradientOf(op).empty())
    return errorOfGradient(op, size);
  return ErrorMoments::errorOf(op, kind, result, size);
}

//===----------------------------------------------------------------------===//
// The module
//===----------------------------------------------------------------------===//

GradientErrors::GradientErrors(ModuleOp module, AnalysisManager analyses,
                               int exponent, const AddedErrors *added,
                               bool stores) {
  const auto &ranges = analyses.getAnalysis<RangeAnalysis>();
  const auto &gradients = analyses.getAnalysis<GradientAnalysis>();
  GradientMoments walk(ranges, gradients, exponent, added, stores);
  for (auto function : module.getOps<FunctionOpInterface>()) {
    if (function.isExternal())
      continue;
    walk.run(function.getFunctionBody().front());
  }
  for (const auto &[value, noisy] : walk.all())
    if (noisy.square > 0)
      relative[value] = noisy.relative();
}

std::optional<double> GradientErrors::of(Value value) const {
  auto found = relative.find(value);
  if (found == relative.end())
    return std::nullopt;
  return std::sqrt(found->second);
}
