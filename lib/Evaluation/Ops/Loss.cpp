//===- Loss.cpp - Losses and their gradients
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Families.h"

#include "mpopt/Dialect/Ops/GradientOps.h"
#include "mpopt/Dialect/Ops/LossOps.h"
#include "mpopt/Dialect/Ops/TrainingOps.h"
#include "mpopt/Numerics/Infinity.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::evaluation;

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// The loss of elements whose weights add up to `total` under a mean.
static std::optional<Array> reduceLoss(Array elements, StringRef reduction,
                                       double total) {
  if (reduction == "none")
    return elements;
  double sum = 0;
  for (float number : elements.numbers)
    sum += number;
  if (reduction == "mean")
    sum /= total;
  else if (reduction == "batchmean" && elements.rank() > 0)
    sum /= double(elements.shape.front());
  else if (reduction != "sum")
    return std::nullopt;
  return Array{{}, {float(sum)}};
}

/// The gradient that arrives at each element; a loss that nothing follows has
/// 1.
static std::optional<Array> expandGradient(const Array *grad,
                                           const Shape &shape,
                                           StringRef reduction, double total) {
  if (reduction == "none") {
    if (grad && grad->size() != mpopt::sizeOf(shape))
      return std::nullopt;
    return grad ? Array{shape, grad->numbers} : Array::full(shape, 1);
  }
  if (grad && grad->size() != 1)
    return std::nullopt;
  double arrives = grad ? grad->numbers.front() : 1;
  if (reduction == "mean")
    arrives /= total;
  else if (reduction == "batchmean" && !shape.empty())
    arrives /= double(shape.front());
  return Array::full(shape, float(arrives));
}

//===----------------------------------------------------------------------===//
// Classes
//===----------------------------------------------------------------------===//

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
  /// Of the first class of a position.
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

  bool isKnown(Value weight) const {
    return scores && targets && scores->rank() > 0 && (!weight || weights);
  }
};
} // namespace

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

template <typename OpTy> static std::optional<int64_t> ignoredBy(OpTy op) {
  auto index = op.getIgnoreIndex();
  return index ? std::optional<int64_t>(int64_t(*index)) : std::nullopt;
}

static LogicalResult softmaxCrossEntropy(mp::SoftmaxCrossEntropyOp op,
                                         Evaluation &in) {
  ClassLoss loss{in.find(op.getInput()),
                 in.find(op.getTarget()),
                 in.find(op.getWeight()),
                 ignoredBy(op),
                 0,
                 op.getReduction()};
  if (!loss.isKnown(op.getWeight()) || op.getIgnore())
    return failure();
  Array logs = logSoftmax(*loss.scores, Classes(*loss.scores));
  auto made = lossOf(loss, logs);
  if (!made)
    return failure();
  in.set(op.getLoss(), std::move(*made));
  in.set(op.getLogProb(), std::move(logs));
  return success();
}

static LogicalResult
softmaxCrossEntropyGradient(mp::SoftmaxCrossEntropyGradOp op, Evaluation &in) {
  ClassLoss loss{in.find(op.getLogProb()),
                 in.find(op.getTarget()),
                 in.find(op.getWeight()),
                 ignoredBy(op),
                 0,
                 op.getReduction()};
  const Array *grad = in.find(op.getGrad());
  if (!loss.isKnown(op.getWeight()) || op.getIgnore() || op.getBias() ||
      (op.getGrad() && !grad))
    return failure();
  auto made = gradientOf(loss, grad, loss.scores);
  if (!made)
    return failure();
  in.set(op->getResult(0), std::move(*made));
  return success();
}

static LogicalResult crossEntropyGradient(mp::CrossEntropyGradOp op,
                                          Evaluation &in) {
  ClassLoss loss{in.find(op.getInput()),
                 in.find(op.getTarget()),
                 in.find(op.getWeight()),
                 ignoredBy(op),
                 op.getLabelSmoothing().convertToDouble(),
                 op.getReduction()};
  const Array *grad = in.find(op.getGrad());
  if (!loss.isKnown(op.getWeight()) || !grad)
    return failure();
  Array logs = logSoftmax(*loss.scores, Classes(*loss.scores));
  return setGradients(op, in, [&](int64_t operand) -> std::optional<Array> {
    return operand == 1 ? gradientOf(loss, grad, &logs) : std::nullopt;
  });
}

static LogicalResult nllGradient(mp::NllLossGradOp op, Evaluation &in) {
  ClassLoss loss{in.find(op.getInput()),
                 in.find(op.getTarget()),
                 in.find(op.getWeight()),
                 ignoredBy(op),
                 0,
                 op.getReduction()};
  const Array *grad = in.find(op.getGrad());
  if (!loss.isKnown(op.getWeight()) || !grad)
    return failure();
  return setGradients(op, in, [&](int64_t operand) -> std::optional<Array> {
    return operand == 1 ? gradientOf(loss, grad, nullptr) : std::nullopt;
  });
}

