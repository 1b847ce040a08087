//===- Convolution.cpp - Ranges of convolutions
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With constant filters by the streaming kernels: per element of small maps
// whose positions are distinguished, else per channel. Padding's zeros take
// part where they occur. Filters that are not constant are a box each output
// channel. A fast algorithm that multiplies sums of inputs (Winograd) loses
// more than the bound of the accumulator's error allows for: that is the
// target's matter.
//
//===----------------------------------------------------------------------===//

#include "lib/Ranges/Ops/Families.h"
#include "mpopt/Ranges/Weights/WeightProduct.h"

#include "mpopt/Dialect/Ops/LinearOps.h"
#include "mpopt/Dialect/WindowSupport.h"
#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Numerics/Rounding.h"
#include "mpopt/Ranges/RangeInterface.h"
#include "mpopt/Ranges/Value/ElementwiseSupport.h"
#include "mpopt/Ranges/Value/ShapeSupport.h"
#include "mpopt/Ranges/Weights/Kernels/Convolution.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <numeric>
#include <tuple>

using namespace mlir;
using namespace mpopt;

/// Number of products that distinguishing positions may take for each group
/// that a result may have: fewer in larger models.
static constexpr uint64_t kStepsPerGroup = 512;

namespace {
struct Convolution {
  Value input, filter, bias;
  int64_t group = 1;
  bool transposed = false;
  Window window;
  ArrayRef<int64_t> outputPadding, outputShape;
  /// The values that the kernel reads: the input, or samples of it.
  AbstractValue value;
  /// Every position sees every tap, as far as the bound goes: zeros are among
  /// the values already.
  bool zerosIncluded = false;
  /// Roundings of each product beyond the sum's own.
  uint64_t extraRoundings = 0;
  std::optional<AbstractValue> filterZero;

  std::optional<AbstractValue> biasCells = {};

  void run(TransferContext &ctx);

  std::optional<AbstractValue> runWeights(TransferContext &ctx,
                                          ProductResult &rules);
  AbstractValue runBox(TransferContext &ctx, ProductResult &rules);
  ConvolutionAxis axisOf(unsigned index) const;
  bool mapsAreSmall(TransferContext &ctx, const ConvolutionRequest &request,
                    AbstractValue::Dims &dims) const;
  /// The norm of the channels at one position.
  double normOfInputs(uint64_t inputs, uint64_t weights) const;
  /// That of the outputs at one position, without the bias, where that of
  /// the inputs at one position is `rows`.
  double normOfOutputs(const ConvolutionRequest &request, double rows,
                       const SharedSums &shared) const;
  /// Channels that a group of outputs reads, times the taps; nothing if
  /// unknown.
  std::optional<uint64_t> terms() const;
  int64_t outputs() const;
  std::optional<Cell> biasOf(uint64_t channel) const;
};
} // namespace

ConvolutionAxis Convolution::axisOf(unsigned index) const {
  const WindowDim &dim = window.dims[index];
  ConvolutionAxis axis;
  axis.kernel = dim.kernel;
  axis.stride = dim.stride;
  axis.dilation = dim.dilation;
  if (zerosIncluded)
    return axis;
  MaybeShape shape = getShape(input);
  int64_t size = shape ? (*shape)[2 + index] : kDynamic;
  axis.inputSize = std::max<int64_t>(size, -1);
  if (transposed) {
    axis.padBegin = dim.padBegin;
    axis.padEnd = dim.padEnd;
    if (!outputPadding.empty())
      axis.outputPadding = outputPadding[index];
    // Where the output's size is given, who knows where the padding went: any
    // part of a phase's taps may be missing.
    if (!outputShape.empty() || window.autoPad.starts_with("SAME"))
      axis.inputSize = -1;
    return axis;
  }
  if (std::optional<std::pair<int64_t, int64_t>> pads =
          window.pads(index, size)) {
    std::tie(axis.padBegin, axis.padEnd) = *pads;
    return axis;
  }
  // The padding is less than a window, or anything.
  axis.padBegin = axis.padEnd = dim.extent() < 0 ? INT64_MAX : dim.extent();
  return axis;
}

