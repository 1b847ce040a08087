//===- GradientErrors.cpp - How far roundings move gradients
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Effects/GradientErrors.h"

#include "AlikeErrors.h"

#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/GradientOps.h"
#include "mpopt/Dialect/Ops/TrainingOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Gradients/GradientAnalysis.h"
#include "mpopt/Gradients/SoftmaxRows.h"
#include "mpopt/Numerics/StorageError.h"
#include "mpopt/Numerics/Unary.h"
#include "mpopt/Propagate/ChangedDecisions.h"
#include "mpopt/Propagate/ErrorMoments.h"
#include "mpopt/Propagate/MeanSquare.h"
#include "mpopt/Ranges/Analysis/RangeAnalysis.h"
#include "mpopt/Ranges/Value/FunctionOf.h"

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/SetVector.h"

#include <algorithm>
#include <cmath>
#include <numbers>

using namespace mlir;
using namespace mpopt;

/// Errors of forward values and of gradients.
class mpopt::GradientMoments : public ErrorMoments {
public:
  GradientMoments(const RangeAnalysis &ranges,
                  const GradientAnalysis &gradients, int exponent)
      : ErrorMoments(ranges), gradients(gradients), exponent(exponent),
        alike(gradients) {}

  void walk(ModuleOp module, const AddedErrors &added, unsigned sources);
  /// The part of a value's squared error that each source makes.
  ArrayRef<float> partsOf(Value value) const {
    auto found = parts.find(value);
    return found == parts.end() ? ArrayRef<float>()
                                : ArrayRef<float>(found->second);
  }

private:
  const AbstractValue &estimate(Value value) const override {
    return gradients.isGradient(value) ? gradients.of(value)
                                       : ErrorMoments::estimate(value);
  }
  std::optional<double> storageError(Value value) override;
  std::optional<double> errorOfStored(Value value);
  /// That of the elements of a forward value which are another choice.
  double errorOfChoice(Value value) const {
    bool isChosen = decisions && !gradients.isGradient(value);
    return isChosen ? decisions->errorOf(value).square : 0;
  }
  std::optional<double> errorOf(Operation *op, OpKind kind, OpResult result,
                                const TensorMoments &size) override;
  double growth(Operation *op, unsigned operand) const override {
    return alike.growth(op, operand);
  }
  void divide(Operation *op, OpKind kind, OpResult result,
              const TensorMoments &size) override;
  double commonSlope(Operation *op) const;
  void correlate(Operation *op, OpKind kind, OpResult result,
                 const TensorMoments &size);
  void adopt(Value from, Value to) override;
  std::optional<double> errorOfSlope(Operation *op,
                                     const TensorMoments &size) const;
  double errorOfGradient(Operation *op, const TensorMoments &size) const;
  std::optional<double> errorOfParameter(Operation *op, OpResult result) const;
  double errorOfLoss(Operation *op, Value operand) const;

  const GradientAnalysis &gradients;
  int exponent;
  AlikeErrors alike;
  const AddedErrors *added = nullptr;
  /// What the errors of a first walk choose otherwise.
  std::optional<ChangedDecisions> decisions;
  unsigned sources = 0;
  llvm::DenseMap<Value, std::vector<float>> parts;
  llvm::DenseMap<Value, std::optional<double>> stored;
};

