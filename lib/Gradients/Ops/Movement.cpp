//===- Movement.cpp - Spreads of elements that are moved
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Estimates of elements follow by the range transfer functions. Here is where
// samples and positions go, and what gradients of selections leave at zero.
//
//===----------------------------------------------------------------------===//

#include "Families.h"

#include "lib/Gradients/Sums.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/IndexingOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"
#include "mpopt/Dialect/Ops/TrainingOps.h"
#include "mpopt/Ranges/Spread/SpreadInterface.h"
#include "mpopt/Ranges/Value/ShapeSupport.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

//===----------------------------------------------------------------------===//
// Reshapes
//===----------------------------------------------------------------------===//

/// The roles of axes after a reshape: runs of axes with equal products belong
/// together. Samples stay the outermost of their run.
static AxisRoles reshapeRoles(const AxisRoles &roles, ArrayRef<int64_t> from,
                              ArrayRef<int64_t> to) {
  AxisRoles result;
  size_t i = 0, j = 0;
  while (i < from.size() && j < to.size()) {
    size_t firstFrom = i, firstTo = j;
    double left = double(from[i++]), right = double(to[j++]);
    while (left != right && (i < from.size() || j < to.size())) {
      if ((left < right && i < from.size()) || j == to.size())
        left *= double(from[i++]);
      else
        right *= double(to[j++]);
    }
    // Ones behind a run belong to it.
    while (i < from.size() && from[i] == 1)
      ++i;
    while (j < to.size() && to[j] == 1)
      ++j;
    bool batch = false, positions = true;
    for (size_t axis = firstFrom; axis < i; ++axis) {
      bool here = int(axis) == roles.batch;
      batch |= here;
      positions &= here || roles.isPosition(int64_t(axis)) || from[axis] == 1;
    }
    for (size_t axis = firstTo; axis < std::min<size_t>(j, 32); ++axis) {
      if (batch && to[axis] != 1 && result.batch < 0)
        result.batch = int(axis);
      else if (positions && to[axis] != 1)
        result.positions |= 1u << axis;
    }
  }
  return result;
}

static void spreadReshape(Operation *op, SpreadContext &ctx) {
  MaybeShape from = getShape(op->getOperand(0)),
             to = getShape(op->getResult(0));
  Spread spread = ctx.spread(op->getOperand(0));
  if (from && to)
    spread.axes = reshapeRoles(spread.axes, *from, *to);
  // The last axis stays if it has its size.
  bool stays = from && to && !from->empty() && !to->empty() &&
               from->back() == to->back();
  bool last = from && spread.zeroSum + 1 == int(from->size());
  spread.zeroSum = stays && last ? int(to->size()) - 1 : -1;
  last = from && spread.unitSum + 1 == int(from->size());
  spread.unitSum = stays && last ? int(to->size()) - 1 : -1;
  if (!stays)
    spread.alikeInRow = -1;
  ctx.giveSpread(0, spread);
}

static void spreadTranspose(mp::TransposeOp op, SpreadContext &ctx) {
  Spread spread = ctx.spread(op.getInput());
  AxisRoles from = std::exchange(spread.axes, {});
  int zeroSum = std::exchange(spread.zeroSum, -1);
  int unitSum = std::exchange(spread.unitSum, -1);
  spread.alikeInRow = -1;
  int64_t rank = TransferContext::rankOf(op.getInput());
  SmallVector<int64_t> perm;
  if (auto given = op.getPerm())
    perm.assign(given->begin(), given->end());
  for (int64_t axis = 0; axis < std::min<int64_t>(rank, 32); ++axis) {
    int64_t source = perm.empty() ? rank - 1 - axis : perm[axis];
    if (source == from.batch)
      spread.axes.batch = int(axis);
    if (source == zeroSum)
      spread.zeroSum = int(axis);
    if (source == unitSum)
      spread.unitSum = int(axis);
    if (from.isPosition(source))
      spread.axes.positions |= 1u << axis;
  }
  ctx.giveSpread(0, spread);
}

