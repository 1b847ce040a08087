//===- Affine.cpp - Sums in which a value cancels
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// x + z - z is x, and x - z + z - x is 0, up to the roundings on the way: a sum
// is followed up through additions, negations, casts and constant factors to a
// linear form of the values that it is made of. Where some of them cancel, the
// form says more than the operands' intervals do: a filter with feedback that
// is unrolled has the response of its poles, not the sum of its factors, and an
// average that runs moves by the factor of each step.
//
// A result that is finite was computed from finite values, since no addition
// makes a number of an infinity. So a form whose factors are powers of two, for
// which products are exact, bounds the finite results, and the flags stay what
// they are.
//
// Values are followed from the last one to the first, each with the factors of
// all ways that lead to it, so that a filter's form takes as many steps as it
// has ops.
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

  /// Adds a value as a term, to be followed.
  void add(Value value, double factor);
  /// Follows the terms; false where one is stored as no float.
  bool follow();
  /// True if all factors are powers of two.
  bool isExact() const { return exact; }
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
  /// Finds the terms that are computed alike; false if there are none.
  bool findAlike();

  SmallVector<Term, 8> terms;
  /// Two terms each, and their correlation.
  SmallVector<std::tuple<size_t, size_t, double>, 2> alike;
  Interval shift = Interval::point(0);

private:
  bool addShift(double number);
  /// Gives the terms of which a term is made; false if it is a source.
  bool expand(Term term);
  /// The next term to follow: the last in the block; null if there is none.
  Term *findLast();

  TransferContext &ctx;
  SmallVector<Term, 16> stores;
  double roundings = 0, expected = 0;
  /// `isScaled`: a sum is multiplied, as in a recurrence.
  bool cancelled = false, exact = true, isScaled = false;
};
} // namespace

void LinearForm::add(Value value, double factor) {
  for (Term &term : terms)
    if (term.value == value) {
      cancelled |= (term.factor < 0) != (factor < 0);
      term.factor += factor;
      return;
    }
  terms.push_back({value, factor});
}

bool LinearForm::addShift(double number) {
  if (!std::isfinite(number))
    return false;
  cancelled |= number != 0 && (number < 0 ? shift.hi > 0 : shift.lo < 0);
  shift = shift + Interval::point(number);
  return true;
}

