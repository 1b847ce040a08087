//===- Elementwise.cpp - Ops of several tensors, element by element
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Families.h"

#include "mpopt/Dialect/Ops/ElementwiseOps.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::evaluation;

static std::optional<Shape> joinShapes(ArrayRef<const Array *> operands) {
  Shape shape;
  for (const Array *operand : operands) {
    auto joined = broadcastShapes(shape, operand->shape);
    if (failed(joined) || !*joined)
      return std::nullopt;
    shape = **joined;
  }
  return shape;
}

static std::optional<SmallVector<const Array *, 3>> find(ValueRange values,
                                                         Evaluation &in) {
  SmallVector<const Array *, 3> arrays;
  for (Value value : values) {
    arrays.push_back(in.find(value));
    if (!arrays.back())
      return std::nullopt;
  }
  return arrays;
}

/// Combines two operands; equal shapes and single numbers, the usual cases,
/// need no index.
template <typename Function>
static std::optional<Array> combine(const Array &lhs, const Array &rhs,
                                    Function function) {
  std::optional<Shape> shape = joinShapes({&lhs, &rhs});
  if (!shape)
    return std::nullopt;
  Array result = Array::zeros(*shape);
  size_t size = result.numbers.size();
  const float *a = lhs.numbers.data(), *b = rhs.numbers.data();
  float *out = result.numbers.data();
  if (lhs.numbers.size() == size && rhs.numbers.size() == size) {
    for (size_t at = 0; at < size; ++at)
      out[at] = float(function(a[at], b[at]));
  } else if (lhs.numbers.size() == size && rhs.numbers.size() == 1) {
    for (size_t at = 0; at < size; ++at)
      out[at] = float(function(a[at], *b));
  } else {
    forEachIndex(*shape, broadcastStrides(lhs, *shape),
                 broadcastStrides(rhs, *shape),
                 [&](int64_t left, int64_t right) {
                   *out++ = float(function(a[left], b[right]));
                 });
  }
  return result;
}

template <typename Function>
static LogicalResult combineAll(Operation *op, Evaluation &in,
                                Function function) {
  auto operands = find(op->getOperands(), in);
  if (!operands || operands->empty())
    return failure();
  Array result = *operands->front();
  for (const Array *operand : ArrayRef(*operands).drop_front()) {
    auto next = combine(result, *operand, function);
    if (!next)
      return failure();
    result = std::move(*next);
  }
  in.set(op->getResult(0), std::move(result));
  return success();
}

static LogicalResult divide(mp::DivOp op, Evaluation &in) {
  if (!isa<IntegerType>(getElementType(op.getResult())))
    return combineAll(op, in, [](float a, float b) { return a / b; });
  return combineAll(op, in, [](float a, float b) {
    return b != 0 ? std::trunc(double(a) / b) : 0.0;
  });
}

static double remainder(double a, double b, bool isC) {
  if (isC)
    return std::fmod(a, b);
  return a - b * std::floor(a / b);
}

static LogicalResult select(mp::WhereOp op, Evaluation &in) {
  auto operands = find(op->getOperands(), in);
  std::optional<Shape> shape = operands ? joinShapes(*operands) : std::nullopt;
  if (!shape)
    return failure();
  Array condition = broadcast(*(*operands)[0], *shape);
  Array result = broadcast(*(*operands)[2], *shape);
  const Array &taken = *(*operands)[1];
  float *out = result.numbers.data();
  const float *chosen = condition.numbers.data();
  forEachIndex(*shape, broadcastStrides(taken, *shape), condition.strides(),
               [&](int64_t source, int64_t target) {
                 if (chosen[target] != 0)
                   out[target] = taken.numbers[size_t(source)];
               });
  in.set(op.getResult(), std::move(result));
  return success();
}

static LogicalResult clip(mp::ClipOp op, Evaluation &in) {
  const Array *input = in.find(op.getInput());
  if (!input)
    return failure();
  Array result = *input;
  auto limit = [&](Value by, auto function) {
    if (!by)
      return true;
    const Array *bound = in.find(by);
    auto next = bound ? combine(result, *bound, function) : std::nullopt;
    if (next)
      result = std::move(*next);
    return next.has_value();
  };
  // NaN stays NaN: it is not less than anything.
  if (!limit(op.getMin(), [](float a, float b) { return a < b ? b : a; }) ||
      !limit(op.getMax(), [](float a, float b) { return a > b ? b : a; }))
    return failure();
  in.set(op.getResult(), std::move(result));
  return success();
}