/// Parts vary together as the whole does.
static void spreadPart(Operation *op, SpreadContext &ctx) {
  Spread spread = ctx.spread(op->getOperand(0));
  // Sums of a part are not those of the whole.
  spread.zeroSum = spread.unitSum = -1;
  for (unsigned index = 0; index < op->getNumResults(); ++index)
    ctx.giveSpread(index, spread);
}

/// The common part of a gradient's positions is the same at each, however
/// much one of them has besides: the token that a classifier reads.
static void spreadSplit(mp::SplitOp op, SpreadContext &ctx) {
  spreadPart(op, ctx);
  Value input = op.getInput();
  const AbstractValue &whole = ctx.of(input);
  std::optional<int64_t> axis = normalizeAxis(op.getAxis(), whole.rank());
  if (!axis || !ctx.isGradient(input) || whole.dims()[*axis] == 1 ||
      !ctx.spread(input).axes.isPosition(*axis))
    return;
  double common = ctx.spread(input).alike * whole.hull().variance;
  int64_t first = 0;
  for (OpResult part : op.getParts()) {
    int64_t size = TransferContext::dimOf(part, *axis).value_or(0);
    if (size < 1 || first + size > whole.dims()[*axis])
      return;
    double own =
        whole
            .selected(*axis,
                      llvm::to_vector(llvm::seq<int64_t>(first, first + size)))
            .hull()
            .variance;
    Spread spread = ctx.spread(part);
    spread.alike = own > 0 ? std::min(common / own, 1.0) : 0;
    ctx.giveSpread(part.getResultNumber(), spread);
    first += size;
  }
}

/// Copies of one position are the same number.
static void spreadExpand(mp::ExpandOp op, SpreadContext &ctx) {
  Value input = op.getInput();
  Spread spread = ctx.combineOperands(op->getResult(0));
  MaybeShape from = getShape(input), to = getShape(op.getResult());
  if (!from || !to || to->size() < from->size())
    return ctx.giveSpread(0, spread);
  double copies = 1, own = 1;
  unsigned shift = to->size() - from->size();
  const AxisRoles &roles = ctx.spread(input).axes;
  spread.zero = ctx.spread(input).zero;
  spread.response = ctx.spread(input).response;
  spread.outputs = ctx.spread(input).outputs;
  spread.axes.batch = roles.batch < 0 ? -1 : roles.batch + int(shift);
  spread.axes.positions = roles.positions << shift;
  for (size_t axis = 0; axis < std::min<size_t>(to->size(), 32); ++axis) {
    bool stays = axis >= shift && (*from)[axis - shift] == (*to)[axis];
    if (!stays && (*to)[axis] > 0 && roles.batch >= 0) {
      copies *= double((*to)[axis]);
      spread.axes.positions |= 1u << axis;
    } else if (stays && (*to)[axis] > 0 && roles.isPosition(axis - shift)) {
      own *= double((*to)[axis]);
    }
  }
  spread.reach = ctx.spread(input).reach * copies;
  if (copies * own > 1)
    spread.alike =
        ((copies - 1) + (own - 1) * copies * spread.alike) / (copies * own - 1);
  ctx.giveSpread(0, spread);
}

//===----------------------------------------------------------------------===//
// Gradients of selections
//===----------------------------------------------------------------------===//

