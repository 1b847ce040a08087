//===- Contention.cpp - Attention that picks one key
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Contention.h"

#include "OutputGradients.h"
#include "TensorEffect.h"
#include "mpopt/Propagate/Branches.h"
#include "mpopt/Propagate/MeanSquare.h"

#include "mpopt/Dialect/Ops/AttentionOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Gradients/SoftmaxRows.h"
#include "mpopt/Propagate/AttentionScores.h"
#include "mpopt/Ranges/Analysis/RangeAnalysis.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

/// Softmaxes of which a larger share of the rows moves move evenly enough.
static constexpr double kFew = 0.1;

/// The values, and all that they are computed from.
static SmallVector<Value> findBehind(SmallVector<Value> work) {
  SmallVector<Value> found;
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

//===----------------------------------------------------------------------===//
// Softmaxes
//===----------------------------------------------------------------------===//

/// Nothing if it is no such softmax.
static std::optional<Contention>
findContention(Operation *softmax, const OutputGradients &gradients) {
  Value result = softmax->getResult(0);
  MaybeShape shape = getShape(result);
  const AbstractValue &p = gradients.estimate(result);
  if (!shape || !p.hasLikely() || !isa<FloatType>(getElementType(result)))
    return std::nullopt;
  double square = 0, mean = 0;
  for (const Cell &cell : p.cells()) {
    square += meanSquare(cell);
    mean += cell.mean;
  }
  Contention found;
  found.carriers = {{softmax->getOperand(0), 0}};
  found.share = mean > 0 ? std::clamp(1 - square / mean, 1e-12, 1.0) : 1;
  if (found.share >= kFew)
    return std::nullopt;
  // Rows add up to 1, so that an element's mean is 1 over their length.
  found.rows = countElements(result) * mean / double(p.groups());
  return found;
}

static void setErrors(Contention &softmax, const ErrorMoments &moments) {
  auto &[scores, error] = softmax.carriers.front();
  softmax.error = error = moments.of(scores).error;
}

//===----------------------------------------------------------------------===//
// Attention that is one op
//===----------------------------------------------------------------------===//

/// Nothing if its scores are not far apart, or not known.
static std::optional<Contention>
findContention(mp::AttentionOp op, const OutputGradients &gradients) {
  std::optional<AttentionScores> scores = AttentionScores::of(op);
  const AbstractValue &query = gradients.estimate(op.getQuery()),
                      &key = gradients.estimate(op.getKey());
  if (!scores || !query.hasLikely() || !key.hasLikely())
    return std::nullopt;
  // A part that all keys have in common moves a row's scores alike.
  double variance = scores->scale * scores->scale * scores->depth *
                    meanSquare(query) * key.hull().variance;
  Contention found;
  found.carriers = {{op.getQuery(), 0}, {op.getKey(), 0}};
  found.share =
      std::clamp(1 - collisionsOf(scores->keys, variance), 1e-12, 1.0);
  found.rows = scores->rows;
  if (found.share >= kFew)
    return std::nullopt;
  return found;
}

static void setErrors(Contention &attention, mp::AttentionOp op,
                      const ErrorMoments &moments) {
  TensorMoments query = moments.of(op.getQuery()),
                key = moments.of(op.getKey());
  attention.carriers[0].second = query.error;
  attention.carriers[1].second = key.error;
  attention.error = AttentionScores::of(op)->errorOf(query, key);
}

//===----------------------------------------------------------------------===//
// All of a body
//===----------------------------------------------------------------------===//

/// First order has d^2 / 6 for a gap's error d.
static void setFactor(Contention &contention) {
  double gap = std::sqrt(2 * contention.error);
  // It needs no more for small ones, where h loses its digits.
  constexpr double kSmall = 0.1;
  if (gap < kSmall)
    return;
  double moved = gap / std::tanh(gap / 2) - 2;
  contention.factor = moved / (gap * gap / 6);
  contention.share = std::min(1.0, contention.share * std::max(1.0, moved / 2));
}

std::vector<Contention>
mpopt::findContentions(Block &body, const RangeAnalysis &ranges,
                       const OutputGradients &gradients,
                       llvm::function_ref<const ErrorMoments &()> getMoments) {
  std::vector<Contention> found;
  SmallVector<Operation *> ops;
  forEachLiveOp(body, ranges, [&](Operation *op) {
    std::optional<Contention> contention;
    if (auto attention = dyn_cast<mp::AttentionOp>(op))
      contention = findContention(attention, gradients);
    else if (hasRole(op, Role::Softmax) && op->getNumOperands() > 0)
      contention = findContention(op, gradients);
    if (!contention)
      return;
    found.push_back(std::move(*contention));
    ops.push_back(op);
  });
  if (found.empty())
    return found;
  const ErrorMoments &moments = getMoments();
  for (auto [contention, op] : llvm::zip_equal(found, ops)) {
    if (auto attention = dyn_cast<mp::AttentionOp>(op))
      setErrors(contention, attention, moments);
    else
      setErrors(contention, moments);
    contention.values = findBehind(
        llvm::to_vector(llvm::make_first_range(contention.carriers)));
    setFactor(contention);
  }
  return found;
}

/// The squared error that one of that mean square of all elements causes.
static double squareBy(Value carrier, double error, size_t output,
                       const OutputGradients &gradients) {
  Value gradient = gradients.gradient(output, carrier);
  if (!gradient || !(error > 0))
    return 0;
  const GradientAnalysis &analysis = gradients.analysis();
  return squareOf(carrier, analysis.of(gradient), analysis.spread(gradient),
                  analysis.samples(), errorOf(error));
}

std::optional<Contended> mpopt::partOf(const Contention &contention,
                                       size_t output,
                                       const OutputGradients &gradients,
                                       SquaredError &error, double normal) {
  if (!(normal > 0))
    return std::nullopt;
  double square = 0;
  for (auto [carrier, its] : contention.carriers)
    square += squareBy(carrier, its, output, gradients) / normal;
  Contended part;
  for (Value value : contention.values)
    if (error.squares.contains(value))
      part.values.push_back(value);
  for (Value value : part.values)
    part.all += error.squares.lookup(value);
  square = std::min(square, part.all);
  if (!(square > 0))
    return std::nullopt;
  part.square = square * contention.factor;
  part.share = contention.share;
  part.rows = contention.rows;
  error.sum = std::max(part.square, error.sum - (square - part.square));
  return part;
}
