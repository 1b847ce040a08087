//===- Softmax.cpp - Ranges of softmax and its kin
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rows' mathematics is in Ranges/Value/SoftmaxRows.h; here is what an op
// says of its axes and masks.
//
//===----------------------------------------------------------------------===//

#include "MaskedRows.h"
#include "lib/Ranges/Ops/Families.h"
#include "mpopt/Ranges/Value/CommonScores.h"
#include "mpopt/Ranges/Value/RowSupport.h"
#include "mpopt/Ranges/Value/SoftmaxRows.h"

#include "mpopt/Dialect/Ops/ActivationOps.h"
#include "mpopt/Ranges/RangeInterface.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::cells;

/// The axes of a row; empty if they are not known.
template <typename OpTy> static SmallVector<int64_t> rowAxes(OpTy op) {
  int64_t rank = TransferContext::rankOf(op.getInput());
  std::optional<int64_t> axis = normalizeAxis(op.getAxis(), rank);
  if (!axis)
    return {};
  if (op.getFlatten())
    return llvm::to_vector(llvm::seq<int64_t>(*axis, rank));
  return {*axis};
}

static AbstractValue negated(const AbstractValue &x) {
  AbstractValue result = AbstractValue::boundedLike(x);
  for (CellRef cell : result.mutableCells())
    cell = Cell{-cell.hi,      -cell.lo,       -cell.mean,
                cell.variance, -cell.likelyHi, -cell.likelyLo};
  std::swap(result.posInf, result.negInf);
  return result;
}

template <typename OpTy>
static void transferSoftmax(OpTy op, TransferContext &ctx) {
  Value input = op.getInput();
  // The function's variant, by its op.
  constexpr bool kLog = std::is_same_v<OpTy, mp::LogSoftmaxOp>;
  constexpr bool kMin = std::is_same_v<OpTy, mp::SoftminOp>;
  AbstractValue x =
      kMin ? negated(ctx.of(input)) : AbstractValue::sameAs(ctx.of(input));
  SmallVector<int64_t> axes = rowAxes(op);
  bool finite = !kMin && axes.size() == 1 &&
                (!ctx.of(input).negInf ||
                 (axes.front() + 1 == int64_t(TransferContext::rankOf(input)) &&
                  keepsElementOfEveryRow(input, ctx)));
  if (!kMin && !kLog && axes.size() == 1 &&
      axes.front() + 1 == int64_t(x.rank()))
    removeCommon(x, input, [&](Value value) -> const AbstractValue & {
      return ctx.of(value);
    });
  // A scalar, or unknown: no axis to speak of.
  MaybeShape shape = axes.empty() ? MaybeShape() : getShape(input);
  ctx.result(0, softmaxOf(shape, x, axes, kLog, finite,
                          ctx.functionFormat(input), ctx.sumFormat(input)));
}

static void transferHardmax(mp::HardmaxOp op, TransferContext &ctx) {
  Value input = op.getInput();
  const AbstractValue &x = ctx.of(input);
  AbstractValue result = AbstractValue::like(x);
  SmallVector<int64_t> axes = rowAxes(op);
  MaybeShape shape = getShape(input);
  std::optional<int64_t> count =
      shape ? countAlong(*shape, axes) : std::nullopt;
  for (CellRef cell : result.mutableCells()) {
    double share = count && *count > 0 && !axes.empty() ? 1.0 / *count : 0.5;
    cell = Cell{0, 1, share, share * (1 - share), 0, 1};
  }
  result.setNonFinite(false, false, false);
  result.claimIntegral();
  result.claimMinNonZero(1);
  result.source = LikelySource::Propagated;
  if (axes.size() == 1 && count && *count > 0)
    result.claimRowSum(axes.front(), x.nan ? 0.0 : 1.0, 1, *count);
  ctx.result(0, std::move(result));
}

void mpopt::attachSoftmaxTransfers(MLIRContext *context) {
  attachTransfer<transferSoftmax<mp::SoftmaxOp>, mp::SoftmaxOp>(context);
  attachTransfer<transferSoftmax<mp::SoftminOp>, mp::SoftminOp>(context);
  attachTransfer<transferSoftmax<mp::LogSoftmaxOp>, mp::LogSoftmaxOp>(context);
  attachTransfer<transferHardmax, mp::HardmaxOp>(context);
}
