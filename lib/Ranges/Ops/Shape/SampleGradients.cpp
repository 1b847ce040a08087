//===- SampleGradients.cpp - Ranges of gradients of pads and samples
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Linear maps run backward: an element gets dY of each place that was made of
// it, times a weight of at most 1.
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

/// The product of `along(out, in)` over the axes of the op's result and input,
/// infinite where a dim is unknown.
static double
productOver(Value grad, Value input,
            llvm::function_ref<double(double out, double in)> along) {
  MaybeShape out = getShape(grad), in = getShape(input);
  if (!out || !in || out->size() != in->size())
    return kInfinity;
  double product = 1;
  for (auto [o, i] : llvm::zip_equal(*out, *in)) {
    if (o < 0 || i < 0)
      return kInfinity;
    product *= std::max(along(double(o), double(i)), 1.0);
  }
  return product;
}

/// A constant's frame has nothing of the input, which a negative pad cuts; a
/// copied one has each element once more at most for each place added.
static void transferPad(mp::PadGradOp op, TransferContext &ctx) {
  double copies = 1;
  StringRef mode = op.getMode();
  if (mode == "reflect" || mode == "edge" || mode == "wrap") {
    // Cut on one side, an axis is padded by more on the other.
    std::optional<ArrayRef<int64_t>> pads = op.getPads();
    if (pads && llvm::any_of(*pads, [](int64_t pad) { return pad < 0; }))
      return;
    if (!pads)
      copies = countOf(getShape(op.getGrad()));
    else
      copies = productOver(op.getGrad(), op.getInput(),
                           [](double out, double in) { return out - in + 1; });
  }
  giveWanted(op, ctx, [&](unsigned slot) -> std::optional<Number> {
    if (slot != 1)
      return std::nullopt;
    return sumOf(zeroOr(gradOf(op, ctx)), copies);
  });
}

/// Samples lie one after the other, each 1 / S elements further, S = out / in
/// (or that of all but one): 2 S + 1 of them are within one element of an
/// element, and half as many beyond the edge count there. A smoothed one is
/// made of several elements, in turn, and reaches one place further.
static void transferResize(mp::ResizeGradOp op, TransferContext &ctx) {
  bool cubic = op.getMode() == "cubic";
  if (op.getCoordinateTransformation() == "tf_crop_and_resize" ||
      op.getExcludeOutside() ||
      (cubic && !(std::fabs(op.getCubicCoeffA().convertToDouble()) <= 1)))
    return;
  double samples =
      productOver(op.getGrad(), op.getInput(), [&](double out, double in) {
        if (out == in)
          return cubic ? 5.0 : 3.0;
        double scale = std::max((out + 1) / in, 1.0);
        if (in > 1)
          scale = std::max(scale, (out - 1) / (in - 1));
        double reach = cubic ? 2 : 1;
        return std::min(out, in > 1 ? 3 * reach * scale + 3 : out);
      });
  giveWanted(op, ctx, [&](unsigned slot) -> std::optional<Number> {
    if (slot != 1)
      return std::nullopt;
    Number each = gradOf(op, ctx);
    each = cubic ? either(each, -each) : zeroOr(each);
    // Beyond the edge a cubic's weights are all the edge's.
    double weight = cubic ? 1.6 : kRoom;
    return sumOf(each * within({0, weight}, each), samples);
  });
}

/// All samples may lie at one element; the weights of one, which may be clamped
/// to the same element, add up to 1, or to (11/8)^2 in magnitude for cubic
/// ones. By the grid: the difference of two elements, over all channels, times
/// the half size of an axis.
static void transferGridSample(mp::GridSampleGradOp op, TransferContext &ctx) {
  MaybeShape shape = getShape(op.getInput());
  bool cubic = op.getMode() == "cubic", nearest = op.getMode() == "nearest";
  Number grad = gradOf(op, ctx), x = numberOf(op.getInput(), ctx);
  if (!shape || shape->size() < 3)
    return;
  giveWanted(op, ctx, [&](unsigned slot) -> std::optional<Number> {
    if (slot == 1) {
      Number each = cubic ? grad * within({-2.0, 2.0}, grad)
                          : zeroOr(grad) * within({0, kRoom}, grad);
      MaybeShape places = getShape(op.getGrad());
      if (!places || places->size() < 3)
        return std::nullopt;
      (*places)[0] = (*places)[1] = 1;
      return tainted(sumOf(each, countOf(places)), op.getGrid(), ctx);
    }
    if (nearest)
      return tainted(Number::constant(0, *grad.format), op.getGrid(), ctx);
    int64_t size = 1;
    for (int64_t dim : ArrayRef(*shape).drop_front(1)) {
      if (dim < 0)
        return std::nullopt;
      size = std::max(size, dim);
    }
    if (cubic)
      return std::nullopt;
    Number all = zeroOr(x);
    Number step =
        differenceOf(all) * Number::constant(double(size) / 2, *x.format);
    // Sums of products with each of the corners.
    double corners = std::ldexp(1.0, int(shape->size()) - 2);
    Number slope = step * within({0, kRoom * kRoom}, x);
    slope = either(slope, sumOf(all, corners) *
                              within({0, 0x1p-16 * double(size)}, x));
    double channels = std::max(double((*shape)[1]), 1.0);
    Number result = sumOf(grad * slope, channels);
    // Several products of each term are rounded among the subnormals.
    result.range.finite = result.bound().widened(
        0, 8 * corners * channels * double(size) * x.format->minSubnormal);
    return tainted(result, {op.getInput(), op.getGrid()}, ctx);
  });
}

void mpopt::attachSampleGradientsTransfers(MLIRContext *context) {
  attachTransfer<transferPad, mp::PadGradOp>(context);
  attachTransfer<transferResize, mp::ResizeGradOp>(context);
  attachTransfer<transferGridSample, mp::GridSampleGradOp>(context);
}
