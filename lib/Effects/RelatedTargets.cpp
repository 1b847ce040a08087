//===- RelatedTargets.cpp - Targets that a model has learnt
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "RelatedTargets.h"

#include "mpopt/Dialect/Ops/LossOps.h"
#include "mpopt/Numerics/Infinity.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

/// Log-probabilities of the classes of each position: [positions, classes].
static std::vector<std::vector<double>> logProbabilities(const Array &scores) {
  size_t axis = scores.rank() > 1 ? 1 : 0;
  int64_t classes = scores.shape[axis], stride = scores.stride(axis);
  std::vector<std::vector<double>> rows;
  forEachLine(scores, axis, [&](int64_t first) {
    std::vector<double> &row = rows.emplace_back();
    double largest = -kInfinity, sum = 0;
    for (int64_t i = 0; i < classes; ++i) {
      row.push_back(scores.numbers[size_t(first + i * stride)]);
      largest = std::max(largest, row.back());
    }
    for (double score : row)
      sum += std::exp(score - largest);
    for (double &score : row)
      score -= largest + std::log(sum);
  });
  return rows;
}

/// Draws each target that counts from the probabilities of its classes.
static std::optional<Array> relateClasses(const Array &scores,
                                          const Array &targets,
                                          std::optional<int64_t> ignored,
                                          RandomNumbers &random) {
  if (scores.rank() == 0)
    return std::nullopt;
  std::vector<std::vector<double>> rows = logProbabilities(scores);
  if (rows.size() != targets.numbers.size())
    return std::nullopt;
  double none = ignored ? double(*ignored) : -kInfinity;
  Array result = targets;
  for (auto [row, target] : llvm::zip_equal(rows, result.numbers)) {
    if (target == none)
      continue;
    double at = random.uniform();
    size_t index = 0;
    for (; index + 1 < row.size(); ++index)
      if ((at -= std::exp(row[index])) < 0)
        break;
    target = float(index);
  }
  return result;
}

/// The prediction plus noise whose square is `factor` times that of the
/// difference.
static std::optional<Array> relateNumbers(const Array &predictions,
                                          const Array &targets, double factor,
                                          RandomNumbers &random) {
  if (predictions.shape != targets.shape || predictions.numbers.empty())
    return std::nullopt;
  double square = 0;
  for (auto [target, prediction] :
       llvm::zip_equal(targets.numbers, predictions.numbers))
    square += (double(target) - prediction) * (double(target) - prediction);
  double deviation =
      std::sqrt(factor * square / double(predictions.numbers.size()));
  Array result = predictions;
  for (float &number : result.numbers)
    number += float(deviation * random.normal());
  return result;
}

/// Draws each target from the two classes of a logit.
static std::optional<Array>
relateBits(const Array &logits, const Array &targets, RandomNumbers &random) {
  if (logits.shape != targets.shape ||
      llvm::any_of(targets.numbers,
                   [](float bit) { return bit != 0 && bit != 1; }))
    return std::nullopt;
  Array scores = Array::zeros({logits.size(), 2});
  for (auto [index, logit] : llvm::enumerate(logits.numbers))
    scores.numbers[2 * index + 1] = logit;
  auto made = relateClasses(scores, {{targets.size()}, targets.numbers},
                            std::nullopt, random);
  if (made)
    made->shape = targets.shape;
  return made;
}

std::optional<Array> mpopt::relateTargets(Operation *op, double factor,
                                          Evaluation &evaluation,
                                          RandomNumbers &random) {
  using Result = std::optional<Array>;
  if (op->getNumOperands() < 2)
    return std::nullopt;
  const Array *input = evaluation.find(op->getOperand(0)),
              *target = evaluation.find(op->getOperand(1));
  if (!input || !target)
    return std::nullopt;
  bool isOfClasses = isa<IntegerType>(getElementType(op->getOperand(1)));
  return TypeSwitch<Operation *, Result>(op)
      .Case<mp::SoftmaxCrossEntropyOp, mp::CrossEntropyOp, mp::NllLossOp>(
          [&](auto loss) -> Result {
            if (!isOfClasses)
              return std::nullopt;
            return relateClasses(*input, *target, loss.getIgnoreIndex(),
                                 random);
          })
      .Case([&](mp::BinaryCrossEntropyWithLogitsOp) {
        return relateBits(*input, *target, random);
      })
      .Case([&](mp::MseLossOp) {
        return relateNumbers(*input, *target, factor, random);
      })
      .Case<mp::L1LossOp, mp::SmoothL1LossOp, mp::HuberLossOp>([&](auto) {
        return relateNumbers(*input, *target, factor * factor, random);
      })
      .Default(std::nullopt);
}
