//===- RowQuotient.cpp - Values divided by a norm of their own rows
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   u / sqrt(mean(u^2) [+ eps])   |y| <= sqrt(n), ‖y‖ <= sqrt(n)
//   u / sqrt(sum(u^2) [+ eps])    |y| <= 1, ‖y‖ <= 1
//   e / sum(e), e >= 0            0 <= y <= 1, the row sums to 1
//   u / sum(|u|), u / max(|u|)    |y| <= 1, and c of c u / max(|u|)
//   (u_i - u_j) / (max(u) - min(u))    |y| <= 1, as expected
//   u_i / max(u), (u_i - u_j) / max(u), u >= 0    the same
//
// with a root, a power, a reciprocal or a fused norm, with epsilons and guards
// that only make the divisor larger. A centred u would allow sqrt(n - 1); the
// rounding of its mean is not followed, so it gets sqrt(n).
//
//===----------------------------------------------------------------------===//

#include "Probabilities.h"
#include "RowScale.h"
#include "mpopt/Ranges/Value/RowSupport.h"

#include "mpopt/Dialect/Ops/ActivationOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/IndexingOps.h"
#include "mpopt/Dialect/Ops/ReductionOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"
#include "mpopt/Numerics/Infinity.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::relations;

/// By how much a computed x - mean(x) may differ from the deviation that a
/// fused variance takes; nothing if it is none.
static std::optional<double> deviationError(Value value, const RowScale &scale,
                                            TransferContext &ctx) {
  auto sub = peel(value, Peel::Rounded).getDefiningOp<mp::SubOp>();
  Rounding error;
  Operation *mean = sub ? getReduction(sub.getRhs(), &error) : nullptr;
  if (!isa_and_present<mp::ReduceMeanOp>(mean) ||
      !isSameExpression(sub.getLhs(), scale.of) ||
      !isSameExpression(mean->getOperand(0), scale.of) ||
      getReducedAxes(mean, ctx.shapes()) != scale.axes)
    return std::nullopt;
  std::optional<double> n = rowLength(scale.of, scale.axes);
  if (!n)
    return std::nullopt;
  error.add(storeError(mean->getResult(0)));
  error.add(storeError(sub.getResult()));
  error.add({relativeSumError(ctx.sumFormat(mean), *n, 8), 0});
  return 2 * error.relative * ctx.of(scale.of).hull().absMax() +
         2 * error.absolute;
}

/// (a x) / |row of x|, as spectra are compressed: no part of a row is larger
/// than the row, so that no result is expected to be larger than a.
static void expectScaledPart(Value dividend, const RowScale &scale,
                             AbstractValue &value, TransferContext &ctx) {
  auto product = dividend.getDefiningOp<mp::MulOp>();
  if (!product || !value.hasLikely())
    return;
  for (unsigned index : {0u, 1u}) {
    Value x = product->getOperand(index);
    const AbstractValue &factor = ctx.of(product->getOperand(1 - index));
    if (!factor.hasLikely() || !isSameExpression(x, scale.of))
      continue;
    auto reachOf = [](const Cell &cell) {
      return std::max(std::fabs(cell.likelyLo), std::fabs(cell.likelyHi));
    };
    double most = reachOf(factor.hull()) * scale.bound;
    for (CellRef cell : value.mutableCells()) {
      double by = most / reachOf(cell);
      if (!(by < 1))
        continue;
      cell.mean *= by;
      cell.variance *= by * by;
      cell.likelyLo *= by;
      cell.likelyHi *= by;
    }
    return;
  }
}

/// Shares of a sum of n terms are 1 / n on average, however the sum depends on
/// its terms: of experts that are chosen by their weight it has the largest.
static void expectShares(AbstractValue &value, double n) {
  double by = value.hasLikely() ? 1 / (n * value.hull().mean) : 0;
  if (!(by > 0 && std::isfinite(by)))
    return;
  for (CellRef cell : value.mutableCells())
    cells::setLikely(cell, Likely{cell.mean * by, cell.variance * by * by,
                                  cell.likelyLo, cell.likelyHi}
                               .within({0, 1}));
}

/// No element is expected beyond the whole row, nor a mean square above the
/// row's: what the bounds add for an inverse that underflows is rare.
static void expectInRow(AbstractValue &value, double bound,
                        std::optional<double> meanSquare) {
  if (!value.hasLikely())
    return;
  expectWithin(value, Interval::symmetric(bound));
  Cell all = value.hull();
  double by =
      meanSquare ? std::sqrt(*meanSquare / (all.mean * all.mean + all.variance))
                 : 1;
  if (!(by < 1))
    return;
  for (CellRef cell : value.mutableCells()) {
    cell.mean *= by;
    cell.variance *= by * by;
  }
}

//===----------------------------------------------------------------------===//
// Shares of a range
//===----------------------------------------------------------------------===//

