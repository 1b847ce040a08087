//===- ErrorMoments.cpp - Second moments of errors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Propagate/ErrorMoments.h"

#include "FiniteErrors.h"

#include "mpopt/Dialect/Ops/QuantizationOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Gradients/SoftmaxRows.h"
#include "mpopt/Numerics/FunctionTable.h"
#include "mpopt/Numerics/Unary.h"
#include "mpopt/Propagate/AddedTerms.h"
#include "mpopt/Propagate/AttentionScores.h"
#include "mpopt/Propagate/Interpolation.h"
#include "mpopt/Propagate/Masks.h"
#include "mpopt/Propagate/MeanSquare.h"
#include "mpopt/Ranges/Value/Expression.h"
#include "mpopt/Ranges/Value/FunctionOf.h"

#include <algorithm>
#include <cmath>
#include <utility>

using namespace mlir;
using namespace mpopt;

double mpopt::countElements(Value value) {
  double count = 1;
  if (MaybeShape shape = getShape(value))
    for (int64_t dim : *shape)
      count *= double(std::max<int64_t>(dim, 1));
  return count;
}

double mpopt::countLast(Value value) {
  MaybeShape shape = getShape(value);
  return shape && !shape->empty() ? double(std::max<int64_t>(shape->back(), 1))
                                  : 1;
}

static bool isFloat(Value value) {
  return isa<FloatType>(getElementType(value));
}

//===----------------------------------------------------------------------===//
// Sizes, and the errors of storage
//===----------------------------------------------------------------------===//

const AbstractValue &ErrorMoments::estimate(Value value) const {
  return ranges.preRounding(value);
}

