//===- PrefixDifference.cpp - Triangles of differences of prefix sums
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With c the cumulative sum of x, c_i - c_j is the sum of the x_k between, of
// j < k <= i. Linear attention with decay takes the differences of all pairs,
// keeps those of one triangle and exponentiates them: where all x have one
// sign, so do the differences that are kept, and the others, which would
// overflow, are not there. The decay to a chunk's end takes c_last - c_i, of
// which all have that sign.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Ranges/Relations/RelationSupport.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/IndexingOps.h"
#include "mpopt/Dialect/Ops/ReductionOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"
#include "mpopt/Numerics/Accumulation.h"
#include "mpopt/Numerics/Masking.h"
#include "mpopt/Ranges/Value/CellSupport.h"
#include "mpopt/Ranges/Value/RowSupport.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::relations;

//===----------------------------------------------------------------------===//
// Prefix sums
//===----------------------------------------------------------------------===//

namespace {
/// A value whose elements are those of a cumulative sum: `axes[i]` is the axis
/// of the sum along its own axis `i`, or -1 where it has one element.
struct Prefix {
  mp::CumSumOp sum;
  Axes axes;
  Rounding error;
};
} // namespace

/// The axes behind a view that puts in or takes out axes of one element.
static std::optional<Axes> reshaped(const Axes &axes, const Shape &from,
                                    const Shape &to) {
  Axes result;
  size_t next = 0;
  auto skipOnes = [&] {
    while (next < from.size() && from[next] == 1)
      ++next;
  };
  for (int64_t dim : to) {
    skipOnes();
    if (dim == 1) {
      result.push_back(-1);
      continue;
    }
    if (next == from.size() || from[next] != dim)
      return std::nullopt;
    result.push_back(axes[next++]);
  }
  skipOnes();
  return next == from.size() ? std::optional(result) : std::nullopt;
}

static std::optional<Prefix> findPrefix(Value value, unsigned depth = 8) {
  Prefix found;
  value = peel(value, &found.error);
  Operation *op = value.getDefiningOp();
  MaybeShape shape = getShape(value);
  if (!op || !shape || depth == 0)
    return std::nullopt;
  if (auto sum = dyn_cast<mp::CumSumOp>(op)) {
    found.sum = sum;
    for (auto [axis, dim] : llvm::enumerate(*shape))
      found.axes.push_back(dim == 1 ? -1 : int64_t(axis));
    return found;
  }
  if (!isa<mp::TransposeOp, mp::UnsqueezeOp, mp::SqueezeOp, mp::ReshapeOp>(op))
    return std::nullopt;
  std::optional<Prefix> inner = findPrefix(op->getOperand(0), depth - 1);
  if (!inner)
    return std::nullopt;
  inner->error.add(found.error);
  auto transpose = dyn_cast<mp::TransposeOp>(op);
  if (!transpose) {
    auto axes = reshaped(inner->axes, *getShape(op->getOperand(0)), *shape);
    if (!axes)
      return std::nullopt;
    inner->axes = std::move(*axes);
    return inner;
  }
  Axes moved;
  for (size_t axis = 0; axis < shape->size(); ++axis)
    moved.push_back(transpose.getPerm()
                        ? inner->axes[(*transpose.getPerm())[axis]]
                        : inner->axes[shape->size() - 1 - axis]);
  inner->axes = std::move(moved);
  return inner;
}

namespace {
/// Two neighbouring axes of one length, the first of which is so many axes
/// from the end.
struct Pair {
  int64_t size;
  size_t fromEnd;

  /// True if a value of that shape has the pair.
  template <typename Dims> bool isIn(const Dims &shape) const {
    return shape.size() >= fromEnd && shape[shape.size() - fromEnd] == size &&
           shape[shape.size() - fromEnd + 1] == size;
  }
  /// All pairs of a shape.
  static SmallVector<Pair, 2> in(const Shape &shape) {
    SmallVector<Pair, 2> found;
    for (size_t fromEnd = 2; fromEnd <= shape.size(); ++fromEnd)
      if (Pair pair{shape[shape.size() - fromEnd], fromEnd};
          pair.size > 1 && pair.isIn(shape))
        found.push_back(pair);
    return found;
  }
};

/// c_i - c_j along a pair of axes, of which i is the first if `byRow`.
struct PairDifference {
  mp::CumSumOp sum;
  int64_t axis = 0;
  bool byRow = true;
  Rounding error;
};
} // namespace

