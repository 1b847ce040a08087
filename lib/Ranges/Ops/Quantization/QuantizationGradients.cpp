//===- QuantizationGradients.cpp - Ranges of gradients of quantisation
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Ranges/Ops/Families.h"
#include "mpopt/Ranges/Value/GradientSupport.h"

#include "mpopt/Dialect/Ops/GradientOps.h"
#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Ranges/RangeInterface.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::gradients;

static void transferFakeQuantize(mp::FakeQuantizeGradOp op,
                                 TransferContext &ctx) {
  giveWanted(
      op, ctx,
      [&](unsigned slot) -> std::optional<Number> {
        if (slot != 1)
          return std::nullopt;
        Number grad = numberOf(op.getGrad(), ctx);
        return tainted(grad * within({0, 1}, grad, Likely::point(1)),
                       {op.getInput(), op.getScale()}, ctx);
      },
      /*keepsEstimate=*/true);
}

/// dY W^T of `n` weights: a code less a zero point, no further from 0 than the
/// codes are many, times its block's scale; codes of a table are in [-1, 1].
static void transferMatMulNBits(mp::MatMulNBitsGradOp op,
                                TransferContext &ctx) {
  const FloatFormat &format = ctx.productFormat(op.getGrad());
  Number grad = Number::of(ctx.of(op.getGrad()), format);
  double most = op.getCode() == "int" ? std::ldexp(1.0, int(op.getBits())) : 1;
  // A zero point may be a float.
  if (Value zero = op.getZeroPoints();
      zero && isa<FloatType>(getElementType(zero)))
    most += ctx.of(zero).hull().absMax();
  Number codes = within({-most, most}, grad);
  // The largest of a block fills the range: as in the forward pass.
  double deviation = most / 2 / 2.7;
  codes.expected = {0, deviation * deviation, -most / 2, most / 2};
  codes.source = LikelySource::Weight;
  Number weight = codes * Number::of(ctx.of(op.getScales()), format);
  double columns = double(op.getN());
  giveWanted(op, ctx, [&](unsigned slot) -> std::optional<Number> {
    if (slot == 6)
      return sumOf(grad, mpopt::countOf(op.getGrad()) / std::max(columns, 1.0));
    return std::nullopt;
  });
  // Signs of weights are as good as random, so that squares add up.
  for (auto [index, number] : llvm::enumerate(op.getWanted()))
    if (slotOf(op, number) == 1) {
      Number sum = mpopt::sumOf(grad * weight, std::max(columns, 1.0), columns);
      sum.range.finite = cells::roundedIn(format, sum.bound(), 4);
      ctx.result(index, sum.value(op->getResult(index)));
    }
}

void mpopt::attachQuantizationGradientsTransfers(MLIRContext *context) {
  attachTransfer<transferFakeQuantize, mp::FakeQuantizeGradOp>(context);
  attachTransfer<transferMatMulNBits, mp::MatMulNBitsGradOp>(context);
}