int64_t Convolution::outputs() const {
  MaybeShape shape = getShape(filter);
  if (!shape)
    return kDynamic;
  int64_t dim = (*shape)[transposed ? 1 : 0];
  return transposed ? (CheckedDim(dim) * group).get() : dim;
}

std::optional<uint64_t> Convolution::terms() const {
  MaybeShape shape = getShape(filter), in = getShape(input);
  if (!shape)
    return std::nullopt;
  int64_t channels = (*shape)[transposed ? 0 : 1];
  if (channels < 0 && in)
    channels = (*in)[1] < 0 ? kDynamic
               : transposed ? (*in)[1]
                            : (*in)[1] / group;
  std::optional<int64_t> taps =
      getNumElements(Shape(ArrayRef(*shape).drop_front(2)));
  if (channels < 0 || !taps)
    return std::nullopt;
  return uint64_t(transposed ? channels / group : channels) * uint64_t(*taps);
}

std::optional<Cell> Convolution::biasOf(uint64_t channel) const {
  if (!biasCells)
    return std::nullopt;
  return biasCells->cell(biasCells->groups() == 1 ? 0 : channel);
}

/// True if the input distinguishes positions and there are few enough of them.
bool Convolution::mapsAreSmall(TransferContext &ctx,
                               const ConvolutionRequest &request,
                               AbstractValue::Dims &dims) const {
  bool kept = false;
  uint64_t groups = request.outputs;
  dims = {1, int64_t(request.outputs)};
  MaybeShape shape = getShape(ctx.op()->getResult(0));
  for (auto [index, axis] : llvm::enumerate(request.axes)) {
    int64_t own = value.dims()[2 + index];
    if (axis.inputSize < 0 || (own != 1 && own != axis.inputSize))
      return false;
    kept |= own != 1;
    dims.push_back(axis.outputSize(transposed));
    if (dims.back() <= 0 || !shape || (*shape)[2 + index] != dims.back())
      return false;
    groups = llvm::SaturatingMultiply(groups, uint64_t(dims.back()));
  }
  return kept && groups <= ctx.maxGroups() &&
         groups * request.terms() <= kStepsPerGroup * ctx.maxGroups();
}

double Convolution::normOfInputs(uint64_t inputs, uint64_t weights) const {
  // Only a fact bounds a row better than its elements do.
  if (weights > kSmallMatrix && !(value.norm && value.norm->axis == 1))
    return kInfinity;
  bool isKept = value.dims()[1] == int64_t(inputs);
  return rowNorm(isKept ? value : value.merging(1), 1, int64_t(inputs));
}

/// A window is as many rows as it has taps, and the outputs of a group are one
/// matrix times it; of groups the largest norm counts. A transposed convolution
/// adds up the products of as many rows as reach a position.
double Convolution::normOfOutputs(const ConvolutionRequest &request,
                                  double rows, const SharedSums &shared) const {
  LinearRequest matrix;
  matrix.weights = request.weights;
  matrix.matrices = request.groups;
  matrix.k = request.inputs / request.groups;
  matrix.n = request.outputs / request.groups;
  matrix.transposed = !transposed;
  (transposed ? matrix.n : matrix.k) *= request.taps();
  matrix.wantNorm = true;
  double factor = sqrtUp(double(request.taps()));
  if (transposed) {
    factor = 1;
    // A position is reached by the taps of one phase along each axis.
    for (const ConvolutionAxis &axis : request.axes)
      factor *= double(llvm::divideCeil(
          uint64_t(axis.kernel),
          uint64_t(axis.stride / std::gcd(axis.stride, axis.dilation))));
  }
  double norm = 0;
  for (double each : linearSums(matrix, shared).operatorNorm)
    norm = std::max(norm, each);
  return mulUp(mulUp(rows, factor), norm);
}

