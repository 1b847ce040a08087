//===- AttentionGradient.cpp - Ranges of gradients of fused attention
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With Y = P v and P = softmax(S): dV = P^T dY, dP = dY v^T and
// dS = P (dP - sum(P dP)). Rows of P add up to 1, so that with dP in an
// interval of width w |dS| <= P (1 - P) w <= w / 4, and a row's |dS| add up to
// w / 2 at most, the mean distance from the mean.
//
// Kernels compute P again, from scores and the logarithm of their sum: its
// error grows with them.
//
//===----------------------------------------------------------------------===//

#include "lib/Ranges/Ops/Families.h"
#include "mpopt/Ranges/Value/GradientSupport.h"
#include "mpopt/Ranges/Weights/ConstantRange.h"

#include "mpopt/Dialect/Ops/AttentionOps.h"
#include "mpopt/Dialect/Ops/GradientOps.h"
#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Numerics/Masking.h"
#include "mpopt/Ranges/RangeInterface.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::gradients;

/// Errors of the exponents from which on nothing is said.
static constexpr double kMostError = 1.0;

namespace {
enum Slot : unsigned {
  Query = 1,
  Key,
  Value_,
  Mask,
  Bias,
  PastKey,
  PastValue,
  Lengths,
  Sink
};

class AttentionGradient {
public:
  AttentionGradient(mp::AttentionGradOp op, TransferContext &ctx);
  /// False if a size is not known, or probabilities may be off by much.
  bool prepare();
  std::optional<Number> of(unsigned slot);

private:
  Number in(Value value) { return Number::of(ctx.of(value), products); }
  /// Size of a head, and number of rows, of an operand.
  std::pair<double, double> sizesOf(Value operand, int64_t heads);
  bool maskMayHideRows(Value mask);

  mp::AttentionGradOp op;
  TransferContext &ctx;
  const FloatFormat &products;
  double queries = 0, keys = 0, depth = 0, width = 0, sharing = 1;
  Number grad, query, key, value;
  /// The factor by which sums of rows of P may exceed 1.
  double room = 1, scale = 1;
  /// One dS, and what those of a row add up to.
  Number score, row;
  bool nan = false;
};
} // namespace

AttentionGradient::AttentionGradient(mp::AttentionGradOp op,
                                     TransferContext &ctx)
    : op(op), ctx(ctx), products(ctx.productFormat(op.getQuery())),
      grad(in(op.getGrad())), query(in(op.getQuery())), key(in(op.getKey())),
      value(in(op.getValue())) {
  if (op.getPastKey()) {
    key = either(key, in(op.getPastKey()));
    value = either(value, in(op.getPastValue()));
  }
}

std::pair<double, double> AttentionGradient::sizesOf(Value operand,
                                                     int64_t heads) {
  MaybeShape shape = getShape(operand);
  if (!shape || shape->size() < 2)
    return {kInfinity, kInfinity};
  bool flat = shape->size() == 3 && heads > 0;
  int64_t last = shape->back(), rows = (*shape)[flat ? 1 : shape->size() - 2];
  return {last < 0 ? kInfinity : double(flat ? last / heads : last),
          rows < 0 ? kInfinity : double(rows)};
}

/// True if all keys of a query may get a mask that is large and finite: scores
/// are lost beside it, and what is computed again may be off by a unit of it.
bool AttentionGradient::maskMayHideRows(Value mask) {
  if (!mask)
    return false;
  bool isFloat = isa<FloatType>(getElementType(mask));
  double least =
      isFloat ? ctx.of(mask).hull().lo : op.getMaskValue().convertToDouble();
  if (!isFloat && !std::isfinite(least)) // No probability at all.
    return false;
  if (!(least * products.unitRoundoff() * 16 < -kMostError))
    return false;
  std::optional<WeightView> weights = ctx.weights(mask);
  return !weights ||
         !(leastRowMaximum(*weights) >= (isFloat ? maskedBelow() : 0.5));
}

