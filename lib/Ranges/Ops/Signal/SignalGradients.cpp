//===- SignalGradients.cpp - Ranges of gradients of Fourier transforms
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The transposed transforms: each sample gets all bins of a frame times a
// cosine and a sine, whose squares add up to 1.
//
//===----------------------------------------------------------------------===//

#include "lib/Ranges/Ops/Families.h"
#include "mpopt/Ranges/Value/GradientSupport.h"

#include "mpopt/Dialect/Ops/GradientOps.h"
#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Ranges/RangeInterface.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::gradients;

/// dY of `bins` complex bins, added up by any fast algorithm.
static Number transformed(Value grad, double bins, TransferContext &ctx) {
  const FloatFormat &format = ctx.productFormat(grad);
  Number dy = Number::of(ctx.of(grad), format);
  Number term = dy * within({-kRoom, kRoom}, dy);
  return sumOf(term, 2 * bins);
}

/// A transform to one side only, or back from there, counts its bins twice at
/// most; the inverse one divides.
static void transferDft(mp::DFTGradOp op, TransferContext &ctx) {
  MaybeShape shape = getShape(op.getGrad());
  if (!shape || isa<ComplexType>(getElementType(op.getGrad())))
    return;
  double bins = 0;
  if (op.getDynamicAxis()) {
    for (int64_t dim : *shape)
      bins = std::max(bins, dim < 0 ? kInfinity : double(dim));
  } else {
    auto at = normalizeAxis(op.getAxis(), shape->size());
    bins = at && (*shape)[*at] >= 0 ? double((*shape)[*at]) : kInfinity;
  }
  giveWanted(op, ctx, [&](unsigned slot) -> std::optional<Number> {
    if (slot != 1)
      return std::nullopt;
    return transformed(op.getGrad(), 2 * std::max(bins, 1.0), ctx);
  });
}

/// `grad` is [batch, frames, bins, 2]; the window gets the samples of all
/// frames.
static void transferStft(mp::STFTGradOp op, TransferContext &ctx) {
  MaybeShape shape = getShape(op.getGrad());
  if (!shape || shape->size() < 3 ||
      isa<ComplexType>(getElementType(op.getGrad())))
    return;
  auto dim = [&](size_t axis) {
    return (*shape)[axis] < 0 ? kInfinity : std::max<double>((*shape)[axis], 1);
  };
  Number frame = transformed(op.getGrad(), 2 * dim(2), ctx);
  auto times = [&](Value other) {
    return other ? frame * Number::of(ctx.of(other), *frame.format) : frame;
  };
  giveWanted(op, ctx, [&](unsigned slot) -> std::optional<Number> {
    if (slot == 1)
      return sumOf(zeroOr(times(op.getWindow())), dim(1));
    if (slot == 3)
      return sumOf(times(op.getSignal()), dim(0) * dim(1));
    return std::nullopt;
  });
}

void mpopt::attachSignalGradientsTransfers(MLIRContext *context) {
  attachTransfer<transferDft, mp::DFTGradOp>(context);
  attachTransfer<transferStft, mp::STFTGradOp>(context);
}
