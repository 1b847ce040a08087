//===- Scan.cpp - Ranges of running sums and products
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An element is a sum of those up to its place, by groups along the scanned
// axis; where these would be too many the axis is merged, and an element is a
// sum of 1 to n others.
//
//===----------------------------------------------------------------------===//

#include "lib/Ranges/Ops/Families.h"
#include "mpopt/Ranges/Value/RowSupport.h"

#include "mpopt/Dialect/Ops/ReductionOps.h"
#include "mpopt/Ranges/RangeInterface.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::cells;

namespace {
struct Scanned {
  AbstractValue value; // the axis merged
  Interval count;      // elements that take part
  double expected = 1; // of the last one
  double draws = 1;
};
} // namespace

/// The format of the sums, or products.
static const FloatFormat &formatOf(Value input, TransferContext &ctx) {
  return isa<IntegerType>(getElementType(input)) ? FloatFormat::f64()
                                                 : ctx.sumFormat(input);
}

template <typename OpTy>
static std::optional<int64_t> axisOf(OpTy op, TransferContext &ctx) {
  return findAxis(ctx, op.getInput(), op.getAxis(), op.getDynamicAxis());
}

template <typename OpTy>
static Scanned scan(OpTy op, std::optional<int64_t> at, TransferContext &ctx) {
  const AbstractValue &x = ctx.operand(0);
  MaybeShape shape = getShape(op.getInput());
  Scanned result{AbstractValue::boundedLike(at ? x.merging(*at) : x.merged()),
                 {op.getExclusive() ? 0. : 1., kInfinity}};
  if (at && (*shape)[*at] >= 0) {
    result.count.hi = std::max(
        result.count.lo, double((*shape)[*at]) - (op.getExclusive() ? 1 : 0));
    result.expected = std::max(result.count.hi, 1.0);
  }
  result.draws = ctx.elementsPerGroup(op.getInput(), result.value.groups()) /
                 result.expected;
  return result;
}

namespace {
/// The sum of terms so far.
class RunningSum {
public:
  RunningSum(const FloatFormat &format, double draws)
      : format(format), draws(draws) {}

  void add(const Cell &term) {
    Interval x = repeat(bound(term), Interval::point(1)); // 0 if there is none
    sum = sum + x;
    terms = hull(terms, x);
    magnitude = addUp(magnitude, x.maxAbs());
    ++count;
    mean += term.mean;
    variance += term.variance;
    reach =
        std::max({reach, term.likelyHi - term.mean, term.mean - term.likelyLo});
    only = likelyInterval(term);
  }
  /// The sum as an element; `computed` is the bound of the computed sum.
  Cell cell(Interval &computed) const {
    computed =
        computedSum(sum, terms, sumError({&format}, double(count), magnitude));
    double far = std::max(reach, expectedExtreme(draws) * std::sqrt(variance));
    Interval expected = count == 1 ? only : Interval{mean - far, mean + far};
    if (count == 0)
      expected = Interval::point(0);
    return make(computed, mean, variance, expected);
  }

private:
  const FloatFormat &format;
  double draws;
  Interval sum = Interval::point(0), terms = sum, only = sum;
  double magnitude = 0, mean = 0, variance = 0, reach = 0;
  size_t count = 0;
};
} // namespace

static void sumByPlace(AbstractValue &value, int64_t axis, mp::CumSumOp op,
                       const FloatFormat &format, TransferContext &ctx) {
  double draws = ctx.elementsPerGroup(op.getResult(), value.groups());
  auto cells = value.mutableCells();
  forEachLine(value, axis, op.getReverse(), [&](ArrayRef<size_t> line) {
    RunningSum sum(format, draws);
    for (size_t group : line) {
      CellRef cell = cells[group];
      Cell term = cell;
      if (!op.getExclusive())
        sum.add(term);
      Interval computed;
      cell = sum.cell(computed);
      if (op.getExclusive())
        sum.add(term);
      value.posInf |= computed.hi >= format.overflowFrom;
      value.negInf |= computed.lo <= -format.overflowFrom;
    }
  });
}

