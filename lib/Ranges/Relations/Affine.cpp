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
// The form also shows a squared distance, |x|^2 + |z|^2 - 2 x z, in whatever
// order it is added up: not negative, but for its roundings.
//
// Broadcasting aligns from the right at each step, so that a value takes part
// in a result's element with the same element of its own wherever it occurs;
// what moves elements (a reshape) ends the form.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Ranges/Relations/RelationSupport.h"
#include "mpopt/Ranges/Value/RowSupport.h"

#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/LinearOps.h"
#include "mpopt/Dialect/Ops/ReductionOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"
#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Numerics/Rounding.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

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

//===----------------------------------------------------------------------===//
// Squared distances
//===----------------------------------------------------------------------===//

/// Before ops that leave the elements in their order: only axes of size 1 are
/// put in, taken out or moved.
static Value peelOrder(Value value, Rounding &error) {
  for (unsigned depth = 0; depth < 6; ++depth) {
    value = peel(value, &error);
    Operation *op = value.getDefiningOp();
    if (isa_and_present<mp::UnsqueezeOp, mp::SqueezeOp>(op)) {
      value = op->getOperand(0);
      continue;
    }
    auto transpose = dyn_cast_if_present<mp::TransposeOp>(op);
    MaybeShape shape =
        transpose ? getShape(transpose.getInput()) : std::nullopt;
    std::optional<ArrayRef<int64_t>> perm =
        transpose ? transpose.getPerm() : std::nullopt;
    if (!shape || !perm || perm->size() != shape->size())
      return value;
    SmallVector<int64_t> moved;
    for (int64_t axis : *perm)
      if ((*shape)[axis] != 1)
        moved.push_back(axis);
    if (!llvm::is_sorted(moved))
      return value;
    value = transpose.getInput();
  }
  return value;
}

namespace {
/// Errors of casts in front of squares and products, where they count twice,
/// and of the computed values.
struct Errors {
  Rounding casts, computed;
};
} // namespace

/// The rows whose squares are summed along their last axis; null for others.
static Value getSquaredRows(Value value, Errors &errors, TransferContext &ctx) {
  Operation *op = peelOrder(value, errors.casts).getDefiningOp();
  if (!isa_and_present<mp::ReduceSumOp, mp::ReduceSumSquareOp>(op))
    return {};
  std::optional<Axes> axes = getReducedAxes(op, ctx.shapes());
  Value input = op->getOperand(0);
  MaybeShape shape = getShape(input);
  if (!axes || !shape || axes->size() != 1 ||
      axes->front() != int64_t(shape->size()) - 1)
    return {};
  errors.computed.add(storeError(op->getResult(0)));
  errors.computed.add(
      {relativeSumError(ctx.sumFormat(op),
                        double(std::max<int64_t>(shape->back(), 0)), 8),
       0});
  if (isa<mp::ReduceSumSquareOp>(op))
    return peel(input, &errors.casts);
  Operation *square = peel(input, &errors.casts).getDefiningOp();
  Value squared = getSquared(square, ctx);
  if (!squared)
    return {};
  errors.computed.add(functionError(square->getResult(0), ctx));
  return peel(squared, &errors.casts);
}

/// z of a product's right operand, z^T.
static Value getTransposed(mp::MatMulOp product, Errors &errors) {
  if (product.getTransB())
    return peel(product.getRhs(), &errors.casts);
  auto transpose =
      peel(product.getRhs(), &errors.casts).getDefiningOp<mp::TransposeOp>();
  MaybeShape shape = transpose ? getShape(transpose.getInput()) : std::nullopt;
  if (!shape || shape->size() < 2)
    return {};
  SmallVector<int64_t> perm =
      llvm::to_vector(llvm::seq<int64_t>(0, int64_t(shape->size())));
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  if (!transpose.getPerm() || !llvm::equal(*transpose.getPerm(), perm))
    return {};
  return peel(transpose.getInput(), &errors.casts);
}