/// Combines three operands that are broadcast to one shape.
template <typename Function>
static LogicalResult combineThree(Operation *op, Evaluation &in,
                                  Function function) {
  auto operands = find(op->getOperands(), in);
  std::optional<Shape> shape =
      operands && operands->size() == 3 ? joinShapes(*operands) : std::nullopt;
  if (!shape)
    return failure();
  Array result = broadcast(*(*operands)[0], *shape),
        a = broadcast(*(*operands)[1], *shape),
        b = broadcast(*(*operands)[2], *shape);
  for (size_t at = 0; at < result.numbers.size(); ++at)
    result.numbers[at] =
        float(function(result.numbers[at], a.numbers[at], b.numbers[at]));
  in.set(op->getResult(0), std::move(result));
  return success();
}

static LogicalResult evaluateLogic(Operation *op, Evaluation &in) {
  auto with = [&](auto function) { return combineAll(op, in, function); };
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](mp::EqualOp) {
        return with([](float a, float b) { return a == b; });
      })
      .Case([&](mp::NotEqualOp) {
        return with([](float a, float b) { return a != b; });
      })
      .Case([&](mp::LessOp) {
        return with([](float a, float b) { return a < b; });
      })
      .Case([&](mp::LessEqualOp) {
        return with([](float a, float b) { return a <= b; });
      })
      .Case([&](mp::GreaterOp) {
        return with([](float a, float b) { return a > b; });
      })
      .Case([&](mp::GreaterEqualOp) {
        return with([](float a, float b) { return a >= b; });
      })
      .Case([&](mp::LogicalAndOp) {
        return with([](float a, float b) { return a != 0 && b != 0; });
      })
      .Case([&](mp::LogicalOrOp) {
        return with([](float a, float b) { return a != 0 || b != 0; });
      })
      .Case([&](mp::LogicalNotOp) -> LogicalResult {
        const Array *input = in.find(op->getOperand(0));
        if (!input)
          return failure();
        Array result = *input;
        for (float &bit : result.numbers)
          bit = bit == 0;
        in.set(op->getResult(0), std::move(result));
        return success();
      })
      .Case([&](mp::LogicalXorOp) {
        return with([](float a, float b) { return (a != 0) != (b != 0); });
      })
      .Default(failure());
}

LogicalResult evaluation::evaluateElementwise(Operation *op, Evaluation &in) {
  auto with = [&](auto function) { return combineAll(op, in, function); };
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case<mp::AddOp, mp::AddNOp>(
          [&](auto) { return with([](float a, float b) { return a + b; }); })
      .Case([&](mp::SubOp) {
        return with([](float a, float b) { return a - b; });
      })
      .Case([&](mp::MulOp) {
        return with([](float a, float b) { return a * b; });
      })
      .Case([&](mp::DivOp each) { return divide(each, in); })
      .Case([&](mp::FloorDivOp) {
        return with([](float a, float b) { return std::floor(a / b); });
      })
      .Case([&](mp::Atan2Op) {
        return with([](float a, float b) { return std::atan2(a, b); });
      })
      .Case([&](mp::ModOp each) {
        return with([isC = each.getFmod()](float a, float b) {
          return remainder(a, b, isC);
        });
      })
      .Case([&](mp::PowOp) {
        return with(
            [](float a, float b) { return b == 2 ? a * a : std::pow(a, b); });
      })
      .Case([&](mp::MaxOp) {
        return with([](float a, float b) { return a < b || b != b ? b : a; });
      })
      .Case([&](mp::MinOp) {
        return with([](float a, float b) { return a > b || b != b ? b : a; });
      })
      .Case([&](mp::WhereOp each) { return select(each, in); })
      .Case([&](mp::ClipOp each) { return clip(each, in); })
      .Case([&](mp::AddcmulOp each) {
        double value = each.getValue().convertToDouble();
        return combineThree(op, in, [value](float x, float a, float b) {
          return x + value * a * b;
        });
      })
      .Case([&](mp::AddcdivOp each) {
        double value = each.getValue().convertToDouble();
        return combineThree(op, in, [value](float x, float a, float b) {
          return x + value * a / b;
        });
      })
      .Case([&](mp::LerpOp) {
        return combineThree(op, in, [](float a, float b, float weight) {
          return a + weight * (b - a);
        });
      })
      .Default([&](Operation *) { return evaluateLogic(op, in); });
}
