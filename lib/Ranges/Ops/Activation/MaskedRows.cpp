//===- MaskedRows.cpp - Rows of scores that keep an element
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A bound r(x) of the least of the rows' maxima goes up from the masks:
//
//   r(x + y) >= r(x) + min y,  r(c x) = c r(x) for c > 0, and
//   r(where(m, x, y)) >= min x where every row of m has an element that is true
//
// and views that leave rows whole keep it. Broadcasting repeats elements, which
// holds each of these.
//
//===----------------------------------------------------------------------===//

#include "MaskedRows.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/IndexingOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Numerics/FloatFormat.h"
#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Ranges/Weights/ConstantRange.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

/// Ops between a mask and its softmax: sums, selections, casts and views.
static constexpr unsigned kMostSteps = 8;

/// True if every row of a condition has an element that is `held`.
static bool everyRowHolds(Value condition, bool held, TransferContext &ctx) {
  while (auto negation = condition.getDefiningOp<mp::LogicalNotOp>()) {
    held = !held;
    condition = negation.getInput();
  }
  if (!getElementType(condition).isInteger(1))
    return false;
  if (std::optional<WeightView> weights = ctx.weights(condition))
    return held ? leastRowMaximum(*weights) >= 0.5
                : leastRowMaximum(*weights, /*sign=*/-1) > -0.5;
  const AbstractValue &x = ctx.of(condition);
  int64_t length = x.rank() == 0 ? 1 : x.dims().back();
  auto holds = [&](const Cell &cell) {
    return !cell.empty() && (held ? cell.lo > 0 : cell.lo == 0 && cell.hi == 0);
  };
  for (size_t first = 0; first < x.groups(); first += size_t(length)) {
    bool any = false;
    for (int64_t at = 0; at < length && !any; ++at)
      any = holds(x.cell(first + size_t(at)));
    if (!any)
      return false;
  }
  return true;
}

bool mpopt::keepsRows(Operation *op) {
  if (isa<mp::CastOp, mp::IdentityOp, mp::ExpandOp>(op))
    return true;
  MaybeShape from = getShape(op->getOperand(0)),
             to = getShape(op->getResult(0));
  if (!from || !to || from->empty() || to->empty())
    return false;
  if (auto transpose = dyn_cast<mp::TransposeOp>(op)) {
    auto perm = transpose.getPerm();
    return perm && !perm->empty() && perm->back() == int64_t(perm->size()) - 1;
  }
  return isa<mp::ReshapeOp, mp::SliceOp, mp::SqueezeOp, mp::UnsqueezeOp>(op) &&
         from->back() == to->back() && from->back() > 0;
}

/// The least of the elements; -Inf if one may be.
static double leastOf(Value value, TransferContext &ctx) {
  const AbstractValue &x = ctx.of(value);
  Cell all = x.hull();
  return x.negInf || all.empty() ? -kInfinity : all.lo;
}

/// A number that every row has an element of at least, or NaN; -Inf if none is
/// known.
static double boundRows(Value value, TransferContext &ctx, unsigned depth) {
  const FloatFormat *format = getFloatFormat(getElementType(value));
  double least = leastOf(value, ctx);
  Operation *op = value.getDefiningOp();
  if (std::isfinite(least) || !format || !op || depth == 0)
    return least;
  if (std::optional<WeightView> weights = ctx.weights(value))
    return leastRowMaximum(*weights);
  auto bound = [&](Value of) { return boundRows(of, ctx, depth - 1); };
  double exact = -kInfinity;
  if (keepsRows(op)) {
    exact = bound(op->getOperand(0));
  } else if (isa<mp::AddOp>(op)) {
    Value lhs = op->getOperand(0), rhs = op->getOperand(1);
    exact = std::max(bound(lhs) + leastOf(rhs, ctx),
                     bound(rhs) + leastOf(lhs, ctx));
  } else if (auto where = dyn_cast<mp::WhereOp>(op)) {
    if (everyRowHolds(where.getCondition(), true, ctx))
      exact = leastOf(where.getLhs(), ctx);
    if (everyRowHolds(where.getCondition(), false, ctx))
      exact = std::max(exact, leastOf(where.getRhs(), ctx));
  } else if (auto fill = dyn_cast<mp::MaskedFillOp>(op)) {
    if (everyRowHolds(fill.getMask(), false, ctx))
      exact = leastOf(fill.getInput(), ctx);
  } else if (isa<mp::MulOp, mp::DivOp>(op)) {
    bool first = isa<mp::MulOp>(op) && getSplatConstant(op->getOperand(0));
    std::optional<double> factor = getSplatConstant(op->getOperand(!first));
    if (factor && *factor > 0 && std::isfinite(*factor)) {
      double operand = bound(op->getOperand(first));
      exact = isa<mp::MulOp>(op) ? operand * *factor : operand / *factor;
    }
  }
  // Roundings of the operands, of the result and of its store.
  double slack =
      8 * format->unitRoundoff() * std::fabs(exact) + 8 * format->minSubnormal;
  return exact - slack >= -format->maxFinite ? exact - slack : -kInfinity;
}

bool mpopt::keepsElementOfEveryRow(Value value, TransferContext &ctx) {
  return std::isfinite(boundRows(value, ctx, kMostSteps));
}
