//===- ChangedDecisions.cpp - Choices that errors change
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Candidates are draws of one normal number, or of one each where their means
// and variances are known. Not covered: masks that errors leave out.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Propagate/ChangedDecisions.h"

#include "Candidates.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/ReductionOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/Settings.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Numerics/Normal.h"
#include "mpopt/Numerics/StorageError.h"
#include "mpopt/Propagate/Interpolation.h"
#include "mpopt/Propagate/Masks.h"
#include "mpopt/Propagate/MeanSquare.h"
#include "mpopt/Propagate/NonFinite.h"
#include "mpopt/Ranges/Value/CellSupport.h"
#include "mpopt/Ranges/Value/Expression.h"
#include "mpopt/Ranges/Value/FunctionOfWhole.h"

#include <cmath>
#include <numbers>

using namespace mlir;
using namespace mpopt;

static bool isFloat(Value value) {
  return isa<FloatType>(getElementType(value));
}

//===----------------------------------------------------------------------===//
// Normal numbers
//===----------------------------------------------------------------------===//

TopGap mpopt::findTopGap(ArrayRef<Likely> groups, double each) {
  double widest = 0, narrowest = kInfinity;
  for (const Likely &group : groups)
    widest = std::max(widest, group.variance);
  if (!(widest > 0) || !std::isfinite(widest))
    return {};
  // A constant candidate is nearly one, so that it has a density.
  constexpr double kNarrow = 1e-4;
  std::vector<std::pair<double, double>> normal;
  double lo = -kInfinity, hi = -kInfinity;
  for (const Likely &group : groups) {
    double deviation = std::sqrt(std::max(group.variance, kNarrow * widest));
    narrowest = std::min(narrowest, deviation);
    normal.emplace_back(group.mean, deviation);
    // The best two are above the least of each and below the largest of all.
    constexpr double kFar = 8;
    lo = std::max(lo, group.mean - kFar * deviation);
    hi = std::max(hi, group.mean + kFar * deviation);
  }
  // Four points in a deviation; a bound on time.
  constexpr double kPoints = 4, kMostPoints = 1 << 11;
  double count =
             std::min(std::ceil((hi - lo) / narrowest * kPoints), kMostPoints),
         step = (hi - lo) / count, sum = 0, square = 0;
  for (int point = 0; point <= int(count); ++point) {
    double z = lo + point * step, logBelow = 0, first = 0, second = 0;
    for (auto [mean, deviation] : normal) {
      double at = (z - mean) / deviation, below = normalShareBelow(at);
      double ratio = below > 0 ? normalDensity(at) / deviation / below : 0;
      logBelow += below > 0 ? each * std::log(below) : -kInfinity;
      first += each * ratio;
      second += each * ratio * ratio;
    }
    if (!std::isfinite(logBelow))
      continue;
    double here = std::exp(logBelow) * std::max(0.0, first * first - second);
    sum += here;
    square += here * z * z;
  }
  return {sum * step, sum > 0 ? square / sum : 0};
}

double mpopt::densityOfTopGap(double candidates) {
  return candidates < 2
             ? 0
             : findTopGap({Likely::normal(0, 1, 0)}, candidates).density;
}

/// E max(d, 0) of the difference of two errors with that mean square.
static double meanAhead(double error) {
  return std::sqrt(error / std::numbers::pi);
}

//===----------------------------------------------------------------------===//
// Candidates
//===----------------------------------------------------------------------===//

/// The mean square of rounding a number, of its square.
static double squareOfRounding(Value value) {
  const FloatFormat *format = getFloatFormat(getElementType(value));
  double unit = format ? format->unitRoundoff() : 0;
  return kRoundingSquare * unit * unit;
}

/// The operand of a sum, product or quotient whose other operand all candidates
/// have in common; null if there is none.
static Value skipCommon(Operation *op, int64_t fromLast) {
  if (!hasRole(op, Role::Arithmetic) || op->getNumOperands() != 2)
    return {};
  bool first = getDim(op->getOperand(0), fromLast) == 1.0;
  bool second = getDim(op->getOperand(1), fromLast) == 1.0;
  return first == second ? Value() : op->getOperand(first ? 1 : 0);
}

