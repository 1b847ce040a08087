//===- RowScale.cpp - Divisors that are a norm of rows
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In floating point the root's operand v satisfies
// v >= q sum(u^2) (1 - relative) - absolute, so u_i^2 / v is at most
// (1 + absolute / v) / (q (1 - relative)); v is at least its own lower bound,
// or its smallest value that is not 0 (a quotient by 0 is not finite).
//
//===----------------------------------------------------------------------===//

#include "RowScale.h"
#include "mpopt/Ranges/Value/RowSupport.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Ops/ActivationOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/ReductionOps.h"
#include "mpopt/Numerics/Infinity.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::relations;

double relations::least(Value value, TransferContext &ctx) {
  const AbstractValue &known = ctx.of(value);
  double low = kInfinity;
  for (const Cell &cell : known.cells())
    low = std::min(low, cell.empty() ? kInfinity : cell.lo);
  const FloatFormat *format = getFloatFormat(getElementType(value));
  return std::max({low, known.minNonZero, format ? format->minSubnormal : 0.0});
}

bool relations::isNotNegative(Value value, TransferContext &ctx) {
  return llvm::all_of(ctx.of(value).cells(), [](const Cell &cell) {
    return cell.empty() || cell.lo >= 0;
  });
}

/// The number that an element is chosen against, and s of `s <= number ? c : s`
/// in spellings that compare s with a number on the right: one where the other
/// is chosen is no larger than c.
static Value getChosenLarge(mp::WhereOp where) {
  Operation *test = where.getCondition().getDefiningOp();
  bool isBelow =
      isa_and_present<mp::EqualOp, mp::LessOp, mp::LessEqualOp>(test);
  if (!isBelow && !isa_and_present<mp::GreaterOp, mp::GreaterEqualOp>(test))
    return {};
  Value least = isBelow ? where.getLhs() : where.getRhs();
  Value kept = isBelow ? where.getRhs() : where.getLhs();
  std::optional<double> number = getSplatConstant(least);
  std::optional<double> edge = getSplatConstant(test->getOperand(1));
  return number && edge && *number >= *edge &&
                 isSameExpression(test->getOperand(0), kept)
             ? kept
             : Value();
}

Value relations::peelGuards(Value value, Rounding &error,
                            TransferContext &ctx) {
  for (unsigned depth = 0; depth < 4; ++depth) {
    value = peel(peelExpand(peel(value, &error)), &error);
    Operation *op = value.getDefiningOp();
    if (!op)
      return value;
    if (isa<mp::ReluOp>(op)) {
      value = op->getOperand(0);
    } else if (auto where = dyn_cast<mp::WhereOp>(op)) {
      Value kept = getChosenLarge(where);
      if (!kept)
        return value;
      value = kept;
    } else if (auto clip = dyn_cast<mp::ClipOp>(op)) {
      if (clip.getMax())
        return value;
      value = clip.getInput();
    } else if (isa<mp::AddOp, mp::MaxOp>(op) && op->getNumOperands() == 2) {
      // The guard is a number; of two, either.
      unsigned guard = getSplatConstant(op->getOperand(1)) ? 1 : 0;
      std::optional<double> number = getSplatConstant(op->getOperand(guard));
      if (!number ||
          (isa<mp::AddOp>(op) && !isNotNegative(op->getOperand(guard), ctx)))
        return value;
      if (isa<mp::AddOp>(op))
        error.add(storeError(value));
      value = op->getOperand(1 - guard);
    } else {
      return value;
    }
  }
  return value;
}

namespace {
/// v = q sum(u^2), with what it may be short of that.
struct SquareSum {
  Value of;
  Axes axes;
  double q = 1;
  Rounding error;
  bool deviations = false;
};
} // namespace

/// sum(w) or mean(w) of a row: which op, and 1 or 1 / n.
static Operation *matchSum(Value value, double &q, Rounding &error) {
  Rounding stores;
  Operation *op = getReduction(value, &stores);
  q = 1;
  if (isa_and_present<mp::DivOp, mp::MulOp>(op)) {
    // A sum over a number: the number of elements, whatever it is.
    bool divides = isa<mp::DivOp>(op);
    unsigned index = divides || getSplatConstant(op->getOperand(1)) ? 1 : 0;
    std::optional<double> number = getSplatConstant(op->getOperand(index));
    if (!number || !(*number > 0))
      return nullptr;
    q = divides ? 1 / *number : *number;
    stores.add(storeError(op->getResult(0)));
    op = getReduction(op->getOperand(1 - index), &stores);
    // Underflow before the factor is multiplied by it.
    stores.absolute = std::max(stores.absolute, stores.absolute * q);
  }
  error.add(stores);
  return op;
}