static std::optional<TensorMoments> measure(const AbstractValue &of) {
  if (!of.hasLikely())
    return std::nullopt;
  TensorMoments size;
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

const std::optional<TensorMoments> &ErrorMoments::sizeOf(Value value) {
  auto [entry, isNew] = sizes.try_emplace(value);
  if (isNew)
    entry->second = measure(estimate(value));
  return entry->second;
}

void ErrorMoments::forget() {
  known.clear();
  steps.clear();
}

std::optional<double> ErrorMoments::storageError(Value value) {
  if (!isFloat(value))
    return 0;
  double square = 0;
  auto add = [&](const AbstractValue &error) {
    square += error.hasLikely() ? meanSquare(error) : NAN;
  };
  // The error of codes, in steps, is that of the op (errorOfStep).
  if (isa_and_nonnull<mp::QuantizeOp>(value.getDefiningOp()) &&
      quantization.judges(value))
    return 0;
  if (auto quantized = quantization.errorOf(value))
    add(quantized->error);
  if (storage.rounds(value))
    if (std::optional<AbstractValue> error = storage.errorOf(value, {}, {}))
      add(*error);
  if (std::isnan(square))
    return std::nullopt;
  return square;
}

void ErrorMoments::give(Value value, std::optional<double> error) {
  known.erase(value);
  std::optional<TensorMoments> size = sizeOf(value);
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
// The domain
//===----------------------------------------------------------------------===//

void ErrorMoments::begin(Value value) {
  if (isFloat(value))
    give(value, 0);
}

bool ErrorMoments::flow(Value from, Value to) {
  // Far below what one error is known to.
  constexpr double kSame = 1.01;
  auto source = known.find(from);
  if (source == known.end())
    return known.erase(to);
  double error = source->second.error;
  auto target = known.find(to);
  if (target == known.end()) {
    std::optional<TensorMoments> size = sizeOf(to);
    if (!size)
      return false;
    size->error = error;
    known[to] = *size;
    adopt(from, to);
    return true;
  }
  if (!(error > kSame * target->second.error))
    return false;
  target->second.error = error;
  adopt(from, to);
  return true;
}

/// The squared error of a value, which has `error` to first order. Numbers of
/// one sign and those of which some are masked are far from normal ones.
double ErrorMoments::withChange(Value value, double error) {
  FunctionOfError function(value);
  Value variable = function.variable();
  if (!variable || !isKnown(variable) || !estimate(variable).hasLikely())
    return error;
  Cell x = estimate(variable).hull();
  if (!(x.likelyLo < 0 && x.likelyHi > 0) || findMaskedScores(variable, ranges))
    return error;
  double before = of(variable).error - storageError(variable).value_or(0);
  const FloatFormat *format = storage.rounds(variable)
                                  ? getFloatFormat(getElementType(variable))
                                  : nullptr;
  FiniteChange change = function.changeOf(x, std::max(before, 0.0), format);
  double more = change.excess();
  if (more > 0)
    steps[value] = {std::sqrt(more / change.share), more, change.share};
  // A logistic function moves by 1 at most.
  return change.linear > change.square ? error * change.square / change.linear
                                       : error + more;
}

void ErrorMoments::transfer(Operation *op, OpKind kind) {
  auto isMissing = [&](Value operand) {
    return isFloat(operand) && !isKnown(operand);
  };
  bool lacks = llvm::any_of(op->getOperands(), isMissing);
  // Codes of exact numbers have errors, too; shapes have none.
  bool hasErrors =
      (kind != OpKind::Source &&
       llvm::any_of(op->getOperands(),
                    [&](Value operand) { return of(operand).error > 0; })) ||
      (isa<mp::QuantizeOp, mp::DynamicQuantizeOp>(op) &&
       quantization.judges(op->getResult(0)));
  for (OpResult result : op->getResults()) {
    // Codes have errors, indices and truth values none that squares measure.
    if (!isFloat(result) && (!hasErrors || kind == OpKind::Decide))
      continue;
    std::optional<TensorMoments> size = sizeOf(result);
    if (!size || lacks) {
      known.erase(result);
      continue;
    }
    std::optional<double> error =
        hasErrors ? errorOf(op, kind, result, *size) : 0;
    give(result, error ? withChange(result, *error) : error);
    if (isKnown(result))
      divide(op, kind, result, *size);
  }
}

double ErrorMoments::errorBy(Value value, double square, ArrayRef<Value> read,
                             Operation *op, OpKind kind, OpResult result,
                             const TensorMoments &size) {
  SmallVector<std::pair<Value, double>> errors;
  for (Value each : read)
    if (isKnown(each))
      errors.push_back(
          {each, std::exchange(known[each].error, each == value ? square : 0)});
  std::optional<double> error = errorOf(op, kind, result, size);
  for (auto [each, its] : errors)
    known[each].error = its;
  return error.value_or(0);
}

//===----------------------------------------------------------------------===//
// Kinds of ops
//===----------------------------------------------------------------------===//

std::optional<double> ErrorMoments::squaredSlope(const Unary &function,
                                                 Value x) const {
  const AbstractValue &at = estimate(x);
  if (!at.hasLikely() || !isKnown(x))
    return std::nullopt;
  // Between the exact argument and the stored one.
  Cell hull = at.hull();
  double moved = hasBoundedSlope(function) ? of(x).error / 4 : 0;
  return momentsOf(hull.mean, hull.variance + moved,
                   [&](double number) {
                     double slope = derivative(function, number);
                     return slope * slope;
                   })
      .mean;
}

double ErrorMoments::sumOfErrors(Operation *op) const {
  double sum = 0;
  for (Value operand : op->getOperands())
    sum += of(operand).error;
  return sum;
}

/// Each operand counts by its elements.
double ErrorMoments::errorOfCopy(Operation *op) const {
  double error = 0, count = 0;
  for (Value operand : op->getOperands()) {
    if (!isKnown(operand))
      continue;
    double elements = countElements(operand);
    error += elements * of(operand).error;
    count += elements;
  }
  return count > 0 ? error / count : 0;
}

/// n terms of one operand, each 1 / n in a mean, or one of each operand.
double ErrorMoments::errorOfSum(Operation *op, Value result) const {
  double all = sumOfErrors(op);
  if (hasRole(op, Role::Addition | Role::Subtraction))
    return all;
  double count =
      std::max(countElements(op->getOperand(0)) / countElements(result), 1.0);
  all *= growth(op, 0);
  return hasRole(op, Role::Mean) ? all / count : all * count;
}

/// K (n_a q_b + q_a n_b) of a sum of K products, and the error of a bias.
double ErrorMoments::errorOfProduct(Operation *op,
                                    const TensorMoments &size) const {
  if (op->getNumOperands() < 2)
    return errorOfOther(op, size);
  TensorMoments lhs = of(op->getOperand(0)), rhs = of(op->getOperand(1));
  double bias = op->getNumOperands() > 2 ? of(op->getOperand(2)).error : 0;
  // Both factors have the same error.
  if (op->getOperand(0) == op->getOperand(1) &&
      hasRole(op, Role::Multiplication))
    return 4 * lhs.square * lhs.error;
  // Relative errors of numbers that may depend on each other add up.
  auto terms =
      hasRole(op, Role::Contraction) ? countProducts(op) : std::nullopt;
  if (!terms || !isKnown(op->getOperand(0)) || !isKnown(op->getOperand(1)))
    return (lhs.relative() + rhs.relative()) * size.square + bias;
  return double(*terms) * (lhs.error * growth(op, 0) * rhs.square +
                           lhs.square * rhs.error * growth(op, 1)) +
         bias;
}

/// A product or quotient of numbers that depend on one number is as far off as
/// its function, and by the relative roundings of its operands. Nothing for
/// other ops.
std::optional<double> ErrorMoments::errorOfFunction(Operation *op,
                                                    const TensorMoments &size) {
  std::optional<Expression> function = Expression::of(op);
  if (!function || !isKnown(function->variable()) ||
      !estimate(function->variable()).hasLikely())
    return std::nullopt;
  Cell x = estimate(function->variable()).hull();
  auto squareAt = [&](double at) {
    double slope = function->slope(at, std::sqrt(x.variance));
    return std::isfinite(slope) ? slope * slope : 0;
  };
  double error = momentsOf(x.mean, x.variance, squareAt).mean *
                 of(function->variable()).error;
  for (Value operand : op->getOperands())
    if (double square = of(operand).square;
        operand != function->variable() && square > 0)
      error += storageError(operand).value_or(0) / square * size.square;
  return std::isfinite(error) ? std::optional(error) : std::nullopt;
}

double mpopt::squareThrough(Value probabilities, double square) {
  double count = countLast(probabilities);
  double collisions = std::min(square * count, 1.0);
  return logitSquare({count}, count, logitVariance(count, collisions));
}

double mpopt::spreadSeenBy(const OpMeaning *norm, const TensorMoments &x) {
  if (hasRole(norm, Role::BatchNorm))
    return x.within;
  return hasRole(norm, Role::Centring) ? x.variance : x.square;
}

double ErrorMoments::errorOfNormal(Operation *op, Value result,
                                   const TensorMoments &size) const {
  TensorMoments x = of(op->getOperand(0));
  if (hasRole(op, Role::Softmax))
    return x.error * (hasRole(op, Role::Probability)
                          ? squareThrough(result, size.square)
                          : 1);
  double spread = spreadSeenBy(getMeaning(op), x);
  return spread > 0 ? x.error / spread * size.square : 0;
}

/// Keys are averaged, so that values pass their relative errors on; those of
/// scores move the weights of an average, whose sum stays 1. Nothing if the
/// sizes of the scores are not known.
std::optional<double>
ErrorMoments::errorOfAttention(mp::AttentionOp op,
                               const TensorMoments &size) const {
  std::optional<AttentionScores> scores = AttentionScores::of(op);
  if (!scores)
    return std::nullopt;
  TensorMoments query = of(op.getQuery()), key = of(op.getKey()),
                value = of(op.getValue());
  double variance = scores->scale * scores->scale * scores->depth *
                    query.square * key.variance;
  double moved = scores->errorOf(query, key) * scores->keys *
                 logitSquare({scores->keys}, scores->keys, variance);
  return value.relative() * size.square + value.variance * moved;
}

/// Relative errors add up; a function of degree 1 of a row moves as far as one
/// element does.
double ErrorMoments::errorOfOther(Operation *op,
                                  const TensorMoments &size) const {
  if (auto attention = dyn_cast<mp::AttentionOp>(op))
    if (std::optional<double> error = errorOfAttention(attention, size))
      return *error;
  const OpMeaning *meaning = getMeaning(op);
  if (hasRole(meaning, Role::Reduction) &&
      (meaning->degree == 1.0 || hasRole(meaning, Role::ExponentialSum)))
    return sumOfErrors(op);
  double relative = 0;
  for (Value operand : op->getOperands())
    relative += of(operand).relative();
  return relative * size.square;
}

std::optional<double> ErrorMoments::errorOf(Operation *op, OpKind kind,
                                            OpResult result,
                                            const TensorMoments &size) {
  switch (kind) {
  case OpKind::Copy:
  case OpKind::Gather:
  case OpKind::Select:
    return errorOfCopy(op);
  case OpKind::Elementwise: {
    Value x = op->getOperands().back();
    if (auto slope = squaredSlope(*getFunction(op), x))
      return *slope * of(x).error;
    return errorOfOther(op, size);
  }
  case OpKind::Linear:
    return errorOfSum(op, result);
  case OpKind::Product:
  case OpKind::Quotient:
    if (auto error = errorOfFunction(op, size))
      return error;
    return kind == OpKind::Product ? errorOfProduct(op, size)
                                   : errorOfOther(op, size);
  case OpKind::Normalize:
    return errorOfNormal(op, result, size);
  case OpKind::Round:
    return errorOfStep(op, result, size);
  default:
    return errorOfOther(op, size);
  }
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

// An error of (n + f) steps, with 0 <= f < 1, becomes n or n + 1 of them, and
// n + f on average: its square grows by f - f^2. That is about f for errors far
// below a step, and 1/6 for those that have any f. Errors are as large as their
// values, or made of few steps, so that their mean magnitude is less of their
// root mean square than a normal error's 0.8.
StepError StepError::across(double width, double before) {
  constexpr double kEven = 1.0 / 6, kMean = 0.5;
  double mean = kMean * std::sqrt(before) / width;
  double more = -kEven * std::expm1(-mean / kEven);
  return {width, more * width * width, std::min(mean, 1.0)};
}

StepError ErrorMoments::stepOf(Value value, double width) const {
  const AbstractValue &exact = ranges.preRounding(value);
  if (!isKnown(value) || (exact.integral && width == 1) || !(width > 0))
    return {};
  // Values within less than one step meet an edge only if they are next to it.
  if (!(of(value).within > width * width / 16))
    return {};
  return StepError::across(width, of(value).error);
}

/// The width of a code, averaged over the scale's groups.
static double widthOf(Operation *op, const RangeAnalysis &ranges) {
  double width = 0;
  auto dynamic = dyn_cast<mp::DynamicQuantizeOp>(op);
  const AbstractValue &scale =
      ranges.of(dynamic ? dynamic.getScale() : op->getOperand(1));
  for (const Cell &cell : scale.cells())
    width += std::fabs(cell.mean) / double(scale.groups());
  return width;
}

/// The value that a quantisation reads takes the error: codes are no floats.
std::optional<double> ErrorMoments::errorOfStep(Operation *op, Value result,
                                                const TensorMoments &size) {
  Value value = op->getOperand(0);
  double error = of(value).error;
  if (isa<mp::DequantizeOp>(op)) {
    double width = widthOf(op, ranges);
    return error * width * width;
  }
  if (isa<mp::QuantizeOp, mp::DynamicQuantizeOp>(op) &&
      quantization.judges(result)) {
    double width = widthOf(op, ranges);
    if (auto own = quantization.errorOf(result)) {
      if (!own->error.hasLikely())
        return std::nullopt;
      error += meanSquare(own->error);
    }
    return error / (width * width);
  }
  if (isa<mp::FakeQuantizeOp>(op) && quantization.judges(result))
    return error;
  bool isWhole = roundsToWhole(op);
  if (!isWhole && !isa<mp::QuantizeOp, mp::FakeQuantizeOp>(op))
    return errorOfOther(op, size);
  double width = isWhole ? 1 : widthOf(op, ranges);
  StepError step =
      isFloorOfInterpolation(op) ? StepError() : stepOf(value, width);
  // A value that several quantisations read counts once.
  if (StepError &place = steps[isWhole ? result : value];
      step.square > place.square)
    place = step;
  double square = error + step.square;
  return isFloat(result) ? square : square / (width * width);
}
