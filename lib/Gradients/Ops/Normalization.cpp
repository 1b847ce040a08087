//===- Normalization.cpp - Spreads of gradients of norms
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With n the normalised x, r the inverse deviation and h = g scale, all norms
// have dX = r (h - mean h - n mean(h n)): h without its components along 1 and
// n, two of the C dimensions that a row has.
//
//===----------------------------------------------------------------------===//

#include "Families.h"

#include "lib/Gradients/Sums.h"
#include "mpopt/Dialect/Ops/GradientOps.h"
#include "mpopt/Dialect/Ops/NormalizationOps.h"
#include "mpopt/Dialect/Ops/TrainingOps.h"
#include "mpopt/Gradients/SpreadModels.h"
#include "mpopt/Ranges/Spread/SpreadInterface.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

namespace {
/// A norm, as its gradient op describes it.
struct Norm {
  Value grad, input;
  /// Null: there is none.
  Value scale;
  /// The axes over which statistics are taken, and those of the scale.
  SmallVector<int64_t> statistics, channels;
  double epsilon = 0;
  /// RMS norms keep the mean.
  bool centred = true;
  /// Statistics are given: dX = r h.
  bool frozen = false;
  /// The variances of channels that training has kept, if it has; null if not.
  Value kept;
  /// The inverse deviations of channels that are given; null if they are not.
  Value inverse;
  /// For each channel, by what errors that come by the input are larger than
  /// those of independent elements are (AbstractValue::understated). Empty:
  /// there is no such factor.
  ArrayRef<double> gains;

  double meanGain() const {
    double square = 0;
    for (double gain : gains)
      square += gain * gain;
    return gains.empty() ? 1 : std::sqrt(square / double(gains.size()));
  }
};
} // namespace

static std::vector<int64_t> otherAxes(int64_t rank, ArrayRef<int64_t> axes) {
  std::vector<int64_t> others;
  for (int64_t axis = 0; axis < rank; ++axis)
    if (!llvm::is_contained(axes, axis))
      others.push_back(axis);
  return others;
}

/// A parameter's groups along the axes that it has.
static AbstractValue alongAxes(const AbstractValue &parameter,
                               ArrayRef<int64_t> axes, size_t rank,
                               const MaybeShape &shape) {
  AbstractValue::Dims dims(rank, 1);
  if (parameter.groups() > 1 && parameter.rank() <= axes.size() && shape) {
    // The last axes of the parameter are the last of those.
    size_t shift = axes.size() - parameter.rank();
    for (size_t i = 0; i < parameter.rank(); ++i)
      dims[axes[i + shift]] = parameter.dims()[i];
    return parameter.withDims(dims);
  }
  return AbstractValue(dims, parameter.hull());
}

/// x, normalised, and the inverse deviations of its rows as means.
static AbstractValue normalised(BackwardSpreadContext &ctx, const Norm &norm,
                                const AbstractValue &x,
                                AbstractValue &inverse) {
  inverse = x.keeping(otherAxes(int64_t(x.rank()), norm.statistics));
  if (norm.kept) {
    AbstractValue kept = alongAxes(ctx.of(norm.kept), norm.channels, x.rank(),
                                   getShape(norm.input));
    inverse = inverse.regrouped(kept.dims());
    for (size_t group = 0; group < kept.groups(); ++group)
      inverse.mutableCells()[group].variance = kept.cell(group).mean;
  }
  AbstractValue rows = inverse.regrouped(x.dims());
  for (CellRef row : inverse.mutableCells()) {
    double square =
        norm.centred ? row.variance : row.mean * row.mean + row.variance;
    row = Cell{0, 0, 1 / std::sqrt(std::max(square, 0.0) + norm.epsilon)};
  }
  if (norm.inverse)
    inverse = alongAxes(ctx.of(norm.inverse), norm.channels, x.rank(),
                        getShape(norm.input));
  AbstractValue factors = inverse.regrouped(x.dims());
  AbstractValue result =
      AbstractValue(AbstractValue::Dims(x.dims()), x.cells());
  MutableCells cells = result.mutableCells();
  for (size_t group = 0; group < cells.size(); ++group) {
    double r = factors.cell(group).mean;
    CellRef cell = cells[group];
    cell.mean = (cell.mean - (norm.centred ? rows.cell(group).mean : 0)) * r;
    cell.variance *= r * r;
  }
  return result;
}

