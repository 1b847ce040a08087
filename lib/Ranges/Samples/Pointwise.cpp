//===- Pointwise.cpp - Samples of sums along axes and of two tensors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Samples.h"

#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/ReductionOps.h"
#include "mpopt/Ranges/Value/RowSupport.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::samples;

//===----------------------------------------------------------------------===//
// Along axes
//===----------------------------------------------------------------------===//

static Result scan(mp::CumSumOp op, Samples &samples) {
  const Array *input = samples.find(op.getInput());
  std::optional<int64_t> axis = cells::findAxis(
      samples.ctx, op.getInput(), op.getAxis(), op.getDynamicAxis());
  if (!input || !axis || *axis >= int64_t(input->shape.size()))
    return std::nullopt;
  Array result = *input;
  int64_t size = input->shape[*axis], stride = input->stride(*axis);
  for (int64_t line = 0; line < int64_t(result.numbers.size()) / size; ++line) {
    float *first =
        result.numbers.data() + line / stride * size * stride + line % stride;
    double sum = 0;
    for (int64_t i = 0; i < size; ++i) {
      float &number = first[(op.getReverse() ? size - 1 - i : i) * stride];
      double before = sum;
      sum += number;
      number = float(op.getExclusive() ? before : sum);
    }
  }
  return result;
}

/// Sums, or means, over whole axes.
static Result reduce(Operation *op, bool mean, Samples &samples) {
  const Array *input = samples.find(op->getOperand(0));
  auto axes = getReducedAxes(op, samples.ctx.shapes());
  auto keeps = op->getAttrOfType<BoolAttr>("keep_dims");
  if (!input || !axes || !keeps)
    return std::nullopt;
  Shape shape, kept = input->shape;
  double terms = 1;
  for (int64_t axis : *axes) {
    terms *= double(kept[axis]);
    kept[axis] = 1;
  }
  for (auto [axis, dim] : llvm::enumerate(kept))
    if (keeps.getValue() || !llvm::is_contained(*axes, int64_t(axis)))
      shape.push_back(dim);
  Array result{input->count, kept, {}};
  SmallVector<int64_t, 6> strides, index(kept.size(), 0);
  for (size_t axis = 0; axis < kept.size(); ++axis)
    strides.push_back(
        llvm::is_contained(*axes, int64_t(axis)) ? 0 : result.stride(axis));
  std::vector<double> sums(size_t(result.count * result.size()));
  int64_t at = 0;
  for (float number : input->numbers) {
    sums[size_t(at)] += number;
    size_t axis = index.size();
    while (axis-- > 0) {
      at += strides[axis];
      if (++index[axis] < input->shape[axis])
        break;
      at -= strides[axis] * index[axis];
      index[axis] = 0;
    }
    if (axis == size_t(-1))
      at += result.size();
  }
  for (double sum : sums)
    result.numbers.push_back(float(mean ? sum / terms : sum));
  result.shape = std::move(shape);
  return result;
}

Result samples::evaluateSum(OpResult result, Samples &samples) {
  return TypeSwitch<Operation *, Result>(result.getOwner())
      .Case([&](mp::CumSumOp op) { return scan(op, samples); })
      .Case([&](mp::ReduceSumOp op) { return reduce(op, false, samples); })
      .Case([&](mp::ReduceMeanOp op) { return reduce(op, true, samples); })
      .Default(std::nullopt);
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

static Result combine(const Array *lhs, const Array *rhs,
                      llvm::function_ref<double(double, double)> function) {
  if (!lhs || !rhs)
    return std::nullopt;
  auto joined = broadcastShapes(lhs->shape, rhs->shape);
  if (failed(joined) || !*joined)
    return std::nullopt;
  Array result = Array::zeros(std::max(lhs->count, rhs->count), **joined);
  const Shape &shape = result.shape;
  SmallVector<int64_t, 6> strides[2], index(shape.size(), 0);
  const Array *const operands[] = {lhs, rhs};
  for (auto [own, operand] : llvm::zip_equal(strides, operands)) {
    size_t shift = shape.size() - operand->shape.size();
    for (size_t axis = 0; axis < shape.size(); ++axis)
      own.push_back(axis < shift || operand->shape[axis - shift] == 1
                        ? 0
                        : operand->stride(axis - shift));
  }
  for (int64_t evaluation = 0; evaluation < result.count; ++evaluation) {
    const float *left = lhs->evaluation(evaluation).data(),
                *right = rhs->evaluation(evaluation).data();
    for (float &number : result.evaluation(evaluation)) {
      number = float(function(*left, *right));
      for (size_t axis = shape.size(); axis-- > 0;) {
        left += strides[0][axis];
        right += strides[1][axis];
        if (++index[axis] < shape[axis])
          break;
        left -= strides[0][axis] * index[axis];
        right -= strides[1][axis] * index[axis];
        index[axis] = 0;
      }
    }
  }
  return result;
}

Result samples::evaluatePointwise(OpResult result, Samples &samples) {
  Operation *op = result.getOwner();
  if (op->getNumOperands() != 2)
    return std::nullopt;
  Value lhs = op->getOperand(0), rhs = op->getOperand(1);
  auto with = [&](llvm::function_ref<double(double, double)> function) {
    return combine(samples.find(lhs), samples.find(rhs), function);
  };
  return TypeSwitch<Operation *, Result>(op)
      .Case([&](mp::AddOp) { return with(std::plus<>()); })
      .Case([&](mp::SubOp) { return with(std::minus<>()); })
      .Case([&](mp::MulOp) -> Result {
        bool squares = samples.isSampled(lhs) && samples.isSampled(rhs);
        return squares ? std::nullopt : with(std::multiplies<>());
      })
      .Case([&](mp::DivOp) -> Result {
        return samples.isSampled(rhs) ? std::nullopt : with(std::divides<>());
      })
      .Default(std::nullopt);
}
