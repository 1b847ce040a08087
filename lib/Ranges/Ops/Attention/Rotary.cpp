//===- Rotary.cpp - Ranges of rotary embedding
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pairs of features are turned: an element grows by sqrt(2) at most, and a row
// keeps its length.
//
//===----------------------------------------------------------------------===//

#include "lib/Ranges/Ops/Families.h"
#include "mpopt/Ranges/Value/RowSupport.h"

#include "mpopt/Dialect/Ops/AttentionOps.h"
#include "mpopt/Ranges/RangeInterface.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::cells;

/// The largest sqrt(cos^2 + sin^2), which is 1 but for tables that scale.
static double radius(mp::RotaryEmbeddingOp op, TransferContext &ctx) {
  std::optional<WeightView> cos = ctx.weights(op.getCos());
  std::optional<WeightView> sin = ctx.weights(op.getSin());
  double largest = std::hypot(ctx.of(op.getCos()).hull().absMax(),
                              ctx.of(op.getSin()).hull().absMax());
  // Elements that are read: two tables of 64 MiB in FP32.
  constexpr int64_t kMost = 1 << 24;
  if (!cos || !sin || cos->splat || sin->splat || cos->size() != sin->size() ||
      cos->size() > kMost || cos->size() == 0)
    return largest;
  std::vector<double> left(4096), right(4096);
  double most = 0;
  for (int64_t first = 0; first < cos->size(); first += 4096) {
    size_t count = std::min<int64_t>(4096, cos->size() - first);
    MutableArrayRef<double> a(left.data(), count), b(right.data(), count);
    cos->read(first, a);
    sin->read(first, b);
    for (auto [c, s] : llvm::zip(a, b))
      most = std::max(most, c * c + s * s);
  }
  return std::min(largest, std::sqrt(most) * (1 + 1e-12));
}

static void transferRotary(mp::RotaryEmbeddingOp op, TransferContext &ctx) {
  Value input = op.getInput();
  const AbstractValue &x = ctx.of(input);
  size_t rank = x.rank();
  const AbstractValue &cos = ctx.of(op.getCos()), &sin = ctx.of(op.getSin());
  const FloatFormat &format = ctx.functionFormat(input);
  double turn = radius(op, ctx) *
                std::max(1.0, std::fabs(op.getScale().convertToDouble()));
  const FloatFormat *own = getFloatFormat(getElementType(input));
  double unit =
      (own && own->digits < format.digits ? *own : format).unitRoundoff();
  // Features that are not turned stay.
  double stretch = std::max(1.0, turn) * (1 + 8 * unit);
  // The error of products that underflow.
  double tiny = 4 * (own ? std::max(own->minSubnormal, format.minSubnormal)
                         : format.minSubnormal);
  AbstractValue value =
      AbstractValue::boundedLike(rank > 0 ? x.merging(rank - 1) : x);
  for (CellRef cell : value.mutableCells()) {
    if (cell.empty())
      continue;
    double most =
        cell.absMax() * std::max(1.0, std::sqrt(2.0) * turn) * (1 + 8 * unit) +
        tiny;
    // Angles of all positions: the mean fades, the second moment stays.
    double moment = (cell.variance + cell.mean * cell.mean) * turn * turn;
    double reach = std::max(std::fabs(cell.likelyLo), cell.likelyHi);
    cell = Cell{-most, most, 0, moment, -reach * turn, reach * turn};
  }
  bool inf = x.mayBeInf() || cos.mayBeInf() || sin.mayBeInf();
  // Both products may overflow, and their difference is NaN.
  double product =
      x.hull().absMax() * std::max(cos.hull().absMax(), sin.hull().absMax());
  inf |= !(product * (1 + 8 * unit) < format.overflowFrom);
  value.setNonFinite(x.nan || cos.nan || sin.nan || inf, inf, inf);
  value.source = std::max(x.source, LikelySource::Propagated);
  // Turning keeps the length.
  if (x.norm && x.norm->axis + 1 == int64_t(rank))
    value.claimNorm(x.norm->axis,
                    x.norm->bound * stretch +
                        tiny * std::sqrt(double(x.norm->count)),
                    x.norm->count);
  ctx.result(0, std::move(value));
}

void mpopt::attachRotaryTransfers(MLIRContext *context) {
  attachTransfer<transferRotary, mp::RotaryEmbeddingOp>(context);
}