/// Candidates next to each other are rounded on one grid. With units of w a gap
/// below w is lost with the probability 1 - gap / w, and the places of both
/// decide, wrongly in half of all cases: w / 4 on average, for w / 6 of errors
/// that are independent. An edge that is on the grid itself takes all that is
/// within w / 2 of it, for w / 4 on average. Of squares:
static constexpr double kOnOneGrid = 9.0 / 4, kAtGrid = 4;

namespace {
/// The mean square of the errors by which candidates differ, of the variance
/// by which they differ themselves.
struct Noise {
  double square = 0, variance = 0;
  /// The candidates as they were compared.
  Value candidates;
};
} // namespace

/// In front of functions that keep the order and of what all candidates have in
/// common, where they are nearest to normal numbers. Nothing if they do not
/// vary.
static std::optional<Noise> noiseOf(Value value, int64_t fromLast,
                                    const ErrorMoments &moments) {
  // A softmax that is written out takes a handful of ops.
  constexpr unsigned kMostOps = 16;
  double passed = 0, grid = kOnOneGrid;
  for (unsigned count = 0; count < kMostOps; ++count) {
    Operation *op = getMaker(value, Peel::InsertedCasts);
    if (!op || op->getNumOperands() == 0)
      break;
    Value common = skipCommon(op, fromLast);
    bool isMonotone =
        op->getNumOperands() == 1 &&
        hasRole(op, Role::Softmax | Role::Exponential | Role::Probability);
    if (!common && !isMonotone)
      break;
    // A relative error of e^x is an absolute one of x, and that of a sum counts
    // beside the term by which candidates differ.
    Value inside = common ? common : op->getOperand(0);
    bool isScaled = hasRole(op, Role::Multiplication | Role::Division);
    double varies = moments.of(isScaled ? value : inside).variance;
    if (varies > 0)
      passed += grid * squareOfRounding(value) *
                (common ? moments.of(value).square : 1) / varies;
    grid = 1;
    value = inside;
  }
  Candidates candidates = candidatesAlong(value, fromLast, moments);
  if (!(candidates.variance > 0))
    return std::nullopt;
  candidates.error +=
      (grid - 1) * squareOfRounding(value) * moments.of(value).square;
  return Noise{passed + candidates.error / candidates.variance,
               candidates.variance, value};
}

/// The errors by which the best two differ times the density at 0 of their gap,
/// both in deviations of the candidates: by means and variances of each, as far
/// as they are kept. Roundings are as large as what is rounded.
static double densityOfGap(const Noise &noise, int64_t fromLast, double count,
                           const RangeAnalysis &ranges) {
  // A bound on time; the others are as alike as weights of so many classes.
  constexpr int64_t kMostGroups = 1 << 10;
  const AbstractValue &at = ranges.preRounding(noise.candidates);
  int64_t axis = int64_t(at.rank()) - 1 - fromLast;
  if (axis < 0 || !at.hasLikely() || at.dims()[axis] < 2 ||
      at.dims()[axis] > kMostGroups)
    return densityOfTopGap(count);
  AbstractValue::Dims dims(at.rank(), 1);
  dims[axis] = at.dims()[axis];
  AbstractValue classes = at.regrouped(dims);
  // Each variance holds that of the terms which all candidates of a row share.
  double common = std::max(0.0, at.hull().variance - noise.variance);
  SmallVector<Likely> groups;
  double within = 0;
  for (const Cell &cell : classes.cells()) {
    Likely group = cells::getLikely(cell);
    within += group.variance / double(classes.groups());
    group.variance = std::max(0.0, group.variance - common);
    groups.push_back(group);
  }
  TopGap gap = findTopGap(groups, count / double(groups.size()));
  if (QuantizationErrors(ranges).judges(noise.candidates))
    return gap.density * std::sqrt(noise.variance);
  // Half of the error comes by operands of a layer, which are as large for all.
  double share = (within + gap.square) / (within + meanSquare(classes));
  return gap.density * std::sqrt(noise.variance * share);
}

