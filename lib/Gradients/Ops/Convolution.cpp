//===- Convolution.cpp - Spreads of gradients of convolutions
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Families.h"

#include "lib/Gradients/Sums.h"
#include "mpopt/Dialect/Ops/LinearOps.h"
#include "mpopt/Dialect/Ops/TrainingOps.h"
#include "mpopt/Dialect/WindowSupport.h"
#include "mpopt/Numerics/Likely.h"
#include "mpopt/Ranges/Spread/SpreadInterface.h"
#include "mpopt/Ranges/Value/CellSupport.h"
#include "mpopt/Ranges/Value/ShapeSupport.h"
#include "mpopt/Ranges/Weights/ProductSupport.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

/// Every axis behind the channels holds positions.
static AxisRoles imageRoles(const AxisRoles &input, size_t rank) {
  AxisRoles roles;
  roles.batch = input.batch;
  for (size_t axis = 2; axis < std::min<size_t>(rank, 32); ++axis)
    roles.positions |= 1u << axis;
  return roles;
}

/// A forward convolution: positions stay as alike as they are, and windows that
/// overlap make neighbours more so, which is not followed.
static void spreadConvolution(Operation *op, SpreadContext &ctx) {
  Spread spread = ctx.spread(op->getOperand(0));
  spread.unitSum = -1;
  spread.axes =
      imageRoles(spread.axes, TransferContext::rankOf(op->getResult(0)));
  spread.zero = 0;
  spread.factors = 1;
  // A gradient comes out of a transposed convolution: several positions of it
  // answer to one of what was before.
  MaybeShape from = getShape(op->getOperand(0)),
             to = getShape(op->getResult(0));
  double ratio = 1;
  for (size_t axis = 2; from && to && axis < to->size(); ++axis)
    if ((*from)[axis] > 0 && (*to)[axis] > 0)
      ratio *= double((*from)[axis]) / double((*to)[axis]);
  spread.reach = std::max(1.0, spread.reach / ratio);
  ctx.giveSpread(0, spread);
}

/// For each input channel sum_o (sum_taps w)^2 v_o; empty if the weights are
/// too many to read once more.
static std::vector<double> sumOverTaps(const WeightView &weights,
                                       uint64_t groups, uint64_t columns,
                                       uint64_t taps,
                                       ArrayRef<double> variance) {
  // Weights that are read once more: 64 MiB of FP32.
  constexpr int64_t kMost = 1 << 24;
  uint64_t outputs = uint64_t(weights.size()) / columns;
  if (weights.splat || weights.size() > kMost)
    return {};
  uint64_t perGroup = columns / taps;
  std::vector<double> row(columns), sums(groups * perGroup);
  for (uint64_t output = 0; output < outputs; ++output) {
    weights.read(int64_t(output * columns), row);
    uint64_t first = output / (outputs / groups) * perGroup;
    for (uint64_t channel = 0; channel < perGroup; ++channel) {
      double sum = 0;
      for (double weight : ArrayRef(row).slice(channel * taps, taps))
        sum += weight;
      sums[first + channel] +=
          sum * sum * variance[variance.size() == 1 ? 0 : output];
    }
  }
  return sums;
}

namespace {
/// By how many output positions each tap meets an element of the input on
/// average: a stride skips elements, and padding takes part of the taps from
/// those near an end, most of them where a map is smaller than the window. Only
/// the gradient within a border that is put around the input counts: the rest
/// is dropped.
class Meetings {
public:
  Meetings(mp::ConvGradOp op, ArrayRef<int64_t> filter,
           ArrayRef<int64_t> output, SpreadContext &ctx);

  /// The sum over taps.
  double all() const { return sum; }
  /// The number for a tap, which are counted along the last axis first.
  double of(uint64_t tap) const;

private:
  struct Axis {
    uint64_t kernel;
    /// Empty: 1 for each, where sizes are not known or taps are too many.
    std::vector<double> met;
  };
  SmallVector<Axis, 3> axes;
  double sum = 1;
};
} // namespace