static LogicalResult evaluateClassLoss(Operation *op, Evaluation &in) {
  auto set = [&](const ClassLoss &loss, Value weight, bool logs) {
    if (!loss.isKnown(weight))
      return failure();
    auto made =
        lossOf(loss, logs ? *loss.scores
                          : logSoftmax(*loss.scores, Classes(*loss.scores)));
    if (!made)
      return failure();
    in.set(op->getResult(0), std::move(*made));
    return success();
  };
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](mp::SoftmaxCrossEntropyOp each) {
        return softmaxCrossEntropy(each, in);
      })
      .Case([&](mp::SoftmaxCrossEntropyGradOp each) {
        return softmaxCrossEntropyGradient(each, in);
      })
      .Case([&](mp::CrossEntropyOp each) {
        return set({in.find(each.getInput()), in.find(each.getTarget()),
                    in.find(each.getWeight()), ignoredBy(each),
                    each.getLabelSmoothing().convertToDouble(),
                    each.getReduction()},
                   each.getWeight(), false);
      })
      .Case([&](mp::CrossEntropyGradOp each) {
        return crossEntropyGradient(each, in);
      })
      .Case([&](mp::NllLossOp each) {
        return set({in.find(each.getInput()), in.find(each.getTarget()),
                    in.find(each.getWeight()), ignoredBy(each), 0,
                    each.getReduction()},
                   each.getWeight(), true);
      })
      .Case([&](mp::NllLossGradOp each) { return nllGradient(each, in); })
      .Default(failure());
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

namespace {
/// The loss of an element and its slopes by prediction and target.
struct Term {
  double loss, byInput, byTarget;
};
using TermOf = llvm::function_ref<Term(double x, double t)>;
} // namespace

static double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// Calls `use` with the function of an op and its gradient; nothing for others.
template <typename Use>
static LogicalResult withTerm(Operation *op, StringRef name, Use use) {
  auto number = [&](StringRef key, double otherwise) {
    auto attr = op->getAttrOfType<FloatAttr>(key);
    return attr ? attr.getValueAsDouble() : otherwise;
  };
  auto flag = [&](StringRef key, bool otherwise) {
    auto attr = op->getAttrOfType<BoolAttr>(key);
    return attr ? attr.getValue() : otherwise;
  };
  if (name == "mp.mse_loss")
    return use([](double x, double t) -> Term {
      return {(x - t) * (x - t), 2 * (x - t), 2 * (t - x)};
    });
  if (name == "mp.l1_loss")
    return use([](double x, double t) -> Term {
      double sign = double(x > t) - double(x < t);
      return {std::fabs(x - t), sign, -sign};
    });
  if (name == "mp.smooth_l1_loss" || name == "mp.huber_loss") {
    bool isHuber = name == "mp.huber_loss";
    double edge = number(isHuber ? "delta" : "beta", 1);
    return use([=](double x, double t) -> Term {
      double d = x - t, size = std::fabs(d), sign = d < 0 ? -1 : 1;
      double slope = size < edge ? d / edge : sign;
      double loss = size < edge ? d * d / (2 * edge) : size - edge / 2;
      double factor = isHuber ? edge : 1;
      return {factor * loss, factor * slope, -factor * slope};
    });
  }
  if (name == "mp.kl_div") {
    bool isLog = flag("log_target", false);
    return use([=](double x, double t) -> Term {
      if (isLog)
        return {std::exp(t) * (t - x), -std::exp(t),
                std::exp(t) * (t - x) + std::exp(t)};
      return {t > 0 ? t * (std::log(t) - x) : 0, -t,
              t > 0 ? std::log(t) - x + 1 : 0};
    });
  }
  if (name == "mp.binary_cross_entropy")
    return use([](double x, double t) -> Term {
      double yes = std::max(std::log(x), -100.0),
             no = std::max(std::log1p(-x), -100.0);
      return {-(t * yes + (1 - t) * no), (x - t) / std::max(x * (1 - x), 1e-12),
              no - yes};
    });
  if (name == "mp.soft_margin_loss")
    return use([](double x, double t) -> Term {
      double slope = sigmoid(-t * x);
      return {std::log1p(std::exp(-t * x)), -t * slope, -x * slope};
    });
  return failure();
}

static LogicalResult sumTerms(Operation *op, TermOf term, Evaluation &in) {
  const Array *input = in.find(op->getOperand(0)),
              *target = in.find(op->getOperand(1));
  auto reduction = op->getAttrOfType<StringAttr>("reduction");
  const Array *weight =
      op->getNumOperands() > 2 ? in.find(op->getOperand(2)) : nullptr;
  if (!input || !target || input->shape != target->shape ||
      (op->getNumOperands() > 2 && (!weight || weight->shape != input->shape)))
    return failure();
  Array elements = *input;
  for (size_t at = 0; at < elements.numbers.size(); ++at)
    elements.numbers[at] =
        float(term(input->numbers[at], target->numbers[at]).loss *
              (weight ? weight->numbers[at] : 1));
  auto made =
      reduceLoss(std::move(elements), reduction ? reduction.getValue() : "mean",
                 double(input->size()));
  if (!made)
    return failure();
  in.set(op->getResult(0), std::move(*made));
  return success();
}