static std::optional<SquareSum> matchSquareSum(Value value,
                                               TransferContext &ctx) {
  SquareSum result;
  value = peelGuards(value, result.error, ctx);
  Operation *op = matchSum(value, result.q, result.error);
  if (!op || op->getNumOperands() == 0)
    return std::nullopt;
  std::optional<Axes> axes;
  if (isa<mp::ReduceMeanOp, mp::ReduceSumOp, mp::ReduceSumSquareOp,
          mp::VarianceOp>(op))
    axes = getReducedAxes(op, ctx.shapes());
  std::optional<double> n =
      axes ? rowLength(op->getOperand(0), *axes) : std::nullopt;
  if (!n)
    return std::nullopt;
  result.axes = *axes;
  result.of = op->getOperand(0);
  if (isa<mp::ReduceMeanOp>(op))
    result.q /= *n;
  if (auto variance = dyn_cast<mp::VarianceOp>(op)) {
    double count = *n - variance.getCorrection().convertToDouble();
    if (!(count > 0))
      return std::nullopt;
    result.q /= count;
    result.deviations = true;
  }
  const FloatFormat &sums = ctx.sumFormat(op);
  result.error.add(storeError(op->getResult(0)));
  result.error.add({relativeSumError(sums, *n, 8), sums.minSubnormal});
  if (!isa<mp::ReduceMeanOp, mp::ReduceSumOp>(op)) {
    // Squares are rounded where they are summed.
    result.error.add({0, *n * result.q * sums.minSubnormal});
    return result;
  }
  Rounding before;
  Value squared = peel(result.of, &before);
  Operation *square = squared.getDefiningOp();
  if (!square || !isSquaredExpression(square))
    return std::nullopt;
  before.add(functionError(squared, ctx));
  before.absolute *= *n * result.q;
  result.error.add(before);
  result.of = square->getOperand(0);
  return result;
}

/// The root of a sum of squares, guards around it included.
static std::optional<RowScale> matchRoot(Value value, bool inverse,
                                         TransferContext &ctx) {
  Rounding error;
  Value divisor = value;
  if (!inverse)
    value = peelGuards(value, error, ctx);
  Operation *op = getReduction(value, &error);
  if (!op)
    return std::nullopt;
  RowScale result;
  result.squares = true;
  double square;
  if (isa<mp::ReduceL2Op>(op) && !inverse) {
    std::optional<Axes> axes = getReducedAxes(op, ctx.shapes());
    std::optional<double> n =
        axes ? rowLength(op->getOperand(0), *axes) : std::nullopt;
    if (!n)
      return std::nullopt;
    result.of = op->getOperand(0);
    result.axes = *axes;
    const FloatFormat &sums = ctx.sumFormat(op);
    double relative = relativeSumError(sums, *n, 8);
    double low =
        std::max(least(op->getResult(0), ctx), 0.99 * least(divisor, ctx));
    if (!(relative < 0.9))
      return std::nullopt;
    square = (1 + *n * sums.minSubnormal / (low * low)) / (1 - relative);
    // low * low may vanish: nothing is known then.
    if (!std::isfinite(square))
      return std::nullopt;
    error.add(functionError(op->getResult(0), ctx));
  } else {
    std::optional<double> power =
        isa<mp::PowOp>(op) ? getSplatConstant(op->getOperand(1)) : std::nullopt;
    bool root = inverse ? isa<mp::RsqrtOp>(op) || power == -0.5
                        : isa<mp::SqrtOp>(op) || power == 0.5;
    if (!root)
      return std::nullopt;
    std::optional<SquareSum> sum = matchSquareSum(op->getOperand(0), ctx);
    if (!sum || !(sum->error.relative < 0.9) || !(sum->q > 0))
      return std::nullopt;
    result.of = sum->of;
    result.axes = sum->axes;
    result.deviations = sum->deviations;
    // Guards behind the root hold it up, too.
    double low = least(op->getOperand(0), ctx);
    if (!inverse)
      low = std::max(low, 0.98 * std::pow(least(divisor, ctx), 2));
    square =
        (1 + sum->error.absolute / low) / (sum->q * (1 - sum->error.relative));
    result.exact = 1 / std::sqrt(sum->q);
    error.add(functionError(op->getResult(0), ctx));
  }
  // The root's own rounding; what underflows there counts against its least
  // value. An inverse that underflows is 0 or smaller than it should be.
  if (!(error.relative < 0.5))
    return std::nullopt;
  double factor = (1 + 2 * error.relative);
  if (!inverse)
    factor *= 1 + error.absolute / least(divisor, ctx);
  result.bound = std::sqrt(square) * factor;
  return result;
}