/// Multiplies means and deviations of `value` by those of a parameter.
static void scaleBy(AbstractValue &value, const AbstractValue &parameter) {
  AbstractValue factors = parameter;
  bool one = factors.groups() == 1;
  if (!one) {
    AbstractValue::Dims dims;
    for (auto [own, other] : llvm::zip(value.dims(), factors.dims()))
      dims.push_back(std::max(own, other));
    value = value.regrouped(dims);
    factors = factors.regrouped(dims);
  }
  MutableCells cells = value.mutableCells();
  for (size_t group = 0; group < cells.size(); ++group) {
    CellRef cell = cells[group];
    Cell factor = factors.cell(one ? 0 : group);
    double square = factor.mean * factor.mean + factor.variance;
    double whole = (cell.mean * cell.mean + cell.variance) * square;
    cell.mean *= factor.mean;
    cell.variance = std::max(0.0, whole - cell.mean * cell.mean);
    double size =
        std::max(std::fabs(factor.likelyLo), std::fabs(factor.likelyHi));
    cell.likelyLo *= size;
    cell.likelyHi *= size;
  }
}

static void giveInput(BackwardSpreadContext &ctx, unsigned index,
                      const Norm &norm, const AbstractValue &scale,
                      const AbstractValue &inverse) {
  AbstractValue h = AbstractValue(AbstractValue::Dims(ctx.of(norm.grad).dims()),
                                  ctx.of(norm.grad).cells());
  if (norm.scale)
    scaleBy(h, scale);
  double count = ctx.countTerms(norm.input, norm.statistics).all();
  double free =
      norm.frozen ? 1 : std::max(0.0, 1 - (norm.centred ? 2 : 1) / count);
  AbstractValue::Dims dims;
  for (auto [own, other] : llvm::zip(h.dims(), inverse.dims()))
    dims.push_back(std::max(own, other));
  h = h.regrouped(dims);
  AbstractValue factors = inverse.regrouped(dims);
  AbstractValue rows = h.keeping(otherAxes(int64_t(h.rank()), norm.statistics))
                           .regrouped(h.dims());
  MutableCells cells = h.mutableCells();
  // Only norms of channels, which are axis 1, have gains.
  size_t channels = norm.gains.size();
  bool apart = channels > 0 && size_t(dims[1]) == channels;
  size_t inner = apart ? countGroups(ArrayRef<int64_t>(dims).drop_front(2)) : 1;
  double meanGain = norm.meanGain();
  for (size_t group = 0; group < cells.size(); ++group) {
    CellRef cell = cells[group];
    double gain = apart ? norm.gains[group / inner % channels] : meanGain;
    double mean = norm.frozen || !norm.centred ? 0 : rows.cell(group).mean;
    double r = factors.cell(group).mean * gain;
    cell.mean = (cell.mean - mean) * r;
    cell.variance *= r * r * free;
    cell.likelyLo = std::min((cell.likelyLo - mean) * r, cell.mean);
    cell.likelyHi = std::max((cell.likelyHi - mean) * r, cell.mean);
    cell.lo = cell.likelyLo;
    cell.hi = cell.likelyHi;
  }
  h.source = LikelySource::Propagated;
  Spread spread = ctx.spread(norm.grad);
  TermCount terms = ctx.countTerms(norm.input, norm.statistics);
  // A norm of channels leaves positions that are 0.
  if (!norm.frozen) {
    if (terms.positions * terms.samples > 1)
      spread.zeroRows = 0;
    spread.zero = spread.zeroRows;
  }
  if (!norm.frozen && norm.centred && norm.statistics.size() == 1)
    spread.zeroSum = int(norm.statistics.front());
  // A norm over positions takes off what they share.
  if (!norm.frozen && terms.positions > 1 && terms.samples == 1 &&
      terms.channels == 1)
    spread.alike = 0;
  // The part that all samples share goes, too.
  if (!norm.frozen && terms.positions * terms.samples > 1 &&
      terms.channels == 1)
    spread.steady = 0;
  spread.balanced = !norm.frozen && terms.samples > 1;
  ctx.give(index, std::move(h), spread);
}

/// The gradient of the scale, the sum of g n: both have their groups along the
/// channels. `n` is the input, normalised.
static void giveScale(BackwardSpreadContext &ctx, unsigned index,
                      const Norm &norm, const AbstractValue &n,
                      ArrayRef<int64_t> summed) {
  int64_t rank = int64_t(n.rank());
  SmallVector<int> labels = llvm::to_vector(llvm::seq(0, int(rank)));
  // Channels are an index of both, told apart where both tell them apart.
  Factor g = makeFactor(ctx, norm.grad, labels);
  AbstractValue::Dims dims(rank, 1);
  for (int64_t axis : norm.channels)
    dims[axis] = std::max(g.value.dims()[axis], n.dims()[axis]);
  AbstractValue left = g.value.keeping(norm.channels).regrouped(dims);
  AbstractValue right = n.keeping(norm.channels).regrouped(dims);
  Spread other = ctx.spread(norm.input);
  AbstractValue product = left;
  MutableCells cells = product.mutableCells();
  for (size_t group = 0; group < cells.size(); ++group) {
    CellRef cell = cells[group];
    Moments m = Moments::of(left.cell(group), g.spread) *
                Moments::of(right.cell(group), other);
    double peak = std::max(std::fabs(cell.likelyLo), std::fabs(cell.likelyHi));
    cell.mean = m.mean;
    cell.variance = m.variance();
    peak *= std::sqrt(right.cell(group).variance +
                      right.cell(group).mean * right.cell(group).mean);
    cell.likelyLo = cell.lo = -peak;
    cell.likelyHi = cell.hi = peak;
  }
  Spread spread = g.spread;
  Moments one = Moments::of(left.hull(), g.spread),
          two = Moments::of(right.hull(), other), all = one * two;
  all.steady +=
      responseToItself(ctx, norm.grad) * one.variance() * two.variance();
  spread.alike = all.alike();
  spread.steady = all.steadyPart();
  giveSum(ctx, index, norm.grad, product, spread, summed,
          /*keepDims=*/false);
}

