//===- Attention.cpp - Ranges of fused attention
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A score is at most ‖q‖ ‖k‖ in magnitude, whatever D is; softmax makes the
// result a convex combination of the values' rows, so it lies in their hull and
// no row of it is longer than the longest of theirs. The scores' own overflow,
// in the format in which the target adds products, sets flags.
//
//===----------------------------------------------------------------------===//

#include "lib/Ranges/Ops/Families.h"
#include "mpopt/Ranges/Value/RowSupport.h"
#include "mpopt/Ranges/Weights/ConstantRange.h"

#include "mpopt/Dialect/Ops/AttentionOps.h"
#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Numerics/Likely.h"
#include "mpopt/Numerics/Masking.h"
#include "mpopt/Ranges/RangeInterface.h"

#include "llvm/Support/CheckedArithmetic.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::cells;

/// Keys that a row of unknown length may have, where rounding errors count.
static constexpr double kMostKeys = 1 << 20;

namespace {
/// The facts about queries, keys or values that are used: one head's rows.
struct HeadRows {
  Cell hull;
  /// An upper bound of the norm of a row of a head.
  double norm = 0;
  /// Number of elements of a head; 0 if unknown.
  int64_t size = 0;
  bool nonFinite = false, likely = false;
};
} // namespace

static int64_t headSize(Value operand, int64_t heads) {
  size_t rank = TransferContext::rankOf(operand);
  if (rank < 2)
    return 0;
  int64_t last = TransferContext::dimOf(operand, rank - 1).value_or(0);
  return rank == 3 && heads > 0 ? last / heads : last;
}

/// The longest row of any head by its cells: heads lie side by side in the last
/// dim, or the last dim is one head's.
static double normOfHeads(const AbstractValue &value, int64_t size) {
  AbstractValue row = value.keeping({int64_t(value.rank()) - 1});
  double most = 0;
  for (size_t first = 0; first < row.groups(); first += size) {
    double squares = 0;
    size_t end = std::min<size_t>(row.groups(), first + size);
    for (size_t group = first; group < end; ++group)
      squares += row.cell(group).absMax() * row.cell(group).absMax();
    if (row.groups() == 1)
      squares *= double(size);
    most = std::max(most, std::sqrt(squares));
  }
  return most * (1 + 1e-12);
}

static HeadRows getRows(Value operand, int64_t heads, TransferContext &ctx) {
  const AbstractValue &value = ctx.of(operand);
  HeadRows rows;
  rows.hull = value.hull();
  rows.size = headSize(operand, heads);
  rows.nonFinite = value.mayBeNonFinite();
  rows.likely = value.hasLikely();
  rows.norm = rows.size > 0 && value.rank() > 0 ? normOfHeads(value, rows.size)
                                                : kInfinity;
  // Part of a row is no longer than the row.
  if (value.norm && value.norm->axis == int64_t(value.rank()) - 1)
    rows.norm = std::min(rows.norm, value.norm->bound);
  return rows;
}

static HeadRows join(HeadRows rows, const HeadRows &other) {
  rows.hull = mergeCells({rows.hull, other.hull});
  rows.norm = std::max(rows.norm, other.norm);
  rows.nonFinite |= other.nonFinite;
  rows.likely &= other.likely;
  return rows;
}

namespace {
class Attention {
public:
  Attention(mp::AttentionOp op, TransferContext &ctx);
  void run();

private:
  void getScores();
  void addMask(Value mask);
  AbstractValue getResult();
  double weightError(double n);
  AbstractValue present(Value now, Value past, const HeadRows &rows,
                        Value result);
  AbstractValue getScoresResult(Value result);

  mp::AttentionOp op;
  TransferContext &ctx;
  const FloatFormat &products;
  const FloatFormat &functions;
  HeadRows query, key, value;
  std::optional<int64_t> keys;
  /// After scale, softcap and masks.
  Interval scaled, capped, masked;
  Likely likely;
  bool knowsLikely = false;
  bool overflow = false, negInf = false;
  /// All keys of a query may be masked: by -Inf, by the lowest number.
  bool rowMayVanish = false, rowMayBeLowest = false;
  /// The mask itself may make a score NaN.
  bool maskMayBreak = false;
};
} // namespace

