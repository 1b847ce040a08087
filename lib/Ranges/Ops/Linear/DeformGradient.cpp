//===- DeformGradient.cpp - Ranges of gradients of deformed convolutions
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// y[m, p] = sum over taps and channels of w x(p + offset) mask: samples are
// means of up to four elements, or of zeros beyond the edge.
//
//===----------------------------------------------------------------------===//

#include "lib/Ranges/Ops/Families.h"
#include "mpopt/Ranges/Value/GradientSupport.h"

#include "mpopt/Dialect/Ops/GradientOps.h"
#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Ranges/RangeInterface.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::gradients;

namespace {
enum Slot : unsigned { Input = 1, Filter = 2, Bias = 4, Mask = 5 };
} // namespace

static void transferDeformConv(mp::DeformConvGradOp op, TransferContext &ctx) {
  const FloatFormat &format = ctx.productFormat(op.getGrad());
  auto in = [&](Value value) { return Number::of(ctx.of(value), format); };
  MaybeShape out = getShape(op.getGrad()), filter = getShape(op.getFilter());
  if (!out || !filter || out->size() != 4 || filter->size() != 4 ||
      llvm::is_contained(*out, kDynamic) ||
      llvm::is_contained(*filter, kDynamic))
    return;
  auto dim = [](int64_t size) { return std::max(double(size), 1.0); };
  double places = dim((*out)[2]) * dim((*out)[3]), batch = dim((*out)[0]);
  double filters = dim((*filter)[0]), channels = dim((*filter)[1]);
  double taps = dim((*filter)[2]) * dim((*filter)[3]);
  Number grad = in(op.getGrad()), weight = in(op.getFilter());
  Number one = Number::constant(1, format);
  Number mask = op.getMask() ? in(op.getMask()) : one;
  Number sample = zeroOr(in(op.getInput())) * within({0, kRoom}, grad);
  // By a column of samples: what all filters pass on.
  Number column = sumOf(grad * weight, filters);
  SmallVector<Value> others = {op.getInput(), op.getOffset()};
  giveWanted(op, ctx, [&](unsigned slot) -> std::optional<Number> {
    if (slot == Input)
      // All samples may lie at one element.
      return tainted(sumOf(zeroOr(column * mask) * within({0, kRoom}, grad),
                           places * taps),
                     others, ctx);
    if (slot == Filter)
      return tainted(sumOf(grad * (sample * mask), batch * places), others,
                     ctx);
    if (slot == Bias)
      return sumOf(grad, batch * places);
    // The sum is over the channels of an offset group, at most over all groups.
    double all = channels * dim(int64_t(op.getGroup()));
    if (slot == Mask)
      return tainted(sumOf(zeroOr(column * sample), all), others, ctx);
    Number step = differenceOf(sample) * within({-kRoom, kRoom}, grad);
    return tainted(sumOf(zeroOr(column * mask * step), all), others, ctx);
  });
}

void mpopt::attachDeformGradientTransfers(MLIRContext *context) {
  attachTransfer<transferDeformConv, mp::DeformConvGradOp>(context);
}
