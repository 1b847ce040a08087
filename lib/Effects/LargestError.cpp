//===- LargestError.cpp - Errors of few elements
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LargestError.h"

#include "Branches.h"
#include "MeanSquare.h"
#include "OutputGradients.h"
#include "Steps.h"

#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Hazards/ConstantUses.h"
#include "mpopt/Ranges/Analysis/RangeAnalysis.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

//===----------------------------------------------------------------------===//
// Attention that picks one key
//===----------------------------------------------------------------------===//

/// The tensors by whose storage an error comes by the scores of a softmax:
/// theirs, and that of what they are computed from alone.
static SmallVector<Value>
findScoreParts(Value scores, const llvm::MapVector<Value, double> &squares) {
  constexpr unsigned kMost = 32;
  SmallVector<Value> work = {scores}, parts;
  llvm::DenseSet<Value> seen;
  while (!work.empty() && seen.size() < kMost) {
    Value value = work.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (!op || !value.hasOneUse() || !seen.insert(value).second ||
        isa<mp::ConstantOp>(op))
      continue;
    if (squares.contains(value))
      parts.push_back(value);
    if (isa<mp::CastOp>(op) || passesScores(op) ||
        hasRole(op, Role::Contraction))
      llvm::append_range(work, op->getOperands());
  }
  return parts;
}

namespace {
/// The part of an output's error that comes by the scores of one softmax.
struct Contended {
  /// The tensors that it comes from, and its square, over all rows.
  SmallVector<Value> values;
  double square = 0;
  /// The share of the rows that move, and their expected number.
  double share = 1, rows = 0;
};
} // namespace

/// Most rows of a softmax with scores far apart do not move at all, and few
/// move far. Nothing if it is no such softmax.
static std::optional<Contended>
findContended(Operation *softmax, const llvm::MapVector<Value, double> &squares,
              const OutputGradients &gradients) {
  Value result = softmax->getResult(0);
  MaybeShape shape = getShape(result);
  const AbstractValue &p = gradients.estimate(result);
  if (!shape || !p.hasLikely() || !isa<FloatType>(getElementType(result)))
    return std::nullopt;
  double square = 0, mean = 0, count = 1;
  for (const Cell &cell : p.cells()) {
    square += meanSquare(cell);
    mean += cell.mean;
  }
  for (int64_t dim : *shape)
    count *= double(std::max<int64_t>(dim, 1));
  Contended found;
  found.share = mean > 0 ? std::clamp(1 - square / mean, 1e-12, 1.0) : 1;
  // Rows add up to 1, so that an element's mean is 1 over their length.
  found.rows = found.share * count * mean / double(p.groups());
  found.values = findScoreParts(softmax->getOperand(0), squares);
  for (Value value : found.values)
    found.square += squares.lookup(value);
  constexpr double kFew = 0.1;
  if (found.share >= kFew || found.square == 0)
    return std::nullopt;
  return found;
}

//===----------------------------------------------------------------------===//
// The largest of all
//===----------------------------------------------------------------------===//

bool mpopt::isElementwise(Value value, Value output) {
  if (getShape(value) != getShape(output))
    return false;
  constexpr unsigned kMost = 16;
  for (unsigned count = 0; count < kMost && value != output; ++count) {
    if (!value.hasOneUse())
      return false;
    Operation *user = *value.getUsers().begin();
    constexpr Role kElementwise =
        Role::Arithmetic | Role::Negation | Role::Limit | Role::LimitsBelow |
        Role::LimitsAbove | Role::Rectifier | Role::Quantization;
    if (!isa<mp::CastOp, mp::IdentityOp>(user) &&
        !hasRole(user, kElementwise) && !roundsToWhole(user))
      return false;
    value = user->getResult(0);
  }
  return value == output;
}

double mpopt::largestError(const llvm::MapVector<Value, double> &squares,
                           double sum, double most, Block &body,
                           const RangeAnalysis &ranges,
                           const OutputGradients &gradients,
                           ArrayRef<Stepped> steps, double count,
                           std::vector<OutputEffect::Sum> &sums) {
  double largest = 0;
  for (const Stepped &step : steps) {
    double chance = -std::expm1(-step.share * count);
    largest = std::max(largest, std::sqrt(step.step) * chance);
    sum = std::max(0.0, sum - step.square);
    sums.push_back({{step.value},
                    chance * chance * step.step / (step.square * most * most)});
  }
  forEachLiveOp(body, ranges, [&](Operation *op) {
    if (!hasRole(op, Role::Softmax) || op->getNumOperands() == 0)
      return;
    std::optional<Contended> few = findContended(op, squares, gradients);
    if (!few)
      return;
    sum = std::max(0.0, sum - few->square);
    double chance = -std::expm1(-few->rows);
    largest = std::max(largest, std::sqrt(few->square / few->share) * chance);
    sums.push_back(
        {std::move(few->values), chance * chance / (few->share * most * most)});
  });
  return std::max(largest, std::sqrt(sum) * most);
}