std::optional<double> GradientMoments::storageError(Value value) {
  double own = added->lookup(value).square;
  auto [entry, isNew] = stored.try_emplace(value);
  if (isNew)
    entry->second = errorOfStored(value);
  if (std::isnan(own) || !entry->second)
    return std::nullopt;
  return *entry->second + own + errorOfChoice(value);
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

/// The x of an op that makes dY f'(x); null for other ops.
static Value getSlopeArgument(Operation *op) {
  std::optional<Unary> passed = getFunctionOfGradient(op);
  if (!passed || op->getNumOperands() > 2)
    return Value();
  Value x = op->getOperands().back();
  // Where the op reads f(x), x is what f' is a function of.
  Operation *maker = getMaker(x, Peel::InsertedCasts);
  std::optional<Unary> made = maker ? getFunction(maker) : std::nullopt;
  return made && made->function == passed->function ? maker->getOperand(0) : x;
}

/// dY f'(x): the error of dY, and that of the slope, which is how far it moves
/// where x moves by its error.
std::optional<double>
GradientMoments::errorOfSlope(Operation *op, const TensorMoments &size) const {
  Value x = getSlopeArgument(op);
  if (!x)
    return std::nullopt;
  std::optional<Unary> passed = getFunctionOfGradient(op);
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
  // The loss that a model holds itself hands on log softmax of its logits.
  if (Operation *loss = getMaker(operand); loss && hasRole(loss, Role::Loss))
    operand = loss->getOperand(0);
  const Cell at = estimate(operand).hull();
  double error = of(operand).error;
  if (isa<mp::CrossEntropyGradOp, mp::SoftmaxCrossEntropyGradOp>(op)) {
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

static bool isGradientOf(Operation *op, Role role) {
  const OpMeaning *forward = getMeaning(gradientOf(op), op->getContext());
  return forward && hasRole(forward, role);
}

/// Ops that compute gradients are linear in the incoming one, operand 0.
double GradientMoments::errorOfGradient(Operation *op,
                                        const TensorMoments &size) const {
  const OpMeaning *forward = getMeaning(gradientOf(op), op->getContext());
  auto isOf = [&](Role role) { return isGradientOf(op, role); };
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

/// Ops that compute the gradients of an input, of a weight or scale and of a
/// bias add the latter up over positions and samples. Nothing for other
/// results.
std::optional<double> GradientMoments::errorOfParameter(Operation *op,
                                                        OpResult result) const {
  const OpMeaning *forward = getMeaning(gradientOf(op), op->getContext());
  bool isNorm = isGradientOf(op, Role::Normalization),
       isConv = isGradientOf(op, Role::Contraction);
  if (result.getResultNumber() == 0 || !(isNorm || isConv))
    return std::nullopt;
  TensorMoments grad = of(op->getOperand(0)), x = of(op->getOperand(1));
  bool isBias = result.getResultNumber() == 2;
  MaybeShape shape = getShape(op->getOperand(0));
  if (isConv && (!shape || shape->size() < 2))
    return std::nullopt;
  double channels = isConv ? double(std::max<int64_t>((*shape)[1], 1))
                           : countElements(result),
         count = countElements(op->getOperand(0)) / channels;
  double growth = alike.growth(op, 0);
  if (isBias)
    return count * growth * grad.error;
  growth = 1 + (growth - 1) * alike.commonPart(op->getOperand(1));
  double spread = isNorm ? spreadSeenBy(forward, x) : 1;
  if (!(spread > 0))
    return std::nullopt;
  double square = isNorm ? 1 : x.square;
  return count *
         (growth * grad.error * square + grad.square * x.error / spread);
}

std::optional<double> GradientMoments::errorOf(Operation *op, OpKind kind,
                                               OpResult result,
                                               const TensorMoments &size) {
  if (std::optional<double> error = errorOfSlope(op, size))
    return error;
  if (std::optional<double> error = errorOfParameter(op, result))
    return error;
  if (!gradientOf(op).empty())
    return errorOfGradient(op, size);
  // Where one position has far more of a gradient than the others have, the
  // class token for one, it has as much more of the error.
  Value whole = op->getNumOperands() > 0 ? op->getOperand(0) : Value();
  bool isPart = (kind == OpKind::Copy || kind == OpKind::Gather) && whole &&
                countElements(result) < countElements(whole);
  if (isPart && gradients.isGradient(whole))
    return of(whole).relative() * size.square;
  return ErrorMoments::errorOf(op, kind, result, size);
}

//===----------------------------------------------------------------------===//
// Sources
//===----------------------------------------------------------------------===//

/// The part of the mean square of the slopes by which an op multiplies a
/// gradient that two positions have in common. Softmax takes the mean of a row
/// away, which is what its positions have in common.
double GradientMoments::commonSlope(Operation *op) const {
  if (isGradientOf(op, Role::Normalization))
    return 1;
  Value x = getSlopeArgument(op);
  std::optional<Unary> passed = getFunctionOfGradient(op);
  if (!x || !passed || !estimate(x).hasLikely())
    return 0;
  Cell hull = estimate(x).hull();
  auto slope = [&](double at) { return derivative(*passed, at); };
  Moments slopes = momentsOf(hull.mean, hull.variance, slope);
  return slopes.square > 0 ? slopes.mean * slopes.mean / slopes.square : 0;
}

/// Each operand's part of the error keeps its own correlation, and what the
/// result adds is new at each position.
void GradientMoments::correlate(Operation *op, OpKind kind, OpResult result,
                                const TensorMoments &size) {
  double common = 0;
  SmallVector<Value> read(op->getOperands());
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    double error = of(operand).error, its = 0;
    if (!(error > 0))
      continue;
    if (gradientOf(op).empty() && !getSlopeArgument(op))
      its = alike.passed(op, kind, result, unsigned(index));
    else if (index == 0)
      its = alike.of(operand) * commonSlope(op);
    if (its > 0)
      common += its * errorBy(operand, error, read, op, kind, result, size);
  }
  double all = of(result).error;
  alike.set(result, all > 0 ? common / all : 0);
}

/// An op passes an error e on as a e + b sqrt e: b where a slope jumps
/// (squaredChangeOfSlope). Two errors give both.
void GradientMoments::divide(Operation *op, OpKind kind, OpResult result,
                             const TensorMoments &size) {
  correlate(op, kind, result, size);
  if (sources == 0)
    return;
  parts.erase(result);
  std::vector<float> sums(sources, 0);
  llvm::SmallSetVector<Value, 4> read;
  read.insert(op->operand_begin(), op->operand_end());
  if (Value x = getSlopeArgument(op))
    read.insert(x);
  for (Value value : read) {
    ArrayRef<float> its = partsOf(value);
    double error = of(value).error;
    if (its.empty() || !(error > 0))
      continue;
    auto passed = [&](double square) {
      return errorBy(value, square, read.getArrayRef(), op, kind, result, size);
    };
    double whole = passed(error), quarter = passed(error / 4);
    double linear = 2 * whole - 4 * quarter, root = 4 * quarter - whole;
    for (auto [sum, part] : llvm::zip_equal(sums, its))
      sum += float(linear * part / error + root * std::sqrt(part / error));
  }
  for (float &sum : sums)
    sum = std::clamp(sum, 0.0F, float(2 * size.square));
  if (auto own = added->find(result); own != added->end())
    sums[own->second.source] += float(own->second.square);
  // A choice is that of the sources by which what decides is off.
  if (double square = errorOfChoice(result); square > 0)
    if (Value decider = decisions->deciderOf(result))
      for (auto [sum, part] : llvm::zip(sums, partsOf(decider)))
        sum += float(square * part / of(decider).error);
  if (llvm::any_of(sums, [](float sum) { return sum > 0; }))
    parts[result] = std::move(sums);
}

void GradientMoments::adopt(Value from, Value to) {
  alike.set(to, alike.of(from));
  if (auto found = parts.find(from); found != parts.end()) {
    std::vector<float> its = found->second;
    parts[to] = std::move(its);
  } else {
    parts.erase(to);
  }
}

void GradientMoments::walk(ModuleOp module, const AddedErrors &errors,
                           unsigned count) {
  added = &errors;
  sources = count;
  decisions.reset();
  SmallVector<Block *> bodies;
  for (auto function : module.getOps<FunctionOpInterface>())
    if (!function.isExternal())
      bodies.push_back(&function.getFunctionBody().front());
  auto walkOnce = [&] {
    forget();
    alike.forget();
    parts.clear();
    llvm::for_each(bodies, [&](Block *body) { run(*body); });
  };
  walkOnce();
  if (llvm::any_of(llvm::make_pointee_range(bodies),
                   ChangedDecisions::hasChoices)) {
    ChangedDecisions chosen(ranges, *this);
    llvm::for_each(bodies, [&](Block *body) { chosen.run(*body); });
    decisions.emplace(std::move(chosen));
    walkOnce();
  }
  added = nullptr;
}

//===----------------------------------------------------------------------===//
// The module
//===----------------------------------------------------------------------===//

GradientErrors::GradientErrors(ModuleOp module, AnalysisManager analyses,
                               int exponent)
    : module(module), moments(std::make_unique<GradientMoments>(
                          analyses.getAnalysis<RangeAnalysis>(),
                          analyses.getAnalysis<GradientAnalysis>(), exponent)) {
}

GradientErrors::~GradientErrors() = default;

void GradientErrors::walk(const AddedErrors &added, unsigned sources) {
  moments->walk(module, added, sources);
}

std::optional<double> GradientErrors::of(Value value) const {
  TensorMoments noisy = moments->of(value);
  if (!(noisy.square > 0))
    return std::nullopt;
  return std::sqrt(noisy.relative());
}

std::vector<double> GradientErrors::bySource(Value value) const {
  double square = moments->of(value).square;
  std::vector<double> errors;
  for (float part : moments->partsOf(value))
    errors.push_back(std::sqrt(part / square));
  return errors;
}