/// e of 2^e, as `Exp2` or as a power of the number 2.
static Value getExponentOfTwo(Operation *op, Rounding &error,
                              TransferContext &ctx) {
  if (isa_and_present<mp::Exp2Op>(op))
    return op->getOperand(0);
  if (!isa_and_present<mp::PowOp>(op) ||
      getSplatConstant(op->getOperand(0)) != 2)
    return {};
  error.relative += functionError(op->getResult(0), ctx).relative;
  return op->getOperand(1);
}

/// x of log2(x), also of log(x) over a number that is nearly log(2).
static Value getArgumentOfLog2(Value value, Rounding &error,
                               TransferContext &ctx) {
  // An error of the logarithm, whose size is below 1100, is one of a factor.
  constexpr double kLargest = 1100, kNear = 1e-6;
  Operation *op = value.getDefiningOp();
  if (isa_and_present<mp::DivOp, mp::MulOp>(op)) {
    auto split = splitNumber(op);
    bool divides = isa<mp::DivOp>(op);
    if (!split || (divides && split->first != op->getOperand(0)))
      return {};
    double off =
        (divides ? split->second : 1 / split->second) / std::log(2.0) - 1;
    Operation *log = peel(split->first, &error).getDefiningOp();
    if (!(std::fabs(off) < kNear) || !isa_and_present<mp::LogOp>(log))
      return {};
    error.relative +=
        kLargest * (std::fabs(off) + storeError(value).relative +
                    functionError(log->getResult(0), ctx).relative);
    return log->getOperand(0);
  }
  if (!isa_and_present<mp::Log2Op>(op))
    return {};
  error.relative += kLargest * functionError(value, ctx).relative;
  return op->getOperand(0);
}

/// Past positive numbers that `value` is a multiple of, which `factor` takes
/// up, and past powers of two that are no smaller, or no larger where it is an
/// inverse.
static Value peelFactors(Value value, bool isInverse, double &factor,
                         Rounding &error, TransferContext &ctx) {
  for (unsigned depth = 0; depth < 4; ++depth) {
    value = peel(value, &error);
    Operation *op = value.getDefiningOp();
    if (Value exponent = getExponentOfTwo(op, error, ctx)) {
      Operation *whole = peel(exponent, &error).getDefiningOp();
      bool fits = isInverse ? isa_and_present<mp::FloorOp>(whole)
                            : isa_and_present<mp::CeilOp>(whole);
      Value inner = fits ? getArgumentOfLog2(peel(whole->getOperand(0), &error),
                                             error, ctx)
                         : Value();
      if (!inner)
        return value;
      value = inner;
      continue;
    }
    if (!isa_and_present<mp::MulOp, mp::DivOp>(op))
      return value;
    auto split = splitNumber(op);
    bool divides = isa<mp::DivOp>(op);
    if (!split || !(split->second > 0) || !std::isfinite(split->second) ||
        (divides && split->first != op->getOperand(0)))
      return value;
    factor *= divides ? 1 / split->second : split->second;
    error.add(storeError(value));
    value = split->first;
  }
  return value;
}