Attention::Attention(mp::AttentionOp op, TransferContext &ctx)
    : op(op), ctx(ctx), products(ctx.productFormat(op.getQuery())),
      functions([&]() -> const FloatFormat & {
        auto stated = op.getSoftmaxType();
        const FloatFormat *format = stated ? getFloatFormat(*stated) : nullptr;
        const FloatFormat &own = ctx.functionFormat(op.getQuery());
        return format && format->digits < own.digits ? *format : own;
      }()) {
  int64_t heads = op.getNumHeads();
  int64_t keyHeads = op.getKvNumHeads() ? op.getKvNumHeads() : heads;
  query = getRows(op.getQuery(), heads, ctx);
  key = getRows(op.getKey(), keyHeads, ctx);
  value = getRows(op.getValue(), keyHeads, ctx);
  size_t rank = TransferContext::rankOf(op.getKey());
  if (rank >= 2)
    keys = TransferContext::dimOf(op.getKey(),
                                  rank == 3 && keyHeads > 0 ? 1 : rank - 2);
  if (op.getPastKey()) {
    key = join(key, getRows(op.getPastKey(), 0, ctx));
    value = join(value, getRows(op.getPastValue(), 0, ctx));
    std::optional<int64_t> past = TransferContext::dimOf(op.getPastKey(), 2);
    keys = keys && past && !op.getCacheBuffer() ? llvm::checkedAdd(*keys, *past)
                                                : std::nullopt;
  }
}

void Attention::getScores() {
  double size = double(std::max<int64_t>(1, query.size));
  double scale = op.getScale().convertToDouble();
  if (scale == 0)
    scale = query.size > 0 ? 1 / std::sqrt(size) : 1;
  double longest = query.norm * key.norm;
  if (std::isnan(longest)) // 0 times unbounded
    longest = 0;
  Interval dot = Interval::symmetric(longest);
  if (query.size > 0)
    dot = intersect(dot, bound(query.hull) * bound(key.hull) * size);
  // Any order of the additions: D u sum |q_d k_d|, which the norms bound too.
  double error = relativeSumError(products, size, 8) * longest +
                 size * products.minSubnormal;
  dot = dot.widened(0, error);
  // The scale may come before or after the product.
  overflow = !(std::max(dot.maxAbs(), dot.maxAbs() * std::fabs(scale)) <
               products.overflowFrom);
  scaled =
      (dot * scale).widened(8 * products.unitRoundoff(), products.minSubnormal);
  // Stored in the operands' dtype by kernels that are not fused.
  if (const FloatFormat *own = getFloatFormat(getElementType(op.getQuery())))
    scaled = scaled.widened(2 * own->unitRoundoff(), own->minSubnormal);
  capped = scaled;
  // cap tanh(x / cap), which grows with x and is smaller than it.
  if (double cap = op.getSoftcap().convertToDouble(); cap > 0)
    capped =
        Interval{cap * std::tanh(scaled.lo / cap),
                 cap * std::tanh(scaled.hi / cap)}
            .widened(16 * functions.unitRoundoff(), functions.minSubnormal);

  knowsLikely = query.likely && key.likely && query.size > 0;
  if (knowsLikely) {
    const Cell &q = query.hull, &k = key.hull;
    double mean = size * q.mean * k.mean * scale;
    double variance = size * scale * scale *
                      (q.variance * k.variance + q.variance * k.mean * k.mean +
                       k.variance * q.mean * q.mean);
    likely =
        Likely::normal(mean, variance, expectedExtreme(1e4)).within(scaled);
  }
}

