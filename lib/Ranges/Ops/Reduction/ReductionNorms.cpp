//===- ReductionNorms.cpp - Norms and variances: sums of powers
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Intermediates count: the sum of squares of an l2 norm overflows where its
// root does not, and then the result is Inf (a flag), though its bound is
// small.
//
//===----------------------------------------------------------------------===//

#include "ReductionFunctions.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::cells;
using namespace mpopt::reduction;

/// The cell of x^2, with the moments for a normal x.
static Cell squareCell(const Cell &x) {
  Interval square = mpopt::square(cells::likelyInterval(x));
  double m2 = x.mean * x.mean;
  return make(mpopt::square(bound(x)), m2 + x.variance,
              2 * x.variance * x.variance + 4 * m2 * x.variance, square);
}

static Cell absCell(const Cell &x) {
  Interval magnitude = abs(cells::likelyInterval(x));
  double deviation = std::sqrt(x.variance);
  // The folded normal distribution.
  double z = deviation > 0 ? x.mean / deviation : 0;
  double mean = deviation > 0
                    ? deviation * std::sqrt(2 / M_PI) * std::exp(-z * z / 2) +
                          x.mean * std::erf(z / std::sqrt(2.0))
                    : std::fabs(x.mean);
  double variance = std::max(0.0, x.mean * x.mean + x.variance - mean * mean);
  return make(abs(bound(x)), mean, variance, magnitude);
}

/// A sum of numbers that are not negative, computed from the row's. Without
/// roundings it is in `known`.
static Cell addMapped(const Row &row, Reducing &state,
                      llvm::function_ref<Cell(const Cell &)> map,
                      const Interval &known) {
  SmallVector<RowTerm> terms;
  for (const RowTerm &term : row.terms)
    terms.push_back({map(term.cell), term.count});
  Reducing inner{state.input, state.accumulator};
  Cell cell = addTerms(terms, row.expected, row.draws, inner);
  // Products may underflow, and are rounded once more than a plain sum's terms.
  double magnitude = std::min(cell.hi, known.hi);
  double error = std::isfinite(magnitude)
                     ? dotError({&state.accumulator}, row.count.hi, magnitude)
                     : kInfinity;
  Interval exact = intersect(bound(cell), known.widened(1e-12));
  if (exact.isEmpty())
    exact = known;
  exact = exact + Interval::symmetric(error);
  cell.lo = std::max(0.0, exact.lo);
  cell.hi = exact.hi;
  state.posInf |=
      state.input.mayBeInf() || cell.hi >= state.accumulator.overflowFrom;
  state.nan |= state.input.nan;
  return cell;
}

Cell reduction::sumSquareRow(const Row &row, Reducing &state) {
  Interval exact = intersect(row.squares, Interval{0, row.euclid * row.euclid});
  return addMapped(row, state, squareCell, exact);
}

Cell reduction::absSumRow(const Row &row, Reducing &state) {
  double most = std::isfinite(row.euclid) ? row.euclid * std::sqrt(row.count.hi)
                                          : kInfinity;
  if (row.sum)
    most = std::min(most, row.sum->hi);
  return addMapped(row, state, absCell, Interval{0, most});
}

/// The moments of sqrt(x) by the delta method.
static Cell rootCell(const Cell &x, const FloatFormat &format) {
  Interval root = roundedIn(format, sqrt(bound(x)), 1);
  root.lo = std::max(root.lo, 0.0);
  double mean = std::sqrt(std::max(x.mean, 0.0));
  double variance = x.mean > 0 ? x.variance / (4 * x.mean) : 0;
  return make(root, mean, variance,
              {std::sqrt(std::max(x.likelyLo, 0.0)),
               std::sqrt(std::max(x.likelyHi, 0.0))});
}

Cell reduction::l2Row(const Row &row, Reducing &state) {
  return rootCell(sumSquareRow(row, state), state.accumulator);
}

//===----------------------------------------------------------------------===//
// Any power
//===----------------------------------------------------------------------===//