bool LinearForm::findAlike() {
  // A smaller one changes the deviation of a difference by less than a third,
  // and weights of other layers have it by chance. Sums of more terms are those
  // of recurrences, of values that differ in their place.
  constexpr double kLeast = 0.5;
  constexpr size_t kMost = 4;
  for (size_t first = 0; terms.size() <= kMost && first < terms.size(); ++first)
    for (size_t second = first + 1; second < terms.size(); ++second)
      if (double its = correlate(terms[first].value, terms[second].value, ctx);
          std::fabs(its) >= kLeast)
        alike.push_back({first, second, its});
  return !alike.empty();
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

/// The number that multiplies or divides operand `index`; nothing for others.
static std::optional<double> getScale(Operation *op, unsigned index,
                                      TransferContext &ctx) {
  bool divides = isa<mp::DivOp>(op);
  if (!isa<mp::MulOp>(op) && !(divides && index == 0))
    return std::nullopt;
  std::optional<double> number = ctx.of(op->getOperand(1 - index)).constant();
  if (!number || !std::isfinite(*number) || *number == 0)
    return std::nullopt;
  return divides ? 1 / *number : *number;
}

static bool isPowerOfTwo(double number) {
  int exponent;
  return std::fabs(std::frexp(number, &exponent)) == 0.5 &&
         std::abs(exponent) <= 64;
}

bool LinearForm::expand(Term term) {
  auto [value, factor] = term;
  const AbstractValue &known = ctx.of(value);
  if (std::optional<double> number = known.constant();
      number && !known.mayBeNonFinite())
    return addShift(factor * *number);
  Operation *op = value.getDefiningOp();
  if (!op || !getFloatFormat(getElementType(value)))
    return false;
  if (auto cast = dyn_cast<mp::CastOp>(op)) {
    Rounding lost;
    // `peel` goes through one plain cast at least, or through none at all.
    if (peel(value, &lost) == value)
      return false;
    if (lost.relative > 0 || lost.absolute > 0)
      stores.push_back(term);
    add(cast.getInput(), factor);
    return true;
  }
  if (isa<mp::IdentityOp, mp::NegOp>(op)) {
    add(op->getOperand(0), isa<mp::NegOp>(op) ? -factor : factor);
    return true;
  }
  if (isa<mp::AddOp, mp::SubOp>(op)) {
    stores.push_back(term);
    add(op->getOperand(0), factor);
    add(op->getOperand(1), isa<mp::SubOp>(op) ? -factor : factor);
    return true;
  }
  for (unsigned index : {0u, 1u})
    if (std::optional<double> scale = op->getNumOperands() == 2
                                          ? getScale(op, index, ctx)
                                          : std::nullopt) {
      exact &= isPowerOfTwo(*scale);
      isScaled |= isa_and_present<mp::AddOp, mp::SubOp>(
          peel(op->getOperand(index)).getDefiningOp());
      stores.push_back(term);
      add(op->getOperand(index), factor * *scale);
      return true;
    }
  return false;
}

LinearForm::Term *LinearForm::findLast() {
  Term *last = nullptr;
  for (Term &term : terms) {
    Operation *op = term.value.getDefiningOp();
    if (!op || op->getBlock() != ctx.op()->getBlock())
      continue;
    if (!last || last->value.getDefiningOp()->isBeforeInBlock(op))
      last = &term;
  }
  return last;
}

bool LinearForm::follow() {
  // x - z + z - x has depth 3, with casts on the way 6. A recurrence of some
  // hundred steps, which multiplies by its factor in each, has three ops or
  // four in a step.
  constexpr unsigned kSteps = 24, kScaledSteps = 512;
  // Operands dominate their users: no path leads back to a source.
  SmallVector<Term, 8> sources;
  for (unsigned step = 0; step < (isScaled ? kScaledSteps : kSteps); ++step) {
    Term *last = findLast();
    if (!last)
      break;
    Term term = *last;
    terms.erase(last);
    if (term.factor == 0 || expand(term))
      continue;
    sources.push_back(term);
  }
  llvm::append_range(terms, sources);
  return llvm::all_of(stores, [](const Term &stored) {
    return bool(getFloatFormat(getElementType(stored.value)));
  });
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
  double strangers = result.variance;
  for (auto [first, second, correlation] : form.alike)
    result.variance += 2 * correlation * form.terms[first].factor *
                       form.terms[second].factor *
                       std::sqrt(values[first].cell(groups[first]).variance *
                                 values[second].cell(groups[second]).variance);
  result.variance = std::max(0.0, result.variance);
  if (strangers > 0) {
    below *= result.variance / strangers;
    above *= result.variance / strangers;
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
  form.add(left, 1);
  form.add(right, -1);
  if (!form.follow() || !form.cancels())
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
  form.add(op->getOperand(0), 1);
  form.add(op->getOperand(1), isa<mp::SubOp>(op) ? -1 : 1);
  if (!form.follow())
    return;
  llvm::erase_if(form.terms,
                 [](const LinearForm::Term &term) { return term.factor == 0; });
  bool correlates = value.hasLikely() && form.findAlike();
  if ((!form.cancels() && !correlates) || !form.round())
    return;
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
    if (form.isExact()) {
      cells[group].lo = std::max(cells[group].lo, cell.lo);
      cells[group].hi = std::min(cells[group].hi, cell.hi);
    }
    if (likely && !cell.empty())
      cells::setLikely(cells[group], cell);
  }
}