/// The rows whose largest or least elements the value has; null if it has none.
template <typename Extreme>
static Value rowsOfExtreme(Value value, Axes &axes, TransferContext &ctx) {
  auto extreme = dyn_cast_if_present<Extreme>(getReduction(value));
  std::optional<Axes> reduced =
      extreme ? getReducedAxes(extreme, ctx.shapes()) : std::nullopt;
  if (!reduced)
    return {};
  axes = *reduced;
  return peel(extreme->getOperand(0), Peel::Rounded);
}

/// The divisor behind `x == 0 ? c : x`, as quotients are guarded.
static Value peelChoice(Value value) {
  auto where = peel(value, Peel::Rounded).getDefiningOp<mp::WhereOp>();
  if (!where)
    return value;
  for (Value chosen : {where.getLhs(), where.getRhs()}) {
    auto equal = where.getCondition().getDefiningOp<mp::EqualOp>();
    if (equal && llvm::any_of(equal->getOperands(), [&](Value compared) {
          return isSameExpression(compared, chosen);
        }))
      return chosen;
  }
  return value;
}

/// True if each element of the value is one of the row of `rows` that lies at
/// its place: parts along the axes, an extreme, or all of them.
static bool isFromRow(Value value, Value rows, ArrayRef<int64_t> axes,
                      TransferContext &ctx) {
  Axes own;
  for (Value all : {rowsOfExtreme<mp::ReduceMaxOp>(value, own, ctx),
                    rowsOfExtreme<mp::ReduceMinOp>(value, own, ctx)})
    if (all && isSameExpression(all, rows) && ArrayRef(own) == axes)
      return true;
  constexpr unsigned kDepth = 4; // a part of a part, and views between
  for (unsigned depth = 0; depth < kDepth; ++depth) {
    value = peel(value, Peel::Rounded);
    if (isSameExpression(value, rows))
      return true;
    Operation *op = value.getDefiningOp();
    if (!isa_and_present<mp::SliceOp, mp::SplitOp, mp::GatherOp>(op))
      return false;
    // An element that is taken along another axis leaves its row.
    MaybeShape from = getShape(op->getOperand(0)), to = getShape(value);
    if (!from || !to)
      return false;
    bool keepsRank = from->size() == to->size();
    if (!keepsRank && from->size() != to->size() + axes.size())
      return false;
    size_t at = 0;
    for (auto [axis, dim] : llvm::enumerate(*from)) {
      bool isTaken = llvm::is_contained(axes, int64_t(axis));
      if (!isTaken && (*to)[keepsRank ? axis : at] != dim)
        return false;
      at += !isTaken;
    }
    value = op->getOperand(0);
  }
  return false;
}

/// A difference of two numbers of one row is no larger than the row's range,
/// nor than its largest number where none is below 0; nor is such a number.
static void expectShareOfRange(mp::DivOp op, AbstractValue &value,
                               TransferContext &ctx) {
  if (!value.hasLikely())
    return;
  Rounding error;
  Value divisor = peelChoice(peelGuards(peelChoice(op.getRhs()), error, ctx));
  Axes axes, others;
  Value rows = rowsOfExtreme<mp::ReduceMaxOp>(divisor, axes, ctx);
  if (rows && !isNotNegative(rows, ctx))
    return;
  if (auto range = peel(divisor, Peel::Rounded).getDefiningOp<mp::SubOp>()) {
    rows = rowsOfExtreme<mp::ReduceMaxOp>(range.getLhs(), axes, ctx);
    Value least = rowsOfExtreme<mp::ReduceMinOp>(range.getRhs(), others, ctx);
    if (!rows || !least || !isSameExpression(rows, least) || axes != others)
      return;
  }
  if (!rows)
    return;
  Value dividend = peel(op.getLhs(), Peel::Rounded);
  auto difference = dividend.getDefiningOp<mp::SubOp>();
  bool isShare =
      difference
          ? isFromRow(difference.getLhs(), rows, axes, ctx) &&
                isFromRow(difference.getRhs(), rows, axes, ctx)
          : isNotNegative(rows, ctx) && isFromRow(dividend, rows, axes, ctx);
  if (!isShare)
    return;
  Cell above = ctx.of(op.getLhs()).hull(), below = ctx.of(op.getRhs()).hull();
  if (!ctx.of(op.getLhs()).hasLikely() || !(below.mean > 0))
    return expectWithin(value, Interval::symmetric(1));
  // The largest of a row is seldom far from its mean.
  double square = below.mean * below.mean;
  for (CellRef cell : value.mutableCells())
    cells::setLikely(cell,
                     Likely{above.mean / below.mean, above.variance / square,
                            cell.likelyLo, cell.likelyHi}
                         .within(Interval::symmetric(1)));
}