/// The same of all places together.
static AbstractValue sumMerged(mp::CumSumOp op, std::optional<int64_t> axis,
                               const FloatFormat &format,
                               TransferContext &ctx) {
  auto [value, count, n, draws] = scan(op, axis, ctx);
  for (CellRef cell : value.mutableCells()) {
    Interval x = bound(cell);
    Interval sum = repeat(x, count);
    double magnitude = sum.maxAbs();
    double error = sumError({&format}, count.hi, magnitude);
    sum = computedSum(sum, hull(x, 0.0), error);
    value.posInf |= sum.hi >= format.overflowFrom;
    value.negInf |= sum.lo <= -format.overflowFrom;
    // The number of terms is uniform between 1 and n.
    double mean = cell.mean * (n + 1) / 2;
    double variance =
        cell.variance * (n + 1) / 2 + cell.mean * cell.mean * (n * n - 1) / 12;
    double reach = std::max(
        expectedExtreme(draws) * std::sqrt(n * cell.variance),
        std::max(cell.likelyHi - cell.mean, cell.mean - cell.likelyLo));
    Interval expected = hull(likelyInterval(cell), n * cell.mean);
    if (op.getExclusive())
      expected = hull(expected, 0.0);
    expected = hull(expected, {n * cell.mean - reach, n * cell.mean + reach});
    if (n == 1)
      expected = likelyInterval(cell);
    cell = make(sum, mean, variance, expected);
  }
  return std::move(value);
}

static void transferCumSum(mp::CumSumOp op, TransferContext &ctx) {
  const FloatFormat &format = formatOf(op.getInput(), ctx);
  std::optional<int64_t> axis = axisOf(op, ctx);
  std::optional<AbstractValue> places =
      axis ? byPlace(ctx, op.getInput(), *axis) : std::nullopt;
  AbstractValue value = places ? AbstractValue::boundedLike(*places)
                               : sumMerged(op, axis, format, ctx);
  if (places)
    sumByPlace(value, *axis, op, format, ctx);
  value.nan |= value.posInf && value.negInf;
  if (value.hasLikely())
    value.source = LikelySource::Propagated;
  ctx.result(0, std::move(value));
}

static void transferCumProd(mp::CumProdOp op, TransferContext &ctx) {
  auto [value, count, n, draws] = scan(op, axisOf(op, ctx), ctx);
  const FloatFormat &format = formatOf(op.getInput(), ctx);
  bool inf = value.mayBeInf(), negative = value.negInf, zero = false;
  double terms = std::min(count.hi, kUnknownCount);
  for (CellRef cell : value.mutableCells()) {
    Interval x = bound(cell);
    Interval product = power(x, {1, std::max(1.0, count.hi)});
    if (op.getExclusive())
      product = hull(product, 1.0);
    double relative = std::expm1(terms * 1.01 * format.unitRoundoff());
    product = std::isfinite(relative)
                  ? product.widened(relative, terms * format.minSubnormal *
                                                  std::max(1.0, product.hi))
                  : Interval::whole();
    if (x.lo >= 0)
      product.lo = std::max(product.lo, 0.0);
    zero |= product.minAbs() <= format.minSubnormal;
    inf |= product.maxAbs() >= format.overflowFrom;
    negative |= x.lo < 0;
    double size = std::sqrt(cell.mean * cell.mean + cell.variance);
    double most = likelyInterval(cell).maxAbs();
    // Half a deviation of log|x| short of the largest product.
    double last = size > 0 ? std::pow(size, n) : 0;
    double hi = std::max(most, std::min(std::pow(most, n), last * 4));
    double lo = cell.likelyLo < 0 ? -hi : std::min(cell.likelyLo, last / 4);
    double mean = cell.likelyLo < 0 ? 0 : (std::min(last, hi) + cell.mean) / 2;
    if (n == 1)
      cell = make(product, cell.mean, cell.variance, likelyInterval(cell));
    else
      cell = make(product, mean, hi * hi / 12, {lo, hi});
  }
  value.posInf |= inf;
  value.negInf |= inf && negative;
  value.nan |= inf && zero;
  if (value.hasLikely())
    value.source = LikelySource::Propagated;
  ctx.result(0, std::move(value));
}

void mpopt::attachScanTransfers(MLIRContext *context) {
  attachTransfer<transferCumSum, mp::CumSumOp>(context);
  attachTransfer<transferCumProd, mp::CumProdOp>(context);
}