std::optional<AbstractValue> Convolution::runWeights(TransferContext &ctx,
                                                     ProductResult &rules) {
  std::optional<WeightSource> source = getWeightSource(ctx, filter);
  if (!source || source->size() == 0)
    return std::nullopt;
  ConvolutionRequest request;
  request.weights = source->tensor;
  request.outputs = outputs();
  request.inputs = transposed ? source->shape[0] : source->shape[1] * group;
  request.groups = group;
  request.transposed = transposed;
  if (request.inputs % group || request.outputs % group)
    return std::nullopt;
  for (unsigned index = 0; index < window.dims.size(); ++index)
    request.axes.push_back(axisOf(index));
  std::vector<double> zeros;
  if (filterZero) {
    if (filterZero->groups() != 1 && filterZero->groups() != request.outputs)
      return std::nullopt;
    for (const Cell &cell : filterZero->cells()) {
      if (cell.lo != cell.hi)
        return std::nullopt;
      zeros.push_back(cell.lo);
    }
    request.weights.zeroPoints = zeros;
  }

  AbstractValue::Dims dims;
  bool elements = mapsAreSmall(ctx, request, dims);
  InputLists inputs;
  if (elements) {
    AbstractValue::Dims target = {1, int64_t(request.inputs)};
    for (const ConvolutionAxis &axis : request.axes)
      target.push_back(axis.inputSize);
    AbstractValue whole = value;
    if (whole.dims()[0] != 1)
      whole = whole.merging(0);
    if (whole.dims()[1] != 1 && whole.dims()[1] != target[1])
      whole = whole.merging(1);
    AbstractValue spread = whole.regrouped(target);
    for (const Cell &cell : spread.cells())
      inputs.add(cell);
  } else {
    dims.assign(2 + window.dims.size(), 1);
    dims[1] = request.outputs;
    AbstractValue channels = value.keeping({1});
    if (channels.dims()[1] != int64_t(request.inputs))
      channels = channels.merging(1);
    for (const Cell &cell : channels.cells())
      inputs.add(cell);
  }
  request.values = inputs.get();
  LinearSums sums = elements
                        ? convolutionElements(request)
                        : convolutionSums(request, source->sharedSums(ctx));
  const AbstractValue &taps = ctx.of(filter);
  rules.addWeights(taps, sums.flags);
  if (AbstractValue channels = taps.keeping({transposed ? 1 : 0});
      !filterZero &&
      areShaped(channels, double(source->size()) / double(channels.groups())))
    rules.setExtreme(
        expectedFilterExtreme(ctx.elementsPerGroup(ctx.op()->getResult(0), 1)));
  Cells made(countGroups(dims));
  MutableCells cells = made.mutate();
  uint64_t positions = cells.size() / request.outputs;
  double scale = 1, rows = normOfInputs(request.inputs, source->size());
  double norm = mulUp(rows, sqrtUp(double(request.taps())));
  if (biasCells && biasCells->groups() > 1)
    scale = scaleByBias(sums.mean,
                        [&](size_t at) { return *biasOf(at / positions); });
  for (size_t at = 0; at < cells.size(); ++at) {
    ProductSum sum = ProductSum::of(sums, at, request.terms());
    sum.scaleEstimate(scale);
    sum.count += extraRoundings;
    if (norm < kInfinity)
      sum.limit(mulUp(norm, sums.norm[at]));
    cells[at] = rules.finish(sum, 1, biasOf(at / positions), 1);
  }
  AbstractValue result = rules.take(dims, std::move(made));
  if (norm < kInfinity && sums.flags.empty() && ctx.needsBounds() &&
      mayReadNorm(ctx.op()->getResult(0))) {
    double bound = normOfOutputs(request, rows, source->sharedSums(ctx));
    if (biasCells)
      bound = addUp(bound, rowNorm(*biasCells, 0, int64_t(request.outputs)));
    ProductResult::setNorm(result, 1, request.outputs, bound, rules.error());
  }
  return result;
}

