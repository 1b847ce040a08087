//===- Probabilities.cpp - Softmaxes of several ops
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Probabilities.h"

#include "RowScale.h"
#include "mpopt/Ranges/Value/SoftmaxRows.h"

#include "mpopt/Dialect/Ops/ActivationOps.h"
#include "mpopt/Dialect/Ops/ReductionOps.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::relations;

void relations::expectProbabilities(Value dividend, const RowScale &scale,
                                    AbstractValue &value,
                                    TransferContext &ctx) {
  auto exponential = peel(dividend, Peel::Rounded).getDefiningOp<mp::ExpOp>();
  if (!exponential || !value.hasLikely())
    return;
  Value logits = exponential.getInput();
  if (auto sub = peel(logits, Peel::Rounded).getDefiningOp<mp::SubOp>()) {
    Operation *most = getReduction(sub.getRhs());
    if (isa_and_present<mp::ReduceMaxOp>(most) &&
        isSameExpression(most->getOperand(0), sub.getLhs()) &&
        getReducedAxes(most, ctx.shapes()) == scale.axes)
      logits = sub.getLhs();
  }
  expectLike(value, cells::softmaxOf(
                        getShape(logits), ctx.of(logits), scale.axes,
                        /*logarithm=*/false, /*rowsHaveFinite=*/false,
                        ctx.functionFormat(logits), ctx.sumFormat(logits)));
}

void relations::expectLogSoftmax(mp::LogOp op, AbstractValue &value,
                                 TransferContext &ctx) {
  auto softmax =
      peel(op.getInput(), Peel::Rounded).getDefiningOp<mp::SoftmaxOp>();
  if (!softmax || softmax.getFlatten())
    return;
  const AbstractValue &p = ctx.of(op.getInput());
  const FloatFormat *format = getFloatFormat(getElementType(op.getInput()));
  Value x = softmax.getInput();
  std::optional<int64_t> axis = normalizeAxis(softmax.getAxis(), p.rank());
  if (!axis || !format || !p.hasLikely() ||
      p.hull().likelyLo < format->minNormal)
    return;
  expectLike(value, cells::softmaxOf(getShape(x), ctx.of(x), {*axis},
                                     /*logarithm=*/true,
                                     /*rowsHaveFinite=*/false,
                                     ctx.functionFormat(x), ctx.sumFormat(x)));
}

void relations::refineLogSoftmax(mp::SubOp op, Operation *log,
                                 AbstractValue &value, TransferContext &ctx) {
  Operation *exponential = nullptr, *sum = nullptr;
  Value z;
  Rounding error = functionError(op.getResult(), ctx);
  if (isa<mp::ReduceLogSumExpOp>(log)) {
    sum = log;
    z = log->getOperand(0);
    error.add(functionError(z, ctx));
  } else {
    sum = getReduction(log->getOperand(0), &error);
    if (!isa_and_present<mp::ReduceSumOp>(sum))
      return;
    exponential = peel(sum->getOperand(0), &error).getDefiningOp();
    if (!isa_and_present<mp::ExpOp>(exponential))
      return;
    z = exponential->getOperand(0);
    error.add(storeError(exponential->getResult(0)));
    error.add(storeError(sum->getResult(0)));
  }
  error.add(functionError(log->getResult(0), ctx));
  std::optional<Axes> axes = getReducedAxes(sum, ctx.shapes());
  if (!axes || peel(op.getLhs(), &error) != peel(z, &error) ||
      !isRowScale(op.getRhs(), op.getLhs(), *axes))
    return;
  if (value.hasLikely() && ctx.of(z).hasLikely())
    expectLike(value, cells::softmaxOf(
                          getShape(z), ctx.of(z), *axes, /*logarithm=*/true,
                          /*rowsHaveFinite=*/false, ctx.functionFormat(z),
                          ctx.sumFormat(z)));
  // Relative errors of the exponential and of the sum are absolute ones of the
  // logarithm; those of z count times z. An exponential that underflows bounds
  // nothing.
  double most = ctx.of(z).hull().absMax();
  double low = exponential ? std::exp(ctx.of(z).hull().lo) : 1;
  const FloatFormat *format =
      exponential ? getFloatFormat(getElementType(exponential->getResult(0)))
                  : nullptr;
  if (exponential && (!format || !(low > 4 * format->minNormal)))
    return;
  double off = 4 * error.relative * (48 + most) + error.absolute;
  if (std::isfinite(off))
    clamp(value, -kInfinity, off);
}
