//===- Reduction.cpp - Ranges of sums, norms, extremes and statistics
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Intermediates count: the sum of squares of an l2 norm overflows where its
// root does not, and then the result is Inf (a flag), though its bound is
// small. Elements are independent in the likely tier.
//
//===----------------------------------------------------------------------===//

#include "Families.h"
#include "ReductionRows.h"

#include "mpopt/Dialect/Ops/ReductionOps.h"
#include "mpopt/Support/FloatRange.h"
#include "mpopt/Transfer/ElementwiseSupport.h"
#include "mpopt/Transfer/Math/Unary.h"
#include "mpopt/Transfer/RangeInterface.h"
#include "mpopt/Transfer/SoftmaxEstimate.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::cells;

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// Infinities of both signs make NaN; a sum on the way may reach either.
static void addedNonFinite(Reducing &state) {
  state.posInf |= state.input.posInf;
  state.negInf |= state.input.negInf;
  state.nan |= state.input.nan || (state.posInf && state.negInf);
}

static Cell sumRow(const Row &row, Reducing &state) {
  Cell cell = addTerms(row.terms, row.expected, row.draws, state);
  Interval sum = bound(cell);
  double error = 0;
  if (std::isfinite(row.euclid)) {
    // Cauchy-Schwarz: the sum of n numbers is at most sqrt(n) of their norm.
    double most = row.euclid * std::sqrt(row.count.hi) * (1 + 1e-12);
    error = sumError(state.accumulator, row.count.hi, most);
    sum = intersect(sum, Interval::symmetric(most + error));
  }
  if (row.sum) {
    error = sumError(state.accumulator, row.count.hi, row.sum->hi);
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

static Cell meanRow(const Row &row, Reducing &state) {
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
      sumError(state.accumulator, row.count.hi,
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

/// Of x squared: the moments of a normal x.
static Cell squareCell(const Cell &x) {
  Interval square = mpopt::square(cells::likely(x));
  double m2 = x.mean * x.mean;
  return make(mpopt::square(bound(x)), m2 + x.variance,
              2 * x.variance * x.variance + 4 * m2 * x.variance, square);
}

static Cell absCell(const Cell &x) {
  Interval magnitude = abs(cells::likely(x));
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

/// A sum of numbers that are not negative, computed from the row's.
static Cell addMapped(const Row &row, Reducing &state,
                      llvm::function_ref<Cell(const Cell &)> map, double most) {
  SmallVector<Term> terms;
  for (const Term &term : row.terms)
    terms.push_back({map(term.cell), term.count});
  Reducing inner{state.input, state.accumulator};
  Cell cell = addTerms(terms, row.expected, row.draws, inner);
  // Products may underflow, and are rounded once more than a plain sum's terms.
  double magnitude = std::min(cell.hi, most);
  double error =
      std::isfinite(magnitude)
          ? sumError(state.accumulator, row.count.hi, magnitude, true)
          : kInfinity;
  Interval exact = intersect(bound(cell), Interval{0, most * (1 + 1e-12)});
  if (exact.isEmpty())
    exact = {0, most};
  exact = exact + Interval::symmetric(error);
  cell.lo = std::max(0.0, exact.lo);
  cell.hi = exact.hi;
  state.posInf |=
      state.input.mayBeInf() || cell.hi >= state.accumulator.overflowFrom;
  state.nan |= state.input.nan;
  return cell;
}

static Cell sumSquareRow(const Row &row, Reducing &state) {
  double most = row.euclid * row.euclid;
  return addMapped(row, state, squareCell, most);
}

static Cell absSumRow(const Row &row, Reducing &state) {
  double most = std::isfinite(row.euclid) ? row.euclid * std::sqrt(row.count.hi)
                                          : kInfinity;
  if (row.sum)
    most = std::min(most, row.sum->hi);
  return addMapped(row, state, absCell, most);
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

static Cell l2Row(const Row &row, Reducing &state) {
  return rootCell(sumSquareRow(row, state), state.accumulator);
}

//===----------------------------------------------------------------------===//
// Logarithms
//===----------------------------------------------------------------------===//

static Cell logSumRow(const Row &row, Reducing &state) {
  // Of this group: other groups' flags are not the logarithm's business.
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
static Cell logSumExpRow(const Row &row, Reducing &state) {
  Interval all = row.hull();
  state.posInf |= state.input.posInf;
  state.negInf |= state.input.negInf;
  state.nan |= state.input.nan;
  Interval result = all;
  double lower = -kInfinity;
  for (const Term &term : row.terms)
    if (!term.cell.empty() && term.count.lo > 0)
      lower = std::max(lower, term.cell.lo);
  if (!all.isEmpty()) {
    // At least the largest, whose e^0 is 1 and which no rounding makes smaller;
    // at most that of equal ones.
    double count = std::min(row.count.hi, 0x1p31);
    double error = sumError(state.accumulator, row.count.hi, 1, true);
    result = {state.input.mayBeNonFinite() ? all.lo : std::max(lower, all.lo),
              all.hi + std::log(count) * (1 + 1e-9) + std::log1p(4 * error)};
    result = roundedIn(state.accumulator, result, 4) +
             Interval::symmetric(std::ldexp(8.0 + 4 * std::log(count),
                                            -int(state.accumulator.digits)));
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
  double deviation = std::sqrt(x.variance), limit = drawFactor(count);
  double spread = deviation > limit ? deviation / limit * M_PI / std::sqrt(6.0)
                                    : std::sqrt(std::expm1(x.variance) / count);
  spread = std::min(spread, deviation);
  double reach = drawFactor(row.draws) * spread;
  return make(result, mean, spread * spread,
              {mean - reach, std::min(top, mean + reach)});
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// The largest product of the elements of a short row, 0 for long ones.
static double likelyProductOf(const Row &row) {
  constexpr double kFew = 4;
  if (row.expected > kFew || row.terms.empty())
    return 0;
  double k = drawFactor(row.draws);
  Likely product = Likely::point(1);
  int64_t each = std::max(1.0, row.expected / double(row.terms.size()));
  for (const Term &term : row.terms)
    for (int64_t i = 0; i < each; ++i)
      product = mpopt::likely::mul(product, getLikely(term.cell), k);
  return product.absMax();
}

static Cell productRow(const Row &row, Reducing &state) {
  Interval product = Interval::point(1), largest = product;
  bool zero = false, negative = false;
  // Of log|x|: the sum of means and variances.
  double logMean = 0, logVariance = 0, mean = 1, most = 1;
  bool vanishes = false, signs = false;
  double each = row.expected / double(row.terms.size());
  for (const Term &term : row.terms) {
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
    most *= std::pow(cells::likely(term.cell).maxAbs(), each);
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
  Interval partial = {0, std::max(1.0, largest.hi)};
  double unit = std::ldexp(1.0, -int(state.accumulator.digits));
  // Every factor is rounded; what underflows is multiplied by the rest.
  double relative = std::expm1(count * unit * 1.01);
  double absolute = count * state.accumulator.minSubnormal * partial.hi;
  if (count > 1)
    product = std::isfinite(partial.hi) && std::isfinite(relative)
                  ? product.widened(relative, absolute)
              : product.lo >= 0 ? Interval{0, kInfinity}
                                : Interval::whole();
  if (!negative)
    product.lo = std::max(product.lo, 0.0);
  bool overflows = partial.hi >= state.accumulator.overflowFrom && count > 1;
  bool inf = overflows || state.input.mayBeInf();
  state.posInf |= inf;
  state.negInf |= inf && (negative || state.input.negInf);
  double tiny = state.accumulator.minSubnormal;
  bool underflows =
      !(Interval{-tiny, tiny}.contains(product)) && product.minAbs() <= tiny;
  state.nan |= state.input.nan || (inf && (zero || underflows));
  if (vanishes)
    return make(product, 0, 0, {0, 0});
  double reach = drawFactor(row.draws) * std::sqrt(logVariance);
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

//===----------------------------------------------------------------------===//
// Extremes
//===----------------------------------------------------------------------===//

static Cell maximumOf(const Row &row, const AbstractValue &input) {
  Interval all = Interval::empty();
  double best = -kInfinity, hi = -kInfinity, middle = -kInfinity;
  for (const Term &term : row.terms) {
    all = hull(all, bound(term.cell));
    if (!term.cell.empty() && term.count.lo > 0)
      best = std::max(best, term.cell.lo);
    hi = std::max(hi, term.cell.likelyHi);
    middle = std::max(middle, term.cell.mean);
  }
  // An element that is -Inf (or a NaN that is dropped) leaves the others.
  if (!all.isEmpty() && !input.mayBeNonFinite())
    all.lo = std::max(all.lo, best);
  Cell x = row.mixture();
  double count = std::max(row.expected, 1.0);
  if (count <= 1)
    return make(all, x.mean, x.variance, cells::likely(x));
  double deviation = std::sqrt(x.variance);
  double mean =
      std::clamp(x.mean + deviation * expectedMaximum(count), middle, hi);
  double spread =
      deviation * M_PI / std::sqrt(6.0) / std::max(1.28, drawFactor(count));
  double reach = drawFactor(row.draws) * spread;
  return make(all, mean, spread * spread,
              {std::max(mean - reach, count > 4 ? middle : x.likelyLo), hi});
}

static Cell maxRow(const Row &row, Reducing &state) {
  state.posInf |= state.input.posInf;
  state.negInf |= state.input.negInf;
  state.nan |= state.input.nan;
  return maximumOf(row, state.input);
}

static Cell negated(const Cell &x) {
  return {-x.hi, -x.lo, -x.mean, x.variance, -x.likelyHi, -x.likelyLo};
}

static Cell minRow(const Row &row, Reducing &state) {
  state.posInf |= state.input.posInf;
  state.negInf |= state.input.negInf;
  state.nan |= state.input.nan;
  SmallVector<Term> terms;
  for (const Term &term : row.terms)
    terms.push_back({negated(term.cell), term.count});
  Row mirrored = row;
  mirrored.terms = terms;
  return negated(maximumOf(mirrored, state.input));
}

//===----------------------------------------------------------------------===//
// Statistics
//===----------------------------------------------------------------------===//

static Cell varianceRow(const Row &row, Reducing &state) {
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
        sumError(state.accumulator, row.count.hi,
                 std::min(row.count.hi, kUnknownCount) * all.maxAbs()) /
        std::max(1.0, std::min(row.count.hi, kUnknownCount));
    double half = all.width() / 2 + off;
    double mean = half * half * (1 + 1e-12);
    if (std::isfinite(row.euclid) && row.count.isPoint())
      mean =
          std::min(mean, row.euclid * row.euclid / row.count.lo * (1 + 1e-12) +
                             off * off);
    double count = std::min(row.count.hi, kUnknownCount);
    double error = sumError(state.accumulator, count + 3, mean, true);
    double hi = (mean + error) * factor * (1 + 1e-12);
    result = {0, std::isnan(hi) ? kInfinity : hi};
    if (row.count.hi <= 1)
      result.hi = std::min(result.hi, off * off + 1e-300);
    // The squares are added before they are divided.
    state.posInf |= (mean + error) * count >= state.accumulator.overflowFrom;
  }
  Cell x = row.mixture();
  double count = std::max(row.expected, 1.0);
  double mean = count > correction ? x.variance * count / (count - correction)
                                   : x.variance;
  double spread = mean * std::sqrt(2 / count);
  double reach = drawFactor(row.draws) * spread;
  return make(result, mean, spread * spread,
              {std::max(0.0, mean - reach), mean + reach});
}

static Cell stdRow(const Row &row, Reducing &state) {
  return rootCell(varianceRow(row, state), state.accumulator);
}

static Cell countRow(const Row &row, Reducing &state) {
  Interval count = Interval::point(0);
  double mean = 0;
  double each = row.expected / double(row.terms.size());
  for (const Term &term : row.terms) {
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
  double reach = drawFactor(row.draws) * spread;
  return make(count, mean, spread * spread, {mean - reach, mean + reach});
}

/// (sum of |x|^p)^(1/p).
static Cell normRow(const Row &row, Reducing &state) {
  double p = state.parameter;
  if (p == 2)
    return l2Row(row, state);
  if (p == 1)
    return absSumRow(row, state);
  if (p == 0)
    return countRow(row, state);
  SmallVector<Term> terms;
  for (const Term &term : row.terms)
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
    return make(result, x.mean, x.variance, cells::likely(x));
  }
  double count = std::min(row.count.hi, 0x1p63);
  double root = row.count.hi == kInfinity ? kInfinity : std::pow(count, 1 / p);
  double error = std::ldexp(std::min(count, kUnknownCount) + 8,
                            1 - int(state.accumulator.digits));
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
// Truth values
//===----------------------------------------------------------------------===//

static Cell allRow(const Row &row, Reducing &state) {
  Cell count = countRow(row, state);
  double lo = row.count.isPoint() && count.lo >= row.count.lo ? 1 : 0;
  double hi = count.hi < row.count.lo ? 0 : 1;
  double share = lo == hi ? lo : count.mean >= row.expected ? 1 : 0.5;
  return make({lo, hi}, share, share * (1 - share), {lo, hi});
}

static Cell anyRow(const Row &row, Reducing &state) {
  Cell count = countRow(row, state);
  double lo = count.lo >= 1 ? 1 : 0, hi = count.hi <= 0 ? 0 : 1;
  double share = lo == hi ? lo : std::min(1.0, count.mean);
  return make({lo, hi}, share, share * (1 - share), {lo, hi});
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

template <typename OpTy>
static std::optional<llvm::SmallBitVector> axesOf(OpTy op,
                                                  TransferContext &ctx) {
  size_t rank = ctx.rankOf(op.getInput());
  if (!op.getDynamicAxes())
    return reducedAxes(op.getAxes().value_or(ArrayRef<int64_t>()), rank);
  std::optional<SmallVector<int64_t>> axes =
      ctx.shapes().constants(op.getDynamicAxes());
  if (!axes)
    return std::nullopt;
  return reducedAxes(*axes, rank);
}

template <typename OpTy> static double parameterOf(OpTy op) {
  if constexpr (requires { op.getCorrection(); })
    return op.getCorrection().convertToDouble();
  else if constexpr (requires { op.getOrd(); })
    return op.getOrd().convertToDouble();
  else
    return 0;
}

/// Whether what an integer kernel adds up on the way may wrap.
static bool mayWrap(Value input, const AbstractValue &x, bool squares) {
  double most = cells::bound(x.hull()).maxAbs();
  if (squares)
    most *= most;
  for (int64_t dim : getShape(input).value_or(Shape{kDynamic}))
    most *= dim < 0 ? kInfinity : double(dim);
  return most > 0 && !(most <= TransferContext::anything(input).cell(0).hi);
}

template <auto function, typename OpTy>
static void transferReduce(OpTy op, TransferContext &ctx) {
  const AbstractValue &x = ctx.operand(0);
  // Integers are added without rounding. What wraps is the driver's to know,
  // but for sums that a function brings back into range.
  bool integers = isa<IntegerType>(getElementType(op.getInput()));
  constexpr bool isMean = std::is_same_v<OpTy, mp::ReduceMeanOp>;
  constexpr bool ofSum = isMean || std::is_same_v<OpTy, mp::ReduceL2Op> ||
                         std::is_same_v<OpTy, mp::ReduceLogSumOp> ||
                         std::is_same_v<OpTy, mp::ReduceLogSumExpOp>;
  if (ofSum && integers && mayWrap(op.getInput(), x, !isMean))
    return ctx.unknown();
  Reducing state{x,
                 integers ? FloatFormat::f64() : ctx.sumFormat(op.getInput()),
                 parameterOf(op)};
  AbstractValue value =
      reduceRows(ctx, op.getInput(), axesOf(op, ctx), op.getKeepDims(),
                 op.getResult(), state, function);
  constexpr bool selects = std::is_same_v<OpTy, mp::ReduceMaxOp> ||
                           std::is_same_v<OpTy, mp::ReduceMinOp>;
  if (selects) {
    value.minNonZero = x.minNonZero;
    value.integral = x.integral;
  }
  if (ofSum && integers)
    for (Cell &cell : value.mutableCells()) {
      cell.lo = std::floor(cell.lo);
      cell.hi = std::ceil(cell.hi);
    }
  ctx.result(0, std::move(value));
}

template <auto function, typename... Ops>
static void attachReduce(MLIRContext *context) {
  (attachTransfer<transferReduce<function, Ops>, Ops>(context), ...);
}

void mpopt::attachReductionTransfers(MLIRContext *context) {
  attachReduce<sumRow, mp::ReduceSumOp>(context);
  attachReduce<meanRow, mp::ReduceMeanOp>(context);
  attachReduce<maxRow, mp::ReduceMaxOp>(context);
  attachReduce<minRow, mp::ReduceMinOp>(context);
  attachReduce<productRow, mp::ReduceProdOp>(context);
  attachReduce<absSumRow, mp::ReduceL1Op>(context);
  attachReduce<l2Row, mp::ReduceL2Op>(context);
  attachReduce<sumSquareRow, mp::ReduceSumSquareOp>(context);
  attachReduce<logSumRow, mp::ReduceLogSumOp>(context);
  attachReduce<logSumExpRow, mp::ReduceLogSumExpOp>(context);
  attachReduce<normRow, mp::NormOp>(context);
  attachReduce<varianceRow, mp::VarianceOp>(context);
  attachReduce<stdRow, mp::StdOp>(context);
  attachReduce<allRow, mp::ReduceAllOp>(context);
  attachReduce<anyRow, mp::ReduceAnyOp>(context);
  attachReduce<countRow, mp::CountNonzeroOp>(context);
}
