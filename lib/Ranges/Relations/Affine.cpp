//===- Affine.cpp - Sums in which a value cancels
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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

#include "mpopt/Ranges/Relations/RelationSupport.h"
#include "mpopt/Ranges/Value/CellSupport.h"
#include "mpopt/Ranges/Value/ElementwiseSupport.h"

#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/ReductionOps.h"
#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Numerics/Rounding.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::relations;

namespace {
/// value = sum of factor * term + shift, up to `error`.
class LinearForm {
public:
  explicit LinearForm(TransferContext &ctx) : ctx(ctx) {}

  /// False where there are too many terms, or one is stored as no float.
  bool add(Value value, double factor, unsigned depth);
  /// True if terms cancelled, so that fewer are left than were added.
  bool cancels() const { return cancelled; }
  /// Adds up the roundings on the way, which takes a look at every value: not
  /// done where nothing comes of it. False if one of them is not bounded.
  bool round();
  double error() const { return roundings; }
  /// The error where all values have likely magnitudes.
  double expectedError() const { return expected; }

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
  SmallVector<Term, 16> stores;
  double roundings = 0, expected = 0;
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

/// A sum, product by a power of two or cast is stored there.
bool LinearForm::addRounding(Value stored, double factor) {
  stores.push_back({stored, factor});
  return bool(getFloatFormat(getElementType(stored)));
}

bool LinearForm::round() {
  for (const auto &[stored, factor] : stores) {
    const FloatFormat *format = getFloatFormat(getElementType(stored));
    // Results that overflow are not finite.
    double most =
        std::min(ctx.preRounding(stored).hull().absMax(), format->overflowFrom);
    auto loss = [&](double magnitude) {
      double lost = magnitude * format->unitRoundoff() * (1 + 0x1p-8) +
                    format->minSubnormal;
      return std::fabs(factor) * lost * (1 + 0x1p-40);
    };
    roundings += loss(most);
    const AbstractValue &known = ctx.preRounding(stored);
    Cell all = known.hull();
    double likely = std::max(std::fabs(all.likelyLo), std::fabs(all.likelyHi));
    expected += loss(known.hasLikely() ? std::min(likely, most) : most);
  }
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
static Cell evaluateForm(const LinearForm &form, ArrayRef<AbstractValue> values,
                         ArrayRef<size_t> groups) {
  Interval bound = form.shift;
  Cell result{};
  result.mean = form.shift.midpoint();
  double below = 0, above = 0;
  for (auto [term, value, group] : llvm::zip(form.terms, values, groups)) {
    const Cell &cell = value.cell(group);
    if (cell.empty())
      return Cell{kInfinity, -kInfinity};
    bound = bound + cells::bound(cell) * term.factor;
    double mean = term.factor * cell.mean;
    double lo = term.factor * cell.likelyLo, hi = term.factor * cell.likelyHi;
    result.mean += mean;
    result.variance += term.factor * term.factor * cell.variance;
    below += std::pow(mean - std::min(lo, hi), 2);
    above += std::pow(std::max(lo, hi) - mean, 2);
  }
  // Errors of either sign, the bound of which is rarely met.
  double noise = form.expectedError() / 3;
  result.variance += noise * noise;
  result.likelyLo = result.mean - std::sqrt(below + noise * noise);
  result.likelyHi = result.mean + std::sqrt(above + noise * noise);
  bound = bound.widened(0, form.error());
  result.lo = bound.lo;
  result.hi = bound.hi;
  return result;
}

// x - z + z - x has depth 3, with casts on the way 6.
static constexpr unsigned kDepth = 6;

/// A difference of two sums over the same axes is the sum of the differences:
/// what is expected of it, with elements that are independent. Bounds stay, as
/// the sums round in ways of their own.
static void refineSums(mp::SubOp op, AbstractValue &value,
                       TransferContext &ctx) {
  Operation *sums[2];
  for (auto [sum, operand] : llvm::zip(sums, op->getOperands())) {
    sum = peel(operand).getDefiningOp();
    if (!isa_and_present<mp::ReduceSumOp, mp::ReduceMeanOp>(sum))
      return;
  }
  std::optional<Axes> axes[2] = {getReducedAxes(sums[0], ctx.shapes()),
                                 getReducedAxes(sums[1], ctx.shapes())};
  Value left = sums[0]->getOperand(0), right = sums[1]->getOperand(0);
  MaybeShape shape = getShape(left);
  if (sums[0]->getName() != sums[1]->getName() || !axes[0] ||
      axes[0] != axes[1] || !shape || shape != getShape(right))
    return;
  LinearForm form(ctx);
  if (!form.add(left, 1, kDepth) || !form.add(right, -1, kDepth) ||
      !form.cancels())
    return;
  double count = 1;
  for (int64_t axis : *axes[0])
    count *= double((*shape)[axis]);
  Cell sum{};
  sum.mean = form.shift.midpoint();
  for (const LinearForm::Term &term : form.terms) {
    const AbstractValue &known = ctx.of(term.value);
    if (term.factor != 0 && !known.hasLikely())
      return;
    Cell cell = known.hull();
    sum.mean += term.factor * cell.mean;
    sum.variance += term.factor * term.factor * cell.variance;
  }
  bool isMean = isa<mp::ReduceMeanOp>(sums[0]);
  sum.mean *= isMean ? 1 : count;
  sum.variance *= isMean ? 1 / count : count;
  if (!(count > 0) || sum.variance >= value.hull().variance)
    return;
  double likely = extremeOf(ctx) * std::sqrt(sum.variance);
  sum.likelyLo = sum.mean - likely;
  sum.likelyHi = sum.mean + likely;
  for (CellRef cell : value.mutableCells())
    cells::setLikely(cell, sum);
}

void relations::refineAffine(Operation *op, AbstractValue &value,
                             TransferContext &ctx) {
  if (auto difference = dyn_cast<mp::SubOp>(op);
      difference && value.hasLikely())
    refineSums(difference, value, ctx);
  LinearForm form(ctx);
  double right = isa<mp::SubOp>(op) ? -1 : 1;
  if (!form.add(op->getOperand(0), 1, kDepth) ||
      !form.add(op->getOperand(1), right, kDepth))
    return;
  if (!form.cancels() || !form.round())
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
  MutableCells cells = value.mutableCells();
  for (size_t group = 0; group < cells.size(); ++group) {
    SmallVector<size_t, 8> groups(values.size(), group);
    Cell cell = evaluateForm(form, values, groups);
    cells[group].lo = std::max(cells[group].lo, cell.lo);
    cells[group].hi = std::min(cells[group].hi, cell.hi);
    if (likely && !cell.empty())
      cells::setLikely(cells[group], cell);
  }
}
