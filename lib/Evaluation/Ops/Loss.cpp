//===- Loss.cpp - Losses over elements, and reductions
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Families.h"

#include "LossReduction.h"

#include "mpopt/Dialect/Ops/GradientOps.h"
#include "mpopt/Dialect/Ops/LossOps.h"
#include "mpopt/Numerics/Infinity.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::evaluation;

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

std::optional<Array> evaluation::reduceLoss(Array elements, StringRef reduction,
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

std::optional<Array> evaluation::expandGradient(const Array *grad,
                                                const Shape &shape,
                                                StringRef reduction,
                                                double total) {
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