/// The share of the choices of `chosen` elements along an axis that change.
std::optional<double> ChangedDecisions::shareOfExtreme(Value value,
                                                       int64_t axis,
                                                       double chosen,
                                                       bool inOrder) const {
  MaybeShape shape = getShape(value);
  std::optional<int64_t> at =
      shape ? normalizeAxis(axis, shape->size()) : std::nullopt;
  if (!at || (*shape)[*at] < 0)
    return std::nullopt;
  double count = double((*shape)[*at]);
  if (moments.of(value).error == 0 || count < 2)
    return 0;
  int64_t fromLast = int64_t(shape->size()) - 1 - *at;
  std::optional<Noise> noise = noiseOf(value, fromLast, moments);
  if (!noise)
    return std::nullopt;
  double ahead = meanAhead(noise->square);
  // The best, or the last of the chosen ones and the first that is not chosen.
  // In order each has two neighbours, at a density of count times the mean of
  // phi over the share of the chosen: from z on the integral of phi^2 is
  // P(normal > sqrt(2) z) / (2 sqrt(pi)).
  double share = std::min(1.0, chosen / count);
  double edge = share < 1 ? normalQuantile(1 - share) : -kInfinity;
  double changed =
      share == 1 || (inOrder && chosen > 1)
          ? count / std::sqrt(std::numbers::pi) *
                normalShareBelow(-std::numbers::sqrt2 * edge) / share * ahead
      : chosen > 1 ? count * normalDensity(edge) * ahead / chosen
                   : densityOfGap(*noise, fromLast, count, ranges) * ahead;
  return std::min(-std::expm1(-changed), 1 - 1 / count);
}

/// The tensor whose element nearest to 0 the op finds, by magnitude or square;
/// null for other ops.
static Value findNearest(Operation *op) {
  if (!isa<mp::ArgMinOp>(op))
    return {};
  Operation *size = getMaker(op->getOperand(0), Peel::InsertedCasts);
  return isa_and_present<mp::AbsOp, mp::SquareOp>(size) ? size->getOperand(0)
                                                        : Value();
}

/// The same of the element that is nearest to 0: of K normal numbers K p(0) lie
/// within 1 on either side of it, so that the gap between the best two has the
/// density 2 K p(0) at 0.
std::optional<double> ChangedDecisions::shareOfNearest(Value value,
                                                       int64_t axis) const {
  MaybeShape shape = getShape(value);
  std::optional<int64_t> at =
      shape ? normalizeAxis(axis, shape->size()) : std::nullopt;
  if (!at || (*shape)[*at] < 0 || !moments.isKnown(value))
    return std::nullopt;
  double count = double((*shape)[*at]);
  Cell hull = ranges.preRounding(value).hull();
  Candidates candidates =
      candidatesAlong(value, int64_t(shape->size()) - 1 - *at, moments);
  if (!(hull.variance > 0))
    return std::nullopt;
  double deviation = std::sqrt(hull.variance);
  double density = 2 * count * normalDensity(hull.mean / deviation) / deviation;
  double changed = density * meanAhead(kOnOneGrid * candidates.error);
  return std::min(-std::expm1(-changed), 1 - 1 / count);
}

/// The number of indices along the axis that an op chooses, and the axis;
/// nothing for ops that choose along none.
static std::optional<std::pair<double, int64_t>> chosenAlong(Operation *op,
                                                             Value result) {
  auto axis = op->getAttrOfType<IntegerAttr>("axis");
  if (!axis)
    return std::nullopt;
  MaybeShape shape = getShape(op->getOperand(0)), its = getShape(result);
  int64_t rank = shape ? int64_t(shape->size()) : 0;
  auto at = normalizeAxis(axis.getInt(), rank);
  // A result without the axis, or with one element there, has one choice.
  double chosen = 1;
  if (at && its && int64_t(its->size()) == rank)
    chosen = double(std::max<int64_t>((*its)[*at], 1));
  return std::pair(chosen, axis.getInt());
}

