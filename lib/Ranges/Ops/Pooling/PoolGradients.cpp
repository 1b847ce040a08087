//===- PoolGradients.cpp - Ranges of gradients of pools and regions
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An element gets at most dY of each window, or of each bin of a region, that
// it is in: weights of samples are not negative and add up to 1.
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

template <typename OpTy> static Number gradOf(OpTy op, TransferContext &ctx) {
  return Number::of(ctx.of(op.getGrad()), ctx.sumFormat(op.getGrad()));
}

/// The gradient of the input, of up to `windows` windows.
template <typename OpTy>
static void givePool(OpTy op, const Number &each, double windows,
                     TransferContext &ctx) {
  giveWanted(op, ctx, [&](unsigned slot) -> std::optional<Number> {
    if (slot != 1)
      return std::nullopt;
    return sumOf(zeroOr(each), windows);
  });
}

/// The windows that an element may be in.
template <typename OpTy> static double windowsOf(OpTy op) {
  double windows = 1;
  for (auto [index, kernel] : llvm::enumerate(op.getKernelShape())) {
    bool plain = op.getDilations().empty() || op.getDilations()[index] == 1;
    int64_t stride = op.getStrides().empty() ? 1 : op.getStrides()[index];
    windows *= plain ? std::ceil(double(kernel) / double(stride)) : kernel;
  }
  return windows;
}

template <typename OpTy>
static void transferPool(OpTy op, TransferContext &ctx) {
  givePool(op, gradOf(op, ctx), windowsOf(op), ctx);
}

/// x |x|^(p - 2) dY y^(1 - p): at most dY for p from 1 on. PyTorch adds the
/// powers up by an average, whose root has no slope at 0: Inf, or NaN of Inf
/// times 0, where all powers are 0 or underflow.
static void transferLpPool(mp::LpPoolGradOp op, TransferContext &ctx) {
  double p = op.getP().convertToDouble();
  if (p != 1 && p != 2)
    return;
  Number x = numberOf(op.getInput(), ctx);
  Number each =
      tainted(gradOf(op, ctx) * within({-1.5, 1.5}, x), op.getInput(), ctx);
  double size = 1;
  for (int64_t kernel : op.getKernelShape())
    size *= double(kernel);
  double least = std::pow(x.bound().minAbs(), p), most = x.bound().maxAbs();
  if (!(least > size * x.format->minNormal) ||
      !(std::pow(most, p) * size < x.format->overflowFrom))
    each.range.nan = each.range.posInf = each.range.negInf = true;
  givePool(op, each, windowsOf(op), ctx);
}

/// At most O / D + 1 of O windows over D elements start where the last one, or
/// one before that, still runs.
template <typename OpTy>
static void transferAdaptivePool(OpTy op, TransferContext &ctx) {
  MaybeShape shape = getShape(op.getInput());
  double windows = 1;
  ArrayRef<int64_t> sizes = op.getOutputSize();
  for (auto [index, size] : llvm::enumerate(sizes)) {
    if (!shape)
      return;
    int64_t dim = (*shape)[shape->size() - sizes.size() + index];
    if (size < 0)
      continue;
    if (dim <= 0)
      return;
    windows *= std::ceil(double(size) / double(dim)) + 1;
  }
  givePool(op, gradOf(op, ctx), windows, ctx);
}

/// All bins of all regions may lie at one element.
template <typename OpTy>
static void transferRegions(OpTy op, TransferContext &ctx) {
  givePool(op, tainted(gradOf(op, ctx), op.getRois(), ctx),
           countWithout(op.getGrad(), 1), ctx);
}

void mpopt::attachPoolGradientsTransfers(MLIRContext *context) {
  attachTransfer<transferPool<mp::MaxPoolGradOp>, mp::MaxPoolGradOp>(context);
  attachTransfer<transferPool<mp::AveragePoolGradOp>, mp::AveragePoolGradOp>(
      context);
  attachTransfer<transferLpPool, mp::LpPoolGradOp>(context);
  attachTransfer<transferAdaptivePool<mp::AdaptiveAvgPoolGradOp>,
                 mp::AdaptiveAvgPoolGradOp>(context);
  attachTransfer<transferAdaptivePool<mp::AdaptiveMaxPoolGradOp>,
                 mp::AdaptiveMaxPoolGradOp>(context);
  attachTransfer<transferRegions<mp::RoiAlignGradOp>, mp::RoiAlignGradOp>(
      context);
  attachTransfer<transferRegions<mp::MaxRoiPoolGradOp>, mp::MaxRoiPoolGradOp>(
      context);
}
