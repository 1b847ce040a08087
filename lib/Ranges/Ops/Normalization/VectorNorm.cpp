//===- VectorNorm.cpp - Ranges of L2 and local response normalisation
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Norms without parameters. MeanVarianceNormalization is defined by
// E[x^2] - E[x]^2, whose error D = O(n u max(x)^2) may eat the variance v:
// |y| = sqrt(n v) / (sqrt(v - D) + d) is at most sqrt(2 n D) / d up to v = 2 D,
// and sqrt(2 n) from there on.
//
//===----------------------------------------------------------------------===//

#include "lib/Ranges/Ops/Families.h"
#include "mpopt/Ranges/Value/RowSupport.h"

#include "mpopt/Dialect/Ops/NormalizationOps.h"
#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Ranges/RangeInterface.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::cells;

//===----------------------------------------------------------------------===//
// x / max(|x|_p, eps)
//===----------------------------------------------------------------------===//

/// The p-norm of n elements: of normal numbers for p = 1 (E|x| = 0.8 s), and
/// the largest one for any p but 1 and 2.
static double likelyNorm(const Cell &row, double p, double n) {
  double square = row.variance + row.mean * row.mean;
  if (p == 1)
    return std::sqrt(square) * n * 0.8;
  return p == 2 ? std::sqrt(square * n)
                : std::max(std::fabs(row.likelyLo), row.likelyHi);
}

/// The likely part of an element over the norm of its row.
static Cell divided(const Cell &element, double length) {
  return {0,
          0,
          element.mean / length,
          element.variance / (length * length),
          std::max(-1.0, element.likelyLo / length),
          std::min(1.0, element.likelyHi / length)};
}

static void transferLpNormalize(mp::LpNormalizeOp op, TransferContext &ctx) {
  Value input = op.getInput();
  const AbstractValue &x = ctx.of(input);
  const FloatFormat &format = ctx.sumFormat(input);
  double p = op.getP().convertToDouble();
  MaybeShape shape = getShape(input);
  std::optional<int64_t> axis =
      shape ? normalizeAxis(op.getAxis(), shape->size()) : std::nullopt;
  std::optional<int64_t> count =
      axis ? TransferContext::dimOf(input, *axis) : std::nullopt;
  if (!(p >= 1) || !count)
    return ctx.unknown();
  double n = double(*count);
  double epsilon = format.round(op.getEpsilon().convertToDouble());
  // A sum of powers loses half a subnormal per term; what is left of it is at
  // least its own smallest value.
  double smallest = std::pow(std::max(x.minNonZero, format.minSubnormal), p);
  double least =
      std::max({std::pow(epsilon, p), smallest * 0.999, format.minSubnormal});
  double relative = 8 * relativeSumError(format, n, 8);
  double closed =
      std::pow(1 + n * format.minSubnormal / least, 1 / p) * (1 + relative);
  double most = 0;
  for (const Cell &cell : x.cells())
    most = std::max(most, cell.absMax());
  bool vanishes = epsilon == 0 && (smallest < 2 * format.minSubnormal);
  bool zero = epsilon == 0;
  for (const Cell &cell : x.cells())
    zero &= !cell.empty() && cell.lo <= 0 && cell.hi >= 0;
  bool overflow = !(n * std::pow(most, p) < format.overflowFrom * 0.999);
  if (!(relative < 0.5))
    closed = kInfinity;

  AbstractValue result = AbstractValue::like(x);
  AbstractValue row = x.merging(*axis);
  double draws = ctx.elementsPerGroup(input, x.groups());
  auto cells = result.mutableCells();
  forEachGroup(x.dims(), {x, row}, [&](size_t group, ArrayRef<size_t> at) {
    const Cell &from = x.cell(group), &whole = row.cell(at[1]);
    Cell cell;
    setBound(cell, {from.lo < 0 ? -closed : 0, from.hi > 0 ? closed : 0});
    double reach = std::min(1.0, expectedExtreme(draws) / std::sqrt(n));
    if (!x.hasLikely())
      setLikely(cell, {0, 0, 0, 1 / n, -reach, reach});
    else if (double length = likelyNorm(whole, p, n); length > 0)
      setLikely(cell, divided(from, length));
    cells[group] = cell;
  });
  result.setNonFinite(x.mayBeNonFinite() || zero || vanishes ||
                          (overflow && x.mayBeInf()),
                      vanishes, vanishes);
  result.source = std::min(x.source, LikelySource::Propagated);
  // The 2-norm is the smaller one for p < 2.
  if (p <= 2 && std::isfinite(closed))
    result.claimNorm(
        *axis, std::sqrt(1 + n * format.minSubnormal / least) * (1 + relative),
        *count);
  ctx.result(0, std::move(result));
}

//===----------------------------------------------------------------------===//
// Local response
//===----------------------------------------------------------------------===//

