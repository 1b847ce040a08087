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

/// The softmaxes of an output whose errors are told apart, of the largest
/// ones: each has a set of tensors that grows with depth. Published models
/// have fewer layers of attention.
static constexpr size_t kMostContended = 64;

/// Those of the squares whose values `contention` is computed from.
static Contended findBehind(const Contention &contention,
                            const llvm::MapVector<Value, double> &squares) {
  Contended part;
  llvm::DenseSet<Value> seen;
  auto work = llvm::to_vector<4>(llvm::make_first_range(contention.carriers));
  while (!work.empty()) {
    Value next = work.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    if (auto found = squares.find(next); found != squares.end()) {
      part.values.push_back(next);
      part.all += found->second;
    }
    if (Operation *op = next.getDefiningOp())
      llvm::append_range(work, op->getOperands());
  }
  return part;
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

std::vector<Contention> mpopt::findContentions(Block &body,
                                               const RangeAnalysis &ranges,
                                               const OutputGradients &gradients,
                                               const ErrorMoments &moments) {
  std::vector<Contention> found;
  // Null for a softmax.
  SmallVector<mp::AttentionOp> attentions;
  forEachLiveOp(body, ranges, [&](Operation *op) {
    std::optional<Contention> contention;
    auto attention = dyn_cast<mp::AttentionOp>(op);
    if (attention)
      contention = findContention(attention, gradients);
    else if (hasRole(op, Role::Softmax) && op->getNumOperands() > 0)
      contention = findContention(op, gradients);
    if (!contention)
      return;
    found.push_back(std::move(*contention));
    attentions.push_back(attention);
  });
  if (found.empty())
    return found;
  for (auto [contention, attention] : llvm::zip_equal(found, attentions)) {
    if (attention)
      setErrors(contention, attention, moments);
    else
      setErrors(contention, moments);
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

/// Moves the part of `error` that comes by the scores, to first order `square`,
/// from the sum to one of its own.
static void addPart(const Contention &contention, double square,
                    SquaredError &error) {
  Contended part = findBehind(contention, error.squares);
  square = std::min(square, part.all);
  if (!(square > 0))
    return;
  part.square = square * contention.factor;
  part.share = contention.share;
  part.rows = contention.rows;
  error.sum = std::max(part.square, error.sum - (square - part.square));
  error.contended.push_back(std::move(part));
}

void mpopt::addContended(ArrayRef<Contention> contentions, size_t output,
                         const OutputGradients &gradients, SquaredError &error,
                         double normal) {
  if (!(normal > 0))
    return;
  std::vector<std::pair<const Contention *, double>> parts;
  for (const Contention &contention : contentions) {
    double square = 0;
    for (auto [carrier, its] : contention.carriers)
      square += squareBy(carrier, its, output, gradients) / normal;
    if (square > 0)
      parts.push_back({&contention, square});
  }
  if (parts.size() > kMostContended) {
    // By the squared error of the elements that a row which moves changes.
    auto rank = [](const auto &part) {
      const auto &[contention, square] = part;
      return std::pair(-square * contention->factor / contention->share,
                       contention);
    };
    llvm::sort(parts, [&](const auto &lhs, const auto &rhs) {
      return rank(lhs) < rank(rhs);
    });
    parts.resize(kMostContended);
    llvm::sort(parts);
  }
  for (auto [contention, square] : parts)
    addPart(*contention, square, error);
}
