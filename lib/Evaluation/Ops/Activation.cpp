//===- Activation.cpp - Functions of one variable, and of rows
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Families.h"

#include "mpopt/Dialect/Ops/ActivationOps.h"
#include "mpopt/Dialect/Ops/GradientOps.h"
#include "mpopt/Dialect/Ops/RandomOps.h"
#include "mpopt/Dialect/Ops/TrainingOps.h"
#include "mpopt/Dialect/Origin.h"
#include "mpopt/Evaluation/DrawnInputs.h"
#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Ranges/Value/FunctionOf.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/xxhash.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::evaluation;

/// f(x) of each element; the cheap ones in FP32.
static LogicalResult applyFunction(Operation *op, const Unary &unary,
                                   Evaluation &in) {
  const Array *input = in.find(op->getOperand(0));
  if (!input || op->getNumOperands() != 1)
    return failure();
  Array result = *input;
  auto each = [&](auto function) {
    for (float &x : result.numbers)
      x = float(function(x));
    in.set(op->getResult(0), std::move(result));
    return success();
  };
  if (unary.function == UnaryFunction::Relu)
    return each([](float x) { return x < 0 ? 0 : x; });
  if (unary.function == UnaryFunction::Exp)
    return each([](float x) { return std::exp(x); });
  if (unary.function == UnaryFunction::Square)
    return each([](float x) { return x * x; });
  return each([&](float x) { return mpopt::evaluate(unary, x); });
}

/// dY f'(x), or by y = f(x) where the op reads that.
static LogicalResult applySlope(Operation *op, const Unary &unary,
                                Evaluation &in) {
  if (op->getNumOperands() != 2 || op->getNumResults() != 1)
    return failure();
  const Array *grad = in.find(op->getOperand(0)),
              *argument = in.find(op->getOperand(1));
  if (!grad || !argument || grad->shape != argument->shape)
    return failure();
  Array result = *grad;
  auto each = [&](auto slope) {
    for (auto [dy, x] : llvm::zip_equal(result.numbers, argument->numbers)) {
      double its = slope(double(x));
      // A gradient of 0 stays one, whatever the slope is.
      dy = dy == 0 ? 0 : float(dy * its);
    }
    in.set(op->getResult(0), std::move(result));
    return success();
  };
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](mp::SigmoidGradOp) {
        return each([](double y) { return y * (1 - y); });
      })
      .Case([&](mp::TanhGradOp) {
        return each([](double y) { return 1 - y * y; });
      })
      .Case([&](mp::LeakyReluGradOp leaky) {
        double alpha = leaky.getAlpha().convertToDouble();
        return each([alpha](double y) { return y > 0 ? 1 : alpha; });
      })
      .Case([&](mp::ReluGradOp) {
        return each([](double x) { return double(x > 0); });
      })
      .Default([&](Operation *) {
        return each([&](double x) { return derivative(unary, x); });
      });
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// Calls `visit` with each row along `axis`, or of it and all axes behind it.
template <typename Visit>
static bool forEachRow(Array &array, int64_t given, bool coerced, Visit visit) {
  int64_t axis = given + (given < 0 ? array.rank() : 0);
  if (axis < 0 || (axis >= array.rank() && !(coerced && axis == array.rank())))
    return false;
  Array rows{array.shape, {}};
  if (coerced) {
    int64_t inner =
        mpopt::sizeOf(ArrayRef(array.shape).drop_front(size_t(axis)));
    rows.shape = {inner ? array.size() / inner : 0, inner};
    axis = 1;
  }
  int64_t length = rows.shape[size_t(axis)], stride = rows.stride(size_t(axis));
  for (int64_t line = 0; length && line < array.size() / length; ++line)
    visit(line / stride * length * stride + line % stride, length, stride);
  return true;
}

namespace {
enum class RowFunction { Softmax, LogSoftmax, Softmin, Hardmax };
} // namespace

template <typename OpTy>
static LogicalResult applyToRows(OpTy op, RowFunction function,
                                 Evaluation &in) {
  const Array *input = in.find(op->getOperand(0));
  auto axis = op->template getAttrOfType<IntegerAttr>("axis");
  if (!input)
    return failure();
  Array result = *input;
  double sign = function == RowFunction::Softmin ? -1 : 1;
  bool isKnown =
      forEachRow(result, axis ? axis.getInt() : -1, op.getFlatten(),
                 [&](int64_t first, int64_t length, int64_t stride) {
                   float *row = result.numbers.data() + first;
                   double largest = -kInfinity, sum = 0;
                   int64_t at = 0;
                   for (int64_t i = 0; i < length; ++i)
                     if (double x = sign * row[i * stride]; x > largest) {
                       largest = x;
                       at = i;
                     }
                   for (int64_t i = 0; i < length; ++i)
                     sum += std::exp(float(sign * row[i * stride] - largest));
                   for (int64_t i = 0; i < length; ++i) {
                     double x = sign * row[i * stride] - largest;
                     row[i * stride] = function == RowFunction::Hardmax
                                           ? float(i == at)
                                       : function == RowFunction::LogSoftmax
                                           ? float(x - std::log(sum))
                                           : float(std::exp(float(x)) / sum);
                   }
                 });
  if (!isKnown)
    return failure();
  in.set(op->getResult(0), std::move(result));
  return success();
}