/// sum(e) or max(e) of values that are not negative, or of |u|.
static std::optional<RowScale> matchPlainSum(Value value,
                                             TransferContext &ctx) {
  Rounding error;
  Value divisor = value;
  Value inner = value;
  double factor = 1;
  for (unsigned depth = 0; depth < 3; ++depth) {
    Rounding its;
    double outer = factor;
    inner = peelGuards(peelFactors(inner, false, factor, its, ctx), its, ctx);
    error.add({its.relative, its.absolute * std::max({1.0, outer, factor})});
  }
  bool guarded = peel(value, Peel::Rounded) != inner;
  Operation *op = getReduction(inner, &error);
  if (!op || !isa<mp::ReduceSumOp, mp::ReduceL1Op, mp::ReduceMaxOp>(op))
    return std::nullopt;
  if (!isa<mp::ReduceL1Op>(op) && !isNotNegative(op->getOperand(0), ctx))
    return std::nullopt;
  std::optional<Axes> axes = getReducedAxes(op, ctx.shapes());
  if (!axes)
    return std::nullopt;
  RowScale result;
  result.of = op->getOperand(0);
  result.axes = *axes;
  result.sum = isa<mp::ReduceSumOp>(op) && !guarded;
  result.guardedSum = isa<mp::ReduceSumOp>(op) && guarded;
  result.reduction = op;
  // The largest of stored numbers is one of them.
  if (!isa<mp::ReduceMaxOp>(op))
    error.add(storeError(op->getResult(0)));
  // A rounded sum of such terms, or their maximum, is no smaller than the
  // largest of them.
  if (!(error.relative < 0.25))
    return std::nullopt;
  result.exact = 1 / factor;
  result.bound = (1 + 2 * error.relative) / factor *
                 (1 + error.absolute / least(divisor, ctx));
  return result;
}

std::optional<std::pair<Value, RowScale>>
relations::matchQuotient(Operation *op, TransferContext &ctx) {
  if (isa<mp::DivOp>(op)) {
    std::optional<RowScale> scale = matchRoot(op->getOperand(1), false, ctx);
    if (!scale)
      scale = matchPlainSum(op->getOperand(1), ctx);
    if (scale && isRowScale(op->getOperand(1), op->getOperand(0), scale->axes))
      return std::make_pair(op->getOperand(0), *scale);
    return std::nullopt;
  }
  for (unsigned index : {1u, 0u}) {
    Value inverse = op->getOperand(index), other = op->getOperand(1 - index);
    Rounding error;
    double factor = 1;
    Value source = peelFactors(inverse, true, factor, error, ctx);
    source = peelFactors(peelExpand(source), true, factor, error, ctx);
    Operation *maker = source.getDefiningOp();
    if (!maker)
      continue;
    std::optional<RowScale> scale;
    Value divisor = isa<mp::PowOp>(maker) ? Value() : getInverted(maker);
    if (auto number = isa<mp::DivOp>(maker)
                          ? getSplatConstant(maker->getOperand(0))
                          : std::nullopt;
        !divisor && number && *number > 0 && std::isfinite(*number)) {
      factor *= *number;
      divisor = maker->getOperand(1);
    }
    if (divisor) {
      scale = matchRoot(divisor, false, ctx);
      if (!scale)
        scale = matchPlainSum(divisor, ctx);
      error.add(functionError(source, ctx));
    } else if (factor == 1) {
      scale = matchRoot(source, true, ctx);
    }
    if (!scale || !isRowScale(divisor ? divisor : source, other, scale->axes) ||
        !(error.relative < 0.25))
      continue;
    // r <= (1 + relative) / s + absolute: what is added is small times x.
    scale->bound *= (1 + error.relative) * factor;
    scale->exact *= factor;
    scale->factor = factor;
    scale->sum &= factor == 1;
    return std::make_pair(other, *scale);
  }
  return std::nullopt;
}

bool relations::isQuotientByOwnMaximum(Operation *op, TransferContext &ctx) {
  if (!isa_and_present<mp::DivOp, mp::MulOp>(op))
    return false;
  auto found = ctx.at(op, [&] { return matchQuotient(op, ctx); });
  if (!found || !isa_and_present<mp::ReduceMaxOp>(found->second.reduction))
    return false;
  const auto &[dividend, scale] = *found;
  auto abs = peel(scale.of, Peel::Rounded).getDefiningOp<mp::AbsOp>();
  return isSameExpression(dividend, scale.of) ||
         (abs && isSameExpression(dividend, abs.getInput()));
}
