//===- OwnSlope.cpp - Errors as large as the slope is small
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "OwnSlope.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Propagate/MeanSquare.h"
#include "mpopt/Propagate/OpKind.h"
#include "mpopt/Ranges/Value/CellSupport.h"

#include <cmath>
#include <numbers>

using namespace mlir;
using namespace mpopt;

/// Ops that are looked through.
static constexpr unsigned kMostSteps = 8;
/// Groups of a tensor that are told apart.
static constexpr size_t kMostGroups = 64;

/// True for functions of one number that have the same slope everywhere.
static bool isLinear(Operation *op) {
  switch (getOpKind(op)) {
  case OpKind::Copy:
  case OpKind::Linear:
    return true;
  case OpKind::Product:
    return splitNumber(op).has_value();
  case OpKind::Quotient:
    return getSplatConstant(op->getOperand(1)).has_value();
  default:
    return hasRole(op, Role::Negation);
  }
}

/// The mean of the products of two tensors' squares, of which the groups that
/// both have belong together.
static double joinSquares(const AbstractValue &lhs, const AbstractValue &rhs) {
  if (lhs.dims() != rhs.dims())
    return meanSquare(lhs) * meanSquare(rhs);
  double both = 0;
  for (size_t group = 0; group < lhs.groups(); ++group)
    both += meanSquare(lhs.cell(group)) * meanSquare(rhs.cell(group));
  return both / double(lhs.groups());
}

/// The only reader of the value that the output depends on; null if there are
/// several, or none.
static Operation *
findReader(Value value,
           llvm::function_ref<const AbstractValue *(Value)> gradientOf) {
  Operation *reader = nullptr;
  for (Operation *user : value.getUsers()) {
    if (user->hasTrait<OpTrait::IsTerminator>())
      return nullptr;
    bool matters = llvm::any_of(user->getResults(), [&](Value result) {
      return gradientOf(result) != nullptr;
    });
    if (user == reader || !matters)
      continue;
    if (reader)
      return nullptr;
    reader = user;
  }
  return reader;
}

OwnSlope::OwnSlope(Value value,
                   llvm::function_ref<const AbstractValue *(Value)> gradientOf)
    : value(value) {
  before = gradientOf(value);
  if (!before || !before->hasLikely())
    return;
  Value at = value;
  for (unsigned step = 0; step < kMostSteps; ++step) {
    Operation *reader = findReader(at, gradientOf);
    if (!reader)
      return;
    const AbstractValue *gradient = gradientOf(reader->getResult(0));
    if (!gradient || !gradient->hasLikely())
      return;
    std::optional<Expression> its = Expression::ofOperand(reader, at);
    // The other operand is another number.
    bool isSame = !its && getShape(at) == getShape(reader->getResult(0));
    bool isDivisor = isSame && getOpKind(reader) == OpKind::Quotient &&
                     reader->getOperand(0) != at;
    bool isFactor = isSame && hasRole(reader, Role::Multiplication);
    if ((isDivisor || isFactor) && step == 0) {
      last = reader->getResult(0);
      behind = gradient;
      scaled = std::make_unique<OwnSlope>(last, gradientOf);
      return;
    }
    if (isDivisor || isFactor)
      if (std::optional<Expression> whole = Expression::of(reader)) {
        Value of = whole->variable();
        if (isDivisor)
          functions.push_back(Expression::reciprocal(at));
        own = Expression::ofValue(value, of);
        other = Expression::ofValue(
            reader->getOperand(reader->getOperand(0) == at), of);
        if (!own || !other || joined) {
          bends = false;
          return;
        }
        joined = functions.size();
        at = last = reader->getResult(0);
        bends = true;
        behind = gradient;
        continue;
      }
    // It is as large as it is expected to be.
    if (isDivisor && bends) {
      its = Expression::reciprocal(at);
      divided = reader->getOperand(0);
    }
    if (!its)
      return;
    at = reader->getResult(0);
    last = divided ? Value() : at;
    functions.push_back(std::move(*its));
    bends |= !isLinear(reader);
    behind = gradient;
    if (divided)
      return;
  }
}

/// Points of a normal number, with their weights: dense enough to find where a
/// function of it is steep, and fewer where there are many groups.
static std::vector<OwnSlope::Point> makePoints(size_t groups) {
  constexpr size_t kAll = 1600, kLeast = 64, kMost = 400;
  constexpr double kReach = 5;
  size_t count = std::clamp(kAll / std::max<size_t>(groups, 1), kLeast, kMost);
  std::vector<OwnSlope::Point> points;
  for (size_t i = 0; i < count; ++i) {
    double z = kReach * ((2 * double(i) + 1) / double(count) - 1);
    points.emplace_back(z, std::exp(-z * z / 2));
  }
  return points;
}

