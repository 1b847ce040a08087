//===- Standardize.cpp - Bounds of (x - mean) / deviation
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Standardize.h"

#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Ranges/Value/RowSupport.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::cells;

/// A row of unknown length is taken to have no more elements: beyond that not
/// even the order of magnitude of an FP32 sum is certain.
static constexpr double kLongestRow = 1 << 22;

namespace {
/// The rounding errors of a row's statistics.
struct RowError {
  double unit;     ///< Relative error of one rounding.
  double relative; ///< Relative error of a sum of n squares; none known from 1.
  double tiny;     ///< Absolute error of the mean of squares.
  double epsilon;  ///< Epsilon as it is added, rounded down.
};
} // namespace

static RowError getError(const FloatFormat &format, double count,
                         double epsilon) {
  RowError error;
  error.unit = format.unitRoundoff();
  error.relative = relativeSumError(format, count, 4);
  error.tiny = 2 * format.minSubnormal;
  error.epsilon =
      std::max(0.0, format.round(epsilon)) * (1 - 4 * error.unit) - error.tiny;
  return error;
}

/// Infinite if nothing is known.
static double closedBound(const Standardization &how, const RowError &error,
                          double count, double meanError) {
  if (!(error.relative < 0.5) || !(error.epsilon > 0))
    return kInfinity;
  double square = count;
  // e^2 / (e^2 + epsilon), also where the error of the mean is infinite.
  if (how.centred)
    square = count - 1 + 1 / (1 + error.epsilon / (meanError * meanError));
  // 1 / sqrt(1 - r) <= 1 + r up to r = 0.6.
  return std::sqrt(square) * (1 + error.relative + 8 * error.unit);
}

/// Rows that overflow on the way: their mean, a deviation, the sum of squares.
static bool mayOverflow(const Standardization &how, const Interval &row,
                        double count) {
  // Kernels may take the mean of squares before they centre.
  double magnitude = row.maxAbs();
  double limit = how.format->overflowFrom * 0.999;
  return !(count * magnitude < limit && 2 * magnitude < limit &&
           count * magnitude * magnitude < limit);
}

static Cell standardizeCell(const Cell &x, const Cell &row,
                            const Standardization &how, const RowError &error,
                            double closed, double meanError, bool likely,
                            double draws) {
  Cell cell;
  Interval from = bound(x);
  if (how.centred) {
    // fl(x - mean): off by the mean's error and a rounding.
    from = from - bound(row).widened(0, meanError);
    from = from.widened(2 * error.unit);
  }
  double least = error.epsilon > 0 ? std::sqrt(error.epsilon) : 0;
  Interval y{from.lo < 0 ? -kInfinity : 0, from.hi > 0 ? kInfinity : 0};
  if (least > 0)
    y = intersect(y, (from / Interval::point(least)).widened(8 * error.unit));
  if (y.isEmpty()) // Of one sign: what the largest deviation leaves is near 0.
    y = Interval{from.lo < 0 ? -kInfinity : 0, from.hi > 0 ? kInfinity : 0};
  y = hull(y, 0.0);
  setBound(cell, intersect(y, Interval::symmetric(closed)));
  if (!likely) {
    // Whatever comes in, this is what a normalisation makes of it.
    double reach = std::min(closed, expectedExtreme(draws));
    setLikely(cell, Cell{0, 0, 0, 1, -reach, reach});
    return cell;
  }
  double centre = how.centred ? row.mean : 0;
  double square =
      row.variance + how.epsilon + (how.centred ? 0 : row.mean * row.mean);
  double scale = square > 0 ? 1 / std::sqrt(square) : 0;
  cell.mean = (x.mean - centre) * scale;
  cell.variance = x.variance * scale * scale;
  cell.likelyLo = std::max(-closed, (x.likelyLo - centre) * scale);
  cell.likelyHi = std::min(closed, (x.likelyHi - centre) * scale);
  return cell;
}

/// Mean and 1 / deviation of a row.
static std::pair<Cell, Cell> getStatistics(const Cell &row,
                                           const Standardization &how,
                                           const RowError &error,
                                           double meanError, bool likely) {
  Cell mean = row;
  mean.lo -= meanError;
  mean.hi += meanError;
  if (likely) {
    mean.likelyLo = mean.likelyHi = mean.mean;
    mean.variance = 0;
  }
  double half =
      (how.centred ? bound(row).width() / 2 : bound(row).maxAbs()) + meanError;
  double most = half * half * (1 + 4 * error.relative) + how.epsilon;
  Cell inverse;
  inverse.lo = error.relative < 0.5 && std::isfinite(most) && most > 0
                   ? (1 - 8 * error.unit) / std::sqrt(most)
                   : 0;
  inverse.hi = error.epsilon > 0
                   ? (1 + 8 * error.unit) / std::sqrt(error.epsilon)
                   : kInfinity;
  double square =
      row.variance + how.epsilon + (how.centred ? 0 : row.mean * row.mean);
  double typical = likely && square > 0 ? 1 / std::sqrt(square) : inverse.lo;
  setLikely(inverse, Cell{0, 0, typical, 0, typical, typical});
  return {mean, inverse};
}

