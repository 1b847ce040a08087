//===- Reduction.cpp - Ops that reduce along axes
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Families.h"

#include "mpopt/Dialect/Ops/GradientOps.h"
#include "mpopt/Dialect/Ops/ReductionOps.h"
#include "mpopt/Numerics/Infinity.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::evaluation;

namespace {
/// The axes that an op reduces, of an array.
struct Axes {
  /// With 1 along the reduced axes, and without them.
  Shape kept, dropped;
  bool keepDims;
  /// The elements that make one of the result.
  double count;

  const Shape &result() const { return keepDims ? kept : dropped; }
};
} // namespace

/// As mp.reduce_sum's: `axes` or those `given`, all without any, and
/// `keep_dims`.
static std::optional<Axes> findAxes(Operation *op, const Array &from,
                                    SmallVector<int64_t> list) {
  if (auto axes = op->getAttrOfType<DenseI64ArrayAttr>("axes"))
    llvm::append_range(list, axes.asArrayRef());
  auto keeps = op->getAttrOfType<BoolAttr>("keep_dims");
  Axes axes{from.shape, {}, keeps && keeps.getValue(), 1};
  SmallVector<bool> reduced(from.shape.size(), list.empty());
  for (int64_t axis : list) {
    std::optional<int64_t> own = normalizeAxis(axis, from.rank());
    if (!own)
      return std::nullopt;
    reduced[size_t(*own)] = true;
  }
  for (auto [axis, dim] : llvm::enumerate(from.shape)) {
    if (!reduced[axis]) {
      axes.dropped.push_back(dim);
      continue;
    }
    axes.count *= double(dim);
    axes.kept[axis] = 1;
  }
  return axes;
}

static std::optional<Axes> findAxes(Operation *op, const Array &from,
                                    Evaluation &in) {
  SmallVector<int64_t> list;
  if (op->getNumOperands() > 1) {
    auto given = in.integers(op->getOperand(1));
    if (!given)
      return std::nullopt;
    list = *given;
  }
  return findAxes(op, from, std::move(list));
}

/// Adds up each group from `start` on; `finish` gets the total and the number.
template <typename Add, typename Finish>
static LogicalResult reduce(Operation *op, Evaluation &in, double start,
                            Add add, Finish finish) {
  const Array *from = in.find(op->getOperand(0));
  std::optional<Axes> axes = from ? findAxes(op, *from, in) : std::nullopt;
  if (!axes)
    return failure();
  Array result = Array::zeros(axes->kept);
  std::vector<double> totals(result.numbers.size(), start);
  forEachIndex(from->shape, from->strides(),
               broadcastStrides(result, from->shape),
               [&](int64_t source, int64_t target) {
                 double &total = totals[size_t(target)];
                 total = add(total, double(from->numbers[size_t(source)]));
               });
  for (auto [number, total] : llvm::zip_equal(result.numbers, totals))
    number = float(finish(total, axes->count));
  result.shape = axes->result();
  in.set(op->getResult(0), std::move(result));
  return success();
}

static double addUp(double total, double x) { return total + x; }
static double addSquare(double total, double x) { return total + x * x; }
static double keep(double total, double) { return total; }
static double rootOf(double total, double) { return std::sqrt(total); }

/// Two passes: the mean first.
static LogicalResult deviate(Operation *op, double correction, bool root,
                             Evaluation &in) {
  const Array *from = in.find(op->getOperand(0));
  std::optional<Axes> axes = from ? findAxes(op, *from, in) : std::nullopt;
  if (!axes)
    return failure();
  Array result = Array::zeros(axes->kept);
  std::vector<double> means(result.numbers.size()), squares(means.size());
  auto strides = broadcastStrides(result, from->shape);
  forEachIndex(from->shape, from->strides(), strides,
               [&](int64_t source, int64_t target) {
                 means[size_t(target)] +=
                     from->numbers[size_t(source)] / axes->count;
               });
  forEachIndex(from->shape, from->strides(), strides,
               [&](int64_t source, int64_t target) {
                 double off =
                     from->numbers[size_t(source)] - means[size_t(target)];
                 squares[size_t(target)] += off * off;
               });
  for (auto [number, square] : llvm::zip_equal(result.numbers, squares)) {
    double variance = square / std::max(axes->count - correction, 0.0);
    number = float(root ? std::sqrt(variance) : variance);
  }
  result.shape = axes->result();
  in.set(op->getResult(0), std::move(result));
  return success();
}

/// log(sum of e^x), with the largest taken off.
static LogicalResult logSumExp(Operation *op, Evaluation &in) {
  const Array *from = in.find(op->getOperand(0));
  std::optional<Axes> axes = from ? findAxes(op, *from, in) : std::nullopt;
  if (!axes)
    return failure();
  Array result = Array::full(axes->kept, -float(kInfinity));
  auto strides = broadcastStrides(result, from->shape);
  forEachIndex(from->shape, from->strides(), strides,
               [&](int64_t source, int64_t target) {
                 float &largest = result.numbers[size_t(target)];
                 largest = std::max(largest, from->numbers[size_t(source)]);
               });
  std::vector<double> sums(result.numbers.size());
  forEachIndex(from->shape, from->strides(), strides,
               [&](int64_t source, int64_t target) {
                 sums[size_t(target)] +=
                     std::exp(double(from->numbers[size_t(source)]) -
                              result.numbers[size_t(target)]);
               });
  for (auto [number, sum] : llvm::zip_equal(result.numbers, sums))
    number = float(number + std::log(sum));
  result.shape = axes->result();
  in.set(op->getResult(0), std::move(result));
  return success();
}