static void transferLRN(mp::LRNOp op, TransferContext &ctx) {
  Value input = op.getInput();
  AbstractValue result = AbstractValue::boundedLike(ctx.of(input));
  const FloatFormat &format = ctx.sumFormat(input);
  double alpha = op.getAlpha().convertToDouble();
  double beta = op.getBeta().convertToDouble();
  double size = double(op.getSize());
  Cell all = result.hull();
  double unit = relativeSumError(format, size, 16);
  Interval others = square(Interval::symmetric(all.absMax())) * (size - 1);
  // Kernels slide a window over the channels, adding and taking away squares:
  // what is lost is relative to the largest, and Inf - Inf is NaN.
  double channels = double(TransferContext::dimOf(input, 1).value_or(1 << 16));
  double slid = std::fabs(alpha) / size * (channels + size) * 4 *
                format.unitRoundoff() * all.absMax() * all.absMax();
  bool nan = size * all.absMax() * all.absMax() >= format.overflowFrom * 0.999;
  bool inf = false;
  // The square that each neighbouring channel is expected to add.
  double squares = all.variance + all.mean * all.mean;
  for (CellRef cell : result.mutableCells()) {
    if (cell.empty())
      continue;
    Interval x = bound(cell);
    Interval base = ((square(x) + others) * (alpha / size))
                        .widened(unit, format.minSubnormal) +
                    op.getBias().convertToDouble();
    base = std::isfinite(slid) ? base.widened(unit, slid) : Interval::whole();
    Interval power = base.lo > 0
                         ? pow(base, Interval::point(beta)).widened(unit)
                         : Interval::whole();
    bool vanishes = power.contains(0.0);
    nan |= vanishes;
    inf |= vanishes;
    setBound(cell, vanishes ? Interval::whole() : (x / power).widened(unit));
    // The sum may overflow, which divides by Inf.
    if (size * all.absMax() * all.absMax() >= format.overflowFrom)
      setBound(cell, hull(bound(cell), 0.0));
    auto map = [&](double value) {
      double sum = value * value + (size - 1) * squares;
      return value /
             std::pow(op.getBias().convertToDouble() + alpha / size * sum,
                      beta);
    };
    double typical =
        std::pow(op.getBias().convertToDouble() + alpha * squares, -beta);
    setLikely(cell,
              {0, 0, cell.mean * typical, cell.variance * typical * typical,
               map(cell.likelyLo), map(cell.likelyHi)});
  }
  result.nan |= nan || result.mayBeInf();
  result.posInf |= inf;
  result.negInf |= inf;
  ctx.result(0, std::move(result));
}

//===----------------------------------------------------------------------===//
// Mean and variance by E[x^2] - E[x]^2
//===----------------------------------------------------------------------===//

static void transferMeanVarianceNorm(mp::MeanVarianceNormOp op,
                                     TransferContext &ctx) {
  Value input = op.getInput();
  MaybeShape shape = getShape(input);
  const FloatFormat &format = ctx.sumFormat(input);
  const AbstractValue &x = ctx.of(input);
  SmallVector<int64_t> axes;
  for (int64_t axis : op.getAxes())
    if (shape)
      if (std::optional<int64_t> from = normalizeAxis(axis, shape->size()))
        axes.push_back(*from);
  std::optional<int64_t> count =
      shape ? countAlong(*shape, axes) : std::nullopt;
  Cell all = x.hull();
  double n = count ? double(*count) : kInfinity, most = all.absMax();
  double relative = relativeSumError(format, n, 8);
  double least = format.round(1e-9);
  double lost = 4 * relative * most * most + 4 * format.minSubnormal;
  double closed = kInfinity;
  if (least > 0) {
    // Kernels without the 1e-9 reach sqrt(n), too.
    closed = (all.hi - all.lo) / least;
    if (relative < 0.5)
      closed = std::min(closed, std::sqrt(2 * n * lost) / least);
    closed = std::max(closed, std::sqrt(2 * n));
    closed *= 1 + 4 * relative;
    closed += 2 * relative * most / least; // the mean's error
  }
  SmallVector<int64_t> others;
  for (int64_t axis = 0; axis < int64_t(x.rank()); ++axis)
    if (!llvm::is_contained(axes, axis))
      others.push_back(axis);
  // NaN and Inf remain possible: the radicand may be negative by rounding or,
  // for kernels without the 1e-9, zero where x - mean is not.
  AbstractValue result = AbstractValue::like(x), row = x.keeping(others);
  auto cells = result.mutableCells();
  forEachGroup(x.dims(), {x, row}, [&](size_t group, ArrayRef<size_t> at) {
    const Cell &from = x.cell(group), &whole = row.cell(at[1]);
    double scale = whole.variance > 0 ? 1 / std::sqrt(whole.variance) : 0;
    double edge = std::isfinite(n) ? std::sqrt(n) : kInfinity;
    setBound(cells[group], Interval::symmetric(closed));
    setLikely(cells[group],
              {0, 0, (from.mean - whole.mean) * scale,
               from.variance * scale * scale,
               std::max(-edge, (from.likelyLo - whole.mean) * scale),
               std::min(edge, (from.likelyHi - whole.mean) * scale)});
  });
  result.source = x.source;
  ctx.result(0, std::move(result));
}

void mpopt::attachVectorNormTransfers(MLIRContext *context) {
  attachTransfer<transferLpNormalize, mp::LpNormalizeOp>(context);
  attachTransfer<transferLRN, mp::LRNOp>(context);
  attachTransfer<transferMeanVarianceNorm, mp::MeanVarianceNormOp>(context);
}
