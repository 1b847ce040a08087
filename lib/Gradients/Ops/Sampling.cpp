//===- Sampling.cpp - Spreads of gradients of samples and copied frames
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The transpose of a linear map whose rows add up to 1: each place of the
// result hands out its gradient among the elements that it was made of.
//
//===----------------------------------------------------------------------===//

#include "Families.h"

#include "mpopt/Dialect/Ops/GradientOps.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Ranges/Spread/SpreadInterface.h"
#include "mpopt/Ranges/Value/GradientSupport.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace mpopt;

namespace {
/// The weights w with which an element of the input meets places of the
/// result, one axis or all: their sum, the sum of their squares, and the square
/// of the sum, expected over elements.
struct Weights {
  double sum = 1, squares = 1, squareOfSum = 1;

  void add(const Weights &axis) {
    sum *= axis.sum;
    squares *= axis.squares;
    squareOfSum *= axis.squareOfSum;
  }
};
} // namespace

/// Samples `scale` times as close as the elements, by a kernel with that
/// integral of its square. There are scale values of the kernel, evenly spaced;
/// where samples are further apart than the kernel is wide, one at most.
static Weights weightsOf(double scale, double energy) {
  double squares = scale * energy;
  return {scale, squares, std::max(squares, scale * scale)};
}

/// The integral of the square of the interpolating cubic kernel (Keys, 1981)
/// with that coefficient.
static double energyOfCubic(double a) {
  constexpr int kSteps = 64;
  double sum = 0;
  for (int step = 0; step < 2 * kSteps; ++step) {
    double t = (step + 0.5) / kSteps;
    double w = t < 1 ? ((a + 2) * t - (a + 3)) * t * t + 1
                     : a * (((t - 5) * t + 8) * t - 4);
    sum += 2 * w * w / kSteps;
  }
  return sum;
}

/// The gradient by the operand in that slot, of which the weights are known.
static void giveWeighted(Operation *op, int64_t index, const Weights &weights,
                         BackwardSpreadContext &ctx) {
  Value grad = op->getOperand(0), made = op->getResult(index);
  const AbstractValue &dy = ctx.of(grad);
  MaybeShape from = getShape(grad), to = getShape(made);
  if (!dy.hasLikely() || !from || !to || from->size() != to->size())
    return;
  AbstractValue value = AbstractValue(dy).withRank(to->size());
  for (size_t axis = 0; axis < to->size(); ++axis)
    if (value.dims()[axis] != 1 && (*from)[axis] != (*to)[axis])
      value = value.merging(int64_t(axis));
  Spread spread = ctx.spread(grad);
  double draws = ctx.elementsPerGroup(made, value.groups());
  std::vector<Cell> cells;
  Moments all;
  double pairs = std::max(0.0, weights.squareOfSum - weights.squares);
  for (const Cell &cell : value.cells()) {
    Moments term = Moments::of(cell, spread);
    double both = weights.sum * weights.sum;
    Moments sum = {term.mean * weights.sum, term.common * both,
                   term.square * weights.squares + term.common * pairs,
                   term.steady * both};
    sum.square = std::max(sum.square, sum.mean * sum.mean);
    cells.push_back(SpreadContext::normalCell(sum, draws));
    all = all + sum;
  }
  AbstractValue result(AbstractValue::Dims(value.dims()), cells);
  result.source = LikelySource::Propagated;
  spread.alike = all.alike();
  spread.steady = all.steadyPart();
  spread.reach *= std::max(1.0, weights.sum);
  spread.zeroSum = spread.unitSum = -1;
  spread.alikeInRow = -1;
  spread.bounded = false;
  spread.zero = std::pow(spread.zero, std::max(1.0, weights.sum));
  // Between samples that are further apart than the kernel is wide.
  if (weights.sum < 1)
    spread.zero = std::max(spread.zero,
                           1 - weights.sum * weights.sum / weights.squareOfSum);
  ctx.give(unsigned(index), std::move(result), spread);
}

/// The index of the result that is the gradient of the op's first input.
template <typename OpTy> static std::optional<int64_t> findInputGrad(OpTy op) {
  for (auto [index, number] : llvm::enumerate(op.getWanted()))
    if (gradients::slotOf(op, number) == 1)
      return int64_t(index);
  return std::nullopt;
}

static void spreadResize(mp::ResizeGradOp op, BackwardSpreadContext &ctx) {
  std::optional<int64_t> index = findInputGrad(op);
  MaybeShape out = getShape(op.getGrad()), in = getShape(op.getInput());
  if (!index || !out || !in || out->size() != in->size())
    return;
  double energy = op.getMode() == "nearest" ? 1
                  : op.getMode() == "cubic"
                      ? energyOfCubic(op.getCubicCoeffA().convertToDouble())
                      : 2.0 / 3;
  Weights weights;
  for (auto [o, i] : llvm::zip(*out, *in)) {
    if (o == i)
      continue;
    if (o <= 0 || i <= 0)
      return;
    double scale = double(o) / double(i);
    // A smoothing kernel is as much wider as the places are further apart.
    if (op.getAntialias() && scale < 1)
      energy *= scale;
    weights.add(weightsOf(scale, energy));
  }
  giveWeighted(op, *index, weights, ctx);
}