/// The number of the best elements of `x` of which `least` is the last or the
/// largest one, and their axis; nothing if it is none.
static std::optional<std::pair<double, int64_t>> findOwnOrder(Value x,
                                                              Value least) {
  Value at = peel(least, Peel::CastsAndViews);
  Operation *op = at.getDefiningOp();
  if (isa_and_nonnull<mp::ReduceMaxOp>(op) &&
      peel(op->getOperand(0)) == peel(x))
    if (auto axes = getReducedAxes(op, ShapeFacts()); axes && axes->size() == 1)
      return std::pair(1.0, axes->front());
  auto slice = dyn_cast_or_null<mp::SliceOp>(op);
  bool takesLast = slice && slice.getStarts() &&
                   slice.getStarts()->size() == 1 &&
                   slice.getStarts()->front() == -1;
  if (takesLast || isa_and_nonnull<mp::ReduceMinOp>(op))
    at = peel(op->getOperand(0), Peel::CastsAndViews);
  auto top = at.getDefiningOp<mp::TopKOp>();
  bool isOwn = top && (at != least || takesLast) && at == top->getResult(0) &&
               peel(top->getOperand(0)) == peel(x);
  return isOwn ? chosenAlong(top, top->getResult(0)) : std::nullopt;
}

/// The share of the signs of lhs - rhs that change. Equal numbers are rounded
/// alike, and others rarely to the same one.
std::optional<double> ChangedDecisions::shareOfComparison(Operation *op) const {
  for (unsigned index : {0u, 1u}) {
    Value x = op->getOperand(index);
    if (auto own = findOwnOrder(x, op->getOperand(1 - index)))
      return shareOfOwnOrder(x, own->first, own->second);
  }
  if (isa<mp::EqualOp, mp::NotEqualOp>(op))
    return 0;
  if (std::optional<double> share = shareOfCompared(op, ranges.context()))
    return share;
  double mean = 0, variance = 0, error = 0;
  for (Value operand : op->getOperands()) {
    if (!moments.isKnown(operand))
      return std::nullopt;
    Cell hull = ranges.preRounding(operand).hull();
    mean = hull.mean - mean;
    variance += hull.variance;
    // Numbers that become Inf are still beyond what they are compared with.
    bool overflows =
        isPastEdge(operand, true, ranges) || isPastEdge(operand, false, ranges);
    TensorMoments own = moments.of(operand);
    double rounding = squareOfRounding(operand);
    // Near the number that they are compared with roundings are as large as it.
    Value other = op->getOperand(operand == op->getOperand(0));
    if (std::optional<double> edge = getSplatConstant(other);
        edge && !overflows && own.error > 0)
      error += std::max(0.0, own.error - rounding * own.square) +
               kAtGrid * rounding * std::min(*edge * *edge, own.square);
    else
      error += overflows ? rounding * own.square : own.error;
  }
  if (error == 0)
    return 0;
  if (!(variance > 0))
    return std::nullopt;
  double deviation = std::sqrt(variance + error);
  // E |d| on both sides.
  return std::min(0.5, normalDensity(mean / deviation) / deviation *
                           std::sqrt(2 * error / std::numbers::pi));
}

//===----------------------------------------------------------------------===//
// Chosen elements
//===----------------------------------------------------------------------===//

/// The share of whole numbers that change, with edges at a distance of 1.
std::optional<double> ChangedDecisions::shareOfWhole(Value value,
                                                     Value integers) const {
  Operation *whole = getMaker(value, Peel::InsertedCasts);
  if (isFloorOfInterpolation(whole))
    return 0;
  if (isa_and_present<mp::FloorOp, mp::CeilOp, mp::TruncOp>(whole))
    value = whole->getOperand(0);
  if (auto share = shareOfFunction(value, integers, ranges.context()))
    return share;
  if (!moments.isKnown(value))
    return std::nullopt;
  TensorMoments own = moments.of(value);
  double error = own.error;
  // Whole numbers that change do by 1 at least.
  if (ranges.preRounding(value).integral)
    return std::min(1.0, error);
  if (error > 0)
    error += (kAtGrid - 1) * squareOfRounding(value) * own.square;
  return std::min(1.0, std::sqrt(2 * error / std::numbers::pi));
}