/// A float mask is added, a boolean one takes scores out.
void Attention::addMask(Value mask) {
  if (!mask)
    return;
  const AbstractValue &known = ctx.of(mask);
  size_t rank = TransferContext::rankOf(mask);
  std::optional<WeightView> weights = ctx.weights(mask);
  // Two masks together may leave nothing.
  bool hidesMore = op.getIsCausal() || int64_t(op.getLeftWindow()) >= 0 ||
                   int64_t(op.getRightWindow()) >= 0;
  if (!isa<FloatType>(getElementType(mask))) {
    double added = op.getMaskValue().convertToDouble();
    if (std::isfinite(added)) {
      masked = hull(masked, masked + Interval::point(added));
    } else {
      negInf = true;
      // All of a row may be masked.
      bool keepsKey = weights && !hidesMore && leastRowMaximum(*weights) >= 0.5;
      rowMayVanish |= !keepsKey && !(rank > 0 && known.hull().lo == 1);
    }
    return;
  }
  Cell all = known.hull();
  const FloatFormat *own = getFloatFormat(getElementType(op.getQuery()));
  if (!all.empty())
    masked = (masked + bound(all))
                 .widened(2 * (own ? *own : functions).unitRoundoff());
  maskMayBreak |= known.nan || known.posInf;
  double lowest = -largestMask(functions);
  // A key that is kept has a finite score, the sum of two such numbers.
  auto keepsKeys = [&] {
    return weights && capped.lo >= lowest &&
           leastRowMaximum(*weights) >= lowest;
  };
  // ONNX Runtime takes a row of its lowest number for one without keys.
  rowMayBeLowest |= !(all.lo > lowest) && !keepsKeys();
  if (!known.negInf)
    return;
  negInf = true;
  rowMayVanish |= hidesMore || rank == 0 || !keepsKeys() ||
                  TransferContext::dimOf(mask, rank - 1).value_or(1) == 1;
}

/// By how much the weights of n keys may miss a sum of 1: the softmax' sum and
/// division, their store in the operands' dtype, and the sum of the products.
double Attention::weightError(double n) {
  const FloatFormat *own = getFloatFormat(getElementType(op.getQuery()));
  double off = relativeSumError(ctx.sumFormat(op.getQuery()), n, 4) +
               300 * functions.unitRoundoff() +
               relativeSumError(products, n, 4);
  off += n * std::max(functions.minSubnormal, products.minSubnormal);
  if (own)
    off += 2 * own->unitRoundoff() + n * own->minSubnormal;
  return off * 2;
}

AbstractValue Attention::getResult() {
  Value result = op.getResult();
  size_t rank = TransferContext::rankOf(result);
  const AbstractValue &rows = ctx.of(op.getValue());
  bool sameHeads =
      op.getKvNumHeads() == 0 || op.getKvNumHeads() == op.getNumHeads();
  AbstractValue out;
  if (rows.rank() == rank && rank >= 2 && (rank == 4 || sameHeads) &&
      !op.getPastValue())
    out = AbstractValue::boundedLike(rows.keeping({int64_t(rank) - 1}));
  else
    out = AbstractValue(AbstractValue::Dims(rank, 1), value.hull);

  double n = keys ? double(std::max<int64_t>(*keys, 1)) : kMostKeys;
  double off = weightError(n);
  // Masked keys and an extra term of the denominator leave less than 1; without
  // any key the result is NaN, or 0 (ONNX Runtime's).
  bool less = op.getSink() || op.getSmoothSoftmax() || off > 0.5 ||
              op.getCacheBuffer() || rowMayVanish || rowMayBeLowest ||
              maskMayBreak;
  double share = 1;
  if (knowsLikely)
    share = std::min(1.0, std::exp(std::min(likely.variance, 50.0)) / n);
  if (!keys)
    share = 1;
  for (CellRef cell : out.mutableCells()) {
    if (cell.empty())
      continue;
    Interval v = bound(cell);
    if (less)
      v = hull(v, 0.0);
    Interval wide = v.widened(0, off * v.maxAbs());
    // Weights are not negative.
    setBound(cell, {v.lo >= 0 ? std::max(0.0, wide.lo) : wide.lo, wide.hi});
    // The first query of a causal mask sees one key alone.
    double reach = op.getIsCausal() ? 1 : std::min(1.0, 1.3 * std::sqrt(share));
    cell.likelyLo = cell.mean - (cell.mean - cell.likelyLo) * reach;
    cell.likelyHi = cell.mean + (cell.likelyHi - cell.mean) * reach;
    cell.variance *= std::min(1.0, share * (op.getIsCausal() ? 4 : 1));
  }
  out.setNonFinite(query.nonFinite || key.nonFinite || value.nonFinite ||
                       overflow || maskMayBreak ||
                       (rowMayVanish && !op->hasAttr(kMaskedZeroAttr)),
                   value.nonFinite, value.nonFinite);
  out.source = value.likely ? LikelySource::Propagated : LikelySource::Unknown;
  double norm = value.norm * (1 + off);
  if (rank == 4 && value.size > 0 && std::isfinite(norm))
    out.claimNorm(3, norm, value.size);
  // Heads side by side: their squares add up.
  auto features = llvm::checkedMul(value.size, int64_t(op.getNumHeads()));
  if (rank == 3 && op.getNumHeads() > 0 && value.size > 0 && features &&
      std::isfinite(norm))
    out.claimNorm(2, norm * std::sqrt(double(op.getNumHeads())) * (1 + 1e-12),
                  *features);
  return out;
}

