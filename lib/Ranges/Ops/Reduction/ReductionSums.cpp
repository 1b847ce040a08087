//===- ReductionSums.cpp - Sums and means of a row, and their logarithms
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elements are independent in the likely tier.
//
//===----------------------------------------------------------------------===//

#include "ReductionFunctions.h"

#include "mpopt/Numerics/FloatRange.h"
#include "mpopt/Numerics/StorageFormat.h"
#include "mpopt/Numerics/Unary.h"
#include "mpopt/Ranges/Value/SoftmaxEstimate.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::cells;
using namespace mpopt::reduction;

/// Infinities of both signs make NaN; a sum on the way may reach either.
static void addedNonFinite(Reducing &state) {
  state.posInf |= state.input.posInf;
  state.negInf |= state.input.negInf;
  state.nan |= state.input.nan || (state.posInf && state.negInf);
}

Cell reduction::sumRow(const Row &row, Reducing &state) {
  Cell cell = addTerms(row.terms, row.expected, row.draws, state);
  Interval sum = bound(cell);
  double error = 0;
  if (std::isfinite(row.euclid)) {
    // Cauchy-Schwarz: the sum of n numbers is at most sqrt(n) of their norm.
    double most = row.euclid * std::sqrt(row.count.hi) * (1 + 1e-12);
    error = sumError({&state.accumulator}, row.count.hi, most);
    sum = intersect(sum, Interval::symmetric(most + error));
  }
  if (row.sum) {
    error = sumError({&state.accumulator}, row.count.hi, row.sum->hi);
    sum = intersect(sum, *row.sum + Interval::symmetric(error));
  }
  if (!sum.isEmpty()) {
    cell.lo = sum.lo;
    cell.hi = sum.hi;
  }
  addedNonFinite(state);
  return cell;
}

static Cell scaled(const Cell &cell, double factor) {
  Interval all = bound(cell) * factor;
  return make(all, cell.mean * factor, cell.variance * factor * factor,
              {cell.likelyLo * factor, cell.likelyHi * factor});
}

Cell reduction::meanRow(const Row &row, Reducing &state) {
  Reducing unbounded{state.input, state.accumulator};
  bool known = std::isfinite(row.count.hi);
  Cell sum = sumRow(row, known ? state : unbounded);
  Cell cell = scaled(sum, 1 / row.expected);
  // Between the extremes, whatever the number of elements; off by what the sum
  // is off by, and by the division.
  Interval all = row.hull();
  if (!known) {
    state.passes(hull(all, 0.0) * Interval{0, kUnknownCount});
    addedNonFinite(state);
  }
  double error =
      sumError({&state.accumulator}, row.count.hi,
               std::min(row.count.hi, kUnknownCount) * all.maxAbs()) /
      std::max(1.0, std::min(row.count.hi, kUnknownCount));
  Interval between =
      all.isEmpty() ? all : computedSum(all, all, error * (1 + 1e-12));
  // An integer mean is rounded toward zero or down.
  if (state.input.integral && !between.isEmpty())
    between = hull(between, Interval{std::floor(between.lo), between.hi});
  if (row.count.isPoint() && row.count.lo > 0 && !between.isEmpty()) {
    Interval exact = bound(sum) / row.count;
    exact = roundedIn(state.accumulator, exact, 1);
    if (!state.input.integral)
      between = intersect(between, exact).isEmpty() ? between
                                                    : intersect(between, exact);
  }
  between = roundedIn(state.accumulator, between, 1);
  cell.lo = between.lo;
  cell.hi = between.hi;
  return cell;
}

//===----------------------------------------------------------------------===//
// Logarithms
//===----------------------------------------------------------------------===//

Cell reduction::logSumRow(const Row &row, Reducing &state) {
  // The logarithm depends on the flags of this group only.
  Reducing group{state.input, state.accumulator};
  Cell sum = sumRow(row, group);
  FloatRange range = FloatRange::of(bound(sum)).store(state.accumulator);
  range.posInf |= group.posInf;
  range.negInf |= group.negInf;
  range.nan |= group.nan;
  FloatRange log =
      apply({UnaryFunction::Log}, range, ComputeError::in(state.accumulator));
  state.posInf |= log.posInf;
  state.negInf |= log.negInf;
  state.nan |= log.nan;
  double floor = state.accumulator.minSubnormal;
  auto at = [&](double x) { return std::log(std::max(x, floor)); };
  double mean = at(sum.mean);
  double variance =
      sum.mean > 0 ? sum.variance / (sum.mean * sum.mean) : sum.variance;
  return make(log.finite, mean, variance, {at(sum.likelyLo), at(sum.likelyHi)});
}

/// log(sum of e^x), shifted by the largest x as every kernel does it.
Cell reduction::logSumExpRow(const Row &row, Reducing &state) {
  Interval all = row.hull();
  state.posInf |= state.input.posInf;
  state.negInf |= state.input.negInf;
  state.nan |= state.input.nan;
  Interval result = all;
  double lower = -kInfinity;
  for (const RowTerm &term : row.terms)
    if (!term.cell.empty() && term.count.lo > 0)
      lower = std::max(lower, term.cell.lo);
  if (!all.isEmpty()) {
    // At least the largest, whose e^0 is 1 and which no rounding makes smaller;
    // at most that of equal ones.
    double count = std::min(row.count.hi, 0x1p31);
    double error = dotError({&state.accumulator}, row.count.hi, 1);
    result = {state.input.mayBeNonFinite() ? all.lo : std::max(lower, all.lo),
              all.hi + std::log(count) * (1 + 1e-9) + std::log1p(4 * error)};
    result = roundedIn(state.accumulator, result, 4) +
             Interval::symmetric((8.0 + 4 * std::log(count)) *
                                 state.accumulator.unitRoundoff());
    // The sum of at most as many ones as there are elements.
    state.posInf |=
        std::min(row.count.hi, kUnknownCount) >= state.accumulator.overflowFrom;
  }
  Cell x = row.mixture();
  double count = std::max(row.expected, 1.0);
  double top = x.likelyHi + std::log(count);
  double mean = std::min(expectedLogSumExp(x.mean, x.variance, count), top);
  // Where the largest decides, its spread is that of a maximum; else the sum's
  // relative one.
  double deviation = std::sqrt(x.variance), limit = expectedExtreme(count);
  double spread = deviation > limit ? deviation / limit * M_PI / std::sqrt(6.0)
                                    : std::sqrt(std::expm1(x.variance) / count);
  spread = std::min(spread, deviation);
  double reach = expectedExtreme(row.draws) * spread;
  return make(result, mean, spread * spread,
              {mean - reach, std::min(top, mean + reach)});
}