/// The square of the jump of a function that is written in pieces, at the
/// numbers that its argument is compared with. Nothing for other selections.
static std::optional<double> squaredJump(mp::WhereOp op,
                                         const RangeAnalysis &ranges) {
  Operation *test = op.getCondition().getDefiningOp();
  if (!test || test->getNumOperands() != 2)
    return std::nullopt;
  for (unsigned index : {0u, 1u}) {
    Value x = peel(test->getOperand(index));
    std::optional<Expression> lhs = Expression::ofValue(op.getLhs(), x),
                              rhs = Expression::ofValue(op.getRhs(), x);
    const AbstractValue &edge = ranges.preRounding(test->getOperand(1 - index));
    if (!lhs || !rhs || !edge.hasLikely())
      continue;
    Cell at = edge.hull();
    double square = momentsOf(at.mean, at.variance, [&](double number) {
                      double jump =
                          lhs->evaluate(number) - rhs->evaluate(number);
                      return jump * jump;
                    }).mean;
    if (std::isfinite(square))
      return square;
  }
  return std::nullopt;
}

/// The mean square of the error of an element that is another choice.
double ChangedDecisions::squareOfChange(Operation *op, Value result) const {
  // A truth value that is another one is 1 off.
  if (isa<mp::CastOp>(op) && getElementType(op->getOperand(0)).isInteger(1))
    return 1;
  if (auto where = dyn_cast<mp::WhereOp>(op))
    if (std::optional<double> square = squaredJump(where, ranges))
      return *square;
  if (std::optional<MaskedScores> scores = findMaskedScores(result, ranges))
    return 2 * scores->live.variance;
  return 2 * moments.of(result).variance;
}

void ChangedDecisions::choose(Operation *op, Value result, double share) {
  double square = share * squareOfChange(op, result);
  if (square > 0)
    errors[result] = {std::sqrt(square / share), square, share};
}

//===----------------------------------------------------------------------===//
// The domain
//===----------------------------------------------------------------------===//

/// True if the result is an index, a truth value or a whole number that the
/// order or the size of floats decides.
static bool decidesBy(Operation *op, Value result) {
  return !isFloat(result) && op->getNumOperands() > 0 &&
         isFloat(op->getOperand(0)) && getOpKind(op) != OpKind::Round &&
         getOpKind(op) != OpKind::Source;
}