/// dY among zeros: the part `share` of the elements is some of dY. A sum over
/// positions stays what it was.
static void giveAmongZeros(BackwardSpreadContext &ctx, unsigned index,
                           Value grad, double share) {
  const AbstractValue &dy = ctx.of(grad);
  Value made = ctx.op()->getResult(index);
  size_t rank = TransferContext::rankOf(made);
  MaybeShape from = getShape(grad), to = getShape(made);
  AbstractValue value =
      dy.rank() == rank
          ? AbstractValue(dy)
          : AbstractValue(AbstractValue::Dims(rank, 1), dy.hull());
  for (size_t axis = 0; axis < rank; ++axis)
    if (value.dims()[axis] != 1 &&
        (!from || !to || from->size() != rank || (*from)[axis] != (*to)[axis]))
      value = value.merging(int64_t(axis));
  for (CellRef cell : value.mutableCells()) {
    double square = share * (cell.mean * cell.mean + cell.variance);
    cell.mean *= share;
    cell.variance = std::max(0.0, square - cell.mean * cell.mean);
    cell.likelyLo = std::min(cell.likelyLo, 0.0);
    cell.likelyHi = std::max(cell.likelyHi, 0.0);
  }
  value.source = LikelySource::Propagated;
  Spread spread = ctx.spread(grad);
  spread.zero = 1 - share * (1 - spread.zero);
  // Two positions are both selected with the square of the share, if they are
  // selected by chance; those of one selection lie beside zeros.
  Moments before = ctx.moments(grad);
  double mean = before.mean * share, square = before.square * share;
  double common = before.common * share * share;
  spread.alike = Moments{mean, common, square}.alike();
  ctx.give(index, std::move(value), spread);
}

static double shareOf(Value grad, Value made) {
  auto some = getNumElements(getShape(grad)),
       all = getNumElements(getShape(made));
  return some && all && *all > 0 ? std::min(1.0, double(*some) / double(*all))
                                 : 1;
}

static void spreadSelection(Operation *op, BackwardSpreadContext &ctx) {
  giveAmongZeros(ctx, 0, op->getOperand(0),
                 shareOf(op->getOperand(0), op->getResult(0)));
}

/// True if samples or their positions lie along the axis of a gradient.
static bool isSampled(Value grad, int64_t axis, BackwardSpreadContext &ctx) {
  const AxisRoles &axes = ctx.spread(grad).axes;
  return axis == axes.batch || axes.isPosition(axis);
}

/// dY at places of an axis, zeros at the others: `sources` has the elements of
/// dY that the places get, -1 for none. Nothing if that takes too many groups.
static std::optional<AbstractValue> placed(const AbstractValue &dy,
                                           int64_t axis, int64_t own,
                                           ArrayRef<int64_t> sources,
                                           BackwardSpreadContext &ctx) {
  GroupLimit limit = ctx.groupLimit();
  size_t others = dy.groups() / size_t(dy.dims()[axis]);
  bool alone = others * sources.size() > limit.joint;
  if (own <= 0 || sources.size() > (alone ? limit.most : limit.joint))
    return std::nullopt;
  AbstractValue part = alone ? dy.keeping({axis}) : dy;
  AbstractValue::Dims dims(part.dims());
  dims[axis] = own;
  part = part.regrouped(dims);
  dims[axis] = 1;
  // The group of zeros comes first.
  AbstractValue value = concatenated({AbstractValue(dims, Cell{}), part}, axis,
                                     {1, own}, limit.most + part.groups());
  SmallVector<int64_t> groups;
  for (int64_t source : sources)
    groups.push_back(source + 1);
  value = value.selected(axis, groups);
  value.source = LikelySource::Propagated;
  return value;
}

/// A part of a parameter, as exporters cut recurrent weights into gates, or of
/// channels: groups beside it are 0, so that the parts together have no zeros.
/// False for other slices, and where that takes too many groups.
static bool givePart(mp::SliceGradOp op, BackwardSpreadContext &ctx) {
  Value grad = op.getGrad(), made = op.getResult();
  MaybeShape from = getShape(grad), to = getShape(made);
  const AbstractValue &dy = ctx.of(grad);
  if (op.getBounds().size() != 3 || !from || !to ||
      from->size() != to->size() || dy.rank() != to->size())
    return false;
  auto starts = ctx.shapes().constants(op.getBounds()[0]),
       axes = ctx.shapes().constants(op.getBounds()[2]);
  if (!starts || !axes || starts->size() != 1 || axes->size() != 1)
    return false;
  std::optional<int64_t> axis = normalizeAxis((*axes)[0], int64_t(to->size()));
  if (!axis || (*from)[*axis] <= 0 || (*to)[*axis] <= 0 ||
      (*to)[*axis] > int64_t(ctx.groupLimit().most) ||
      isSampled(grad, *axis, ctx))
    return false;
  int64_t size = (*to)[*axis], own = (*from)[*axis], start = (*starts)[0];
  start = start < 0 ? start + size : start;
  if (start < 0 || start + own > size)
    return false;
  SmallVector<int64_t> sources(size, -1);
  for (int64_t at = 0; at < own; ++at)
    sources[start + at] = at;
  std::optional<AbstractValue> value = placed(dy, *axis, own, sources, ctx);
  if (value)
    ctx.give(0, std::move(*value), ctx.spread(grad));
  return value.has_value();
}

