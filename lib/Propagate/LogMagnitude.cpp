//===- LogMagnitude.cpp - Distributions of ln|x|
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Propagate/LogMagnitude.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/ActivationOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Numerics/Masking.h"
#include "mpopt/Numerics/Normal.h"
#include "mpopt/Ranges/Value/SoftmaxEstimate.h"
#include "mpopt/Ranges/Value/TransferContext.h"

#include <cmath>
#include <numbers>

using namespace mlir;
using namespace mpopt;

/// A group of this many times the flush threshold has hardly a value below it:
/// a normal number of mean 0 lies within 1e-3 deviations in 1 of 1,250 cases.
static constexpr double kFarAbove = 1e3;
/// Groups of a logarithm: it is an estimate, and many ops may have one.
static constexpr size_t kMostGroups = 1024;

//===----------------------------------------------------------------------===//
// One group
//===----------------------------------------------------------------------===//

/// Digamma and trigamma, shifted to where their series hold.
static double digamma(double a) {
  double x = a + 3;
  return std::log(x) - 1 / (2 * x) - 1 / (12 * x * x) - 1 / a - 1 / (a + 1) -
         1 / (a + 2);
}
static double trigamma(double a) {
  double x = a + 3;
  return 1 / x + 1 / (2 * x * x) + 1 / (6 * x * x * x) + 1 / (a * a) +
         1 / ((a + 1) * (a + 1)) + 1 / ((a + 2) * (a + 2));
}

static Cell makeLogarithm(double mean, double variance) {
  return Cell{0, 0, mean, variance, mean, mean};
}

static Cell onlyZeros() { return Cell{1, -1, 0, 0, 0, 0}; }