bool ChangedDecisions::hasChoices(Block &body) {
  return body
      .walk([](Operation *op) {
        bool decides = llvm::any_of(op->getResults(), [&](Value result) {
          return !result.use_empty() && decidesBy(op, result);
        });
        return decides ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// The first operand with errors, or with errors that are not known; null if
/// there is none.
static Value findSource(Operation *op, const ErrorMoments &moments) {
  auto found = llvm::find_if(op->getOperands(), [&](Value operand) {
    return isFloat(operand) &&
           (!moments.isKnown(operand) || moments.of(operand).error > 0);
  });
  return found == op->operand_end() ? Value() : *found;
}

/// The share of the truth values by which the best are taken: each that
/// changes has a counterpart.
std::optional<double> ChangedDecisions::shareOfOwnOrder(Value x, double chosen,
                                                        int64_t axis) const {
  MaybeShape shape = getShape(x);
  std::optional<int64_t> at =
      shape ? normalizeAxis(axis, shape->size()) : std::nullopt;
  if (!at || !moments.isKnown(x))
    return std::nullopt;
  double part = chosen / double((*shape)[*at]);
  if (part >= 1)
    return 0;
  std::optional<double> changed = shareOfExtreme(x, axis, chosen);
  return changed ? std::optional(std::min(1.0, 2 * part * *changed))
                 : std::nullopt;
}

double ChangedDecisions::shareOf(Value value) const {
  double share = shares.lookup(value);
  // Whole floats change by 1 or more where their errors crossed an edge; what
  // is computed with them is off by as much, and no other choice.
  if (auto cast = value.getDefiningOp<mp::CastOp>();
      cast && isFloat(cast.getInput()) &&
      ranges.preRounding(cast.getInput()).integral &&
      moments.isKnown(cast.getInput()))
    return std::max(share, std::min(1.0, moments.of(cast.getInput()).error));
  Value made = peel(value);
  Operation *op = made.getDefiningOp();
  if (!op || !decidesBy(op, made) || !moments.isKnown(op->getOperand(0)))
    return share;
  auto chosen = chosenAlong(op, made);
  if (Value nearest = chosen ? findNearest(op) : Value())
    return std::max(share, shareOfNearest(nearest, chosen->second).value_or(0));
  return chosen ? std::max(share, shareOfExtreme(op->getOperand(0),
                                                 chosen->second, chosen->first,
                                                 /*inOrder=*/true)
                                      .value_or(0))
                : share;
}

std::optional<double> ChangedDecisions::shareChanged(Operation *op,
                                                     Value result) {
  Value value = op->getOperand(0);
  if (isa<mp::CastOp>(op))
    // A truth value is false for 0 alone, which rounding keeps.
    return getElementType(result).isInteger(1) ? 0
                                               : shareOfWhole(value, result);
  if (isa<mp::IsNanOp, mp::IsInfOp, mp::IsFiniteOp>(op))
    return 0; // a finite error makes no number NaN or Inf, nor the reverse
  if (suppressesBoxes(op))
    return shareOfSuppressed(op, moments);
  auto chosen = chosenAlong(op, result);
  if (Value nearest = chosen ? findNearest(op) : Value())
    return shareOfNearest(nearest, chosen->second);
  if (chosen)
    return moments.isKnown(value)
               ? shareOfExtreme(value, chosen->second, chosen->first)
               : std::nullopt;
  if (op->getNumOperands() == 2 && getElementType(result).isInteger(1) &&
      isFloat(op->getOperand(1)))
    return shareOfComparison(op);
  return findSource(op, moments) ? std::nullopt : std::optional(0.0);
}

/// A count changes where any of what it counts does.
static double shareOfSums(Operation *op, Value result, double share) {
  if (!hasRole(op, Role::Reduction) || !hasRole(op, Role::Sum | Role::Counting))
    return share;
  double terms = countElements(op->getOperand(0)) / countElements(result);
  return -std::expm1(terms * std::log1p(-std::min(share, 1.0)));
}

void ChangedDecisions::transfer(Operation *op, OpKind) {
  double kept = 1;
  Value source, decider;
  for (Value operand : op->getOperands())
    if (!isFloat(operand)) {
      kept *= 1 - shares.lookup(operand);
      if (!source)
        source = unknown.lookup(operand);
      if (!decider)
        decider = deciders.lookup(operand);
    }
  for (Value result : op->getResults()) {
    double share = 1 - kept;
    Value lacks = source;
    if (decidesBy(op, result)) {
      decider = op->getOperand(0);
      if (std::optional<double> its = shareChanged(op, result)) {
        share = 1 - kept * (1 - *its);
        double &begun = changes[result];
        double most = std::max(begun, *its * countElements(result));
        expected += most - std::exchange(begun, most);
      } else {
        Value erroneous = findSource(op, moments);
        lacks = erroneous ? erroneous : op->getOperand(0);
      }
    }
    if (lacks)
      unknown[result] = lacks;
    if (decider)
      deciders[result] = decider;
    if (!isFloat(result))
      share = shareOfSums(op, result, share);
    if (isFloat(result))
      choose(op, result, share);
    else if (share > 0)
      shares[result] = share;
  }
}

bool ChangedDecisions::countsWorstRun(Value value) const {
  auto module =
      value.getParentBlock()->getParentOp()->getParentOfType<ModuleOp>();
  return QuantizationErrors(ranges).judges(value) ||
         (module && getPrecision(module).operands);
}

StepError ChangedDecisions::errorOf(Value value) const {
  auto known = errors.find(value);
  if (known == errors.end())
    return {};
  // -ln 0.05: with more, 95 % of all runs change one or more. With fewer most
  // runs have no such error, and the others a large one. A quantised model is
  // judged by the worst of its runs, as its calibration is by the largest
  // number: a change is expected if one of so many runs has one.
  constexpr double kExpected = 3, kRuns = 8;
  double least = countsWorstRun(value) ? 1 / kRuns : kExpected;
  return expected < least ? StepError() : known->second;
}

bool ChangedDecisions::flow(Value from, Value to) {
  for (auto *behind : {&unknown, &deciders})
    if (Value source = behind->lookup(from))
      (*behind)[to] = source;
  double share = shares.lookup(from), before = shares.lookup(to);
  // A share that grows by less changes nothing that is said.
  constexpr double kSame = 1.01;
  if (share <= kSame * before)
    return false;
  shares[to] = share;
  return true;
}