static std::optional<PairDifference>
findDifference(Value value, const Pair &axes, TransferContext &ctx) {
  PairDifference pair;
  auto op = peel(value, &pair.error).getDefiningOp<mp::SubOp>();
  auto left = op ? findPrefix(op.getLhs()) : std::nullopt;
  auto right = left ? findPrefix(op.getRhs()) : std::nullopt;
  if (!right || left->sum != right->sum || left->axes.size() < axes.fromEnd ||
      left->axes.size() != right->axes.size())
    return std::nullopt;
  pair.sum = left->sum;
  auto axis = cells::findAxis(ctx, pair.sum.getInput(), pair.sum.getAxis(),
                              pair.sum.getDynamicAxis());
  if (!axis)
    return std::nullopt;
  pair.axis = *axis;
  pair.error.add(left->error);
  pair.error.add(right->error);
  size_t first = left->axes.size() - axes.fromEnd;
  Axes last[2] = {{*axis, -1}, {-1, *axis}};
  Axes own(ArrayRef(left->axes).slice(first, 2)),
      other(ArrayRef(right->axes).slice(first, 2));
  pair.byRow = own == last[0];
  ArrayRef<int64_t> mine = left->axes, its = right->axes;
  if (own != last[pair.byRow ? 0 : 1] || other != last[pair.byRow ? 1 : 0] ||
      mine.take_front(first) != its.take_front(first) ||
      mine.drop_front(first + 2) != its.drop_front(first + 2))
    return std::nullopt;
  return pair;
}

//===----------------------------------------------------------------------===//
// Triangles
//===----------------------------------------------------------------------===//

namespace {
/// The elements of a matrix that are kept: none above the diagonal, or none
/// below it. Those that are not are `other`, or 0.
struct Triangle {
  Value kept, other;
  bool isLower = true;
};
} // namespace

/// True for a lower, false for an upper triangle that holds all places where
/// the constant is `taken`; nothing for other conditions.
static std::optional<bool> findTriangle(Value condition, bool taken,
                                        const Pair &axes) {
  int64_t size = axes.size;
  constexpr int64_t kMost = 4096; // a long chunk
  for (Operation *op = condition.getDefiningOp();
       isa_and_present<mp::LogicalNotOp>(op); op = condition.getDefiningOp()) {
    condition = op->getOperand(0);
    taken = !taken;
  }
  auto constant = condition.getDefiningOp<mp::ConstantOp>();
  MaybeShape shape = getShape(condition);
  if (!constant || !shape || size > kMost ||
      getNumElements(shape) != size * size || !axes.isIn(*shape))
    return std::nullopt;
  bool above = false, below = false;
  auto look = [&](int64_t at, bool element) {
    if (element != taken)
      return;
    above |= at % size > at / size;
    below |= at % size < at / size;
  };
  auto dense = dyn_cast_or_null<DenseElementsAttr>(constant.getValue());
  if (dense && dense.getElementType().isInteger(1)) {
    for (auto [at, element] : llvm::enumerate(dense.getValues<bool>()))
      look(int64_t(at), element);
  } else {
    std::optional<ConstantBytes> bytes = getConstantBytes(constant);
    if (!bytes || int64_t(bytes->data.size()) != size * size)
      return std::nullopt;
    for (auto [at, element] : llvm::enumerate(bytes->data))
      look(int64_t(at), element);
  }
  return above && below ? std::nullopt : std::optional(!above);
}

static std::optional<Triangle> findTriangle(Operation *op, const Pair &axes) {
  if (auto trilu = dyn_cast<mp::TriluOp>(op)) {
    if (trilu.getDynamicK() || axes.fromEnd != 2 ||
        (trilu.getUpper() ? trilu.getK() < 0 : trilu.getK() > 0))
      return std::nullopt;
    return Triangle{trilu.getInput(), {}, !trilu.getUpper()};
  }
  auto select = [&](Value condition, Value kept, Value other,
                    bool taken) -> std::optional<Triangle> {
    std::optional<bool> lower = findTriangle(condition, taken, axes);
    return lower ? std::optional(Triangle{kept, other, *lower}) : std::nullopt;
  };
  if (auto fill = dyn_cast<mp::MaskedFillOp>(op))
    return select(fill.getMask(), fill.getInput(), fill.getValue(), false);
  auto where = dyn_cast<mp::WhereOp>(op);
  if (!where)
    return std::nullopt;
  bool keepsRhs = isConstant(where.getLhs());
  return select(where.getCondition(),
                keepsRhs ? where.getRhs() : where.getLhs(),
                keepsRhs ? where.getLhs() : where.getRhs(), !keepsRhs);
}

