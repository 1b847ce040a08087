//===- ElementwiseSupport.cpp - Functions of one element each
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Ranges/Value/ElementwiseSupport.h"

#include "CellKernels.h"
#include "mpopt/Numerics/Binary.h"
#include "mpopt/Numerics/FunctionTable.h"
#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Numerics/LikelyGroups.h"
#include "mpopt/Numerics/Rounding.h"
#include "mpopt/Numerics/UnaryKernel.h"

#include <cmath>
#include <limits>

using namespace mpopt;
using namespace mpopt::cells;
using namespace mlir;

bool mpopt::isReal(Value value) {
  return isa<FloatType, IntegerType>(getElementType(value));
}
bool mpopt::areReal(Operation *op) {
  return llvm::all_of(op->getOperands(), isReal);
}

SmallVector<AbstractValue, 3> mpopt::operandsOf(TransferContext &ctx) {
  SmallVector<AbstractValue, 3> values;
  for (Value operand : ctx.op()->getOperands())
    values.push_back(ctx.of(operand));
  return values;
}

namespace {
/// The flags of a tensor from those of its groups.
class FlagJoin {
public:
  void add(const FloatRange &range) {
    all.nan |= range.nan;
    all.posInf |= range.posInf;
    all.negInf |= range.negInf;
    if (range.finite.isEmpty())
      return;
    all.integral &= range.integral;
    // A group that is zero everywhere has no smallest magnitude.
    if (range.finite.maxAbs() > 0)
      all.minNonZero = std::min(all.minNonZero, range.minNonZero);
  }
  void set(AbstractValue &value) const { value.setFlags(all); }

private:
  FloatRange all = [] {
    FloatRange none;
    none.integral = true;
    none.minNonZero = std::numeric_limits<double>::max();
    return none;
  }();
};
} // namespace

/// Weights make weights, anything unknown makes the result so.
static LikelySource joinSources(ArrayRef<AbstractValue> values) {
  LikelySource source = LikelySource::Weight;
  for (const AbstractValue &value : values)
    source = std::max(source, value.source);
  bool computed =
      source != LikelySource::Weight && source != LikelySource::Unknown;
  return computed ? LikelySource::Propagated : source;
}

AbstractValue mpopt::mapGroups(TransferContext &ctx,
                               ArrayRef<AbstractValue> operands,
                               RangeFunction range, LikelyFunction estimate) {
  SmallVector<AbstractValue, 3> values(operands);
  AbstractValue::Dims dims = broadcastGroups(values, ctx.groupLimit());
  LikelySource source = joinSources(values);
  bool known = source != LikelySource::Unknown;
  Cells made(countGroups(dims));
  MutableCells cells = made.mutate();
  FlagJoin flags;
  SmallVector<FloatRange, 3> ranges(values.size()), lastRanges;
  SmallVector<Likely, 3> estimates(values.size()), last(values.size());
  FloatRange bound;
  Likely estimated;
  forEachGroup(dims, values, [&](size_t group, ArrayRef<size_t> at) {
    for (size_t i = 0; i < values.size(); ++i) {
      ranges[i] = values[i].range(at[i]);
      if (known)
        estimates[i] = cells::getLikely(values[i].cell(at[i]));
    }
    // Neighbours are often alike, and estimates are quadratures.
    if (ranges != lastRanges) {
      bound = range(ranges);
      flags.add(bound);
      lastRanges = ranges;
    }
    if (known &&
        (group == 0 || !llvm::equal(estimates, last, likely::areSame))) {
      estimated = estimate(estimates);
      last = estimates;
    }
    CellRef cell = cells[group];
    cell = Cell{bound.finite.lo, bound.finite.hi};
    if (known)
      setLikely(cell, estimated);
  });
  AbstractValue result(std::move(dims), std::move(made));
  flags.set(result);
  result.source = source;
  return result;
}

/// -x, whose flags stay those of x.
static void negate(const MutableCells &cells) {
  auto flip = [&](Field low, Field high) {
    for (auto [lo, hi] : llvm::zip_equal(cells[low], cells[high])) {
      double end = 0.0 - lo;
      lo = 0.0 - hi;
      hi = end;
    }
  };
  flip(Field::Lo, Field::Hi);
  flip(Field::LikelyLo, Field::LikelyHi);
  for (double &mean : cells[Field::Mean])
    mean = 0.0 - mean;
}

