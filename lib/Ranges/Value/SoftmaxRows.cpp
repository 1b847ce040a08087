//===- SoftmaxRows.cpp - Softmax of rows of an abstract value
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
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
#include "mpopt/Ranges/Value/ElementwiseSupport.h"
#include "mpopt/Ranges/Value/RowSupport.h"
#include "mpopt/Ranges/Value/SoftmaxEstimate.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::cells;

/// Covers libm and the sums of this file.
static constexpr double kSlack = 1e-10;

namespace {
/// Sums over a row, relative to e^reference.
struct RowSums {
  double reference = -kInfinity, low = 0, high = 0, cells = 0;
};
} // namespace

namespace {
/// The bounds of one row's elements, and what rounding adds.
class SoftmaxRows {
public:
  SoftmaxRows(const MaybeShape &shape, const AbstractValue &x,
              ArrayRef<int64_t> axes, const FloatFormat &functions,
              const FloatFormat &sums);

  const AbstractValue &row() const { return merged; }
  double count() const { return n; }
  bool isCounted() const { return counted; }
  /// Relative error of an element; of the row's sum if it is under 0.5.
  double relative() const { return error; }

  /// ln of the smallest and the largest value, in real arithmetic.
  Interval logarithm(const Cell &cell, size_t rowGroup, bool masks) const;

private:
  AbstractValue merged;
  std::vector<RowSums> sums;
  double n = 0, error = 0;
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
  std::optional<int64_t> size = shape ? countAlong(*shape, axes) : std::nullopt;
  counted = size && *size > 0;
  n = counted ? double(*size) : kInfinity;
  sums.resize(merged.groups());
  // Twice over the cells: the reference first.
  double width = 0;
  forEachGroup(x.dims(), {x, merged}, [&](size_t group, ArrayRef<size_t> at) {
    RowSums &sum = sums[at[1]];
    if (!x.cell(group).empty())
      sum.reference = std::max(sum.reference, x.cell(group).hi);
    ++sum.cells;
  });
  forEachGroup(x.dims(), {x, merged}, [&](size_t group, ArrayRef<size_t> at) {
    RowSums &sum = sums[at[1]];
    const Cell &cell = x.cell(group);
    if (cell.empty() || !std::isfinite(sum.reference))
      return;
    double each = n / sum.cells;
    sum.low += each * std::exp(cell.lo - sum.reference);
    sum.high += each * std::exp(cell.hi - sum.reference);
    width = std::max(width, sum.reference - cell.lo);
  });
  // The argument of the exponential is rounded (beyond 110 it is 0 in every
  // format of 8 exponent bits), the exponential off by some units, the sum by
  // n u, the quotient by a unit.
  error = relativeSumError(sumFormat, n, 4) +
          (2 * std::min(width, 110.0) + 16) * functions.unitRoundoff() + kSlack;
}

Interval SoftmaxRows::logarithm(const Cell &cell, size_t rowGroup,
                                bool masks) const {
  const RowSums &sum = sums[rowGroup];
  if (cell.empty() || !std::isfinite(sum.reference))
    return {-kInfinity, 0};
  double own = cell.hi - sum.reference;
  double others =
      sum.low * (1 - kSlack) - std::exp(cell.lo - sum.reference) * (1 + kSlack);
  // A masked element adds nothing.
  Interval result{-kInfinity, 0};
  if (!masks && counted && others > 0)
    result.hi = -std::log1p(others / std::exp(own));
  if (std::isnan(result.hi) || result.hi == -kInfinity)
    result.hi = 0;
  double more = counted ? sum.high * (1 + kSlack) -
                              std::exp(cell.hi - sum.reference) * (1 - kSlack)
                        : kInfinity;
  double low = cell.lo - sum.reference;
  if (std::isfinite(low) && std::isfinite(more))
    // ln(e^low / (e^low + more)), without e^low where that vanishes.
    result.lo =
        std::min(0.0, more <= 0 ? 0.0
                      : low > std::log(more)
                          ? -std::log1p(std::exp(std::log(more) - low))
                          : low - std::log(more) -
                                std::log1p(std::exp(low - std::log(more))));
  result.lo -= kSlack * (1 + std::fabs(result.lo));
  result.hi = std::min(0.0, result.hi + kSlack * (1 + std::fabs(result.hi)));
  return result;
}

//===----------------------------------------------------------------------===//
// Likely tier
//===----------------------------------------------------------------------===//

/// True if the logits have two modes far apart, kept and masked ones, or
/// nearly: on [lo, hi] a normal value has a far smaller variance, a uniform one
/// a third of that of a value that is always at an end.
static bool isBimodal(const Cell &cell) {
  constexpr double kApart = 1000;
  double above = cell.likelyHi - cell.mean, below = cell.mean - cell.likelyLo;
  return above + below > kApart && cell.variance > 0.3 * above * below;
}

/// An element whose logit is like `cell`, in a row that sums to e^logSum.
static Cell likelySoftmax(const Cell &cell, const SoftmaxRow &row,
                          bool logarithm) {
  // The others' share of that sum: all of it where this one is masked.
  bool masked = cell.mean + 3 * std::sqrt(cell.variance) < row.logSum - 20;
  double rest = masked         ? row.logSum
                : row.live > 1 ? row.logSum + std::log1p(-1 / row.live)
                               : -kInfinity;
  auto map = [&](double x) { return -std::log1p(std::exp(rest - x)); };
  if (logarithm)
    return {0,
            0,
            std::min(0.0, cell.mean - row.logSum),
            cell.variance,
            map(cell.likelyLo),
            map(cell.likelyHi)};
  Likely value = likely::applyMonotone(
      [&](double x) { return 1 / (1 + std::exp(rest - x)); }, getLikely(cell));
  Cell result{0, 0};
  setLikely(result, value);
  return result;
}

/// Nothing is known of the logits.
static Cell unknownSoftmax(double n, bool logarithm) {
  n = std::isfinite(n) ? n : 1;
  return logarithm ? Cell{0, 0, -std::log(n), 0, -std::log(n) - 1, 0}
                   : Cell{0, 0, 1 / n, 0, 0, 1};
}

/// The means of a row add up to 1, and no element varies more than one that is
/// 0 or 1.
static void fitMeans(AbstractValue &p, const AbstractValue &rows,
                     double count) {
  std::vector<double> sums(rows.groups()), parts(rows.groups());
  AbstractValue pair[] = {p, rows};
  forEachGroup(p.dims(), pair, [&](size_t group, ArrayRef<size_t> at) {
    sums[at[1]] += p.cell(group).mean;
    ++parts[at[1]];
  });
  auto cells = p.mutableCells();
  forEachGroup(p.dims(), pair, [&](size_t group, ArrayRef<size_t> at) {
    double sum = sums[at[1]] * count / parts[at[1]];
    if (!(sum > 0) || !std::isfinite(sum))
      return;
    CellRef cell = cells[group];
    double scale = 1 / sum;
    cell.mean = std::min(1.0, cell.mean * scale);
    cell.variance = std::min(cell.variance * std::max(scale, 1.0),
                             cell.mean * (1 - cell.mean));
    cell.likelyLo = std::min(cell.likelyLo, cell.mean);
    cell.likelyHi = std::max(cell.likelyHi, cell.mean);
  });
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
  // Vector kernels make exponentials below the smallest normal number 0 (ONNX
  // Runtime's for AVX2; CUDA's with flush-to-zero, which FP16 does not have).
  double flushed = functions.minNormal < FloatFormat::f16().minNormal
                       ? functions.minNormal
                       : functions.minSubnormal;
  std::vector<SoftmaxRow> expected;
  if (x.hasLikely())
    expected =
        estimateSoftmaxRows(x, rows.row(), rows.isCounted() ? rows.count() : 1);
  auto cells = result.mutableCells();
  forEachGroup(
      x.dims(), {x, rows.row()}, [&](size_t group, ArrayRef<size_t> at) {
        Interval log = rows.logarithm(x.cell(group), at[1], masks);
        Cell cell =
            x.hasLikely() && !isBimodal(x.cell(group))
                ? likelySoftmax(x.cell(group), expected[at[1]], logarithm)
                : unknownSoftmax(rows.count(), logarithm);
        if (logarithm) {
          // x - max and the logarithm are rounded; their difference again.
          double unit = functions.unitRoundoff();
          double off = 4 * unit * (std::fabs(log.lo) + 64) +
                       (relative < 0.5 ? 2 * relative : kInfinity);
          // The largest element is above the others: never positive but by
          // error.
          setBound(cell, {log.lo - off, std::min(log.hi + off, 64 * unit)});
        } else {
          // An element that is -Inf itself has none of the row.
          Interval p{masks ? 0 : std::exp(log.lo) * (1 - kSlack),
                     std::exp(log.hi)};
          if (relative < 0.5)
            setBound(cell, {std::max(0.0, p.lo * (1 - 2 * relative) - flushed),
                            std::min(p.hi * (1 + 2 * relative),
                                     1 + 4 * functions.unitRoundoff())});
          else // A sum of positive terms is no smaller than the largest, 1.
            setBound(cell, {0, 1 + 4 * functions.unitRoundoff()});
        }
        cells[group] = cell;
      });
  if (!logarithm && x.hasLikely() && rows.isCounted())
    fitMeans(result, rows.row(), rows.count());
  result.setNonFinite(x.nan || x.posInf || (x.negInf && !rowsHaveFinite), false,
                      logarithm && x.negInf);
  result.source = std::min(x.source, LikelySource::Propagated);
  if (!logarithm && rows.isCounted() && axes.size() == 1) {
    double n = rows.count();
    bool sound = relative < 0.5 && n < sums.maxFinite / 2;
    result.claimRowSum(
        axes.front(), sound ? std::max(0.0, 1 - 2 * relative - n * flushed) : 0,
        sound ? 1 + 2 * relative : n * (1 + 4 * functions.unitRoundoff()),
        int64_t(n));
  }
  return result;
}
