//===- ClassLoss.cpp - Losses over classes
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Families.h"

#include "LossReduction.h"

#include "mpopt/Dialect/Ops/GradientOps.h"
#include "mpopt/Dialect/Ops/LossOps.h"
#include "mpopt/Dialect/Ops/TrainingOps.h"
#include "mpopt/Numerics/Infinity.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::evaluation;

namespace {
/// Scores of classes along axis 1 (of one position along axis 0).
class Classes {
public:
  Classes(const Array &scores)
      : shape(scores.shape), count(scores.shape[axis()]),
        stride(scores.stride(axis())) {
    for (auto [number, dim] : llvm::enumerate(shape))
      if (number != axis())
        positions.push_back(dim);
  }
  size_t axis() const { return shape.size() > 1 ? 1 : 0; }
  /// The offset of the first class of a position.
  int64_t first(int64_t position) const {
    return position / stride * stride * count + position % stride;
  }

  Shape shape, positions;
  int64_t count, stride;
};
} // namespace

static Array logSoftmax(const Array &scores, const Classes &classes) {
  Array result = scores;
  for (int64_t at = 0; at < mpopt::sizeOf(classes.positions); ++at) {
    float *row = result.numbers.data() + classes.first(at);
    double largest = -kInfinity, sum = 0;
    for (int64_t i = 0; i < classes.count; ++i)
      largest = std::max(largest, double(row[i * classes.stride]));
    for (int64_t i = 0; i < classes.count; ++i)
      sum += std::exp(float(row[i * classes.stride] - largest));
    double less = largest + std::log(sum);
    for (int64_t i = 0; i < classes.count; ++i)
      row[i * classes.stride] = float(row[i * classes.stride] - less);
  }
  return result;
}

/// The distribution of each position's target times the classes' weights, and
/// the weights' sum; nothing where a class is out of range.
static std::optional<std::pair<Array, double>>
targetsOf(const Array &targets, const Array *weights, const Classes &classes,
          std::optional<int64_t> ignored, double smoothing) {
  Array made = Array::zeros(classes.shape);
  double total = 0;
  auto weightOf = [&](int64_t index) {
    return weights ? double(weights->numbers[size_t(index)]) : 1.0;
  };
  if (weights && weights->size() != classes.count)
    return std::nullopt;
  if (targets.shape == classes.shape && targets.rank() > 0 &&
      classes.positions != targets.shape) {
    // Distributions: a mean goes over the positions.
    for (int64_t at = 0; at < mpopt::sizeOf(classes.positions); ++at)
      for (int64_t i = 0; i < classes.count; ++i) {
        size_t place = size_t(classes.first(at) + i * classes.stride);
        double share = targets.numbers[place] * (1 - smoothing) +
                       smoothing / double(classes.count);
        made.numbers[place] = float(share * weightOf(i));
      }
    return std::pair(std::move(made), double(mpopt::sizeOf(classes.positions)));
  }
  if (targets.size() != mpopt::sizeOf(classes.positions))
    return std::nullopt;
  for (int64_t at = 0; at < targets.size(); ++at) {
    int64_t target = int64_t(targets.numbers[size_t(at)]);
    if (ignored && target == *ignored)
      continue;
    if (target < 0 || target >= classes.count)
      return std::nullopt;
    total += weightOf(target);
    for (int64_t i = 0; i < classes.count; ++i) {
      double share =
          (i == target) * (1 - smoothing) + smoothing / double(classes.count);
      made.numbers[size_t(classes.first(at) + i * classes.stride)] =
          float(share * weightOf(i));
    }
  }
  return std::pair(std::move(made), total);
}

/// -sum of q log p of each position.
static Array crossEntropies(const Array &logs, const Array &shares,
                            const Classes &classes) {
  Array losses = Array::zeros(classes.positions);
  for (int64_t at = 0; at < losses.size(); ++at) {
    double sum = 0;
    for (int64_t i = 0; i < classes.count; ++i) {
      size_t place = size_t(classes.first(at) + i * classes.stride);
      if (shares.numbers[place] != 0)
        sum -= double(shares.numbers[place]) * logs.numbers[place];
    }
    losses.numbers[size_t(at)] = float(sum);
  }
  return losses;
}

namespace {
/// The operands of a loss over classes.
struct ClassLoss {
  const Array *scores, *targets, *weights;
  std::optional<int64_t> ignored;
  double smoothing = 0;
  StringRef reduction;
};
} // namespace

/// Nothing where an operand is not known.
template <typename OpTy>
static std::optional<ClassLoss> readLoss(OpTy op, Value scores,
                                         Evaluation &in) {
  ClassLoss loss{in.find(scores),
                 in.find(op.getTarget()),
                 in.find(op.getWeight()),
                 op.getIgnoreIndex(),
                 0,
                 op.getReduction()};
  if constexpr (requires { op.getLabelSmoothing(); })
    loss.smoothing = op.getLabelSmoothing().convertToDouble();
  // The class that is ignored as an operand is not read.
  if constexpr (requires { op.getIgnore(); })
    if (op.getIgnore())
      return std::nullopt;
  if (!loss.scores || !loss.targets || loss.scores->rank() == 0 ||
      (op.getWeight() && !loss.weights))
    return std::nullopt;
  return loss;
}