AbstractValue Convolution::runBox(TransferContext &ctx, ProductResult &rules) {
  size_t rank = ctx.rankOf(ctx.op()->getResult(0));
  const AbstractValue &weights = ctx.of(filter);
  rules.addOperand(weights);
  std::optional<uint64_t> count = terms();
  if (!count)
    return bias ? AbstractValue::top(rank)
                : unboundedProducts(ctx, value, weights, rank);
  // Padding, and in a transposed convolution a position between.
  Cell in = value.hull();
  Interval range = cells::bound(in);
  range = range.isEmpty() ? Interval::point(0) : hull(range, 0);
  AbstractValue taps = transposed ? weights.merged() : weights.keeping({0});
  Interval off =
      filterZero ? cells::bound(filterZero->hull()) : Interval::point(0);
  AbstractValue::Dims dims(rank, 1);
  dims[1] = taps.groups();
  std::vector<Cell> cells;
  for (const Cell &cell : taps.cells()) {
    Interval bound = cells::bound(cell);
    bound = bound.isEmpty() ? Interval::point(0) : hull(bound - off, 0);
    DotOperand a, b;
    double half = (in.likelyHi - in.likelyLo) / 2;
    double halfTap = (cell.likelyHi - cell.likelyLo) / 2;
    a.range = range;
    a.mean = in.mean;
    a.variance = in.variance;
    a.halfRange = half;
    b.range = bound;
    b.mean = cell.mean;
    b.variance = cell.variance;
    b.halfRange = halfTap;
    ProductSum sum = ProductSum::of(dotOfBoxes(a, b, *count), *count);
    sum.count += extraRoundings;
    // Channels that are one group have the biases of all of them.
    std::optional<Cell> added = biasOf(cells.size());
    if (biasCells && taps.groups() == 1)
      added = biasCells->hull();
    cells.push_back(rules.finish(sum, 1, added, 1));
  }
  return rules.take(dims, Cells(cells));
}