/// True if broadcasting gives row i (or column j) of `product` the element that
/// belongs to row i of x (row j of z).
static bool isAlong(Value value, Value product, bool byRow) {
  MaybeShape of = getShape(value), to = getShape(product);
  if (!of || !to || to->size() < 2)
    return false;
  size_t rank = to->size();
  if (!byRow && of->size() == 1 && rank == 2)
    return of->back() == to->back();
  if (of->size() != rank)
    return false;
  Shape expected = *to;
  expected[byRow ? rank - 1 : rank - 2] = 1;
  return *of == expected && !llvm::is_contained(expected, kDynamic);
}

/// The estimate in other forms, and what replaces this one's moments:
/// expectSquaredDistance (SquaredDistance.cpp).
static void refineDistance(const LinearForm &form, AbstractValue &value,
                           TransferContext &ctx) {
  if (form.terms.size() != 3 || !(form.shift.lo >= 0))
    return;
  const LinearForm::Term *scores =
      llvm::find_if(form.terms, [](const LinearForm::Term &term) {
        return isa_and_present<mp::MatMulOp>(term.value.getDefiningOp());
      });
  if (scores == form.terms.end() || !(scores->factor < 0))
    return;
  auto product = scores->value.getDefiningOp<mp::MatMulOp>();
  Errors errors;
  errors.computed = storeError(product.getResult());
  Value x = peel(product.getLhs(), &errors.casts);
  Value z = getTransposed(product, errors);
  MaybeShape shape = getShape(product.getLhs());
  if (!z || product.getTransA() || product.getAlpha().convertToDouble() != 1 ||
      !shape || shape->back() <= 0)
    return;
  bool byRow = false, byColumn = false;
  for (const LinearForm::Term &term : form.terms) {
    if (&term == scores)
      continue;
    Value rows = getSquaredRows(term.value, errors, ctx);
    if (!rows || term.factor * 2 != -scores->factor)
      return;
    if (rows == x && !byRow && isAlong(term.value, product.getResult(), true))
      byRow = true;
    else if (rows == z && isAlong(term.value, product.getResult(), false))
      byColumn = true;
  }
  if (!byRow || !byColumn)
    return;
  double count = double(shape->back());
  const FloatFormat &sums = ctx.productFormat(product.getLhs());
  errors.computed.add(
      {relativeSumError(sums, count, 8), (count + 8) * sums.minSubnormal});
  double most = std::max(ctx.of(x).hull().absMax(), ctx.of(z).hull().absMax());
  double relative = 2 * errors.casts.relative + errors.computed.relative;
  double absolute = errors.casts.absolute + errors.computed.absolute;
  // Each of the two sums of squares and, twice, of products is at most
  // count most^2.
  double scale = -scores->factor / 2;
  double off = scale * (1.25 * relative * 4 * count * most * most +
                        8 * count * absolute * (1 + most)) +
               form.error();
  if (!(relative < 0.1) || !std::isfinite(off))
    return;
  clamp(value, form.shift.lo - off, kInfinity);
  if (!value.hasLikely())
    return;
  // The distance of independent rows is a scaled chi-square variable, that of
  // equal ones 0.
  double spread = std::sqrt(2 / count);
  for (CellRef cell : value.mutableCells()) {
    double reach = (cell.likelyHi - cell.mean) / std::sqrt(cell.variance);
    if (cell.empty() || !(cell.mean > 0) || !(reach > 0))
      continue;
    cell.variance = cell.mean * cell.mean * spread * spread;
    reach = std::min(reach, 6.0) * spread;
    cell.likelyLo = x == z ? 0 : cell.mean * std::exp(-reach);
    cell.likelyHi =
        std::min(cell.likelyHi, cell.mean * (1 + reach + reach * reach / 2));
  }
}

void relations::refineAffine(Operation *op, AbstractValue &value,
                             TransferContext &ctx) {
  // |x|^2 + |y|^2 - 2 x y has depth 3, with casts on the way 6.
  constexpr unsigned kDepth = 6;
  LinearForm form(ctx);
  double right = isa<mp::SubOp>(op) ? -1 : 1;
  if (!form.add(op->getOperand(0), 1, kDepth) ||
      !form.add(op->getOperand(1), right, kDepth))
    return;
  bool maybeDistance = form.terms.size() == 3;
  if ((!form.cancels() && !maybeDistance) || !form.round())
    return;
  refineDistance(form, value, ctx);
  if (!form.cancels())
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
