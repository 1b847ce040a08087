//===- Contention.cpp - Attention that picks one key
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Contention.h"

#include "Branches.h"
#include "CarriedErrors.h"
#include "MeanSquare.h"
#include "OutputGradients.h"
#include "TensorEffect.h"

#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Ranges/Analysis/RangeAnalysis.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

/// Softmaxes of which a larger share of the rows moves move evenly enough.
static constexpr double kFew = 0.1;

/// What is in front of a value.
static SmallVector<Value> findBehind(Value value) {
  SmallVector<Value> work = {value}, found;
  llvm::DenseSet<Value> seen;
  while (!work.empty()) {
    Value next = work.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    found.push_back(next);
    if (Operation *op = next.getDefiningOp())
      llvm::append_range(work, op->getOperands());
  }
  return found;
}

/// Nothing if it is no such softmax.
static std::optional<Contention>
findContention(Operation *softmax, const OutputGradients &gradients) {
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
  Contention found;
  found.scores = softmax->getOperand(0);
  found.share = mean > 0 ? std::clamp(1 - square / mean, 1e-12, 1.0) : 1;
  if (found.share >= kFew)
    return std::nullopt;
  // Rows add up to 1, so that an element's mean is 1 over their length.
  found.rows = count * mean / double(p.groups());
  return found;
}

std::vector<Contention>
mpopt::findContentions(Block &body, const RangeAnalysis &ranges,
                       const OutputGradients &gradients) {
  std::vector<Contention> found;
  forEachLiveOp(body, ranges, [&](Operation *op) {
    if (hasRole(op, Role::Softmax) && op->getNumOperands() > 0)
      if (auto contention = findContention(op, gradients))
        found.push_back(std::move(*contention));
  });
  if (found.empty())
    return found;
  CarriedErrors carried(ranges);
  carried.visit(body);
  for (Contention &contention : found) {
    contention.error = carried.all().lookup(contention.scores).error;
    contention.values = findBehind(contention.scores);
    double gap = std::sqrt(2 * contention.error);
    // First order needs no more than small gaps, where h loses its digits.
    constexpr double kSmall = 0.1;
    if (gap < kSmall)
      continue;
    double moved = gap / std::tanh(gap / 2) - 2;
    contention.factor = moved / (gap * gap / 6);
    contention.share =
        std::min(1.0, contention.share * std::max(1.0, moved / 2));
  }
  return found;
}

std::optional<Contended> mpopt::partOf(const Contention &contention,
                                       size_t output,
                                       const OutputGradients &gradients,
                                       SquaredError &error, double normal) {
  Value gradient = gradients.gradient(output, contention.scores);
  if (!gradient || !(normal > 0))
    return std::nullopt;
  Contended part;
  for (Value value : contention.values)
    if (error.squares.contains(value))
      part.values.push_back(value);
  for (Value value : part.values)
    part.all += error.squares.lookup(value);
  AbstractValue carried(AbstractValue::Dims(),
                        Cell{0, 0, 0, contention.error, 0, 0});
  carried.source = LikelySource::Propagated;
  const GradientAnalysis &analysis = gradients.analysis();
  double square =
      squareOf(contention.scores, analysis.of(gradient),
               analysis.spread(gradient), analysis.samples(), carried) /
      normal;
  square = std::min(square, part.all);
  if (!(square > 0))
    return std::nullopt;
  part.square = square * contention.factor;
  part.share = contention.share;
  part.rows = contention.rows;
  error.sum = std::max(part.square, error.sum - (square - part.square));
  return part;
}
