//===- ReductionExtremes.cpp - The largest of a row, and its truth
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ReductionFunctions.h"

#include "mpopt/Ranges/Value/SoftmaxEstimate.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::cells;
using namespace mpopt::reduction;

//===----------------------------------------------------------------------===//
// Extremes
//===----------------------------------------------------------------------===//

/// Replaces a mixture of scores and a mask far below them by the scores, normal
/// numbers around 0 with the same extreme, and `count` by their number. Other
/// values stay as they are.
static Cell withoutMasked(const Cell &x, double draws, double &count) {
  if (!isPartlyMasked(x) || !(x.likelyHi > 0))
    return x;
  double share = (x.mean - x.likelyLo) / (x.likelyHi - x.likelyLo);
  count = std::max(1.0, count * share);
  double deviation = x.likelyHi / expectedExtreme(draws * count);
  return make(bound(x), 0, deviation * deviation, {-x.likelyHi, x.likelyHi});
}

Cell reduction::maximumOf(const Row &row, const AbstractValue &input) {
  Interval all = Interval::empty();
  double best = -kInfinity, hi = -kInfinity, middle = -kInfinity;
  for (const RowTerm &term : row.terms) {
    all = hull(all, bound(term.cell));
    if (!term.cell.empty() && term.count.lo > 0)
      best = std::max(best, term.cell.lo);
    hi = std::max(hi, term.cell.likelyHi);
    middle = std::max(middle, term.cell.mean);
  }
  // An element that is -Inf (or a NaN that is dropped) leaves the others.
  if (!all.isEmpty() && !input.mayBeNonFinite())
    all.lo = std::max(all.lo, best);
  double count = std::max(row.expected, 1.0);
  Cell x = withoutMasked(row.mixture(), row.draws, count);
  middle = std::max(middle, x.mean);
  if (count <= 1)
    return make(all, x.mean, x.variance, cells::likelyInterval(x));
  double deviation = std::sqrt(x.variance);
  double mean =
      std::clamp(x.mean + deviation * expectedMaximum(count), middle, hi);
  double spread = deviation * std::sqrt(varianceOfMaximum(count));
  double reach = expectedExtreme(row.draws) * spread;
  return make(all, mean, spread * spread,
              {std::max(mean - reach, count > 4 ? middle : x.likelyLo), hi});
}

Cell reduction::maxRow(const Row &row, Reducing &state) {
  state.posInf |= state.input.posInf;
  state.negInf |= state.input.negInf;
  state.nan |= state.input.nan;
  return maximumOf(row, state.input);
}

static Cell negated(const Cell &x) {
  return {-x.hi, -x.lo, -x.mean, x.variance, -x.likelyHi, -x.likelyLo};
}

Cell reduction::minRow(const Row &row, Reducing &state) {
  state.posInf |= state.input.posInf;
  state.negInf |= state.input.negInf;
  state.nan |= state.input.nan;
  SmallVector<RowTerm> terms;
  for (const RowTerm &term : row.terms)
    terms.push_back({negated(term.cell), term.count});
  Row mirrored = row;
  mirrored.terms = terms;
  return negated(maximumOf(mirrored, state.input));
}

//===----------------------------------------------------------------------===//
// Truth values
//===----------------------------------------------------------------------===//

Cell reduction::countRow(const Row &row, Reducing &state) {
  Interval count = Interval::point(0);
  double mean = 0;
  double each = row.expected / double(row.terms.size());
  for (const RowTerm &term : row.terms) {
    bool zero = term.cell.empty() || bound(term.cell).contains(0.0);
    bool other = state.input.mayBeNonFinite() || term.cell.empty() ||
                 term.cell.lo != 0 || term.cell.hi != 0;
    zero &= !(term.cell.empty() && !state.input.mayBeNonFinite());
    count =
        count + Interval{zero ? 0 : term.count.lo, other ? term.count.hi : 0};
    // Truth values count by their mean; other numbers are hardly ever 0.
    bool truth = term.cell.lo >= 0 && term.cell.hi <= 1 && state.input.integral;
    mean += each * (truth ? term.cell.mean : other ? 1 : 0);
  }
  count.lo = std::max(count.lo, 0.0);
  double spread = std::sqrt(std::max(mean * (1 - mean / row.expected), 0.0));
  double reach = expectedExtreme(row.draws) * spread;
  return make(count, mean, spread * spread, {mean - reach, mean + reach});
}

Cell reduction::allRow(const Row &row, Reducing &state) {
  Cell count = countRow(row, state);
  double lo = row.count.isPoint() && count.lo >= row.count.lo ? 1 : 0;
  double hi = count.hi < row.count.lo ? 0 : 1;
  double share = lo == hi ? lo : count.mean >= row.expected ? 1 : 0.5;
  return make({lo, hi}, share, share * (1 - share), {lo, hi});
}

Cell reduction::anyRow(const Row &row, Reducing &state) {
  Cell count = countRow(row, state);
  double lo = count.lo >= 1 ? 1 : 0, hi = count.hi <= 0 ? 0 : 1;
  double share = lo == hi ? lo : std::min(1.0, count.mean);
  return make({lo, hi}, share, share * (1 - share), {lo, hi});
}
