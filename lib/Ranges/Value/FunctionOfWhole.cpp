//===- FunctionOfWhole.cpp - Choices by functions of whole numbers
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Ranges/Value/FunctionOfWhole.h"

#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Ranges/Value/Expression.h"
#include "mpopt/Ranges/Value/TransferContext.h"

#include <cmath>
#include <numeric>
#include <vector>

using namespace mlir;
using namespace mpopt;

namespace {
/// A function of whole numbers at each of them, and with its steps as they are
/// stored.
struct FunctionOfWhole {
  Value variable;
  std::vector<double> points, exact, stored;

  /// Nothing if the value is none, or of too many numbers.
  static std::optional<FunctionOfWhole> of(Value value, TransferContext &ctx);
  /// FP32 does not know either on which side of an edge such a number is.
  static bool isAtEdge(double number, double edge) {
    constexpr double kUncertain = 0x1p-20; // FP32 after eight roundings
    return std::fabs(number - edge) < kUncertain * std::fabs(number);
  }
};
} // namespace

std::optional<FunctionOfWhole> FunctionOfWhole::of(Value value,
                                                   TransferContext &ctx) {
  constexpr double kMost = 1 << 14; // positions of a long sequence
  std::optional<Expression> function = Expression::ofValue(value);
  if (!function || isa<FloatType>(getElementType(function->variable())))
    return std::nullopt;
  Cell hull = ctx.of(function->variable()).hull();
  if (!(hull.hi - hull.lo <= kMost))
    return std::nullopt;
  std::vector<double> points;
  if (std::optional<SmallVector<int64_t>> known =
          ctx.shapes().constants(function->variable())) {
    points.assign(known->begin(), known->end());
  } else {
    points.resize(size_t(hull.hi - hull.lo) + 1);
    std::iota(points.begin(), points.end(), hull.lo);
  }
  FunctionOfWhole its = {function->variable(), points, points, points};
  function->evaluate(points, its.exact);
  function->evaluate(points, its.stored, /*asStored=*/true);
  return its;
}

/// 1 for each of the numbers of which a selection by them, behind an offset and
/// a limit, takes the integers.
static std::vector<double> findRead(Value integers,
                                    const FunctionOfWhole &function) {
  std::vector<double> isRead(function.points.size(), 1);
  while (
      integers.hasOneUse() &&
      isa<mp::AddOp, mp::SubOp, mp::MinOp, mp::MaxOp>(*integers.user_begin()))
    integers = integers.user_begin()->getResult(0);
  auto where = integers.hasOneUse()
                   ? dyn_cast<mp::WhereOp>(*integers.user_begin())
                   : mp::WhereOp();
  auto condition =
      where ? Expression::ofValue(where.getCondition(), function.variable)
            : std::nullopt;
  if (!condition)
    return isRead;
  condition->evaluate(function.points, isRead);
  for (double &truth : isRead)
    truth = truth == (where.getLhs() == integers);
  return isRead;
}

std::optional<double> mpopt::shareOfFunction(Value value, Value integers,
                                             TransferContext &ctx) {
  auto function = FunctionOfWhole::of(value, ctx);
  if (!function)
    return std::nullopt;
  std::vector<double> isRead = findRead(integers, *function);
  double changed = 0, count = 0;
  for (auto [is, becomes, reads] :
       llvm::zip_equal(function->exact, function->stored, isRead)) {
    // FP32 is not off by a whole one.
    bool isFar = std::fabs(is - becomes) > 1;
    if (reads == 0 || !std::isfinite(is) || !std::isfinite(becomes) ||
        (FunctionOfWhole::isAtEdge(is, std::round(is)) && !isFar))
      continue;
    ++count;
    changed += isFar || std::trunc(is) != std::trunc(becomes);
  }
  return count > 0 ? changed / count : 0;
}

static bool compares(Operation *op, double lhs, double rhs) {
  bool isGreater = isa<mp::GreaterOp, mp::GreaterEqualOp>(op);
  if (lhs == rhs)
    return isa<mp::GreaterEqualOp, mp::LessEqualOp>(op);
  return (lhs > rhs) == isGreater;
}

std::optional<double> mpopt::shareOfCompared(Operation *op,
                                             TransferContext &ctx) {
  constexpr size_t kMost = 1 << 18; // pairs, a bound on time alone
  for (unsigned index : {0u, 1u}) {
    std::optional<WeightView> edges = ctx.weights(op->getOperand(1 - index));
    if (!edges)
      continue;
    auto function = FunctionOfWhole::of(
        peel(op->getOperand(index), Peel::CastsAndViews), ctx);
    if (!function || function->exact.size() * edges->size() > kMost)
      return std::nullopt;
    std::vector<double> exact(edges->size()), stored(edges->size());
    edges->read(0, stored);
    edges->roundings.clear();
    edges->read(0, exact);
    double changed = 0, count = 0;
    for (auto [x, xStored] : llvm::zip_equal(function->exact, function->stored))
      for (auto [edge, edgeStored] : llvm::zip_equal(exact, stored)) {
        if (x != edge && FunctionOfWhole::isAtEdge(x, edge))
          continue;
        ++count;
        changed +=
            index == 0
                ? compares(op, x, edge) != compares(op, xStored, edgeStored)
                : compares(op, edge, x) != compares(op, edgeStored, xStored);
      }
    return count > 0 ? changed / count : 0;
  }
  return std::nullopt;
}