/// `wanted` says which results there are: the gradients of input, scale, bias.
static void giveNorm(BackwardSpreadContext &ctx, const Norm &norm,
                     ArrayRef<int> wanted) {
  MaybeShape shape = getShape(norm.input);
  const AbstractValue &x = ctx.of(norm.input);
  if (!shape || x.rank() != shape->size() ||
      ctx.of(norm.grad).rank() != shape->size())
    return;
  int64_t rank = int64_t(shape->size());
  AbstractValue scale =
      norm.scale
          ? alongAxes(ctx.of(norm.scale), norm.channels, size_t(rank), shape)
          : AbstractValue(AbstractValue::Dims(rank, 1), Cell{});
  AbstractValue inverse;
  AbstractValue n = normalised(ctx, norm, x, inverse);
  std::vector<int64_t> summed = otherAxes(rank, norm.channels);
  for (auto [index, which] : llvm::enumerate(wanted)) {
    if (which == 0) {
      giveInput(ctx, unsigned(index), norm, scale, inverse);
    } else if (which == 1) {
      giveScale(ctx, unsigned(index), norm, n, summed);
    } else {
      giveSum(ctx, unsigned(index), norm.grad, summed, /*keepDims=*/false);
    }
  }
}

static SmallVector<int64_t> axesFrom(Value value, int64_t axis) {
  int64_t rank = TransferContext::rankOf(value);
  std::optional<int64_t> first = normalizeAxis(axis, rank);
  return first ? llvm::to_vector(llvm::seq<int64_t>(*first, rank))
               : SmallVector<int64_t>();
}

static double epsilonOf(std::optional<APFloat> epsilon) {
  return epsilon ? epsilon->convertToDouble() : 1e-5;
}

static void spreadLayerNorm(mp::LayerNormGradOp op,
                            BackwardSpreadContext &ctx) {
  if (op.getFromOutput())
    return;
  Norm norm{op.getGrad(), op.getInput(), op.getScale()};
  norm.statistics = norm.channels = axesFrom(op.getInput(), op.getAxis());
  norm.epsilon = epsilonOf(op.getEpsilon());
  giveNorm(ctx, norm, {0, 1, 2});
}

static void spreadRmsNorm(mp::RmsNormGradOp op, BackwardSpreadContext &ctx) {
  Norm norm{op.getGrad(), op.getInput(), op.getScale()};
  norm.statistics = norm.channels = axesFrom(op.getInput(), op.getAxis());
  norm.epsilon = epsilonOf(op.getEpsilon());
  norm.centred = false;
  giveNorm(ctx, norm, {0, 1});
}

/// The variances that a training batch norm of `input` has kept. They begin as
/// 1 and follow those of batches by a tenth a step: until many steps were done
/// they say little, unless they went far below 1.
static Value keptVariance(BackwardSpreadContext &ctx, Value input) {
  for (Operation *user : input.getUsers()) {
    auto norm = dyn_cast<mp::BatchNormOp>(user);
    if (!norm || norm.getInput() != input || !norm.getVariance())
      continue;
    const AbstractValue &kept = ctx.of(norm.getVariance());
    if (kept.source == LikelySource::Weight && kept.constant() != 1 &&
        (ctx.stepsDone() >= 30 || kept.hull().mean < 0.5))
      return norm.getVariance();
  }
  return {};
}