AbstractValue Attention::present(Value now, Value past, const HeadRows &rows,
                                 Value result) {
  AbstractValue value(AbstractValue::Dims(TransferContext::rankOf(result), 1),
                      rows.hull);
  for (Value part : {now, past})
    if (part) {
      value.addNonFinite(ctx.of(part));
    }
  value.source = rows.likely ? LikelySource::Propagated : LikelySource::Unknown;
  // A buffer's other places hold whatever was in it: that is `past`, or 0.
  if (op.getCacheBuffer())
    for (CellRef cell : value.mutableCells())
      if (!cell.empty())
        setBound(cell, hull(bound(cell), 0.0));
  if (value.rank() == 4 && rows.size > 0 && std::isfinite(rows.norm))
    value.claimNorm(3, rows.norm, rows.size);
  return value;
}

AbstractValue Attention::getScoresResult(Value result) {
  int64_t mode = op.getScoresMode();
  Interval range = mode == 0   ? scaled
                   : mode == 1 ? capped
                   : mode == 2 ? masked
                               : Interval{0, 1 + 16 * functions.unitRoundoff()};
  // ONNX Runtime has its lowest number where the definition says -Inf.
  if (mode == 2 && negInf)
    range = hull(range, -functions.maxFinite);
  AbstractValue value = AbstractValue::within(range.lo, range.hi,
                                              TransferContext::rankOf(result));
  value.nan = query.nonFinite || key.nonFinite || overflow;
  if (mode < 3)
    value.posInf = value.negInf = value.nan;
  value.negInf |= mode == 2 && negInf;
  value.nan |= mode == 3 && rowMayVanish && !op->hasAttr(kMaskedZeroAttr);
  value.nan |= mode >= 2 && maskMayBreak;
  if (knowsLikely && mode < 2) {
    CellRef cell = value.mutableCells().front();
    Likely within = likely.within(range);
    setLikely(cell, {0, 0, within.mean, within.variance, within.lo, within.hi});
    value.source = LikelySource::Propagated;
  }
  return value;
}

void Attention::run() {
  getScores();
  masked = capped;
  addMask(op.getMask());
  addMask(op.getBias());
  // No keys at all, or all of them before the window.
  if (op.getKeyLengths() || op.getCausalEnd() ||
      int64_t(op.getLeftWindow()) >= 0 || int64_t(op.getRightWindow()) >= 0)
    rowMayVanish = true;
  negInf |= rowMayVanish || op.getIsCausal();
  if (op.getSink()) {
    const AbstractValue &sink = ctx.of(op.getSink());
    rowMayVanish = sink.mayBeNonFinite();
  } else if (op.getSmoothSoftmax()) {
    rowMayVanish = false;
  }
  ctx.result(0, getResult());
  auto extras = op.getExtras();
  if (extras.size() >= 2) {
    ctx.result(1, present(op.getKey(), op.getPastKey(), key, extras[0]));
    ctx.result(2, present(op.getValue(), op.getPastValue(), value, extras[1]));
  }
  if (extras.size() % 2 == 1)
    ctx.result(extras.size(), getScoresResult(extras.back()));
}

static void transferAttention(mp::AttentionOp op, TransferContext &ctx) {
  Attention(op, ctx).run();
}

void mpopt::attachAttentionTransfers(MLIRContext *context) {
  attachTransfer<transferAttention, mp::AttentionOp>(context);
}
