//===- LargestError.cpp - Errors of few elements
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "LargestError.h"

#include "OutputSize.h"

#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Numerics/Likely.h"
#include "mpopt/Propagate/OpKind.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

/// A model is run more than once: rare errors are expected if one of so many
/// runs has them.
static constexpr double kRuns = 8;

bool mpopt::isElementwise(Value value, Value output) {
  if (getNumElements(getShape(value)) != getNumElements(getShape(output)) ||
      !getNumElements(getShape(output)))
    return false;
  // A norm and an activation that are written out; a bound on time alone.
  constexpr unsigned kMost = 16;
  for (unsigned count = 0; count < kMost && value != output; ++count) {
    if (!value.hasOneUse())
      return false;
    Operation *user = *value.getUsers().begin();
    // Roles under which an element depends on one of each operand.
    constexpr Role kElementwise = Role::Arithmetic | Role::Negation |
                                  Role::Limit | Role::LimitsBelow |
                                  Role::LimitsAbove | Role::Rectifier;
    OpKind kind = getOpKind(user);
    if (kind != OpKind::Copy && kind != OpKind::Round &&
        !hasRole(user, kElementwise))
      return false;
    value = user->getResult(0);
  }
  return value == output;
}

/// The only op that reads the value; null if there are several.
static Operation *findReader(Value value) {
  Operation *reader = value.use_empty() ? nullptr : *value.user_begin();
  bool isOnly = llvm::all_of(value.getUsers(),
                             [&](Operation *user) { return user == reader; });
  return isOnly ? reader : nullptr;
}

Value mpopt::findProportional(Value value, Value output) {
  // Functions that are written out; a bound on time alone.
  constexpr unsigned kMost = 16;
  Value scale;
  for (unsigned count = 0; count < kMost && value != output; ++count) {
    Operation *reader = findReader(value);
    if (!reader || reader->getNumResults() != 1)
      return {};
    OpKind kind = getOpKind(reader);
    if (kind != OpKind::Copy && kind != OpKind::Elementwise &&
        !hasRole(reader, Role::Arithmetic | Role::Negation | Role::Rectifier))
      return {};
    if (kind == OpKind::Linear && !scale)
      scale = value;
    value = reader->getResult(0);
  }
  if (value != output)
    return {};
  return scale ? scale : output;
}

/// True if the op's result is in proportion to the operand, or to it and what
/// is added.
static bool keepsProportion(Operation *op, Value operand) {
  OpKind kind = getOpKind(op);
  if (kind == OpKind::Copy || kind == OpKind::Round ||
      hasRole(op, Role::Negation | Role::Addition | Role::Subtraction |
                      Role::Multiplication))
    return true;
  return hasRole(op, Role::Division) && op->getOperand(0) == operand;
}

Value mpopt::findExponential(Value value, Value output) {
  // A layer, its pair and a head that is written out; a bound on time alone.
  constexpr unsigned kMost = 16;
  Value scale;
  for (unsigned count = 0; count < kMost && value != output; ++count) {
    Operation *reader = findReader(value);
    if (!reader || reader->getNumResults() != 1 ||
        (scale && !keepsProportion(reader, value)))
      return {};
    value = reader->getResult(0);
    if (hasRole(reader, Role::Exponential))
      scale = value;
  }
  return value == output ? scale : Value();
}

/// The square of the largest error by rows that are hit, each by a number that
/// is about exponentially distributed, as tails are: the largest of n is
/// log n + 1 means, and their mean square 2 of its squares.
static double squareOfHits(double square, double hits, double rows,
                           double width) {
  double all = hits * kRuns, far = std::log(std::max(all, 1.0)) + 1;
  double chance = -std::expm1(-all);
  double peak = std::max(1.0, expectedMaximum(2 * width));
  return square * rows / hits * far * far / 2 * peak * peak * chance * chance;
}

/// Hits are of sizes that differ from tensor to tensor: the largest ones that
/// together are expected to be farthest out, where these are farther than if
/// each row was hit often, when its errors are as those of many.
static void addHits(SquaredError &error, double count, double most,
                    double &largest, double &sum,
                    std::vector<OutputEffect::Sum> &sums) {
  llvm::sort(error.hits, [](const Hit &lhs, const Hit &rhs) {
    return lhs.square * rhs.count > rhs.square * lhs.count;
  });
  size_t best = 0;
  double square = 0, hits = 0, its = 0, taken = 0;
  for (auto [index, hit] : llvm::enumerate(error.hits)) {
    square += hit.square;
    hits += hit.count;
    double now = squareOfHits(square, hits, error.rows, count / error.rows);
    if (now <= std::max(its, square * most * most))
      continue;
    its = now;
    taken = square;
    best = index + 1;
  }
  if (best == 0)
    return;
  largest = std::max(largest, std::sqrt(its));
  sum = std::max(0.0, sum - taken);
  std::vector<Value> values;
  double all = 0;
  for (const Hit &hit : ArrayRef(error.hits).take_front(best)) {
    values.push_back(hit.value);
    all += error.squares.lookup(hit.value);
  }
  sums.push_back({std::move(values), its / (all * most * most)});
}

double mpopt::largestError(SquaredError &error, double count, double most,
                           std::vector<OutputEffect::Sum> &sums) {
  double largest = 0, sum = error.sum;
  for (const Stepped &step : error.steps) {
    double chance = error.isOfWhole ? std::min(step.share, 1.0)
                                    : -std::expm1(-step.share * count * kRuns);
    largest = std::max(largest, std::sqrt(step.step) * chance);
    sum = std::max(0.0, sum - step.square);
    sums.push_back({{step.value},
                    chance * chance * step.step / (step.square * most * most)});
  }
  for (Contended &few : error.contended) {
    sum = std::max(0.0, sum - few.square);
    // The output's elements that depend on a row that moves have errors of
    // one size.
    double moving = few.share * few.rows * kRuns;
    double elements = count / few.rows * std::max(1.0, moving);
    double peak = std::max(1.0, expectedMaximum(2 * elements));
    double chance = -std::expm1(-moving) * peak;
    double its = few.square / few.share * chance * chance;
    largest = std::max(largest, std::sqrt(its));
    sums.push_back({std::move(few.values), its / (few.all * most * most)});
  }
  Proportional &few = error.proportional;
  if (few.largest > few.all * most * most) {
    largest = std::max(largest, std::sqrt(few.largest));
    sums.push_back(
        {std::move(few.values), few.largest / (few.all * most * most)});
  }
  error.even = std::max(largest, std::sqrt(sum) * most);
  addHits(error, count, most, largest, sum, sums);
  return std::max(largest, std::sqrt(sum) * most);
}