void relations::refineQuotient(Value result, AbstractValue &value,
                               TransferContext &ctx) {
  Operation *op = result.getDefiningOp();
  if (auto quotient = dyn_cast<mp::DivOp>(op))
    expectShareOfRange(quotient, value, ctx);
  auto found = matchQuotient(op, ctx);
  if (!found)
    return;
  const auto &[dividend, scale] = *found;
  double extra = 0, bound = scale.bound;
  bool ofMagnitudes = false;
  if (scale.deviations) {
    std::optional<double> error = deviationError(dividend, scale, ctx);
    if (!error)
      return;
    extra = *error;
  } else {
    // Both are made of one value, each with its own rounding.
    Rounding rounding;
    peel(dividend, &rounding);
    peel(scale.of, &rounding);
    if (!isSameExpression(dividend, scale.of)) {
      auto abs = peel(scale.of, Peel::Rounded).getDefiningOp<mp::AbsOp>();
      if (!abs || !isSameExpression(dividend, abs.getInput()))
        return expectScaledPart(dividend, scale, value, ctx);
      peel(abs.getInput(), &rounding);
      ofMagnitudes = true;
    }
    bound *= 1 + 2 * rounding.relative;
    extra = rounding.absolute;
  }
  Rounding own = functionError(result, ctx);
  Value divisor = isa<mp::DivOp>(op) ? op->getOperand(1) : Value();
  if (divisor) {
    extra /= least(divisor, ctx);
  } else if (extra > 0) {
    double largest = 0;
    for (Value operand : op->getOperands())
      if (operand != dividend)
        largest = ctx.of(operand).hull().absMax();
    extra *= largest;
  }
  if (std::isnan(extra))
    return;
  // An inverse r that underflows is off by half a subnormal, and by no more
  // than r itself: less would be 0.
  if (!divisor) {
    double tiny = ctx.functionFormat(result).minSubnormal;
    for (Value operand : op->getOperands())
      tiny = std::max(tiny, storeError(operand).absolute);
    double most = ctx.of(dividend).hull().absMax() * 4 * tiny *
                  std::max(scale.factor, 1.0);
    extra += most < 3 * bound ? most : 3 * bound;
  }
  bound = bound * (1 + own.relative) + extra + own.absolute;
  if (!(bound < kInfinity))
    return;
  bool positive = isNotNegative(dividend, ctx);
  clamp(value, positive ? 0 : -bound, bound);
  std::optional<double> length = rowLength(result, scale.axes);
  // Shares have a mean of their own below.
  if (!scale.sum)
    expectInRow(value, scale.exact,
                scale.squares && length
                    ? std::optional(scale.exact * scale.exact / *length)
                    : std::nullopt);
  // A guard makes the divisor larger, and the shares less.
  if (scale.guardedSum && scale.exact == 1 && positive && length &&
      value.hasLikely() && value.hull().mean * *length > 1)
    expectShares(value, *length);
  std::optional<int64_t> last =
      TransferContext::dimOf(result, scale.axes.back());
  if (!last)
    return;
  if (scale.squares) {
    if (length)
      setNorm(value, scale.axes.back(), bound + extra * std::sqrt(*length),
              *last);
    return;
  }
  if (!scale.sum || ofMagnitudes || scale.axes.size() != 1 || value.rowSum ||
      extra > 0)
    return;
  // sum(e) / s, s being the computed sum.
  double n = double(*last);
  if (positive)
    expectShares(value, n);
  double lost = relativeSumError(ctx.sumFormat(scale.reduction), n, 8) +
                4 * own.relative + (bound - 1);
  if (!(lost < 0.5))
    return;
  expectProbabilities(dividend, scale, value, ctx);
  bool saturates = !divisor || ctx.of(divisor).mayBeInf();
  value.claimRowSum(scale.axes.front(),
                    saturates ? 0
                              : std::max(0.0, 1 - 2 * lost - n * own.absolute),
                    1 + 2 * lost, *last);
}

/// A sum or difference of rows of known lengths is no longer than both
/// together: distances of points on a sphere.
void relations::expectLengthOfRows(Operation *op, AbstractValue &value,
                                   TransferContext &ctx) {
  Operation *sum = peel(op->getOperand(0), Peel::Rounded).getDefiningOp();
  auto norm = dyn_cast<mp::NormOp>(op);
  if (norm && !norm.getOrd().isExactlyValue(2))
    return;
  std::optional<Axes> axes = getReducedAxes(op, ctx.shapes());
  if (!isa_and_present<mp::AddOp, mp::SubOp>(sum) || !axes ||
      !value.hasLikely())
    return;
  double most = 0;
  for (Value rows : sum->getOperands()) {
    Operation *quotient = peel(rows, Peel::Rounded).getDefiningOp();
    auto found = isa_and_present<mp::DivOp, mp::MulOp>(quotient)
                     ? matchQuotient(quotient, ctx)
                     : std::nullopt;
    if (!found || !found->second.squares || found->second.axes != *axes ||
        !isSameExpression(found->first, found->second.of))
      return;
    most += found->second.exact;
  }
  expectWithin(value, {0, most});
}