/// (sum of |x|^p)^(1/p).
Cell reduction::normRow(const Row &row, Reducing &state) {
  double p = state.parameter;
  if (p == 2)
    return l2Row(row, state);
  if (p == 1)
    return absSumRow(row, state);
  if (p == 0)
    return countRow(row, state);
  SmallVector<RowTerm> terms;
  for (const RowTerm &term : row.terms)
    terms.push_back({absCell(term.cell), term.count});
  Row magnitudes = row;
  magnitudes.terms = terms;
  state.posInf |= state.input.mayBeInf();
  state.nan |= state.input.nan;
  if (p == kInfinity)
    return maximumOf(magnitudes, state.input);
  Interval all = magnitudes.hull();
  if (p == -kInfinity || p < 0) {
    // At most the smallest; powers of 0 and of small numbers overflow.
    Cell x = magnitudes.mixture();
    bool overflows =
        p != -kInfinity && std::pow(std::max(all.lo, 1e-300), p) *
                                   std::min(row.count.hi, kUnknownCount) >=
                               state.accumulator.overflowFrom;
    state.posInf |= p != -kInfinity && all.lo <= 0;
    Interval result = {p == -kInfinity && !state.input.mayBeInf() ? all.lo : 0,
                       overflows ? kInfinity : all.hi * (1 + 1e-6)};
    if (p != -kInfinity && std::isfinite(row.count.hi) && all.lo > 0)
      result.lo = all.lo * std::pow(row.count.hi, 1 / p) * (1 - 1e-6);
    return make(result, x.mean, x.variance, cells::likelyInterval(x));
  }
  double count = std::min(row.count.hi, 0x1p63);
  double root = row.count.hi == kInfinity ? kInfinity : std::pow(count, 1 / p);
  double error = 2 * relativeSumError(state.accumulator,
                                      std::min(count, kUnknownCount), 8);
  Interval result = {all.lo, all.hi == 0 ? 0 : all.hi * root};
  result = result.widened(std::max(error, 1e-12) * (1 + 1 / p),
                          state.accumulator.minSubnormal);
  // |x|^p underflows before its root does.
  double tiny = std::pow(state.accumulator.minSubnormal, 1 / p);
  result.lo = all.lo <= tiny * 2 ? 0 : std::max(result.lo, 0.0);
  result.hi += tiny * (std::isfinite(root) ? root : 0);
  state.passes({0, std::pow(all.hi, p) * std::min(count, kUnknownCount)});
  Cell x = magnitudes.mixture();
  double expected = std::pow(std::max(row.expected, 1.0), 1 / p);
  double size = std::sqrt(x.mean * x.mean + x.variance);
  return make(
      result, size * expected, x.variance,
      {x.mean * expected, std::min(x.likelyHi * expected,
                                   (size + std::sqrt(x.variance)) * expected)});
}

//===----------------------------------------------------------------------===//
// Variances
//===----------------------------------------------------------------------===//

Cell reduction::varianceRow(const Row &row, Reducing &state) {
  Interval all = row.hull();
  double correction = state.parameter;
  state.nan |= state.input.mayBeNonFinite();
  if (row.count.hi <= correction) { // 0 / 0
    state.nan = true;
    state.posInf = true;
  }
  // n / (n - correction) is largest for the fewest elements.
  double fewest = std::max(row.count.lo, std::floor(correction) + 1);
  double factor = fewest / std::max(fewest - correction, 1e-300);
  Interval result = Interval::empty();
  if (!all.isEmpty()) {
    // Popoviciu: at most a quarter of the squared width, more by what the mean
    // is off.
    double off =
        sumError({&state.accumulator}, row.count.hi,
                 std::min(row.count.hi, kUnknownCount) * all.maxAbs()) /
        std::max(1.0, std::min(row.count.hi, kUnknownCount));
    double half = all.width() / 2 + off;
    double mean = half * half * (1 + 1e-12);
    if (std::isfinite(row.euclid) && row.count.isPoint())
      mean =
          std::min(mean, row.euclid * row.euclid / row.count.lo * (1 + 1e-12) +
                             off * off);
    double count = std::min(row.count.hi, kUnknownCount);
    double error = dotError({&state.accumulator}, count + 3, mean);
    double hi = (mean + error) * factor * (1 + 1e-12);
    result = {0, std::isnan(hi) ? kInfinity : hi};
    if (row.count.hi <= 1)
      result.hi = std::min(result.hi, off * off + 1e-300);
    // A mean that overflows makes Inf - Inf of what is taken off it.
    state.nan |=
        !(count * all.maxAbs() < state.accumulator.overflowFrom * 0.999);
    // The squares are added before they are divided.
    state.posInf |= (mean + error) * count >= state.accumulator.overflowFrom;
  }
  Cell x = row.mixture();
  double count = std::max(row.expected, 1.0);
  double mean = count > correction ? x.variance * count / (count - correction)
                                   : x.variance;
  double spread = mean * std::sqrt(2 / count);
  double reach = expectedExtreme(row.draws) * spread;
  return make(result, mean, spread * spread,
              {std::max(0.0, mean - reach), mean + reach});
}

Cell reduction::stdRow(const Row &row, Reducing &state) {
  return rootCell(varianceRow(row, state), state.accumulator);
}