static void spreadSlice(mp::SliceGradOp op, BackwardSpreadContext &ctx) {
  if (!givePart(op, ctx))
    spreadSelection(op, ctx);
}

/// dY at the places of an axis that constant indices name: a position, or
/// channels. False if there are none, or too many.
static bool givePlaces(mp::GatherGradOp op, int64_t axis,
                       BackwardSpreadContext &ctx) {
  Value grad = op.getGrad();
  std::optional<SmallVector<int64_t>> places =
      ctx.shapes().constants(op.getIndices());
  int64_t size = TransferContext::dimOf(op.getResult(), axis).value_or(0);
  int64_t rank = TransferContext::rankOf(op.getResult());
  int64_t own = TransferContext::rankOf(op.getIndices());
  const AbstractValue &dy = ctx.of(grad);
  if (!places || places->empty() || own > 1 || size <= 1 ||
      size > int64_t(ctx.groupLimit().most) ||
      dy.rank() != size_t(rank - 1 + own))
    return false;
  bool single = places->size() == 1;
  if (!single && isSampled(grad, axis, ctx))
    return false;
  SmallVector<int64_t> sources(size, -1);
  for (auto [at, place] : llvm::enumerate(*places)) {
    int64_t index = place < 0 ? place + size : place;
    // A place that is picked twice gets a sum.
    if (index < 0 || index >= size || sources[index] >= 0)
      return false;
    sources[index] = int64_t(at);
  }
  std::optional<AbstractValue> value =
      placed(own == 1 ? dy : withAxis(dy, axis), axis, int64_t(places->size()),
             sources, ctx);
  if (!value)
    return false;
  Spread spread = ctx.spread(grad);
  if (single) {
    SmallVector<int64_t> all =
        llvm::to_vector(llvm::seq<int64_t>(0, rank - 1 + own));
    // One of several parts, as of queries, keys and values that one product
    // makes, has positions of its own, which are as alike as they were.
    bool part = changesSum(spread.alike, ctx.countTerms(grad, all).positions);
    AxisRoles from = std::exchange(spread.axes, {});
    for (int64_t to = 0; to < std::min<int64_t>(rank, 32); ++to) {
      int64_t source = own == 1 || to < axis ? to : to - 1;
      if (to == axis ? !part : from.isPosition(source))
        spread.axes.positions |= 1u << to;
      else if (to != axis && source == from.batch)
        spread.axes.batch = int(to);
    }
    if (!part)
      spread.alike = 0;
  }
  ctx.give(0, std::move(*value), spread);
  return true;
}