static void spreadBatchNorm(mp::BatchNormGradOp op,
                            BackwardSpreadContext &ctx) {
  int64_t rank = TransferContext::rankOf(op.getInput());
  if (rank < 2)
    return;
  Norm norm{op.getGrad(), op.getInput(), op.getScale()};
  norm.channels = {1};
  std::vector<int64_t> others = otherAxes(rank, {1});
  norm.statistics.assign(others.begin(), others.end());
  norm.epsilon = op.getEpsilon().convertToDouble();
  norm.frozen = op.getFrozen();
  // Statistics that are given are those that the op divides by: what
  // mp-differentiate gives a frozen norm is the inverse deviation.
  if (auto gains = op->getAttrOfType<DenseF64ArrayAttr>(kGainAttr))
    norm.gains = gains.asArrayRef();
  if (!norm.frozen)
    norm.kept = keptVariance(ctx, op.getInput());
  else if (ctx.of(op.getVariance()).hasLikely())
    norm.inverse = op.getVariance();
  giveNorm(ctx, norm, {0, 1, 2});
}

/// Input, scale and bias are operands 1, 2 and 3.
template <typename OpTy>
static void giveWanted(OpTy op, Norm norm, BackwardSpreadContext &ctx) {
  SmallVector<int> wanted;
  for (int64_t which : op.getWanted())
    wanted.push_back(int(which) - 1);
  giveNorm(ctx, norm, wanted);
}

static void spreadGroupNorm(mp::GroupNormGradOp op,
                            BackwardSpreadContext &ctx) {
  int64_t rank = TransferContext::rankOf(op.getInput());
  if (rank < 2)
    return;
  Norm norm{op.getGrad(), op.getInput(), op.getScale()};
  norm.channels = {1};
  // Several channels have one deviation; rows keep samples apart.
  norm.statistics = llvm::to_vector(llvm::seq<int64_t>(1, rank));
  norm.epsilon = op.getEpsilon().convertToDouble();
  giveWanted(op, norm, ctx);
}

static void spreadInstanceNorm(mp::InstanceNormGradOp op,
                               BackwardSpreadContext &ctx) {
  int64_t rank = TransferContext::rankOf(op.getInput());
  if (rank < 2)
    return;
  Norm norm{op.getGrad(), op.getInput(), op.getScale()};
  norm.channels = {1};
  norm.statistics = llvm::to_vector(llvm::seq<int64_t>(2, rank));
  norm.epsilon = op.getEpsilon().convertToDouble();
  giveWanted(op, norm, ctx);
}

static void spreadMeanVarianceNorm(mp::MeanVarianceNormGradOp op,
                                   BackwardSpreadContext &ctx) {
  int64_t rank = TransferContext::rankOf(op.getInput());
  Norm norm{op.getGrad(), op.getInput(), Value()};
  for (int64_t axis : op.getAxes())
    if (std::optional<int64_t> normal = normalizeAxis(axis, rank))
      norm.statistics.push_back(*normal);
  std::vector<int64_t> others = otherAxes(rank, norm.statistics);
  norm.channels.assign(others.begin(), others.end());
  // The one of the op is 1e-9.
  norm.epsilon = 0;
  giveNorm(ctx, norm, {0});
}

/// dX = dY s^-b - 2 a b / n x sum(dY x s^(-b - 1)), the sum over n neighbours,
/// one of which is the element itself.
static void spreadLRN(mp::LRNGradOp op, BackwardSpreadContext &ctx) {
  const AbstractValue &x = ctx.of(op.getInput());
  if (!x.hasLikely() || op.getWanted().size() != 1)
    return;
  double alpha = op.getAlpha().convertToDouble(),
         beta = op.getBeta().convertToDouble(),
         size = double(std::max<int64_t>(op.getSize(), 1));
  Moments input = Moments::of(x.hull(), 0);
  double divisor = op.getBias().convertToDouble() + alpha * input.square;
  if (!(divisor > 0))
    return;
  double direct = std::pow(divisor, -beta);
  double across = 2 * alpha * beta / size * input.square / divisor;
  double factor =
      std::sqrt(std::max(0.0, 1 - 2 * across + across * across * size));
  AbstractValue value = ctx.of(op.getGrad());
  for (CellRef cell : value.mutableCells()) {
    double scale = direct * factor;
    cell = Cell{cell.lo * scale,       cell.hi * scale,
                cell.mean * direct,    cell.variance * scale * scale,
                cell.likelyLo * scale, cell.likelyHi * scale};
  }
  value.source = LikelySource::Propagated;
  ctx.give(0, std::move(value), ctx.spread(op.getGrad()));
}

void mpopt::attachNormalizationSpreads(MLIRContext *context) {
  attachSpread<spreadLayerNorm, mp::LayerNormGradOp>(context);
  attachSpread<spreadRmsNorm, mp::RmsNormGradOp>(context);
  attachSpread<spreadBatchNorm, mp::BatchNormGradOp>(context);
  attachSpread<spreadGroupNorm, mp::GroupNormGradOp>(context);
  attachSpread<spreadInstanceNorm, mp::InstanceNormGradOp>(context);
  attachSpread<spreadMeanVarianceNorm, mp::MeanVarianceNormGradOp>(context);
  attachSpread<spreadLRN, mp::LRNGradOp>(context);
}