Meetings::Meetings(mp::ConvGradOp op, ArrayRef<int64_t> filter,
                   ArrayRef<int64_t> output, SpreadContext &ctx) {
  constexpr int64_t kMost = 1 << 16; // taps of an axis that are told apart
  auto list = [](std::optional<ArrayRef<int64_t>> given) {
    return given.value_or(ArrayRef<int64_t>());
  };
  auto [input, window] = withBorder(
      op.getInput(),
      Window::get(filter.drop_front(2), list(op.getStrides()),
                  list(op.getDilations()), list(op.getPads()), op.getAutoPad()),
      ctx);
  Shape sizes = *getShape(input);
  for (auto [index, dim] : llvm::enumerate(window.dims)) {
    int64_t size = sizes[index + 2], places = output[index + 2];
    auto pads = window.pads(index, size);
    Axis axis{uint64_t(std::max<int64_t>(dim.kernel, 0)), {}};
    double along = double(axis.kernel);
    if (size > 0 && places > 0 && pads && dim.kernel <= kMost) {
      along = 0;
      for (int64_t tap = 0; tap < dim.kernel; ++tap) {
        // 0 <= place stride + offset < size.
        int64_t offset = tap * dim.dilation - pads->first;
        int64_t first =
            std::max<int64_t>(llvm::divideCeilSigned(-offset, dim.stride), 0);
        int64_t last = std::min(
            llvm::divideFloorSigned(size - 1 - offset, dim.stride), places - 1);
        axis.met.push_back(double(std::max<int64_t>(last - first + 1, 0)) /
                           double(size));
        along += axis.met.back();
      }
    }
    sum *= along;
    axes.push_back(std::move(axis));
  }
}

double Meetings::of(uint64_t tap) const {
  double product = 1;
  for (const Axis &axis : llvm::reverse(axes)) {
    if (!axis.met.empty())
      product *= axis.met[tap % axis.kernel];
    tap /= std::max<uint64_t>(axis.kernel, 1);
  }
  return product;
}

/// The spread of a gradient of the input: windows that overlap, whose extents
/// add up as those of distributions do.
static Spread spreadOfInput(const Spread &before, size_t rank, uint64_t taps,
                            double terms) {
  Spread spread;
  spread.axes = imageRoles(before.axes, rank);
  spread.alike = before.alike;
  spread.steady = before.steady;
  spread.answerAs(before);
  spread.reach += double(taps) - 1;
  spread.zero = std::pow(before.zero, terms);
  spread.factors = terms < 4 ? before.factors : 1;
  return spread;
}

/// The same where the filter is computed: by the moments of its elements, which
/// are independent. All channels are one group.
static void giveInputOfComputed(mp::ConvGradOp op, BackwardSpreadContext &ctx,
                                uint64_t outputsPerGroup, uint64_t taps,
                                double all) {
  if (!ctx.of(op.getFilter()).hasLikely())
    return;
  const Spread &before = ctx.spread(op.getGrad());
  Moments g = Moments::of(ctx.of(op.getGrad()).hull(), before);
  Moments w = Moments::of(ctx.of(op.getFilter()).hull(), /*alike=*/0);
  Moments sum =
      sumOf(g * w, TermCount{double(outputsPerGroup), 1, std::max(all, 1.0)});
  Value made = op->getResult(0);
  size_t rank = TransferContext::rankOf(op.getInput());
  AbstractValue value(
      AbstractValue::Dims(rank, 1),
      SpreadContext::normalCell(sum, ctx.elementsPerGroup(made, 1)));
  value.source = LikelySource::Propagated;
  double terms = double(outputsPerGroup) * all;
  Losses losses = ctx.losses(op.getGrad());
  losses.hit = losses.hit.ofSums(std::max(terms, 1.0));
  ctx.giveLosses(0, losses);
  ctx.give(0, std::move(value), spreadOfInput(before, rank, taps, terms));
}