//===----------------------------------------------------------------------===//
// Refinement
//===----------------------------------------------------------------------===//

namespace {
/// The bound and the estimate of the differences that are kept.
struct Kept {
  Interval bound;
  std::optional<Likely> expected;
};
} // namespace

/// A difference of two elements of a running sum of `size` terms, which adds up
/// the terms between them, or takes them off. `apart`: the terms between, as a
/// share of those of a sum so far, n / 2.
static std::optional<Kept> describe(mp::CumSumOp cumulative, bool adds,
                                    Rounding error, int64_t size, double apart,
                                    TransferContext &ctx) {
  const AbstractValue &x = ctx.of(cumulative.getInput());
  const AbstractValue &sums = ctx.of(cumulative.getResult());
  Cell term = x.hull(), sum = sums.hull();
  if (x.mayBeNonFinite() || term.empty() || (term.lo < 0 && term.hi > 0))
    return std::nullopt;
  const FloatFormat &format = ctx.sumFormat(cumulative.getInput());
  Rounding stored = storeError(cumulative.getResult());
  error.add(stored);
  error.add(stored);
  double most = double(size) * term.absMax();
  double off = 2 * sumError({&format}, double(size), most) +
               error.relative * most + error.absolute;
  if (!std::isfinite(off))
    return std::nullopt;
  Interval between = Interval{std::min(term.lo, 0.0), std::max(term.hi, 0.0)} *
                     double(size - 1);
  Kept kept{(adds ? between : -between).widened(0, off), std::nullopt};
  if (!sums.hasLikely())
    return kept;
  double sign = adds ? 1 : -1, far = term.hi > 0 ? sum.likelyHi : sum.likelyLo;
  kept.expected = Likely{sign * apart * sum.mean, apart * sum.variance,
                         std::min(0.0, sign * far), std::max(0.0, sign * far)}
                      .within(kept.bound);
  return kept;
}

/// c_i - c_j with j <= i, counted from the end for a reverse sum.
static std::optional<Kept> describe(const Triangle &triangle, const Pair &axes,
                                    TransferContext &ctx) {
  // Two of n places lie apart by n / 3 on average.
  constexpr double kApart = 2.0 / 3;
  std::optional<PairDifference> pair = findDifference(triangle.kept, axes, ctx);
  if (!pair)
    return std::nullopt;
  bool adds = (pair->byRow == triangle.isLower) != pair->sum.getReverse();
  return describe(pair->sum, adds, pair->error, axes.size, kApart, ctx);
}

/// True if `last` is the last element of the sum along its axis, up to `error`.
static bool isLastOf(Value last, mp::CumSumOp sum, int64_t axis, int64_t size,
                     Rounding &error) {
  auto slice = peel(last, &error).getDefiningOp<mp::SliceOp>();
  if (!slice || peel(slice.getInput(), &error) != sum.getResult() ||
      !slice.getStarts() || slice.getStarts()->size() != 1 ||
      !slice.getAxes() || slice.getAxes()->size() != 1)
    return false;
  int64_t rank = int64_t(getShape(sum.getResult())->size());
  int64_t at = slice.getAxes()->front(), start = slice.getStarts()->front();
  MaybeShape shape = getShape(slice.getResult());
  return (at < 0 ? at + rank : at) == axis && shape && (*shape)[axis] == 1 &&
         (start == -1 || start == size - 1);
}

