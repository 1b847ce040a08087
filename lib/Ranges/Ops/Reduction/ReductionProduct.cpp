//===- ReductionProduct.cpp - Products of a row
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ReductionFunctions.h"

#include "mpopt/Ranges/Value/ElementwiseSupport.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::cells;
using namespace mpopt::reduction;

/// The largest product of the elements of a short row, 0 for long ones.
static double likelyProductOf(const Row &row) {
  constexpr double kFew = 4;
  if (row.expected > kFew || row.terms.empty())
    return 0;
  double k = expectedExtreme(row.draws);
  Likely product = Likely::point(1);
  int64_t each = std::max(1.0, row.expected / double(row.terms.size()));
  for (const RowTerm &term : row.terms)
    for (int64_t i = 0; i < each; ++i)
      product = mpopt::likely::mul(product, getLikely(term.cell), k);
  return product.absMax();
}

/// A product with the roundings of its partial products, each at most
/// `partial`.
static Interval roundProduct(Interval product, double count, double partial,
                             const FloatFormat &accumulator) {
  // Every factor is rounded; what underflows is multiplied by the rest.
  double relative = std::expm1(count * accumulator.unitRoundoff() * 1.01);
  double absolute = count * accumulator.minSubnormal * partial;
  if (count <= 1)
    return product;
  if (std::isfinite(partial) && std::isfinite(relative))
    return product.widened(relative, absolute);
  return product.lo >= 0 ? Interval{0, kInfinity} : Interval::whole();
}

Cell reduction::productRow(const Row &row, Reducing &state) {
  Interval product = Interval::point(1), largest = product;
  bool zero = false, negative = false;
  // Means and variances of log|x| add up.
  double logMean = 0, logVariance = 0, mean = 1, most = 1;
  bool vanishes = false, signs = false;
  double each = row.expected / double(row.terms.size());
  for (const RowTerm &term : row.terms) {
    Interval x = bound(term.cell);
    product = product * power(x, {std::max(1.0, term.count.lo),
                                  std::max(1.0, term.count.hi)});
    if (x.maxAbs() > 1)
      largest = largest * power(abs(x), {1, std::max(1.0, term.count.hi)});
    zero |= x.contains(0.0);
    negative |= x.lo < 0;

    double m2 = term.cell.mean * term.cell.mean;
    double second = m2 + term.cell.variance;
    signs |= term.cell.likelyLo < 0;
    mean *= std::pow(std::fabs(term.cell.mean), each);
    most *= std::pow(cells::likelyInterval(term.cell).maxAbs(), each);
    if (second <= 0) {
      vanishes = true;
      continue;
    }
    // Between a constant and a normal number of mean 0, whose log|x| has the
    // mean log(s) - 0.635 and the variance pi^2 / 8.
    double ratio = term.cell.variance / second;
    logMean += each * (std::log(second) / 2 - 0.635 * ratio);
    logVariance += each * ratio * M_PI * M_PI / 8;
  }
  double count = std::min(row.count.hi, kUnknownCount);
  double partial = std::max(1.0, largest.hi);
  product = roundProduct(product, count, partial, state.accumulator);
  if (!negative)
    product.lo = std::max(product.lo, 0.0);
  bool overflows = partial >= state.accumulator.overflowFrom && count > 1;
  bool inf = overflows || state.input.mayBeInf();
  state.posInf |= inf;
  state.negInf |= inf && (negative || state.input.negInf);
  double tiny = state.accumulator.minSubnormal;
  bool underflows =
      !(Interval{-tiny, tiny}.contains(product)) && product.minAbs() <= tiny;
  state.nan |= state.input.nan || (inf && (zero || underflows));
  if (vanishes)
    return make(product, 0, 0, {0, 0});
  double reach = expectedExtreme(row.draws) * std::sqrt(logVariance);
  double hi = std::min(most, std::exp(logMean + reach));
  double lo = signs ? -hi : std::exp(logMean - reach);
  // Few factors: their own tails, which need not be normal, decide.
  if (double all = likelyProductOf(row); all > hi)
    hi = std::min(most, all);
  if (signs)
    lo = -hi;
  double square = std::exp(2 * logMean + 2 * std::min(logVariance, 300.0));
  return make(product, signs ? 0 : mean, std::max(0.0, square - mean * mean),
              {lo, hi});
}