bool AttentionGradient::prepare() {
  int64_t heads = op.getNumHeads();
  int64_t groups = op.getKvNumHeads() ? op.getKvNumHeads() : heads;
  std::tie(depth, queries) = sizesOf(op.getQuery(), heads);
  keys = sizesOf(op.getKey(), groups).second;
  width = sizesOf(op.getValue(), groups).first;
  if (op.getPastKey())
    keys += sizesOf(op.getPastKey(), 0).second;
  MaybeShape queryShape = getShape(op.getQuery()),
             keyShape = getShape(op.getKey());
  if (op.getCacheBuffer() || !queryShape || !keyShape)
    return false;
  // Heads, or leading dims, of queries that share a key.
  if (queryShape->size() == 3 && heads > 0)
    sharing = double(heads) / double(std::max<int64_t>(groups, 1));
  else
    for (size_t i = 2; i < queryShape->size(); ++i) {
      int64_t dim = (*queryShape)[queryShape->size() - 1 - i];
      int64_t other =
          i < keyShape->size() ? (*keyShape)[keyShape->size() - 1 - i] : 1;
      if (dim != other)
        sharing *=
            dim < 0 || other < 0 ? kInfinity : std::max(double(dim), 1.0);
    }
  if (!std::isfinite(queries * keys * depth * width * sharing))
    return false;
  scale = op.getScale().convertToDouble();
  if (scale == 0)
    scale = 1 / std::sqrt(std::max(depth, 1.0));

  Number scores =
      sumOf(query * key, depth) * within({0, std::fabs(scale)}, key);
  double largest = scores.bound().maxAbs();
  double added = 0;
  for (Value mask : {op.getMask(), op.getBias()})
    if (mask && isa<FloatType>(getElementType(mask)))
      added = std::max(added, ctx.of(mask).hull().hi);
  const FloatFormat *own = getFloatFormat(getElementType(op.getQuery()));
  double unit = products.unitRoundoff();
  double error =
      unit * (16 * (largest + std::max(added, 0.0) + 1) + 4 * (depth + keys)) +
      (own ? 4 * own->unitRoundoff() : 0);
  // A score that is stored in 16 bits is off by as much in both passes.
  if (!(error < kMostError) || maskMayHideRows(op.getMask()) ||
      maskMayHideRows(op.getBias()))
    return false;
  room = kRoom * std::exp(2 * error);
  nan = scores.range.mayBeInf() || !query.range.isFinite() ||
        !key.range.isFinite() || !value.range.isFinite();
  // Rows without keys: 0 / 0, or none at all.
  bool hidesKeys = op.getMask() || op.getBias() || op.getKeyLengths() ||
                   op.getCausalEnd() || int64_t(op.getLeftWindow()) >= 0 ||
                   int64_t(op.getRightWindow()) >= 0 || op.getIsCausal() ||
                   op.getSink();
  nan |= hidesKeys && !op->hasAttr(kMaskedZeroAttr);
  for (Value mask : {op.getMask(), op.getBias()})
    nan |= mask && (ctx.of(mask).nan || ctx.of(mask).posInf);

  Number probability = sumOf(grad * value, width);
  double most = probability.bound().maxAbs();
  double lost = most * (error + (keys + 16) * unit);
  // Differences of dP, and what is lost of them.
  double spread = std::min(probability.bound().width(), 2 * most);
  auto limited = [&](double part) {
    Number result = differenceOf(probability);
    result.range.finite =
        Interval::symmetric(part * spread * room * room + 4 * lost);
    return result;
  };
  score = limited(0.25);
  row = limited(0.5);
  // dS of all keys, each of which may be off.
  double tiny = keys * (own ? own->minSubnormal : products.minSubnormal);
  row.range.finite =
      row.bound().widened(0, keys * 4 * unit * most + tiny * (1 + most));
  if (op.getSink() || op.getSmoothSoftmax()) {
    // Rows of P add up to less than 1.
    spread = 4 * most;
    score = limited(0.5);
    row = limited(0.5);
  }
  return true;
}

std::optional<Number> AttentionGradient::of(unsigned slot) {
  Number factor = within({-std::fabs(scale), std::fabs(scale)}, grad);
  Number weight = within({0, room}, grad);
  Number result;
  switch (slot) {
  case Query:
    result = row * key * factor;
    result.range.finite = result.bound().widened(
        4 * relativeSumError(products, keys, 8), products.minNormal);
    break;
  case Key:
  case PastKey:
    result = sumOf(score * query * factor, queries * sharing);
    break;
  case Value_:
  case PastValue:
    result = sumOf(weight * grad, queries * sharing);
    break;
  case Mask:
  case Bias: {
    Value operand = slot == Mask ? op.getMask() : op.getBias();
    // Summed over what it was broadcast to.
    double batch = mpopt::countOf(op.getQuery()) / (depth * queries);
    double all = batch * queries * keys;
    result = sumOf(score, std::max(all / mpopt::countOf(operand), 1.0));
    break;
  }
  case Sink:
    result = sumOf(row * weight, mpopt::countOf(op.getQuery()) / depth);
    break;
  default:
    return std::nullopt;
  }
  if (result.bound().isEmpty() || !result.bound().isBounded())
    return std::nullopt;
  result.range.nan |= nan;
  return result;
}

static void transferAttentionGradient(mp::AttentionGradOp op,
                                      TransferContext &ctx) {
  AttentionGradient gradient(op, ctx);
  if (!gradient.prepare())
    return;
  giveWanted(op, ctx, [&](unsigned slot) { return gradient.of(slot); });
}

void mpopt::attachAttentionGradientTransfers(MLIRContext *context) {
  attachTransfer<transferAttentionGradient, mp::AttentionGradOp>(context);
}