void relations::refineToLast(Operation *op, AbstractValue &value,
                             TransferContext &ctx) {
  for (unsigned index : {0u, 1u}) {
    Rounding error;
    auto sum =
        peel(op->getOperand(1 - index), &error).getDefiningOp<mp::CumSumOp>();
    MaybeShape shape = sum ? getShape(sum.getResult()) : MaybeShape();
    auto axis = shape ? cells::findAxis(ctx, sum.getInput(), sum.getAxis(),
                                        sum.getDynamicAxis())
                      : std::nullopt;
    if (!axis ||
        !isLastOf(op->getOperand(index), sum, *axis, (*shape)[*axis], error))
      continue;
    // On average half of the terms follow.
    std::optional<Kept> kept =
        describe(sum, (index == 0) != sum.getReverse(), error, (*shape)[*axis],
                 /*apart=*/1, ctx);
    if (!kept)
      return;
    clamp(value, kept->bound.lo, kept->bound.hi);
    if (kept->expected && value.hasLikely())
      for (CellRef cell : value.mutableCells())
        cells::setLikely(cell, *kept->expected);
  }
}

/// Sets the estimate of each group: of the kept elements or the others where
/// its bounds say which, else of the mixture.
static void expectMixed(AbstractValue &value, const Likely &kept,
                        const Likely &other, double share) {
  Likely mixed = likely::mix(kept, other, share);
  for (CellRef cell : value.mutableCells()) {
    Cell now = cell;
    bool isOther = now.lo >= other.lo && now.hi <= other.hi;
    bool isKept = now.lo > other.hi || now.hi < other.lo;
    cells::setLikely(cell, isOther ? other : isKept ? kept : mixed);
  }
}

namespace {
struct KeptTriangle {
  Triangle triangle;
  Kept kept;
  int64_t size;
};
} // namespace

/// The first pair of axes along which the op keeps a triangle of differences.
static std::optional<KeptTriangle> findKept(Operation *op,
                                            TransferContext &ctx) {
  MaybeShape shape = getShape(op->getResult(0));
  if (!shape)
    return std::nullopt;
  for (const Pair &axes : Pair::in(*shape))
    if (auto triangle = findTriangle(op, axes))
      if (auto kept = describe(*triangle, axes, ctx))
        return KeptTriangle{*triangle, *kept, axes.size};
  return std::nullopt;
}

void relations::refinePrefixDifference(Operation *op, AbstractValue &value,
                                       TransferContext &ctx) {
  std::optional<KeptTriangle> found = findKept(op, ctx);
  if (!found)
    return;
  const auto &[triangle, kept, size] = *found;
  Cell zero{0, 0};
  Cell other = triangle.other ? ctx.of(triangle.other).hull() : zero;
  Interval all = hull(kept.bound, cells::bound(other));
  clamp(value, all.lo, all.hi);
  if (kept.expected && value.hasLikely())
    expectMixed(value, *kept.expected, cells::getLikely(other),
                double(size + 1) / double(2 * size));
}

/// The exponential of a mask is 0. As a mixture, of which a normal number knows
/// mean and deviation, the operand tells of neither kind of elements.
void relations::expectMaskedExponential(mp::ExpOp op, AbstractValue &value,
                                        TransferContext &ctx) {
  Operation *choice = peel(op.getInput(), Peel::Rounded).getDefiningOp();
  auto fill = dyn_cast_if_present<mp::MaskedFillOp>(choice);
  auto where = dyn_cast_if_present<mp::WhereOp>(choice);
  if (!(fill || where) || !value.hasLikely())
    return;
  bool keepsRhs = where && isConstant(where.getLhs());
  Value other = fill       ? fill.getValue()
                : keepsRhs ? where.getLhs()
                           : where.getRhs();
  Value kept = fill       ? fill.getInput()
               : keepsRhs ? where.getRhs()
                          : where.getLhs();
  std::optional<double> penalty = ctx.of(other).constant();
  const AbstractValue &condition =
      ctx.of(fill ? fill.getMask() : where.getCondition());
  bool masks = penalty && *penalty <= maskedBelow();
  if (!(masks || ctx.of(other).negInf) || !condition.hasLikely() ||
      !ctx.of(kept).hasLikely())
    return;
  Likely expected = cells::getLikely(ctx.of(kept).hull());
  if (auto known = findKept(choice, ctx))
    expected = known->kept.expected.value_or(expected);
  double chosen = std::clamp(condition.hull().mean, 0.0, 1.0);
  expectMixed(value,
              likely::apply([](double x) { return std::exp(x); }, expected),
              Likely::point(0), where && !keepsRhs ? chosen : 1 - chosen);
}