static std::optional<Array> lossOf(const ClassLoss &loss, const Array &logs) {
  Classes classes(*loss.scores);
  auto shares = targetsOf(*loss.targets, loss.weights, classes, loss.ignored,
                          loss.smoothing);
  if (!shares)
    return std::nullopt;
  return reduceLoss(crossEntropies(logs, shares->first, classes),
                    loss.reduction, shares->second);
}

/// dL (w softmax(x) - w q), or -dL w q by log-probabilities.
static std::optional<Array> gradientOf(const ClassLoss &loss, const Array *grad,
                                       const Array *logs) {
  Classes classes(*loss.scores);
  auto shares = targetsOf(*loss.targets, loss.weights, classes, loss.ignored,
                          loss.smoothing);
  if (!shares)
    return std::nullopt;
  auto arrives =
      expandGradient(grad, classes.positions, loss.reduction, shares->second);
  if (!arrives)
    return std::nullopt;
  Array result = std::move(shares->first);
  for (int64_t at = 0; at < arrives->size(); ++at) {
    double sum = 0;
    auto place = [&](int64_t i) {
      return size_t(classes.first(at) + i * classes.stride);
    };
    for (int64_t i = 0; i < classes.count; ++i)
      sum += result.numbers[place(i)];
    for (int64_t i = 0; i < classes.count; ++i) {
      float &number = result.numbers[place(i)];
      double p = logs && sum != 0 ? std::exp(logs->numbers[place(i)]) : 0;
      number = float(arrives->numbers[size_t(at)] * (sum * p - number));
    }
  }
  return result;
}

static LogicalResult softmaxCrossEntropy(mp::SoftmaxCrossEntropyOp op,
                                         Evaluation &in) {
  auto loss = readLoss(op, op.getInput(), in);
  if (!loss)
    return failure();
  Array logs = logSoftmax(*loss->scores, Classes(*loss->scores));
  auto made = lossOf(*loss, logs);
  if (!made)
    return failure();
  in.set(op.getLoss(), std::move(*made));
  in.set(op.getLogProb(), std::move(logs));
  return success();
}

static LogicalResult
softmaxCrossEntropyGradient(mp::SoftmaxCrossEntropyGradOp op, Evaluation &in) {
  auto loss = readLoss(op, op.getLogProb(), in);
  const Array *grad = in.find(op.getGrad());
  if (!loss || op.getBias() || (op.getGrad() && !grad))
    return failure();
  auto made = gradientOf(*loss, grad, loss->scores);
  if (!made)
    return failure();
  in.set(op->getResult(0), std::move(*made));
  return success();
}

/// `isLog`: the scores are log-probabilities.
template <typename OpTy>
static LogicalResult sumClasses(OpTy op, bool isLog, Evaluation &in) {
  auto loss = readLoss(op, op.getInput(), in);
  if (!loss)
    return failure();
  auto made =
      lossOf(*loss, isLog ? *loss->scores
                          : logSoftmax(*loss->scores, Classes(*loss->scores)));
  if (!made)
    return failure();
  in.set(op->getResult(0), std::move(*made));
  return success();
}

template <typename OpTy>
static LogicalResult differentiateClasses(OpTy op, bool isLog, Evaluation &in) {
  auto loss = readLoss(op, op.getInput(), in);
  const Array *grad = in.find(op.getGrad());
  if (!loss || !grad)
    return failure();
  return setGradients(op, in, [&](int64_t operand) -> std::optional<Array> {
    if (operand != 1)
      return std::nullopt;
    if (isLog)
      return gradientOf(*loss, grad, nullptr);
    Array logs = logSoftmax(*loss->scores, Classes(*loss->scores));
    return gradientOf(*loss, grad, &logs);
  });
}

LogicalResult evaluation::evaluateClassLoss(Operation *op, Evaluation &in) {
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](mp::SoftmaxCrossEntropyOp each) {
        return softmaxCrossEntropy(each, in);
      })
      .Case([&](mp::SoftmaxCrossEntropyGradOp each) {
        return softmaxCrossEntropyGradient(each, in);
      })
      .Case(
          [&](mp::CrossEntropyOp each) { return sumClasses(each, false, in); })
      .Case([&](mp::CrossEntropyGradOp each) {
        return differentiateClasses(each, false, in);
      })
      .Case([&](mp::NllLossOp each) { return sumClasses(each, true, in); })
      .Case([&](mp::NllLossGradOp each) {
        return differentiateClasses(each, true, in);
      })
      .Default(failure());
}