/// ln|x| of a group. One-sided: x as a gamma variable; else between a constant
/// and a normal number of mean 0, whose ln|x| has the mean ln(s) - 0.635 and
/// the variance pi^2 / 8.
Cell mpopt::logarithmOf(const Cell &cell) {
  double square = cell.mean * cell.mean, second = square + cell.variance;
  if (!(second > 0) || (cell.likelyLo == 0 && cell.likelyHi == 0))
    return onlyZeros();
  bool oneSided = cell.likelyLo >= 0 || cell.likelyHi <= 0;
  if (oneSided && square > 0 && cell.variance > 1e-6 * square) {
    // More spread than a squared normal number has is a mode at zero, of a
    // rectifier say, rather than many small values.
    double shape = std::max(square / cell.variance, 0.5);
    return makeLogarithm(digamma(shape) +
                             std::log(cell.variance / std::fabs(cell.mean)),
                         trigamma(shape));
  }
  double ratio = cell.variance / second;
  return makeLogarithm(std::log(second) / 2 - 0.635 * ratio,
                       ratio * M_PI * M_PI / 8);
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

static AbstractValue mapCells(AbstractValue value,
                              llvm::function_ref<Cell(const Cell &)> map) {
  for (CellRef cell : value.mutableCells())
    cell = cell.empty() ? onlyZeros() : map(cell);
  return value;
}

static AbstractValue scaled(const AbstractValue &value, double factor) {
  return mapCells(value, [&](const Cell &cell) {
    return makeLogarithm(cell.mean * factor, cell.variance * factor * factor);
  });
}

/// ln|a b|, or ln|a / b| with a sign of -1.
static AbstractValue added(const AbstractValue &a, const AbstractValue &b,
                           double sign) {
  SmallVector<AbstractValue, 2> values = {a, b};
  AbstractValue::Dims dims = broadcastGroups(values, kMostGroups);
  std::vector<Cell> cells(countGroups(dims));
  forEachGroup(dims, values, [&](size_t group, ArrayRef<size_t> at) {
    const Cell &left = values[0].cell(at[0]), &right = values[1].cell(at[1]);
    cells[group] = left.empty() || (right.empty() && sign > 0)
                       ? onlyZeros()
                       : makeLogarithm(left.mean + sign * right.mean,
                                       left.variance + right.variance);
  });
  return AbstractValue(dims, cells);
}

/// The exponential of what a normal argument gives.
static AbstractValue ofExponential(const AbstractValue &argument,
                                   double factor) {
  AbstractValue value = argument.limited(kMostGroups);
  for (CellRef cell : value.mutableCells())
    cell = makeLogarithm(cell.mean * factor, cell.variance * factor * factor);
  return value;
}

/// The logarithm of the part of a normal value above 0, whose mean is m + s
/// phi(z) / Phi(z); its distribution lies between half a normal one and an
/// exponential one.
static AbstractValue ofRectifier(const AbstractValue &argument) {
  return mapCells(argument.limited(kMostGroups), [](const Cell &cell) {
    double deviation = std::sqrt(cell.variance);
    if (deviation == 0)
      return cell.mean > 0 ? makeLogarithm(std::log(cell.mean), 0)
                           : onlyZeros();
    double z = std::max(cell.mean / deviation, -30.0);
    double mean = deviation * (z + normalDensity(z) / normalShareBelow(z));
    return z > 4 ? mpopt::logarithmOf(cell)
                 : makeLogarithm(std::log(std::max(mean, 1e-300)) - 0.5, 1.4);
  });
}

/// The logits that no mask is added to. A variance close to the largest one
/// that the mean and the span allow, (hi - mean)(mean - lo) by Bhatia and
/// Davis, is that of two points; where the lower one is so far below that its
/// share of any row is lost, it is lost on purpose.
static Cell withoutMasked(const Cell &cell) {
  // Two points have the largest variance, even numbers a third of it: nearer to
  // the points. Normal logits reach three deviations up.
  constexpr double kTwoPoints = 0.75, kReach = 3;
  double below = cell.mean - cell.likelyLo, above = cell.likelyHi - cell.mean;
  if (!(below > 0) || cell.variance < kTwoPoints * above * below)
    return cell;
  Cell kept = cell;
  kept.mean = std::min(cell.mean + cell.variance / below, cell.likelyHi);
  if (kept.mean - cell.likelyLo < -maskedBelow())
    return cell;
  double deviation = (cell.likelyHi - kept.mean) / kReach;
  kept.variance = deviation * deviation;
  return kept;
}

static AbstractValue ofSoftmax(mp::SoftmaxOp op, const AbstractValue &logits) {
  int64_t rank = TransferContext::rankOf(op.getInput());
  std::optional<int64_t> axis = normalizeAxis(op.getAxis(), rank);
  double count = 1;
  SmallVector<int64_t> others;
  for (int64_t other = 0; other < rank; ++other) {
    bool inRow = axis && (other == *axis || (op.getFlatten() && other > *axis));
    if (!inRow)
      others.push_back(other);
    else
      count *= double(std::max<int64_t>(
          1, TransferContext::dimOf(op.getInput(), other).value_or(1)));
  }
  AbstractValue x = mapCells(logits.limited(kMostGroups), withoutMasked);
  AbstractValue rows = x.keeping(others);
  std::vector<SoftmaxRow> sums = estimateSoftmaxRows(x, rows, count);
  AbstractValue result = x;
  auto cells = result.mutableCells();
  AbstractValue pair[] = {x, rows};
  forEachGroup(x.dims(), pair, [&](size_t group, ArrayRef<size_t> at) {
    const Cell &cell = x.cell(group);
    cells[group] = makeLogarithm(std::min(0.0, cell.mean - sums[at[1]].logSum),
                                 cell.variance);
  });
  return result;
}

//===----------------------------------------------------------------------===//
// The domain
//===----------------------------------------------------------------------===//

const AbstractValue *LogMagnitude::of(Value value) const {
  auto found = logarithms.find(value);
  return found == logarithms.end() ? nullptr : found->second.get();
}

/// True if hardly a value of any group is near the flush threshold, so that the
/// share need not be computed.
bool LogMagnitude::isFarAbove(Value value) const {
  const FloatFormat *format = getFloatFormat(getElementType(value));
  double far = format ? format->flushAt * kFarAbove : 0;
  return llvm::all_of(ranges.preRounding(value).cells(), [&](const Cell &cell) {
    return cell.mean * cell.mean > far * far;
  });
}

AbstractValue LogMagnitude::logarithmOf(Value value) const {
  if (const AbstractValue *known = of(value))
    return *known;
  AbstractValue result = ranges.preRounding(value).limited(kMostGroups);
  bool known = result.hasLikely();
  for (CellRef cell : result.mutableCells())
    cell = !known ? makeLogarithm(0, 0) : mpopt::logarithmOf(cell);
  return result;
}

LogMagnitude::Logarithm LogMagnitude::scaledOperand(Operation *op,
                                                    double factor) const {
  const AbstractValue *known = of(op->getOperand(0));
  return known ? Logarithm(scaled(*known, factor)) : std::nullopt;
}

LogMagnitude::Logarithm LogMagnitude::computeFunction(Operation *op) const {
  const AbstractValue &x = ranges.preRounding(op->getOperand(0));
  if (!x.hasLikely())
    return std::nullopt;
  if (isa<mp::ExpOp, mp::SigmoidOp>(op))
    return ofExponential(x, 1);
  if (isa<mp::Exp2Op>(op))
    return ofExponential(x, std::numbers::ln2);
  if (isa<mp::ReluOp, mp::Relu6Op>(op))
    return ofRectifier(x);
  if (auto softmax = dyn_cast<mp::SoftmaxOp>(op))
    return ofSoftmax(softmax, x);
  return std::nullopt;
}

LogMagnitude::Logarithm LogMagnitude::computePower(Operation *op) const {
  if (getSquared(op))
    return isFarAbove(op->getResult(0))
               ? std::nullopt
               : Logarithm(scaled(logarithmOf(op->getOperand(0)), 2));
  if (hasRole(op, Role::Root | Role::Reciprocal))
    return scaledOperand(op, *getMeaning(op)->degree);
  if (hasRole(op, Role::Power))
    if (std::optional<double> exponent = getSplatConstant(op->getOperand(1)))
      return scaledOperand(op, *exponent);
  return std::nullopt;
}

LogMagnitude::Logarithm LogMagnitude::computeProduct(Operation *op,
                                                     double sign) const {
  Value lhs = op->getOperand(0), rhs = op->getOperand(1);
  if (!of(lhs) && !of(rhs))
    return std::nullopt;
  return added(logarithmOf(lhs), logarithmOf(rhs), sign);
}

/// A sum with an epsilon that is lost as well, or the larger of the two.
LogMagnitude::Logarithm LogMagnitude::besideLost(Operation *op) const {
  const FloatFormat *format = getFloatFormat(getElementType(op->getResult(0)));
  for (unsigned index : {0u, 1u}) {
    std::optional<double> other =
        ranges.magnitudes(op->getOperand(1 - index)).likely;
    if (!format || !other || *other > format->flushAt)
      continue;
    if (const AbstractValue *known = of(op->getOperand(index)))
      return *known;
  }
  return std::nullopt;
}

LogMagnitude::Logarithm LogMagnitude::compute(Operation *op,
                                              OpKind kind) const {
  if (Logarithm power = computePower(op))
    return power;
  if (hasRole(op, Role::KeepsMagnitude))
    return scaledOperand(op, 1);
  if (kind == OpKind::Elementwise || kind == OpKind::Normalize)
    return computeFunction(op);
  if (hasRole(op, Role::Multiplication | Role::Division) &&
      op->getNumOperands() == 2)
    return computeProduct(op, kind == OpKind::Product ? 1 : -1);
  if (op->getNumOperands() == 2 &&
      hasRole(op, Role::Addition | Role::LimitsBelow))
    return besideLost(op);
  // An op that only moves elements keeps their distribution; the groups are not
  // followed.
  if (const AbstractValue *known =
          isViewLike(op) ? of(op->getOperand(0)) : nullptr)
    return AbstractValue(
        AbstractValue::Dims(TransferContext::rankOf(op->getResult(0)), 1),
        known->hull());
  return std::nullopt;
}

void LogMagnitude::transfer(Operation *op, OpKind kind) {
  if (op->getNumResults() != 1 || kind == OpKind::Source)
    return;
  Value result = op->getResult(0);
  logarithms.erase(result);
  if (!isa<FloatType>(getElementType(result)) || isConstant(result) ||
      !ranges.preRounding(result).hasLikely())
    return;
  if (Logarithm computed = compute(op, kind))
    logarithms[result] = std::make_unique<AbstractValue>(std::move(*computed));
}

/// The smallest of several counts: carried products get smaller with each
/// iteration.
bool LogMagnitude::flow(Value from, Value to) {
  const AbstractValue *source = of(from), *target = of(to);
  if (!source || (target && target->hull().mean <= source->hull().mean))
    return false;
  AbstractValue::Dims dims(TransferContext::rankOf(to), 1);
  logarithms[to] = std::make_unique<AbstractValue>(dims, source->hull());
  return true;
}

void LogMagnitude::skip(Operation *op) {
  for (Value result : op->getResults())
    logarithms.erase(result);
}