/// Rows that are picked by number: a row's gradient is the sum of what arrives
/// where it was picked.
static void spreadGather(mp::GatherGradOp op, BackwardSpreadContext &ctx) {
  Value grad = op.getGrad(), made = op.getResult();
  std::optional<int64_t> axis =
      normalizeAxis(op.getAxis(), TransferContext::rankOf(made));
  MaybeShape to = getShape(made);
  auto indices = getNumElements(getShape(op.getIndices()));
  if (op.getKind() == "elements" || op.getKind() == "nd" || !axis || !to ||
      !indices || (*to)[*axis] <= 0)
    return giveAmongZeros(ctx, 0, grad, shareOf(grad, made));
  double rows = double((*to)[*axis]), picked = double(*indices);
  if (givePlaces(op, *axis, ctx))
    return;
  double samples = ctx.spread(op.getIndices()).axes.batch >= 0
                       ? std::min(ctx.samples(), picked)
                       : 1;
  if (samples == 1 && ctx.weights(op.getIndices()))
    return giveAmongZeros(ctx, 0, grad, std::min(1.0, picked / rows));

  // The frequencies of the rows: uniform, or what is said of the indices.
  std::vector<double> frequencies =
      ctx.frequencies(op.getIndices(), size_t(rows));
  size_t groups = frequencies.size();
  AbstractValue dy = ctx.of(grad).merged();
  Cell cell = dy.cell(0);
  Moments term = Moments::of(cell, ctx.spread(grad).alike);
  TermCount count{1, samples, picked / samples};
  double draws = ctx.elementsPerGroup(made, groups);
  std::vector<Cell> cells, shares, rests(groups);
  double zero = 0;
  for (double frequency : frequencies) {
    Moments picks = {frequency, frequency * frequency, frequency};
    Moments sum = sumOf(term * picks, count);
    double hit = -std::expm1(picked * std::log1p(-std::min(frequency, 1.0)));
    Cell made =
        SpreadContext::normalCell(sum.scaled(1 / std::sqrt(hit)), draws);
    made.mean = sum.mean;
    made.variance = sum.variance();
    cells.push_back(made);
    shares.push_back(Cell{0, 1, hit});
    zero += 1 - hit;
  }
  AbstractValue::Dims dims(to->size(), 1);
  if (groups > 1)
    dims[*axis] = int64_t(groups);
  AbstractValue value(dims, cells);
  value.source = LikelySource::Propagated;
  Spread spread;
  spread.zero = zero / double(groups);
  spread.factors = 1;
  ctx.giveHits(0, {AbstractValue(dims, shares), AbstractValue(dims, rests)});
  ctx.giveLosses(0, ctx.combineLosses());
  ctx.give(0, std::move(value), spread);
}

/// Rows of a table that samples pick.
static void spreadPick(mp::GatherOp op, SpreadContext &ctx) {
  Value input = op.getInput(), indices = op.getIndices();
  int64_t rank = TransferContext::rankOf(input),
          own = TransferContext::rankOf(indices);
  std::optional<int64_t> axis = normalizeAxis(op.getAxis(), rank);
  if (!axis)
    return;
  Spread spread;
  const Spread &rows = ctx.spread(input), &picks = ctx.spread(indices);
  for (int64_t to = 0; to < std::min<int64_t>(rank - 1 + own, 32); ++to) {
    bool picked = to >= *axis && to < *axis + own;
    const AxisRoles &roles = picked ? picks.axes : rows.axes;
    int64_t from = picked ? to - *axis : to < *axis ? to : to - own + 1;
    if (from == roles.batch)
      spread.axes.batch = int(to);
    if (roles.isPosition(from))
      spread.axes.positions |= 1u << to;
  }
  double repeated = 0;
  if (std::optional<int64_t> count = TransferContext::dimOf(input, *axis);
      count && *count > 0 && picks.axes.batch >= 0)
    repeated = SpreadContext::coincidence(indices, size_t(*count));
  spread.alike = repeated + (1 - repeated) * rows.alike;
  spread.zero = rows.zero;
  ctx.giveSpread(0, spread);
}

