//===- SoftmaxRows.cpp - Softmax of rows of an abstract value
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With x_j in [l_j, h_j] an element of a softmax row lies between
//
//   e^l_i / (e^l_i + sum_j e^h_j)   and   e^h_i / (e^h_i + sum_j e^l_j)
//
// over the others j, and the row sums to 1. Assumed of kernels: the maximum is
// subtracted first, so no exponential overflows and the sum is at least 1.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Ranges/Value/SoftmaxRows.h"

#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Numerics/Logistic.h"
#include "mpopt/Ranges/Value/ElementwiseSupport.h"
#include "mpopt/Ranges/Value/OpenAxis.h"
#include "mpopt/Ranges/Value/RowSupport.h"
#include "mpopt/Ranges/Value/SoftmaxEstimate.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::cells;

/// Covers libm and the sums of this file.
static constexpr double kSlack = 1e-10;
/// Elements that a row of open length may have, where their rounding errors add
/// up: as many keys as fused attention is taken to have.
static constexpr double kMostInRow = 1 << 20;

double cells::softmaxError(double count, double width,
                           const FloatFormat &functions,
                           const FloatFormat &sums) {
  // The argument of the exponential is rounded (beyond 110 it is 0 in every
  // format of 8 exponent bits), the exponential off by some units, the sum by
  // n u, the quotient by a unit.
  return relativeSumError(sums, count, 4) +
         (2 * std::min(width, 110.0) + 16) * functions.unitRoundoff() + kSlack;
}

// Vector kernels make exponentials below the smallest normal number 0 (ONNX
// Runtime's for AVX2; CUDA's with flush-to-zero, which FP16 does not have).
double cells::softmaxFlushLimit(const FloatFormat &functions) {
  return functions.minNormal < FloatFormat::f16().minNormal
             ? functions.minNormal
             : functions.minSubnormal;
}

namespace {
/// Sums over a row, relative to e^reference.
struct RowSums {
  double reference = -kInfinity, low = 0, high = 0, cells = 0;
};

/// The bounds of the rows' elements, and what rounding adds.
class SoftmaxRows {
public:
  SoftmaxRows(const MaybeShape &shape, const AbstractValue &x,
              ArrayRef<int64_t> axes, const FloatFormat &functions,
              const FloatFormat &sums);

  /// The logits with the rows' axes merged, and the group there of each group.
  const AbstractValue &row() const { return merged; }
  ArrayRef<uint32_t> rowOf() const { return rowIndex; }
  double count() const { return n; }
  /// True if the number of elements of a row is known.
  bool isCounted() const { return counted; }
  /// Relative error of an element; of the row's sum if it is under 0.5.
  double relative() const { return error; }
  /// The error of the row's sum if it has no more than kMostInRow elements.
  double sumError() const { return errorOfSum; }

  /// The smallest and the largest value of an element, in real arithmetic.
  Interval value(size_t group, bool masks) const;
  /// ln of them.
  Interval logarithm(const Cell &cell, size_t group, bool masks) const;

private:
  AbstractValue merged;
  SmallVector<uint32_t> rowIndex;
  std::vector<RowSums> sums;
  /// e^(end - reference) of each group's ends; 0 where no element is finite.
  std::vector<double> low, high;
  double n = 0, error = 0, errorOfSum = 0;
  bool counted = false;
};
} // namespace

SoftmaxRows::SoftmaxRows(const MaybeShape &shape, const AbstractValue &x,
                         ArrayRef<int64_t> axes, const FloatFormat &functions,
                         const FloatFormat &sumFormat) {
  SmallVector<int64_t> others;
  for (int64_t axis = 0; axis < int64_t(x.rank()); ++axis)
    if (!llvm::is_contained(axes, axis))
      others.push_back(axis);
  merged = x.keeping(others);
  rowIndex = getPositions(merged.dims(), x.dims());
  std::optional<int64_t> size = shape ? countAlong(*shape, axes) : std::nullopt;
  counted = size && *size > 0;
  n = counted ? double(*size) : kInfinity;
  sums.resize(merged.groups());
  // The ends of a row without finite elements say nothing.
  for (auto [row, sum] : llvm::enumerate(sums))
    sum.reference = merged.cell(row).empty() ? kInfinity : merged.cell(row).hi;
  low.resize(x.groups());
  high.resize(x.groups());
  double width = 0;
  for (size_t group = 0; group < x.groups(); ++group) {
    RowSums &sum = sums[rowIndex[group]];
    ++sum.cells;
    double lo = x.cells().get(Field::Lo, group) - sum.reference;
    double hi = x.cells().get(Field::Hi, group) - sum.reference;
    bool known = lo <= hi && std::isfinite(sum.reference);
    low[group] = known ? lo : -kInfinity;
    high[group] = known ? hi : -kInfinity;
    width = known ? std::max(width, -lo) : width;
  }
  exponentialLoops().exp(low.data(), low.size());
  exponentialLoops().exp(high.data(), high.size());
  for (size_t group = 0; group < x.groups(); ++group) {
    RowSums &sum = sums[rowIndex[group]];
    sum.low += low[group];
    sum.high += high[group];
  }
  for (RowSums &sum : sums) {
    sum.low *= n / sum.cells;
    sum.high *= n / sum.cells;
  }
  error = softmaxError(n, width, functions, sumFormat);
  errorOfSum =
      softmaxError(std::min(n, kMostInRow), width, functions, sumFormat);
}