/// Sum over taps and output channels of g w.
static void giveInput(mp::ConvGradOp op, BackwardSpreadContext &ctx) {
  MaybeShape filter = getShape(op.getFilter()), input = getShape(op.getInput()),
             output = getShape(op.getGrad());
  std::optional<WeightSource> weights = getWeightSource(ctx, op.getFilter());
  if (!filter || !input || !output || filter->size() < 2 ||
      llvm::is_contained(*filter, kDynamic) ||
      ctx.of(op.getGrad()).rank() != output->size())
    return;
  uint64_t groups = op.getGroup();
  uint64_t outputs = uint64_t((*filter)[0]), perGroup = uint64_t((*filter)[1]);
  uint64_t taps = 1;
  for (int64_t dim : ArrayRef(*filter).drop_front(2))
    taps *= uint64_t(dim);
  if (input->size() != filter->size() || output->size() != filter->size())
    return;
  Meetings meetings(op, *filter, *output, ctx);
  double all = meetings.all();
  if (groups == 0 || outputs % groups != 0)
    return;
  if (!weights)
    return giveInputOfComputed(op, ctx, outputs / groups, taps, all);
  // [outputs, inputs taps] is a matrix of which columns are summed over
  // outputs.
  uint64_t outputsPerGroup = outputs / groups, columns = perGroup * taps;
  AbstractValue dy = ctx.of(op.getGrad()).keeping({1});
  std::vector<double> mean, variance, reach;
  for (const Cell &cell : dy.cells()) {
    mean.push_back(cell.mean);
    variance.push_back(cell.variance);
    reach.push_back((cell.likelyHi - cell.likelyLo) / 2);
  }
  LinearRequest request;
  request.weights = weights->tensor;
  request.matrices = groups;
  request.k = outputsPerGroup;
  request.n = columns;
  request.inputs.mean = mean;
  request.inputs.variance = variance;
  request.inputs.halfRange = reach;
  LinearSums sums = linearSums(request, ctx.sharedSums());
  // The part that neighbours share meets the sum of the taps, the rest each of
  // them. Two taps meet one element with the probability `both`.
  double both = std::pow(all / double(taps), 2);
  std::vector<double> met(taps);
  for (uint64_t tap = 0; tap < taps; ++tap)
    met[tap] = meetings.of(tap);
  const Spread &before = ctx.spread(op.getGrad());
  std::vector<double> shared;
  if (before.alike > 0 && taps > 1)
    shared = sumOverTaps(*ctx.weights(op.getFilter()), groups, columns, taps,
                         variance);
  uint64_t channels = groups * perGroup;
  double count = ctx.elementsPerGroup(op->getResult(0), channels);
  std::vector<Cell> cells(channels);
  for (uint64_t channel = 0; channel < channels; ++channel) {
    double m = 0, v = 0, whole = 0, tail = 0;
    for (uint64_t tap = 0; tap < taps; ++tap) {
      uint64_t at =
          (channel / perGroup) * columns + (channel % perGroup) * taps + tap;
      m += met[tap] * sums.mean[at];
      v += met[tap] * sums.variance[at];
      whole += sums.variance[at];
      tail = std::max(tail, sums.tail[at]);
    }
    if (!shared.empty())
      v += before.alike * both * (shared[channel] - whole);
    Likely likely = likely::sum(m, v, tail, expectedExtreme(count));
    cells::setLikely(cells[channel], likely);
    cells[channel].lo = likely.lo;
    cells[channel].hi = likely.hi;
  }
  AbstractValue::Dims dims(input->size(), 1);
  dims[1] = int64_t(channels);
  AbstractValue value(dims, cells);
  value.source = LikelySource::Propagated;
  double terms = double(outputsPerGroup) * all;
  Losses losses = ctx.losses(op.getGrad());
  losses.hit = losses.hit.ofSums(std::max(terms, 1.0));
  ctx.giveLosses(0, losses);
  ctx.give(0, std::move(value),
           spreadOfInput(before, input->size(), taps, terms));
}

/// Sum over samples and output positions of g x, for each channel of both.
static void giveFilter(mp::ConvGradOp op, BackwardSpreadContext &ctx) {
  Value grad = op.getGrad(), input = op.getInput();
  MaybeShape filter = getShape(op.getFilter()), output = getShape(grad);
  if (!filter || !output || filter->size() != output->size() ||
      ctx.of(grad).rank() != output->size() ||
      ctx.of(input).rank() != output->size())
    return;
  // Labels: samples, output channels, places; a tap sees one place each.
  constexpr int kSample = 0, kOut = 1, kIn = 2, kPlaces = 3, kFree = -1;
  SmallVector<int> left{kSample, kOut}, right{kSample, kIn}, result{kOut, kIn};
  // Each channel has a filter of its own.
  bool depthwise = op.getGroup() > 1 && (*filter)[1] == 1 &&
                   (*filter)[0] == int64_t(op.getGroup());
  if (depthwise) {
    right[1] = kOut;
    result[1] = kFree;
  }
  for (size_t axis = 2; axis < output->size(); ++axis) {
    left.push_back(kPlaces + int(axis));
    right.push_back(kPlaces + int(axis));
    result.push_back(-int(axis)); // taps, which neither tells apart
  }
  Factor g = makeFactor(ctx, grad, left), x = makeFactor(ctx, input, right);
  if (op.getGroup() > 1 && !depthwise)
    x.value = x.value.merged();
  g.spread.axes = imageRoles(g.spread.axes, output->size());
  x.spread.axes = imageRoles(x.spread.axes, output->size());
  giveContraction(ctx, 1, std::move(g), std::move(x), result);
}

static void spreadConvGrad(mp::ConvGradOp op, BackwardSpreadContext &ctx) {
  giveInput(op, ctx);
  giveFilter(op, ctx);
  if (MaybeShape output = getShape(op.getGrad());
      output && ctx.of(op.getGrad()).rank() == output->size()) {
    SmallVector<int64_t> axes{0};
    for (size_t axis = 2; axis < output->size(); ++axis)
      axes.push_back(int64_t(axis));
    Spread spread = ctx.spread(op.getGrad());
    spread.axes = imageRoles(spread.axes, output->size());
    giveSum(ctx, 2, op.getGrad(), ctx.of(op.getGrad()), spread, axes,
            /*keepDims=*/false);
  }
}

void mpopt::attachConvolutionSpreads(MLIRContext *context) {
  attachSpread<spreadConvolution, mp::ConvOp, mp::ConvTransposeOp>(context);
  attachSpread<spreadConvGrad, mp::ConvGradOp>(context);
}