double OwnSlope::meanSquare(const Cell &x, const StorageFormat &format,
                            ArrayRef<Point> points,
                            const Interval &expected) const {
  double deviation = std::sqrt(std::max(x.variance, 0.0));
  struct Place {
    double at, step, weight, factor;
  };
  std::vector<Place> places;
  for (auto [z, weight] : points) {
    double at = x.mean + z * deviation;
    // Those that a limit holds up have its rounding, and pass no errors on.
    if (x.likelyLo < x.likelyHi && (at < x.likelyLo || at > x.likelyHi))
      continue;
    double factor = own ? other->evaluate(at) : 1;
    if (own)
      at = own->evaluate(at);
    places.push_back({at, Expression::stepNear(at, deviation), weight, factor});
  }
  std::vector<double> ends;
  for (const Place &place : places)
    llvm::append_values(ends, place.at - place.step, place.at + place.step);
  for (size_t index = 0; index <= functions.size(); ++index) {
    for (size_t i = 0; index == joined && i < ends.size(); ++i)
      ends[i] *= places[i / 2].factor;
    if (index < functions.size())
      functions[index].evaluate(ends, ends);
  }
  double sum = 0, weights = 0;
  for (auto [index, place] : llvm::enumerate(places)) {
    double rise = ends[2 * index + 1] - ends[2 * index];
    double slope = place.step > 0 ? rise / (2 * place.step) : 0;
    // Elements that a mask leaves out make results that are not there.
    if (!std::isfinite(slope) || !expected.contains(ends[2 * index]))
      continue;
    sum += place.weight * slope * slope * format.roundingSquare(place.at);
    weights += place.weight;
  }
  return weights > 0 ? sum / weights : 0;
}

/// True if a number that is expected becomes Inf.
static bool reachesInfinity(const Cell &cell, const FloatFormat &format) {
  return std::max(std::fabs(cell.likelyLo), std::fabs(cell.likelyHi)) >=
         format.overflowFrom;
}

double OwnSlope::factorOfScale(const RangeAnalysis &ranges,
                               const FloatFormat &format,
                               const AbstractValue &error) const {
  const AbstractValue &result = ranges.preRounding(last);
  Cell scale = ranges.preRounding(value).hull();
  if (!result.hasLikely() ||
      std::sqrt(::meanSquare(scale)) < format.minNormal ||
      reachesInfinity(scale, format))
    return 1;
  // A number in the middle between two powers of two has a typical error.
  constexpr double kMiddle = 1.5;
  double relative =
      StorageFormat(format).roundingSquare(kMiddle) / (kMiddle * kMiddle);
  // Numbers on the other side of a step are farther off than roundings.
  if (::meanSquare(error) > 4 * relative * ::meanSquare(scale))
    return 1;
  AbstractValue its = result;
  for (CellRef cell : its.mutableCells()) {
    cell.variance = relative * ::meanSquare(cell);
    cell.mean = 0;
  }
  double factor = joinSquares(*behind, its) / joinSquares(*before, error);
  if (getElementType(last) == getElementType(value))
    factor *= scaled->factor(ranges, its);
  return std::isfinite(factor) ? factor : 1;
}

double OwnSlope::factor(const RangeAnalysis &ranges,
                        const AbstractValue &error) const {
  const AbstractValue &x = ranges.preRounding(value);
  const FloatFormat *format = getFloatFormat(getElementType(value));
  if (scaled && format && x.hasLikely())
    return factorOfScale(ranges, *format, error);
  if (!bends || !format || !x.hasLikely() || x.integral)
    return 1;
  for (const Cell &cell : error.cells())
    // A number that is lost whole is not rounded.
    if (cell.mean * cell.mean > 0.1 * cell.variance)
      return 1;
  // If there are many groups the whole tensor says how much squares differ.
  bool whole = x.groups() > kMostGroups;
  auto grouped = [&](const AbstractValue &of) {
    return whole ? of.merged() : of;
  };
  AbstractValue exact = grouped(x);
  Interval expected = Interval::whole();
  if (last && ranges.preRounding(last).hasLikely()) {
    // Extremes of few evaluations are passed now and then. One number, as
    // rounding leaves of 1 + x, says nothing of others.
    Cell hull = ranges.preRounding(last).hull();
    double reach = hull.likelyHi - hull.likelyLo;
    if (reach > 0)
      expected = {hull.likelyLo - reach, hull.likelyHi + reach};
  }
  if (own) {
    const AbstractValue &variable = ranges.preRounding(own->variable());
    if (!variable.hasLikely() || reachesInfinity(x.hull(), *format))
      return 1;
    double square =
        meanSquare(variable.hull(), *format, makePoints(1), expected);
    double factor = ::meanSquare(*behind) * square /
                    (::meanSquare(*before) * ::meanSquare(error));
    if (divided)
      factor *= ::meanSquare(ranges.preRounding(divided));
    return std::isfinite(factor) ? factor : 1;
  }
  std::vector<Point> points = makePoints(exact.groups());
  for (CellRef cell : exact.mutableCells()) {
    if (reachesInfinity(cell, *format))
      return 1;
    cell.variance = meanSquare(cell, *format, points, expected);
    cell.mean = 0;
  }
  double factor = joinSquares(grouped(*behind), exact) /
                  joinSquares(grouped(*before), grouped(error));
  if (divided)
    factor *= ::meanSquare(ranges.preRounding(divided));
  return std::isfinite(factor) ? factor : 1;
}