static LogicalResult norm(mp::NormOp op, Evaluation &in) {
  double ord = op.getOrd().convertToDouble();
  if (!std::isfinite(ord) || ord <= 0)
    return failure();
  return reduce(
      op, in, 0,
      [ord](double total, double x) {
        return total + (ord == 2 ? x * x : std::pow(std::fabs(x), ord));
      },
      [ord](double total, double) { return std::pow(total, 1 / ord); });
}

static LogicalResult normGradient(mp::NormGradOp op, Evaluation &in) {
  const Array *grad = in.find(op.getGrad()), *from = in.find(op.getInput());
  double ord = op.getOrd().convertToDouble();
  if (!grad || !from || !std::isfinite(ord) || ord <= 0 || op.getDynamicAxes())
    return failure();
  std::optional<Axes> axes = findAxes(op, *from, {});
  if (!axes || grad->size() != mpopt::sizeOf(axes->kept))
    return failure();
  Array norms = Array::zeros(axes->kept);
  std::vector<double> totals(norms.numbers.size());
  auto strides = broadcastStrides(norms, from->shape);
  forEachIndex(from->shape, from->strides(), strides,
               [&](int64_t source, int64_t target) {
                 totals[size_t(target)] += std::pow(
                     std::fabs(double(from->numbers[size_t(source)])), ord);
               });
  return setGradients(op, in, [&](int64_t operand) -> std::optional<Array> {
    if (operand != 1)
      return std::nullopt;
    Array result = Array::zeros(from->shape);
    forEachIndex(from->shape, from->strides(), strides,
                 [&](int64_t source, int64_t target) {
                   double y = std::pow(totals[size_t(target)], 1 / ord),
                          x = from->numbers[size_t(source)];
                   if (y == 0 || x == 0)
                     return;
                   result.numbers[size_t(source)] = float(
                       grad->numbers[size_t(target)] * x *
                       std::pow(std::fabs(x), ord - 2) * std::pow(y, 1 - ord));
                 });
    return result;
  });
}

static LogicalResult evaluateLogic(Operation *op, Evaluation &in) {
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](mp::ReduceAllOp) {
        return reduce(
            op, in, 1,
            [](double total, double x) { return double(total != 0 && x != 0); },
            keep);
      })
      .Case([&](mp::ReduceAnyOp) {
        return reduce(
            op, in, 0,
            [](double total, double x) { return double(total != 0 || x != 0); },
            keep);
      })
      .Case([&](mp::CountNonzeroOp) {
        return reduce(
            op, in, 0,
            [](double total, double x) { return total + double(x != 0); },
            keep);
      })
      .Default(failure());
}

LogicalResult evaluation::evaluateReduction(Operation *op, Evaluation &in) {
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](mp::ReduceSumOp) { return reduce(op, in, 0, addUp, keep); })
      .Case([&](mp::ReduceMeanOp) {
        return reduce(op, in, 0, addUp, std::divides<double>());
      })
      .Case([&](mp::ReduceMaxOp) {
        return reduce(
            op, in, -kInfinity,
            [](double total, double x) { return x <= total ? total : x; },
            keep);
      })
      .Case([&](mp::ReduceMinOp) {
        return reduce(
            op, in, kInfinity,
            [](double total, double x) { return x >= total ? total : x; },
            keep);
      })
      .Case([&](mp::ReduceProdOp) {
        return reduce(op, in, 1, std::multiplies<double>(), keep);
      })
      .Case([&](mp::ReduceL1Op) {
        return reduce(
            op, in, 0,
            [](double total, double x) { return total + std::fabs(x); }, keep);
      })
      .Case(
          [&](mp::ReduceL2Op) { return reduce(op, in, 0, addSquare, rootOf); })
      .Case([&](mp::ReduceSumSquareOp) {
        return reduce(op, in, 0, addSquare, keep);
      })
      .Case([&](mp::ReduceLogSumOp) {
        return reduce(op, in, 0, addUp,
                      [](double total, double) { return std::log(total); });
      })
      .Case([&](mp::ReduceLogSumExpOp) { return logSumExp(op, in); })
      .Case([&](mp::NormOp each) { return norm(each, in); })
      .Case([&](mp::NormGradOp each) { return normGradient(each, in); })
      .Case([&](mp::VarianceOp each) {
        return deviate(op, each.getCorrection().convertToDouble(), false, in);
      })
      .Case([&](mp::StdOp each) {
        return deviate(op, each.getCorrection().convertToDouble(), true, in);
      })
      .Default([&](Operation *) { return evaluateLogic(op, in); });
}
