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

double mpopt::largestError(SquaredError &error, double count, double most,
                           std::vector<OutputEffect::Sum> &sums) {
  double largest = 0, sum = error.sum;
  for (const Stepped &step : error.steps) {
    double chance = -std::expm1(-step.share * count * kRuns);
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
  return std::max(largest, std::sqrt(sum) * most);
}