Interval SoftmaxRows::value(size_t group, bool masks) const {
  const RowSums &sum = sums[rowIndex[group]];
  if (!std::isfinite(sum.reference) || !counted)
    return {0, 1};
  Interval result{0, 1};
  // A masked element adds nothing.
  double others = sum.low * (1 - kSlack) - low[group] * (1 + kSlack);
  if (!masks && others > 0 && high[group] > 0)
    result.hi =
        std::min(1.0, high[group] / (high[group] + others) * (1 + kSlack));
  double more = sum.high * (1 + kSlack) - high[group] * (1 - kSlack);
  if (low[group] > 0)
    result.lo = low[group] / (low[group] + std::max(more, 0.0)) * (1 - kSlack);
  return result;
}

Interval SoftmaxRows::logarithm(const Cell &cell, size_t group,
                                bool masks) const {
  const RowSums &sum = sums[rowIndex[group]];
  if (cell.empty() || !std::isfinite(sum.reference))
    return {-kInfinity, 0};
  double others = sum.low * (1 - kSlack) - low[group] * (1 + kSlack);
  // A masked element adds nothing.
  Interval result{-kInfinity, 0};
  if (!masks && counted && others > 0)
    result.hi = -std::log1p(others / high[group]);
  if (std::isnan(result.hi) || result.hi == -kInfinity)
    result.hi = 0;
  double more = counted ? sum.high * (1 + kSlack) - high[group] * (1 - kSlack)
                        : kInfinity;
  double begin = cell.lo - sum.reference;
  if (std::isfinite(begin) && std::isfinite(more))
    // ln(e^begin / (e^begin + more)), without e^begin where that vanishes.
    result.lo =
        std::min(0.0, more <= 0 ? 0.0
                      : begin > std::log(more)
                          ? -std::log1p(std::exp(std::log(more) - begin))
                          : begin - std::log(more) -
                                std::log1p(std::exp(begin - std::log(more))));
  result.lo -= kSlack * (1 + std::fabs(result.lo));
  result.hi = std::min(0.0, result.hi + kSlack * (1 + std::fabs(result.hi)));
  return result;
}

//===----------------------------------------------------------------------===//
// Likely tier
//===----------------------------------------------------------------------===//

/// The ln of the sum of the others of a row that sums to e^logSum, for an
/// element whose logit is like `cell`: all of it where this one is masked.
static double getRest(const Cell &cell, const SoftmaxRow &row) {
  if (cell.mean + 3 * std::sqrt(cell.variance) < row.logSum - 20)
    return row.logSum;
  return row.live > 1 ? row.logSum + std::log1p(-1 / row.live) : -kInfinity;
}

/// The estimate of the logarithm of such an element.
static Cell likelyLogarithm(const Cell &cell, const SoftmaxRow &row) {
  double rest = getRest(cell, row);
  // -ln(1 + e^(rest - x)), whose exponential must not overflow.
  auto map = [&](double x) {
    return std::min(x - rest, 0.0) - std::log1p(std::exp(-std::fabs(rest - x)));
  };
  return {0,
          0,
          std::min(0.0, cell.mean - row.logSum),
          cell.variance,
          map(cell.likelyLo),
          map(cell.likelyHi)};
}

/// Nothing is known of the logits.
static Cell unknownSoftmax(double n, bool logarithm) {
  n = std::isfinite(n) ? n : 1;
  return logarithm ? Cell{0, 0, -std::log(n), 0, -std::log(n) - 1, 0}
                   : Cell{0, 0, 1 / n, 0, 0, 1};
}