/// An element and its copies in the frame, if any; constants have no gradient.
static void spreadPad(mp::PadGradOp op, BackwardSpreadContext &ctx) {
  std::optional<int64_t> index = findInputGrad(op);
  auto some = getNumElements(getShape(op.getGrad())),
       all = getNumElements(getShape(op.getInput()));
  if (!index)
    return;
  double copies = 1;
  StringRef mode = op.getMode();
  if ((mode == "reflect" || mode == "edge" || mode == "wrap") && some && all &&
      *all > 0)
    copies = double(*some) / double(*all);
  // A frame is narrow: elements have one copy, or two.
  Weights weights{copies, copies, copies + 2 * std::max(0.0, copies - 1)};
  giveWeighted(op, *index, weights, ctx);
}

/// Places anywhere hand out what arrives among the corners around them, by the
/// distances t and 1 - t on each axis, whose squares have the mean 2/3 in sum.
static void giveToSampled(mp::GridSampleGradOp op, int64_t index,
                          const Shape &in, const Shape &out,
                          BackwardSpreadContext &ctx) {
  double energy = op.getMode() == "nearest" ? 1
                  : op.getMode() == "cubic" ? energyOfCubic(-0.75)
                                            : 2.0 / 3;
  double places = 1, elements = 1, squares = 1;
  for (size_t axis = 2; axis < in.size(); ++axis) {
    places *= double(std::max<int64_t>(out[axis], 1));
    elements *= double(std::max<int64_t>(in[axis], 1));
    squares *= energy;
  }
  double scale = places / elements;
  giveWeighted(
      op, index,
      {scale, scale * squares, std::max(scale * squares, scale * scale)}, ctx);
}

/// By a coordinate, of which -1 to 1 is an axis of n elements: the sum over
/// channels of dY times n / 2 times the difference of neighbours, which counts
/// by the distances on the other axes.
static void giveToGrid(mp::GridSampleGradOp op, int64_t index, const Shape &in,
                       BackwardSpreadContext &ctx) {
  Value grid = op.getGrid();
  const AbstractValue &x = ctx.of(op.getInput()), &dy = ctx.of(op.getGrad());
  int64_t rank = int64_t(in.size());
  if (!x.hasLikely() || !dy.hasLikely() ||
      TransferContext::rankOf(grid) != rank)
    return;
  Moments arriving = Moments::of(dy.hull(), ctx.spread(op.getGrad()));
  // A pixel differs from its neighbour as from any other, at most.
  double difference = 2 * x.hull().variance * std::pow(2.0 / 3, rank - 3);
  double channels = double(std::max<int64_t>(in[1], 1));
  AbstractValue::Dims dims(rank, 1);
  dims.back() = rank - 2;
  std::vector<Cell> cells;
  // Coordinates are in the reverse order of axes.
  for (int64_t axis = rank - 1; axis >= 2; --axis) {
    double steps =
        double(std::max<int64_t>(in[axis], 1)) - (op.getAlignCorners() ? 1 : 0);
    double square = channels * arriving.square * difference * steps * steps / 4;
    cells.push_back(SpreadContext::normalCell(
        {0, 0, square}, ctx.elementsPerGroup(grid, rank - 2)));
  }
  AbstractValue value(std::move(dims), cells);
  value.source = LikelySource::Propagated;
  Spread spread;
  spread.axes = ctx.spread(grid).axes;
  ctx.give(unsigned(index), std::move(value), spread);
}

static void spreadGridSample(mp::GridSampleGradOp op,
                             BackwardSpreadContext &ctx) {
  MaybeShape in = getShape(op.getInput()), out = getShape(op.getGrad());
  if (!in || !out || in->size() < 3 || out->size() != in->size())
    return;
  for (auto [index, number] : llvm::enumerate(op.getWanted())) {
    if (gradients::slotOf(op, number) == 1)
      giveToSampled(op, int64_t(index), *in, *out, ctx);
    else if (op.getMode() != "nearest")
      giveToGrid(op, int64_t(index), *in, ctx);
  }
}

void mpopt::attachSamplingSpreads(MLIRContext *context) {
  attachSpread<spreadResize, mp::ResizeGradOp>(context);
  attachSpread<spreadPad, mp::PadGradOp>(context);
  attachSpread<spreadGridSample, mp::GridSampleGradOp>(context);
}