AbstractValue mpopt::addGroups(TransferContext &ctx, const AbstractValue &lhs,
                               const AbstractValue &rhs, bool subtract) {
  if (lhs.integral && rhs.integral)
    return mapGroups(
        ctx, {lhs, rhs},
        [&](ArrayRef<FloatRange> x) {
          return subtract ? range::sub(x[0], x[1]) : range::add(x[0], x[1]);
        },
        [&](ArrayRef<Likely> x) {
          return subtract ? likely::sub(x[0], x[1]) : likely::add(x[0], x[1]);
        });
  AbstractValue values[] = {lhs, rhs};
  AbstractValue::Dims dims = broadcastGroups(values, ctx.groupLimit());
  for (AbstractValue &value : values)
    value = value.regrouped(dims);
  auto &[a, b] = values;
  if (subtract) {
    negate(b.mutableCells());
    std::swap(b.posInf, b.negInf);
  }
  AbstractValue result(dims, a.cells());
  MutableCells cells = result.mutableCells();
  CellSum sum = loops().add(cells, b.mutableCells(),
                            std::min(a.minNonZero, b.minNonZero));
  result.setNonFinite(a.nan || b.nan || (a.posInf && b.negInf) ||
                          (a.negInf && b.posInf),
                      a.posInf || b.posInf, a.negInf || b.negInf);
  result.claimMinNonZero(sum.smallest);
  result.source = joinSources(values);
  if (!result.hasLikely())
    for (CellRef cell : cells)
      setLikely(cell, Cell{});
  else if (sum.isExtreme)
    for (size_t group = 0; group < cells.size(); ++group)
      setLikely(cells[group], likely::add(getLikely(a.cell(group)),
                                          getLikely(b.cell(group))));
  return result;
}

AbstractValue mpopt::mapUnary(TransferContext &ctx,
                              const AbstractValue &operand, const Unary &unary,
                              const ComputeError &given) {
  FunctionFacts facts = getFacts(unary);
  ComputeError error = given;
  if (facts.approximated && error.scale != 0)
    error.absolute = std::max(error.absolute, ctx.target().approximation());
  UnaryKernel kernel(unary, error);
  likely::UnaryEstimate estimate(unary);
  AbstractValue result = mapGroups(
      ctx, operand, [&](ArrayRef<FloatRange> x) { return kernel(x[0]); },
      [&](ArrayRef<Likely> x) { return estimate(x[0]); });
  // The kernel's error, of each element.
  double units = error.format ? 16 * error.scale * error.format->epsilon() : 0;
  double lost = error.absolute + (error.format ? error.format->minNormal : 0);
  // A row of squares sums to the square of its norm, one of roots the other
  // way round.
  if (operand.norm && unary.function == UnaryFunction::Square) {
    double square = mulUp(operand.norm->bound, operand.norm->bound);
    result.claimRowSum(operand.norm->axis, 0,
                       square * (1 + units) +
                           double(operand.norm->count) * lost,
                       operand.norm->count);
  }
  if (operand.rowSum && unary.function == UnaryFunction::Sqrt)
    result.claimNorm(operand.rowSum->axis,
                     std::sqrt(operand.rowSum->hi) * (1 + units) +
                         std::sqrt(double(operand.rowSum->count)) *
                             (units + lost),
                     operand.rowSum->count);
  if (operand.norm && facts.contracts) {
    result.claimNorm(operand.norm->axis,
                     operand.norm->bound * (1 + units) +
                         std::sqrt(double(operand.norm->count)) *
                             (units + lost),
                     operand.norm->count);
  }
  return result;
}

ComputeError mpopt::functionError(TransferContext &ctx, Value operand) {
  if (!getFloatFormat(getElementType(operand)))
    return ComputeError::none();
  return ComputeError::in(ctx.functionFormat(operand));
}

double mpopt::rowNorm(const AbstractValue &value, int64_t axis, int64_t count) {
  double least = kInfinity;
  if (value.norm && value.norm->axis == axis)
    least = value.norm->bound;
  // The elements are not negative.
  if (value.rowSum && value.rowSum->axis == axis)
    least = std::min(least, value.rowSum->hi);
  if (count <= 0 || axis < 0 || axis >= int64_t(value.rank()))
    return least;
  // The squares of the groups along the axis if they are kept, else `count`
  // times the largest.
  double squares = 0;
  int64_t dim = value.dims()[axis];
  size_t inner = countGroups(value.dims().drop_front(axis + 1));
  if (dim == 1) {
    double largest = value.magnitudes().bound;
    squares = largest * largest * double(count);
  } else {
    const Cells &cells = value.cells();
    for (int64_t i = 0; i < dim; ++i) {
      double largest = 0;
      for (size_t first = i * inner; first < value.groups();
           first += dim * inner)
        for (size_t group = first; group < first + inner; ++group)
          largest = std::max(largest, cells[group].absMax());
      squares += largest * largest;
    }
  }
  return std::min(least, std::sqrt(squares) * (1 + 1e-12));
}

double mpopt::extremeOf(TransferContext &ctx) {
  Value result = ctx.op()->getResult(0);
  size_t groups = 1;
  for (Value operand : ctx.op()->getOperands())
    groups = std::max(groups, ctx.of(operand).groups());
  return expectedExtreme(ctx.elementsPerGroup(result, groups), /*draws=*/1);
}
