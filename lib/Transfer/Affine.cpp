//===- Affine.cpp - Sums in which a value cancels
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// x + z - z is x, and x - z + z - x is 0, up to the roundings on the way: a sum
// is followed up through additions, negations, casts and factors that are
// powers of two to a linear form of the values that it is made of. Where some
// of them cancel, the form says more than the operands' intervals do.
//
// A result that is finite was computed from finite values, since no addition
// makes a number of an infinity. So the form bounds the finite results, and the
// flags stay what they are.
//
// Broadcasting aligns from the right at each step, so that a value takes part
// in a result's element with the same element of its own wherever it occurs;
// what moves elements (a reshape) ends the form.
//
//===----------------------------------------------------------------------===//

#include "RelationSupport.h"
#include "RowSupport.h"

#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Support/Rounding.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::relations;

namespace {
/// value = sum of factor * term + shift, up to `error`.
class LinearForm {
public:
  explicit LinearForm(TransferContext &ctx) : ctx(ctx) {}

  /// False where nothing is known of a rounding, or there are too many terms.
  bool add(Value value, double factor, unsigned depth);
  /// Whether less is left than was added.
  bool cancels() const { return cancelled; }
  double error() const { return roundings; }

  struct Term {
    Value value;
    double factor;
  };
  SmallVector<Term, 8> terms;
  Interval shift = Interval::point(0);

private:
  bool addTerm(Value value, double factor);
  bool addShift(double number);
  bool addRounding(Value stored, double factor);

  TransferContext &ctx;
  double roundings = 0;
  bool cancelled = false;
  unsigned budget = 24;
};
} // namespace

bool LinearForm::addTerm(Value value, double factor) {
  for (Term &term : terms)
    if (term.value == value) {
      cancelled |= (term.factor < 0) != (factor < 0);
      term.factor += factor;
      return true;
    }
  terms.push_back({value, factor});
  return true;
}

bool LinearForm::addShift(double number) {
  if (!std::isfinite(number))
    return false;
  cancelled |= number != 0 && (number < 0 ? shift.hi > 0 : shift.lo < 0);
  shift = shift + Interval::point(number);
  return true;
}

/// What the store of a sum, product by a power of two or cast loses. Results
/// past the edge are not finite.
bool LinearForm::addRounding(Value stored, double factor) {
  const FloatFormat *format = getFloatFormat(getElementType(stored));
  if (!format)
    return false;
  double most =
      std::min(ctx.preRounding(stored).hull().absMax(), format->overflowFrom);
  double lost =
      most * rows::roundoff(*format) * (1 + 0x1p-8) + format->minSubnormal;
  roundings += std::fabs(factor) * lost * (1 + 0x1p-40);
  return std::isfinite(roundings);
}

/// The power of two that multiplies an operand; nothing for other numbers.
static std::optional<double> getPowerOfTwo(Value value, TransferContext &ctx) {
  std::optional<double> number = ctx.of(value).constant();
  int exponent;
  if (!number || !std::isfinite(*number) || *number == 0 ||
      std::fabs(std::frexp(*number, &exponent)) != 0.5 ||
      std::abs(exponent) > 64)
    return std::nullopt;
  return number;
}

bool LinearForm::add(Value value, double factor, unsigned depth) {
  if (budget-- == 0)
    return false;
  const AbstractValue &known = ctx.of(value);
  if (std::optional<double> number = known.constant();
      number && !known.mayBeNonFinite())
    return addShift(factor * *number);
  Operation *op = value.getDefiningOp();
  if (!op || depth == 0 || !getFloatFormat(getElementType(value)))
    return addTerm(value, factor);
  if (isa<mp::IdentityOp>(op))
    return add(op->getOperand(0), factor, depth);
  if (isa<mp::NegOp>(op))
    return add(op->getOperand(0), -factor, depth - 1);
  if (auto cast = dyn_cast<mp::CastOp>(op)) {
    Rounding lost;
    // `peel` goes through one plain cast at least, or through none at all.
    if (peel(value, &lost) == value)
      return addTerm(value, factor);
    if ((lost.relative > 0 || lost.absolute > 0) && !addRounding(value, factor))
      return false;
    return add(cast.getInput(), factor, depth - 1);
  }
  if (isa<mp::AddOp, mp::SubOp>(op)) {
    double right = isa<mp::SubOp>(op) ? -factor : factor;
    return addRounding(value, factor) &&
           add(op->getOperand(0), factor, depth - 1) &&
           add(op->getOperand(1), right, depth - 1);
  }
  if (isa<mp::MulOp>(op))
    for (unsigned index : {0u, 1u})
      if (std::optional<double> scale =
              getPowerOfTwo(op->getOperand(index), ctx))
        return addRounding(value, factor) &&
               add(op->getOperand(1 - index), factor * *scale, depth - 1);
  return addTerm(value, factor);
}

/// The form in one group.
static Cell evaluate(const LinearForm &form, ArrayRef<AbstractValue> values,
                     ArrayRef<size_t> groups) {
  Interval bound = form.shift;
  Cell result{};
  result.mean = form.shift.midpoint();
  double below = 0, above = 0;
  for (auto [term, value, group] : llvm::zip(form.terms, values, groups)) {
    const Cell &cell = value.cell(group);
    if (cell.empty())
      return Cell{rows::kInf, -rows::kInf};
    bound = bound + rows::bound(cell) * term.factor;
    double mean = term.factor * cell.mean;
    double lo = term.factor * cell.likelyLo, hi = term.factor * cell.likelyHi;
    result.mean += mean;
    result.variance += term.factor * term.factor * cell.variance;
    below += std::pow(mean - std::min(lo, hi), 2);
    above += std::pow(std::max(lo, hi) - mean, 2);
  }
  // Errors of either sign, the bound of which is rarely met.
  double noise = form.error() / 3;
  result.variance += noise * noise;
  result.likelyLo = result.mean - std::sqrt(below + noise * noise);
  result.likelyHi = result.mean + std::sqrt(above + noise * noise);
  bound = bound.widened(0, form.error());
  result.lo = bound.lo;
  result.hi = bound.hi;
  return result;
}

void relations::refineAffine(Operation *op, AbstractValue &value,
                             TransferContext &ctx) {
  constexpr unsigned kDepth = 6;
  LinearForm form(ctx);
  double right = isa<mp::SubOp>(op) ? -1 : 1;
  if (!form.add(op->getOperand(0), 1, kDepth) ||
      !form.add(op->getOperand(1), right, kDepth) || !form.cancels())
    return;
  llvm::erase_if(form.terms,
                 [](const LinearForm::Term &term) { return term.factor == 0; });
  SmallVector<AbstractValue, 8> values;
  size_t rank = value.rank();
  LikelySource source = LikelySource::Weight;
  for (const LinearForm::Term &term : form.terms) {
    AbstractValue known = ctx.of(term.value);
    if (known.rank() > rank)
      return;
    source = std::max(source, known.source);
    values.push_back(known.withRank(rank).regrouped(value.dims()));
  }
  bool likely = value.hasLikely() && source != LikelySource::Unknown;
  MutableArrayRef<Cell> cells = value.mutableCells();
  for (size_t group = 0; group < cells.size(); ++group) {
    SmallVector<size_t, 8> groups(values.size(), group);
    Cell cell = evaluate(form, values, groups);
    cells[group].lo = std::max(cells[group].lo, cell.lo);
    cells[group].hi = std::min(cells[group].hi, cell.hi);
    if (likely && !cell.empty())
      rows::setLikely(cells[group], cell);
  }
}
