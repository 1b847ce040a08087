//===- Candidates.cpp - Rows of which errors decide
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Not covered: boxes whose scores change their order.
//
//===----------------------------------------------------------------------===//

#include "Candidates.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/IndexingOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"

#include <cmath>
#include <numbers>

using namespace mlir;
using namespace mpopt;

std::optional<double> mpopt::getDim(Value value, int64_t fromLast) {
  MaybeShape shape = getShape(value);
  if (!shape)
    return std::nullopt;
  if (fromLast >= int64_t(shape->size()))
    return 1;
  int64_t dim = (*shape)[shape->size() - 1 - fromLast];
  return dim >= 0 ? std::optional(double(dim)) : std::nullopt;
}

/// A term that all candidates of a row have in common decides nothing: it has
/// one element along the axis.
Candidates mpopt::candidatesAlong(Value value, int64_t fromLast,
                                  const ErrorMoments &moments, unsigned depth) {
  if (getDim(value, fromLast) == 1.0)
    return {};
  TensorMoments own = moments.of(value);
  Candidates all = {own.variance, own.error};
  Operation *op = getMaker(value, Peel::InsertedCasts);
  if (depth == 0 || !hasRole(op, Role::Addition | Role::Subtraction))
    return all;
  // Rounding the sum differs between the candidates.
  Candidates sum;
  double passed = 0;
  for (Value operand : op->getOperands()) {
    Candidates its = candidatesAlong(operand, fromLast, moments, depth - 1);
    sum.variance += its.variance;
    sum.error += its.error;
    passed += moments.of(operand).error;
  }
  sum.error += std::max(0.0, own.error - passed);
  // Terms that cancel are no independent ones.
  return sum.variance < all.variance ? sum : all;
}

bool mpopt::suppressesBoxes(Operation *op) {
  return isa<mp::NonMaxSuppressionOp>(op);
}

/// Two boxes of sides s overlap in a share r of their union. Of their eight
/// edges, each off by d, the four that bound the intersection I move it by s d
/// and the four others the union U = 2 s^2 / (1 + r), so that I / U is off by
/// (1 + r) sqrt(1 + r^2) d / s. Boxes that are compared have any r alike: one
/// crosses the threshold with the probability E |error| = k / s, at most 1. A
/// side is the difference of two coordinates. For normal ones of deviation t in
/// s, with the density p = sqrt(2 / pi) / t at 0,
///
///   E min(1, k / s) = p k (1 + (ln(2 t^2 / k^2) - gamma) / 2)
///
/// for k far below t (Abramowitz and Stegun, 5.1.11). What all coordinates of a
/// box have in common, the offset of its class, moves no side.
std::optional<double> mpopt::shareOfSuppressed(Operation *suppression,
                                               const ErrorMoments &moments) {
  auto op = cast<mp::NonMaxSuppressionOp>(suppression);
  // Pascal VOC's, where an input gives it.
  constexpr double kUsualThreshold = 0.5;
  if (!moments.isKnown(op.getBoxes()) || !moments.isKnown(op.getScores()))
    return std::nullopt;
  Candidates edges = candidatesAlong(op.getBoxes(), 0, moments);
  if (edges.error == 0)
    return 0;
  if (!(edges.variance > 0))
    return std::nullopt;
  std::optional<double> given = op.getIouThreshold()
                                    ? getSplatConstant(op.getIouThreshold())
                                    : std::nullopt;
  double r = std::clamp(given.value_or(kUsualThreshold), 0.0, 1.0);
  double k =
      std::sqrt(2 / std::numbers::pi * edges.error * (1 + r * r)) * (1 + r);
  double t = std::sqrt(2 * edges.variance);
  double density = std::sqrt(2 / std::numbers::pi) / t;
  double beyond = std::log(2 * t * t / (k * k)) - std::numbers::egamma;
  return std::min(1.0, density * k * (1 + std::max(beyond, 0.0) / 2));
}