/// The means of a row add up to 1, and no element varies more than one that is
/// 0 or 1.
static void fitMeans(const MutableCells &cells, ArrayRef<uint32_t> rowOf,
                     size_t rows, double count) {
  std::vector<double> sums(rows), parts(rows);
  for (auto [mean, row] : llvm::zip_equal(cells[Field::Mean], rowOf)) {
    sums[row] += mean;
    ++parts[row];
  }
  for (auto [group, row] : llvm::enumerate(rowOf)) {
    double sum = sums[row] * count / parts[row];
    if (!(sum > 0) || !std::isfinite(sum))
      continue;
    CellRef cell = cells[group];
    double scale = 1 / sum;
    cell.mean = std::min(1.0, cell.mean * scale);
    cell.variance = std::min(cell.variance * std::max(scale, 1.0),
                             cell.mean * (1 - cell.mean));
    cell.likelyLo = std::min(cell.likelyLo, cell.mean);
    cell.likelyHi = std::max(cell.likelyHi, cell.mean);
  }
}

/// Sets the estimates of the elements whose logits are `x`.
static void estimateElements(const MutableCells &cells, const AbstractValue &x,
                             const SoftmaxRows &rows, bool hasAxis,
                             bool logarithm) {
  // A scalar has no axis; one of unknown length has more than one element.
  double count = rows.isCounted() ? rows.count() : hasAxis ? kOpenAxis : 1;
  Cell unknown = unknownSoftmax(count, logarithm);
  if (!x.hasLikely()) {
    for (CellRef cell : cells)
      setLikely(cell, unknown);
    return;
  }
  std::vector<SoftmaxRow> expected = estimateSoftmaxRows(x, rows.row(), count);
  std::vector<double> rest(cells.size());
  for (auto [group, row] : llvm::enumerate(rows.rowOf())) {
    Cell logit = x.cell(group);
    if (logarithm)
      logit = likelyLogarithm(logit, expected[row]);
    else
      rest[group] = getRest(logit, expected[row]);
    setLikely(cells[group], logit);
  }
  if (!logarithm)
    exponentialLoops().logistic({cells[Field::Mean], cells[Field::Variance],
                                 cells[Field::LikelyLo],
                                 cells[Field::LikelyHi]},
                                rest.data());
  for (size_t group = 0; group < cells.size(); ++group)
    if (isPartlyMasked(x.cell(group)))
      setLikely(cells[group], unknown);
  if (!logarithm && (rows.isCounted() || hasAxis))
    fitMeans(cells, rows.rowOf(), rows.row().groups(), count);
}

//===----------------------------------------------------------------------===//
// Both tiers
//===----------------------------------------------------------------------===//

AbstractValue cells::softmaxOf(const MaybeShape &shape, const AbstractValue &x,
                               ArrayRef<int64_t> axes, bool logarithm,
                               bool rowsHaveFinite,
                               const FloatFormat &functions,
                               const FloatFormat &sums) {
  SoftmaxRows rows(shape, x, axes, functions, sums);
  AbstractValue result = AbstractValue::like(x);
  bool masks = x.negInf;
  double relative = rows.relative();
  double unit = functions.unitRoundoff();
  double flushed = softmaxFlushLimit(functions);
  MutableCells cells = result.mutableCells();
  estimateElements(cells, x, rows, shape && !axes.empty(), logarithm);
  for (size_t group = 0; group < cells.size(); ++group) {
    CellRef cell = cells[group];
    if (logarithm) {
      Interval log = rows.logarithm(x.cell(group), group, masks);
      // x - max and the logarithm are rounded; their difference again.
      double off = 4 * unit * (std::fabs(log.lo) + 64) +
                   (relative < 0.5 ? 2 * relative : kInfinity);
      // The largest element is above the others: never positive but by error.
      setBound(cell, {log.lo - off, std::min(log.hi + off, 64 * unit)});
    } else if (relative < 0.5) {
      Interval p = rows.value(group, masks);
      // An element that is -Inf itself has none of the row.
      if (masks)
        p.lo = 0;
      setBound(cell, {std::max(0.0, p.lo * (1 - 2 * relative) - flushed),
                      std::min(p.hi * (1 + 2 * relative), 1 + 4 * unit)});
    } else {
      // A sum of positive terms is no smaller than the largest, 1.
      setBound(cell, {0, 1 + 4 * unit});
    }
  }
  result.setNonFinite(x.nan || x.posInf || (x.negInf && !rowsHaveFinite), false,
                      logarithm && x.negInf);
  result.source = std::min(x.source, LikelySource::Propagated);
  if (!logarithm && axes.size() == 1) {
    double n = rows.isCounted() ? rows.count() : kMostInRow;
    double off = rows.isCounted() ? relative : rows.sumError();
    bool sound = off < 0.5 && n < sums.maxFinite / 2;
    if (sound || rows.isCounted())
      result.claimRowSum(axes.front(),
                         sound ? std::max(0.0, 1 - 2 * off - n * flushed) : 0,
                         sound ? 1 + 2 * off : n * (1 + 4 * unit), int64_t(n));
  }
  return result;
}