/// y (dY - sum(y dY)) of softmax, dY - e^y sum(dY) of log-softmax.
template <typename OpTy>
static LogicalResult applyRowGradient(OpTy op, bool isLogarithm,
                                      Evaluation &in) {
  const Array *grad = in.find(op.getGrad()), *output = in.find(op.getOutput());
  if (!grad || !output || grad->shape != output->shape)
    return failure();
  Array result = *grad;
  bool isKnown =
      forEachRow(result, op.getAxis(), op.getCoerced(),
                 [&](int64_t first, int64_t length, int64_t stride) {
                   float *dy = result.numbers.data() + first;
                   const float *y = output->numbers.data() + first;
                   double sum = 0;
                   for (int64_t i = 0; i < length * stride; i += stride)
                     sum += isLogarithm ? dy[i] : double(y[i]) * dy[i];
                   for (int64_t i = 0; i < length * stride; i += stride)
                     dy[i] = float(isLogarithm ? dy[i] - std::exp(y[i]) * sum
                                               : y[i] * (dy[i] - sum));
                 });
  if (!isKnown)
    return failure();
  in.set(op->getResult(0), std::move(result));
  return success();
}

//===----------------------------------------------------------------------===//
// Dropout
//===----------------------------------------------------------------------===//

/// The same elements are dropped wherever the op is evaluated again.
static LogicalResult drop(mp::DropoutOp op, Evaluation &in) {
  const Array *input = in.find(op.getInput());
  std::optional<double> ratio = op.getRatio().convertToDouble(),
                        training = double(op.getTraining());
  if (op.getDynamicRatio())
    ratio = in.scalar(op.getDynamicRatio());
  if (op.getDynamicTraining())
    training = in.scalar(op.getDynamicTraining());
  if (!input || !ratio || !training || *ratio < 0 || *ratio >= 1)
    return failure();
  Array result = *input, mask = Array::full(input->shape, 1);
  if (*training != 0) {
    RandomNumbers random(
        uint32_t(llvm::xxh3_64bits(getValueName(op.getResult()))));
    for (auto [number, kept] : llvm::zip_equal(result.numbers, mask.numbers)) {
      kept = random.uniform() >= *ratio;
      number = float(kept * number / (1 - *ratio));
    }
  }
  in.set(op.getResult(), std::move(result));
  if (op.getMask())
    in.set(op.getMask(), std::move(mask));
  return success();
}

static LogicalResult dropGradient(mp::DropoutGradOp op, Evaluation &in) {
  const Array *grad = in.find(op.getGrad()), *mask = in.find(op.getMask());
  std::optional<double> ratio = 0.5, training = 1;
  if (op.getRatio())
    ratio = in.scalar(op.getRatio());
  if (op.getTrainingMode())
    training = in.scalar(op.getTrainingMode());
  if (!grad || !mask || !ratio || !training || grad->shape != mask->shape)
    return failure();
  Array result = *grad;
  if (*training != 0)
    for (auto [number, kept] : llvm::zip_equal(result.numbers, mask->numbers))
      number = float(number * kept / (1 - *ratio));
  in.set(op->getResult(0), std::move(result));
  return success();
}

LogicalResult evaluation::evaluateActivation(Operation *op, Evaluation &in) {
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](mp::SoftmaxOp each) {
        return applyToRows(each, RowFunction::Softmax, in);
      })
      .Case([&](mp::LogSoftmaxOp each) {
        return applyToRows(each, RowFunction::LogSoftmax, in);
      })
      .Case([&](mp::SoftminOp each) {
        return applyToRows(each, RowFunction::Softmin, in);
      })
      .Case([&](mp::HardmaxOp each) {
        return applyToRows(each, RowFunction::Hardmax, in);
      })
      .Case([&](mp::SoftmaxGradOp each) {
        return applyRowGradient(each, false, in);
      })
      .Case([&](mp::LogSoftmaxGradOp each) {
        return applyRowGradient(each, true, in);
      })
      .Case([&](mp::DropoutOp each) { return drop(each, in); })
      .Case([&](mp::DropoutGradOp each) { return dropGradient(each, in); })
      .Default([&](Operation *) -> LogicalResult {
        if (op->getNumOperands() == 0)
          return failure();
        if (auto passed = getFunctionOfGradient(op))
          return applySlope(op, *passed, in);
        if (auto function = getFunction(op))
          return applyFunction(op, *function, in);
        return failure();
      });
}