/// `cancels`: sums of a row may be Inf of either sign.
static void setFlags(Standardized &result, const AbstractValue &x,
                     bool overflow, bool cancels, bool divides) {
  AbstractValue &y = result.value;
  y.setNonFinite(x.mayBeNonFinite() || overflow || divides, divides, divides);
  y.source = std::min(x.source, LikelySource::Propagated);
  result.mean.nan |= cancels || (overflow && x.mayBeNonFinite());
  result.mean.posInf |= overflow;
  result.mean.negInf |= overflow;
  result.inverse.setNonFinite(y.nan, y.posInf, false);
  result.inverse.source = y.source;
}

/// Dims that are not known count as 1.
static double countElements(const MaybeShape &shape) {
  double count = 1;
  if (shape)
    for (int64_t dim : *shape)
      count *= dim > 0 ? double(dim) : 1;
  return count;
}

Standardized cells::standardize(const MaybeShape &shape, const AbstractValue &x,
                                const Standardization &how) {
  std::optional<int64_t> count;
  SmallVector<int64_t> others;
  if (shape) {
    count = countAlong(*shape, how.axes);
    for (int64_t axis = 0; axis < int64_t(x.rank()); ++axis)
      if (!llvm::is_contained(how.axes, axis))
        others.push_back(axis);
  }
  AbstractValue row = x.keeping(others);
  double n = count ? std::max<double>(1, *count) : kLongestRow;
  RowError error = getError(*how.format, n, how.epsilon);
  bool likely = x.hasLikely();

  Standardized result{AbstractValue::like(x), kInfinity,
                      AbstractValue::boundedLike(row),
                      AbstractValue::like(row)};
  if (count)
    result.norm =
        closedBound({{}, false, how.epsilon, how.format}, error, n, 0);
  double draws = countElements(shape) / double(x.groups());
  auto mean = result.mean.mutableCells();
  auto inverse = result.inverse.mutableCells();
  auto cells = result.value.mutableCells();
  bool overflow = false, cancels = x.posInf && x.negInf;
  forEachGroup(x.dims(), {x, row}, [&](size_t group, ArrayRef<size_t> at) {
    const Cell &whole = row.cell(at[1]);
    // Off by the additions, the division, and what underflows.
    double meanError = (error.relative + 4 * error.unit) * whole.absMax() +
                       how.format->minSubnormal;
    if (!how.centred)
      meanError = 0;
    double closed = closedBound(how, error, n, meanError);
    cells[group] = standardizeCell(x.cell(group), whole, how, error, closed,
                                   meanError, likely, draws);
    auto [rowMean, rowInverse] =
        getStatistics(whole, how, error, meanError, likely);
    mean[at[1]] = rowMean;
    inverse[at[1]] = rowInverse;
    if (mayOverflow(how, bound(whole), n)) {
      // Divided by Inf.
      overflow = true;
      inverse[at[1]].lo = 0;
      if (!cells[group].empty())
        setBound(cells[group], hull(bound(cells[group]), 0.0));
    }
    // Sums of some elements may be Inf of either sign.
    double limit = how.format->overflowFrom * 0.999;
    cancels |= !(n * -whole.lo < limit) && !(n * whole.hi < limit);
  });
  setFlags(result, x, overflow, cancels, /*divides=*/!(error.epsilon > 0));
  return result;
}

AbstractValue cells::scaleAndShift(const AbstractValue &y,
                                   const AbstractValue *scale,
                                   const AbstractValue *bias,
                                   const FloatFormat &format,
                                   TransferContext &ctx) {
  if (!scale && !bias)
    return y;
  AbstractValue one = AbstractValue::within(1, 1);
  one.mutableCells()[0] = Cell{1, 1, 1, 0, 1, 1};
  AbstractValue zero = AbstractValue::within(0, 0);
  SmallVector<AbstractValue, 3> values = {y, scale ? *scale : one,
                                          bias ? *bias : zero};
  AbstractValue::Dims dims = broadcastGroups(values, ctx.groupLimit());
  std::vector<Cell> cells(countGroups(dims));
  double unit = format.unitRoundoff();
  double draws = ctx.elementsPerGroup(ctx.op()->getResult(0), cells.size());
  forEachGroup(dims, values, [&](size_t group, ArrayRef<size_t> at) {
    const Cell &a = values[0].cell(at[0]), &b = values[1].cell(at[1]),
               &c = values[2].cell(at[2]);
    Cell cell = likelySum(likelyProduct(a, b, draws), c);
    Interval product = bound(a) * bound(b), shift = bound(c);
    Interval sum = product + shift;
    setBound(cell,
             sum.widened(0, 2 * unit * (product.maxAbs() + shift.maxAbs())));
    cells[group] = cell;
  });
  AbstractValue result(dims, cells);
  const AbstractValue &g = values[1], &b = values[2];
  bool inf = y.mayBeInf() || g.mayBeInf();
  result.nan = y.nan || g.nan || b.nan || inf;
  result.posInf = b.posInf || inf;
  result.negInf = b.negInf || inf;
  bool known = y.hasLikely() && (!scale || scale->hasLikely()) &&
               (!bias || bias->hasLikely());
  result.source =
      known ? scale ? LikelySource::Gain : y.source : LikelySource::Unknown;
  return result;
}