static LogicalResult differentiateTerms(Operation *op, TermOf term,
                                        Evaluation &in) {
  const Array *grad = in.find(op->getOperand(0)),
              *input = in.find(op->getOperand(1)),
              *target = in.find(op->getOperand(2));
  auto reduction = op->getAttrOfType<StringAttr>("reduction");
  const Array *weight =
      op->getNumOperands() > 3 ? in.find(op->getOperand(3)) : nullptr;
  if (!grad || !input || !target || input->shape != target->shape ||
      (op->getNumOperands() > 3 && (!weight || weight->shape != input->shape)))
    return failure();
  auto arrives = expandGradient(grad, input->shape,
                                reduction ? reduction.getValue() : "mean",
                                double(input->size()));
  if (!arrives)
    return failure();
  return setGradients(op, in, [&](int64_t operand) -> std::optional<Array> {
    if (operand != 1 && operand != 2)
      return std::nullopt;
    Array result = *arrives;
    for (size_t at = 0; at < result.numbers.size(); ++at) {
      Term its = term(input->numbers[at], target->numbers[at]);
      result.numbers[at] *= float((operand == 1 ? its.byInput : its.byTarget) *
                                  (weight ? weight->numbers[at] : 1));
    }
    return result;
  });
}

//===----------------------------------------------------------------------===//
// Logits of two classes
//===----------------------------------------------------------------------===//

namespace {
/// The operands of a binary cross entropy with logits, whose weights are
/// broadcast.
struct LogitLoss {
  const Array *input, *target;
  Array weight, positive;
  StringRef reduction;
};
} // namespace

template <typename OpTy>
static std::optional<LogitLoss> readLogitLoss(OpTy op, Evaluation &in) {
  LogitLoss loss{in.find(op.getInput()),
                 in.find(op.getTarget()),
                 {},
                 {},
                 op.getReduction()};
  if (!loss.input || !loss.target || loss.input->shape != loss.target->shape)
    return std::nullopt;
  auto read = [&](Value value, Array &into) {
    into = Array::full(loss.input->shape, 1);
    if (!value)
      return true;
    const Array *array = in.find(value);
    if (!array)
      return false;
    auto joined = broadcastShapes(loss.input->shape, array->shape);
    if (failed(joined) || !*joined || **joined != loss.input->shape)
      return false;
    into = broadcast(*array, loss.input->shape);
    return true;
  };
  if (!read(op.getWeight(), loss.weight) ||
      !read(op.getPosWeight(), loss.positive))
    return std::nullopt;
  return loss;
}

static LogicalResult sumLogits(mp::BinaryCrossEntropyWithLogitsOp op,
                               Evaluation &in) {
  auto loss = readLogitLoss(op, in);
  if (!loss)
    return failure();
  Array elements = *loss->input;
  for (size_t at = 0; at < elements.numbers.size(); ++at) {
    double x = elements.numbers[at], t = loss->target->numbers[at];
    double factor = 1 + (loss->positive.numbers[at] - 1) * t;
    double softplus = std::log1p(std::exp(-std::fabs(x))) + std::max(-x, 0.0);
    elements.numbers[at] =
        float(loss->weight.numbers[at] * ((1 - t) * x + factor * softplus));
  }
  auto made = reduceLoss(std::move(elements), loss->reduction,
                         double(loss->input->size()));
  if (!made)
    return failure();
  in.set(op->getResult(0), std::move(*made));
  return success();
}

static LogicalResult
differentiateLogits(mp::BinaryCrossEntropyWithLogitsGradOp op, Evaluation &in) {
  auto loss = readLogitLoss(op, in);
  const Array *grad = in.find(op.getGrad());
  if (!loss || !grad)
    return failure();
  auto arrives = expandGradient(grad, loss->input->shape, loss->reduction,
                                double(loss->input->size()));
  if (!arrives)
    return failure();
  return setGradients(op, in, [&](int64_t operand) -> std::optional<Array> {
    if (operand != 1)
      return std::nullopt;
    Array result = *arrives;
    for (size_t at = 0; at < result.numbers.size(); ++at) {
      double x = loss->input->numbers[at], t = loss->target->numbers[at],
             p = loss->positive.numbers[at];
      result.numbers[at] *= float(loss->weight.numbers[at] *
                                  (sigmoid(x) * (1 + (p - 1) * t) - p * t));
    }
    return result;
  });
}

LogicalResult evaluation::evaluateLoss(Operation *op, Evaluation &in) {
  if (succeeded(evaluateClassLoss(op, in)))
    return success();
  if (auto logits = dyn_cast<mp::BinaryCrossEntropyWithLogitsOp>(op))
    return sumLogits(logits, in);
  if (auto gradient = dyn_cast<mp::BinaryCrossEntropyWithLogitsGradOp>(op))
    return differentiateLogits(gradient, in);
  StringRef name = op->getName().getStringRef();
  bool isGradient = name.consume_back("_grad");
  if (op->getNumOperands() < (isGradient ? 3u : 2u))
    return failure();
  return withTerm(op, name, [&](TermOf term) {
    return isGradient ? differentiateTerms(op, term, in)
                      : sumTerms(op, term, in);
  });
}