void Convolution::run(TransferContext &ctx) {
  Value result = ctx.op()->getResult(0);
  MaybeShape in = getShape(input), taps = getShape(filter);
  if (!taps || ctx.rankOf(result) != taps->size() ||
      (in && (in->size() != taps->size() || value.rank() != in->size())))
    return ctx.unknown();
  // The filter says what the input's rank is where that is open.
  if (!in) {
    AbstractValue hull(AbstractValue::Dims(taps->size(), 1), value.hull());
    hull.copyFlags(value);
    hull.source = value.source;
    value = std::move(hull);
  }
  ProductResult rules(ctx, input, result);
  rules.addOperand(value);
  if (bias) {
    biasCells = ctx.of(bias);
    if (biasCells->rank() != 1 ||
        (biasCells->groups() != 1 && int64_t(biasCells->groups()) != outputs()))
      biasCells = AbstractValue(AbstractValue::Dims(1, 1), biasCells->hull());
    rules.addBias(ctx.of(bias));
  }
  if (std::optional<AbstractValue> known = runWeights(ctx, rules))
    return ctx.result(0, std::move(*known));
  ctx.result(0, runBox(ctx, rules));
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

static SmallVector<int64_t> getKernel(Value filter) {
  if (MaybeShape shape = getShape(filter))
    return SmallVector<int64_t>(ArrayRef(*shape).drop_front(2));
  return {};
}

/// The convolution of an op that reads its input as it is.
template <typename OpTy>
static Convolution getConvolution(OpTy op, Value bias, TransferContext &ctx) {
  Convolution conv{op.getInput(), op.getFilter(), bias, int64_t(op.getGroup())};
  conv.window = Window::get(getKernel(op.getFilter()), op.getStrides(),
                            op.getDilations(), op.getPads(), op.getAutoPad());
  conv.value = ctx.operand(0);
  return conv;
}

static void transferConv(mp::ConvOp op, TransferContext &ctx) {
  Convolution conv = getConvolution(op, op.getBias(), ctx);
  std::tie(conv.input, conv.window) = withBorder(conv.input, conv.window, ctx);
  conv.value = ctx.of(conv.input);
  conv.run(ctx);
}

static void transferConvTranspose(mp::ConvTransposeOp op,
                                  TransferContext &ctx) {
  Convolution conv = getConvolution(op, op.getBias(), ctx);
  conv.transposed = true;
  conv.outputPadding = op.getOutputPadding();
  conv.outputShape = op.getOutputShape();
  conv.run(ctx);
}

static void transferConvInteger(mp::ConvIntegerOp op, TransferContext &ctx) {
  Convolution conv = getConvolution(op, Value(), ctx);
  if (op.getInputZeroPoint())
    conv.value = minusZero(conv.value, ctx.of(op.getInputZeroPoint()));
  if (op.getFilterZeroPoint())
    conv.filterZero = ctx.of(op.getFilterZeroPoint());
  conv.run(ctx);
}

/// A sample is a convex combination of four elements, or of some and zeros.
static void transferDeformConv(mp::DeformConvOp op, TransferContext &ctx) {
  Convolution conv{op.getInput(), op.getFilter(), op.getBias(),
                   int64_t(op.getGroup())};
  conv.window = Window::get(getKernel(op.getFilter()), op.getStrides(),
                            op.getDilations(), op.getPads());
  const AbstractValue &input = ctx.operand(0);
  if (input.rank() < 3)
    return ctx.unknown();
  AbstractValue value = AbstractValue::boundedLike(input.keeping({1}));
  // Weights of the interpolation are rounded, too: by a few units.
  double unit = 16 * ctx.functionFormat(op.getInput()).unitRoundoff();
  bool masked = bool(op.getMask());
  Cell mask = masked ? ctx.of(op.getMask()).hull() : Cell{1, 1, 1, 0, 1, 1};
  for (CellRef cell : value.mutableCells()) {
    Interval bound = hull(cells::bound(cell), 0).widened(unit, 1e-40);
    bound = bound * hull(cells::bound(mask), masked ? 0.0 : 1.0);
    cell.lo = bound.lo;
    cell.hi = bound.hi;
    double lo = std::min(cell.likelyLo, 0.0), hi = std::max(cell.likelyHi, 0.0);
    double scale = std::max(std::fabs(mask.likelyLo), std::fabs(mask.likelyHi));
    cell.variance = cell.variance * (mask.mean * mask.mean + mask.variance) +
                    mask.variance * cell.mean * cell.mean;
    cell.mean *= mask.mean;
    cell.likelyLo = lo * scale;
    cell.likelyHi = hi * scale;
  }
  value.nan |= ctx.of(op.getOffset()).mayBeNonFinite();
  if (masked) {
    const AbstractValue &factors = ctx.of(op.getMask());
    value.nan |= factors.mayBeNonFinite() || value.mayBeInf();
    value.posInf |= factors.mayBeInf();
    value.negInf |= factors.mayBeInf() || (value.posInf && mask.lo < 0);
    value.posInf |= value.negInf && mask.lo < 0;
  }
  value.nan |= value.mayBeInf(); // 0 times it, in the interpolation
  conv.value = std::move(value);
  conv.zerosIncluded = true;
  conv.extraRoundings = 8;
  conv.run(ctx);
}

void mpopt::attachConvolutionTransfers(MLIRContext *context) {
  attachTransfer<transferConv, mp::ConvOp>(context);
  attachTransfer<transferConvTranspose, mp::ConvTransposeOp>(context);
  attachTransfer<transferConvInteger, mp::ConvIntegerOp>(context);
  attachTransfer<transferDeformConv, mp::DeformConvOp>(context);
}