/// Parts whose sizes differ along the positions of samples: what is behind
/// tells them apart.
static void spreadConcat(mp::ConcatOp op, SpreadContext &ctx) {
  OpResult result = op->getResult(0);
  int64_t rank = TransferContext::rankOf(result);
  std::optional<int64_t> axis = normalizeAxis(op.getAxis(), rank);
  std::optional<int64_t> size =
      axis ? TransferContext::dimOf(result, *axis) : std::nullopt;
  Spread spread = ctx.combineOperands(result);
  std::vector<AbstractValue> parts;
  SmallVector<int64_t> sizes;
  double least = kInfinity, most = 0, all = 0, alike = 0, steady = 0;
  for (Value operand : op->getOperands()) {
    const AbstractValue &part = ctx.preRounding(operand);
    if (!axis || part.rank() != size_t(rank))
      return;
    int64_t dim = TransferContext::dimOf(operand, *axis).value_or(-1);
    sizes.push_back(dim);
    const AxisRoles &its = ctx.spread(operand).axes;
    if (its.batch >= 0) {
      spread.axes.batch = its.batch;
      spread.axes.positions |= its.positions;
    }
    Cell hull = part.hull();
    double square = hull.mean * hull.mean + hull.variance;
    least = std::min(least, square);
    most = std::max(most, square);
    // Two positions of channels are those of one part; others are independent.
    // Not forward, where rotary embeddings join halves of other angles.
    double own = size && dim > 0 ? double(dim) / double(*size) : 0;
    all += own * hull.variance;
    double pairs = its.isPosition(*axis) ? own * own : own;
    alike += pairs * hull.variance * ctx.spread(operand).alike;
    steady += pairs * hull.variance * ctx.spread(operand).steady;
  }
  if (ctx.computesGradient() && all > 0 && std::isfinite(all)) {
    spread.alike = alike / all;
    spread.steady = steady / all;
  }
  size_t limit = ctx.mostJoint();
  bool uneven = least * 16 < most && axis != 0 && size && *size > 1 &&
                *size <= int64_t(limit) && spread.axes.isPosition(*axis);
  if (!uneven || llvm::is_contained(sizes, -1))
    return ctx.giveSpread(0, spread);
  size_t channels = 1;
  for (Value operand : op->getOperands()) {
    parts.push_back(ctx.preRounding(operand));
    channels = std::max(channels, parts.back().groups());
  }
  bool merge = channels * size_t(*size) > limit;
  for (auto [part, dim] : llvm::zip(parts, sizes)) {
    if (merge)
      part = part.keeping({*axis});
    AbstractValue::Dims dims(part.dims());
    dims[*axis] = dim;
    part = part.regrouped(dims);
  }
  AbstractValue value = concatenated(parts, *axis, sizes, limit);
  value.source = LikelySource::Propagated;
  ctx.give(0, std::move(value), spread);
}

/// dY where the mask is, larger by what it drops.
static void spreadDropout(mp::DropoutGradOp op, BackwardSpreadContext &ctx) {
  Value grad = op.getGrad();
  double ratio = op.getRatio() ? ctx.of(op.getRatio()).hull().mean : 0.5;
  double stays = std::isfinite(ratio) ? std::clamp(1 - ratio, 0.0, 1.0) : 0.5;
  double factor = stays > 0 ? 1 / stays : 0;
  AbstractValue value = ctx.of(grad);
  for (CellRef cell : value.mutableCells()) {
    double square = factor * (cell.mean * cell.mean + cell.variance);
    cell.mean *= factor * stays;
    cell.variance = std::max(0.0, square - cell.mean * cell.mean);
    cell.likelyLo = std::min(cell.likelyLo * factor, 0.0);
    cell.likelyHi = std::max(cell.likelyHi * factor, 0.0);
  }
  Spread spread = ctx.spread(grad);
  Moments moments = ctx.moments(grad);
  moments.square *= factor;
  spread.alike = moments.alike();
  spread.steady = moments.steadyPart();
  spread.zero = 1 - stays * (1 - spread.zero);
  if (stays < 1)
    spread.zeroSum = -1;
  ctx.give(0, std::move(value), spread);
}

void mpopt::attachMovementSpreads(MLIRContext *context) {
  attachSpread<spreadReshape, mp::ReshapeOp, mp::FlattenOp, mp::SqueezeOp,
               mp::UnsqueezeOp>(context);
  attachSpread<spreadTranspose, mp::TransposeOp>(context);
  attachSpread<spreadExpand, mp::ExpandOp>(context);
  attachSpread<spreadPart, mp::SliceOp>(context);
  attachSpread<spreadSplit, mp::SplitOp>(context);
  attachSpread<spreadSlice, mp::SliceGradOp>(context);
  attachSpread<spreadGather, mp::GatherGradOp>(context);
  attachSpread<spreadDropout, mp::DropoutGradOp>(context);
  attachSpread<spreadPick, mp::GatherOp>(context);
  attachSpread<spreadConcat, mp::ConcatOp>(context);
}
