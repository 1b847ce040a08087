//===- Contraction.cpp - Sums of products of numbers that vary together
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Sums.h"

#include "mpopt/Gradients/SpreadModels.h"

#include "mlir/IR/BuiltinAttributes.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

Moments mpopt::averageOf(const Moments &weight, const Moments &term,
                         double count) {
  double own = std::max(term.square - term.common, 0.0);
  return {term.mean, term.common + std::min(weight.common * count, 1.0) * own,
          term.common + std::min(weight.square * count, 1.0) * own,
          term.steady};
}

Factor mpopt::makeFactor(SpreadContext &ctx, Value value,
                         ArrayRef<int> labels) {
  return {value, ctx.of(value), ctx.spread(value), SmallVector<int, 6>(labels)};
}

/// The axis of a label, or -1.
static int axisOf(const Factor &factor, int label) {
  const int *found = llvm::find(factor.labels, label);
  return found == factor.labels.end() ? -1 : int(found - factor.labels.begin());
}

/// How much the sizes of groups differ: the variance of their logarithms.
static double unevenness(const AbstractValue &value) {
  double sum = 0, squares = 0, count = 0;
  for (const Cell &cell : value.cells()) {
    double square = cell.mean * cell.mean + cell.variance;
    if (!(square > 0))
      return 1e9; // groups that are 0 are told apart
    double size = std::log2(square);
    sum += size;
    squares += size * size;
    ++count;
  }
  return squares / count - sum / count * (sum / count);
}

/// The mean variance of a group.
static double varianceWithin(const AbstractValue &value) {
  double sum = 0;
  for (const Cell &cell : value.cells())
    sum += cell.variance;
  return sum / double(value.groups());
}

/// Merges all axes of `factor` that `keep` does not ask for. Channels that
/// become one group differ by what all positions have in common.
static void keepLabels(Factor &factor, llvm::function_ref<bool(int)> keep) {
  SmallVector<int64_t> axes, shared;
  for (auto [axis, label] : llvm::enumerate(factor.labels)) {
    if (factor.value.dims()[axis] == 1)
      continue;
    const AxisRoles &roles = factor.spread.axes;
    bool kept = keep(label);
    if (kept)
      axes.push_back(axis);
    if (kept || (int64_t(axis) != roles.batch && !roles.isPosition(axis)))
      shared.push_back(axis);
  }
  AbstractValue channels = factor.value.keeping(shared);
  double before = varianceWithin(channels);
  factor.value = channels.keeping(axes);
  double after = varianceWithin(factor.value);
  if (!(after > before) || !std::isfinite(after))
    return;
  double within = std::max(before, 0.0) / after;
  for (double *part : {&factor.spread.alike, &factor.spread.steady})
    *part = 1 - (1 - *part) * within;
}

double mpopt::responseTo(const Spread &grad, double channels, double window) {
  return grad.response /
         (channels * std::max(window, grad.reach) + grad.outputs - 1);
}

double mpopt::responseToItself(SpreadContext &ctx, Value grad) {
  const Spread &spread = ctx.spread(grad);
  MaybeShape shape = getShape(grad);
  if (spread.response <= 0 || !shape)
    return 0;
  double channels = 1;
  for (size_t axis = 0; axis < shape->size(); ++axis)
    if (int64_t(axis) != spread.axes.batch &&
        !spread.axes.isPosition(int64_t(axis)))
      channels *= double(std::max<int64_t>((*shape)[axis], 1));
  return spread.response * spread.outputs / spread.reach /
         (channels + spread.outputs - 1);
}

/// The squared correlation of a gradient with the activation of which it makes
/// the gradient of weights: a result without samples.
static double correlationOf(SpreadContext &ctx, Value made, const Factor &a,
                            const Factor &b, ArrayRef<int> result) {
  if (!ctx.computesGradient() || ctx.isGradient(a.of) == ctx.isGradient(b.of))
    return 0;
  const Factor &g = ctx.isGradient(a.of) ? a : b, &x = &g == &a ? b : a;
  MaybeShape shape = getShape(made);
  if (g.spread.response <= 0 || x.spread.axes.batch < 0 || !shape ||
      shape->size() != result.size())
    return 0;
  double channels = 1, window = 1;
  for (auto [label, dim] : llvm::zip(result, *shape)) {
    int mine = axisOf(g, label), its = axisOf(x, label);
    double size = double(std::max<int64_t>(dim, 1));
    for (auto [factor, axis] : {std::pair{&g, mine}, std::pair{&x, its}})
      if (axis >= 0 && (axis == factor->spread.axes.batch ||
                        factor->spread.axes.isPosition(axis)))
        return 0;
    if (its >= 0)
      channels *= size;
    else if (mine < 0)
      window *= size;
  }
  return responseTo(g.spread, channels, window);
}

/// True if samples or their positions lie along the axis.
static bool isSampled(const Factor &of, int axis) {
  return axis >= 0 &&
         (axis == of.spread.axes.batch || of.spread.axes.isPosition(axis));
}

static bool isSummed(const Factor &of, int axis, ArrayRef<int> result) {
  return axis >= 0 && !llvm::is_contained(result, of.labels[axis]);
}

static bool hasHits(SpreadContext &ctx, const Factor &of) {
  auto *backward = dyn_cast<BackwardSpreadContext>(&ctx);
  return backward && backward->hits(of.of);
}

/// A spread whose axes have the roles that the factors give them.
static Spread rolesOf(const Factor &a, const Factor &b, ArrayRef<int> result) {
  Spread spread;
  for (auto [axis, label] : llvm::enumerate(result))
    for (const Factor *of : {&a, &b}) {
      int own = axisOf(*of, label);
      if (own < 0)
        continue;
      if (own == of->spread.axes.batch)
        spread.axes.batch = int(axis);
      if (of->spread.axes.isPosition(own) && axis < 32)
        spread.axes.positions |= 1u << axis;
    }
  return spread;
}

/// True if the correlation of the positions that are summed changes the sum.
static bool areSummedAlike(SpreadContext &ctx, const Factor &a, const Factor &b,
                           ArrayRef<int> result) {
  SmallVector<int64_t> summed;
  for (int axis = 0; axis < int(a.labels.size()); ++axis)
    if (isSummed(a, axis, result))
      summed.push_back(axis);
  return changesSum(a.spread.alike * b.spread.alike,
                    ctx.countTerms(a.of, summed).positions);
}

/// True if a contraction is estimated here: a gradient, and a forward value
/// that sums correlated positions or averages them with probabilities. The
/// range transfer function has the others.
static bool isEstimated(SpreadContext &ctx, const Factor &a, const Factor &b,
                        ArrayRef<int> result) {
  if (ctx.computesGradient() || isSummed(a, a.spread.unitSum, result) ||
      isSummed(b, b.spread.unitSum, result))
    return true;
  return areSummedAlike(ctx, a, b, result);
}

/// True if positions that are summed have uncorrelated terms, and no factor's
/// positions add up to a constant.
static bool addsIndependently(SpreadContext &ctx, const Factor &a,
                              const Factor &b, ArrayRef<int> result) {
  for (const Factor *of : {&a, &b})
    if (isSummed(*of, of->spread.unitSum, result) ||
        isSummed(*of, of->spread.zeroSum, result))
      return false;
  return !areSummedAlike(ctx, a, b, result);
}

/// True if groups of the factor are told apart along a label.
static bool isKept(const Factor &of, int label) {
  int axis = axisOf(of, label);
  return axis >= 0 && of.value.dims()[axis] != 1;
}

//===----------------------------------------------------------------------===//
// Selection of groups
//===----------------------------------------------------------------------===//

namespace {
/// Merges axes of both factors, so that the pairs of their groups stay within
/// the context's limit.
class GroupSelection {
public:
  GroupSelection(SpreadContext &ctx, Factor &a, Factor &b, ArrayRef<int> result)
      : ctx(ctx), a(a), b(b), result(result),
        keepsSummed(ctx.computesGradient() && !hasHits(ctx, a) &&
                    !hasHits(ctx, b) && addsIndependently(ctx, a, b, result)) {}

  void run() {
    if (keepAll())
      return;
    keepsBoth = false;
    if (!keepAll())
      keepOne();
  }

private:
  bool keeps(const Factor &mine, const Factor &other, int label) const;
  bool keepAll();
  const Factor *findAsked() const;
  void keepOne();

  SpreadContext &ctx;
  Factor &a, &b;
  ArrayRef<int> result;
  /// Labels of both that the result has, and such that it lacks, stay apart.
  bool keepsBoth = true, keepsSummed;
};
} // namespace

/// Labels of both operands that the result lacks are summed; channels among
/// them may be told apart, and positions whose terms are uncorrelated. Neither
/// are positions of the result that both have, while channels of both (heads)
/// are.
bool GroupSelection::keeps(const Factor &mine, const Factor &other,
                           int label) const {
  bool inResult = llvm::is_contained(result, label);
  if (inResult && axisOf(other, label) < 0)
    return true;
  bool sampled = isSampled(mine, axisOf(mine, label)) ||
                 isSampled(other, axisOf(other, label));
  if (inResult)
    return !sampled && keepsBoth;
  return (!sampled || keepsSummed) && isKept(a, label) && isKept(b, label);
}

/// False if there are too many pairs of groups all the same.
bool GroupSelection::keepAll() {
  keepLabels(a, [&](int label) { return keeps(a, b, label); });
  keepLabels(b, [&](int label) { return keeps(b, a, label); });
  // Labels that both have are paired once.
  size_t pairs = a.value.groups() * b.value.groups();
  for (int label : a.labels)
    if (isKept(a, label) && isKept(b, label))
      pairs /= size_t(a.value.dims()[axisOf(a, label)]);
  return pairs <= ctx.groupLimit().joint ||
         pairs == std::max(a.value.groups(), b.value.groups());
}

/// The factor along whose axis groups have to be kept; null if none has to.
const Factor *GroupSelection::findAsked() const {
  auto axis = ctx.op()->getAttrOfType<IntegerAttr>(kKeptAxisAttr);
  if (!axis || size_t(axis.getInt()) >= result.size())
    return nullptr;
  int label = result[axis.getInt()];
  return isKept(a, label) ? &a : isKept(b, label) ? &b : nullptr;
}

/// The groups of the factor that is asked for, with hits, or whose sizes differ
/// more.
void GroupSelection::keepOne() {
  const Factor *asked = findAsked();
  bool flatA = asked ? asked == &b
               : hasHits(ctx, a) || hasHits(ctx, b)
                   ? hasHits(ctx, b)
                   : unevenness(a.value) < unevenness(b.value);
  keepLabels(flatA ? a : b, [](int) { return false; });
  keepLabels(flatA ? b : a,
             [&](int label) { return llvm::is_contained(result, label); });
}

//===----------------------------------------------------------------------===//
// Sums of groups
//===----------------------------------------------------------------------===//

namespace {
/// The places of groups along labels, in row-major order.
struct GroupIndex {
  SmallVector<int> labels;
  AbstractValue::Dims dims;

  size_t size() const {
    size_t all = 1;
    for (int64_t dim : dims)
      all *= dim;
    return all;
  }
  /// By how many of its groups a factor advances along each label.
  SmallVector<size_t> stridesOf(const Factor &of) const;
  /// The factor's group at a place.
  size_t groupAt(size_t place, ArrayRef<size_t> strides) const;
};

/// The facts about one factor that a sum over positions uses.
struct SummedFactor {
  /// Its positions add up to 0, or to 1 (the weights of an average); those of a
  /// sample do so in mean over the samples.
  bool isZero, isAverage, isBalanced;
  /// The result has positions of it that the other factor lacks.
  bool isAcross;

  SummedFactor(const Factor &of, const Factor &other, ArrayRef<int> result);
};

/// The sums of products of two factors, group by group.
class GroupedContraction {
public:
  GroupedContraction(SpreadContext &ctx, unsigned index, const Factor &a,
                     const Factor &b, ArrayRef<int> result, double factor);

  AbstractValue sum();
  /// The spread of the terms that `sum` has added.
  Spread spread() const;
  void giveLosses(BackwardSpreadContext &backward) const;

private:
  double terms() const { return count.all() * double(summed.size()); }
  void countTerm(int label);
  Moments sumOfPairs(Moments x, Moments y);
  bool keepsClasses(const Factor &of, const Hits &hits) const;
  Hits sumHits(const Factor &of, const Factor &other, const Hits &hits) const;

  SpreadContext &ctx;
  unsigned index;
  const Factor &a, &b;
  ArrayRef<int> result;
  double factor;
  SummedFactor ofA, ofB;
  double correlation;
  /// The groups of the result, those that are added up, and the terms of each
  /// pair of groups.
  GroupIndex kept, summed;
  TermCount count;
  /// All sums, and the squares of what the places of a row have in common.
  Moments all;
  double inRow = 0;
};
} // namespace

SmallVector<size_t> GroupIndex::stridesOf(const Factor &of) const {
  SmallVector<size_t> strides;
  for (int label : labels) {
    size_t stride = isKept(of, label);
    for (size_t i = axisOf(of, label) + 1; stride && i < of.value.rank(); ++i)
      stride *= of.value.dims()[i];
    strides.push_back(stride);
  }
  return strides;
}

size_t GroupIndex::groupAt(size_t place, ArrayRef<size_t> strides) const {
  size_t group = 0;
  for (size_t axis = dims.size(); axis-- > 0; place /= dims[axis])
    group += place % dims[axis] * strides[axis];
  return group;
}

SummedFactor::SummedFactor(const Factor &of, const Factor &other,
                           ArrayRef<int> result)
    : isZero(isSummed(of, of.spread.zeroSum, result)),
      isAverage(isSummed(of, of.spread.unitSum, result)),
      isBalanced(of.spread.balanced &&
                 isSummed(of, of.spread.axes.batch, result)),
      isAcross(llvm::any_of(result, [&](int label) {
        return isSampled(of, axisOf(of, label)) && axisOf(other, label) < 0;
      })) {}

GroupedContraction::GroupedContraction(SpreadContext &ctx, unsigned index,
                                       const Factor &a, const Factor &b,
                                       ArrayRef<int> result, double factor)
    : ctx(ctx), index(index), a(a), b(b), result(result), factor(factor),
      ofA(a, b, result), ofB(b, a, result),
      correlation(
          correlationOf(ctx, ctx.op()->getResult(index), a, b, result)) {
  for (int label : a.labels)
    if (!llvm::is_contained(result, label) && axisOf(b, label) >= 0)
      countTerm(label);
  for (int label : result) {
    const Factor &of = isKept(a, label) ? a : b;
    kept.labels.push_back(label);
    kept.dims.push_back(isKept(of, label) ? of.value.dims()[axisOf(of, label)]
                                          : 1);
  }
}

/// A label that is summed is one of groups, or multiplies each group's terms.
void GroupedContraction::countTerm(int label) {
  int64_t axis = axisOf(a, label), other = axisOf(b, label);
  if (isKept(a, label) && isKept(b, label)) {
    summed.labels.push_back(label);
    summed.dims.push_back(a.value.dims()[axis]);
    return;
  }
  bool fromA = isSampled(a, axis) || !isSampled(b, other);
  TermCount own =
      fromA ? ctx.countTerms(a.of, {axis}) : ctx.countTerms(b.of, {other});
  count.channels *= own.channels;
  count.samples *= own.samples;
  count.positions *= own.positions;
}

/// The sum of the products of two groups.
Moments GroupedContraction::sumOfPairs(Moments x, Moments y) {
  // The common part of the other factor meets a sum of 0.
  if (ofA.isZero && !ofB.isZero)
    y = Moments{0, 0, y.square - y.common};
  if (ofB.isZero && !ofA.isZero)
    x = Moments{0, 0, x.square - x.common};
  Moments product = x * y;
  // The part that a sample's positions share meets that which samples do not.
  auto balance = [&](const Moments &of, const Moments &other) {
    double met = (of.common - of.mean * of.mean) * other.mean * other.mean;
    product.common -= met;
    product.square -= met;
  };
  if (ofA.isBalanced)
    balance(x, y);
  if (ofB.isBalanced)
    balance(y, x);
  Moments part = sumOf(product, count);
  // Other positions of the result meet the same positions of the operand that
  // does not have them.
  Moments same = {product.mean, product.common,
                  (ofA.isAcross ? x.common : x.square) *
                      (ofB.isAcross ? y.common : y.square),
                  product.steady};
  part.common = sumOf(same, count).square;
  inRow +=
      sumOf({product.mean, product.common, x.square * y.common}, count).square;
  if (ofA.isAverage != ofB.isAverage)
    part = ofA.isAverage ? averageOf(x, y, count.all())
                         : averageOf(y, x, count.all());
  part.square +=
      x.variance() * y.variance() * correlation * count.all() * count.all();
  return part;
}

AbstractValue GroupedContraction::sum() {
  AbstractValue shape(kept.dims, Cell{0, 0});
  double draws =
      ctx.elementsPerGroup(ctx.op()->getResult(index), shape.groups());
  SmallVector<size_t> keptOfA = kept.stridesOf(a), keptOfB = kept.stridesOf(b);
  SmallVector<size_t> summedOfA = summed.stridesOf(a),
                      summedOfB = summed.stridesOf(b);
  std::vector<Cell> cells(shape.groups());
  for (size_t group = 0; group < cells.size(); ++group) {
    size_t fromA = kept.groupAt(group, keptOfA),
           fromB = kept.groupAt(group, keptOfB);
    Moments sum;
    for (size_t term = 0, end = summed.size(); term < end; ++term) {
      size_t inA = fromA + summed.groupAt(term, summedOfA),
             inB = fromB + summed.groupAt(term, summedOfB);
      sum = sum + sumOfPairs(Moments::of(a.value.cell(inA), a.spread),
                             Moments::of(b.value.cell(inB), b.spread));
    }
    cells[group] = SpreadContext::normalCell(sum.scaled(factor), draws);
    all = all + sum;
  }
  AbstractValue value(kept.dims, cells);
  value.source = LikelySource::Propagated;
  return value;
}

Spread GroupedContraction::spread() const {
  Spread spread = rolesOf(a, b, result);
  spread.alike = all.alike();
  spread.steady = all.steadyPart();
  // Places along the last axis are those of the second operand.
  if (ofB.isAcross && !result.empty() && axisOf(a, result.back()) < 0)
    spread.alikeInRow = Moments{all.mean, inRow, all.square}.alike();
  spread.factors =
      terms() < kFewTerms ? a.spread.factors + b.spread.factors : 1;
  spread.zero =
      std::pow(1 - (1 - a.spread.zero) * (1 - b.spread.zero), terms());
  return spread;
}

/// True if rows of the result have a target along classes.
bool GroupedContraction::keepsClasses(const Factor &of,
                                      const Hits &hits) const {
  for (auto [axis, label] : llvm::enumerate(of.labels))
    if (hits.share.dims()[axis] != 1 && llvm::is_contained(result, label) &&
        isKept(of, label))
      return true;
  return false;
}

Hits GroupedContraction::sumHits(const Factor &of, const Factor &other,
                                 const Hits &hits) const {
  SmallVector<size_t> strides = kept.stridesOf(of);
  std::vector<Cell> shares(kept.size()), rests(kept.size());
  Moments y = Moments::of(other.value.hull(), other.spread.alike);
  for (size_t group = 0; group < shares.size(); ++group) {
    size_t from = kept.groupAt(group, strides);
    double hit = std::min(hits.share.cell(from).mean, 1.0);
    double size = std::sqrt(std::max(hits.rest.cell(from).mean, 0.0));
    shares[group].mean = -std::expm1(terms() * std::log1p(-hit));
    // Those that are not hit have one sign.
    rests[group].mean = sumOf(Moments::number(size * factor) * y, count).square;
  }
  return {AbstractValue(kept.dims, shares), AbstractValue(kept.dims, rests)};
}

void GroupedContraction::giveLosses(BackwardSpreadContext &backward) const {
  Losses losses = backward.combineLosses();
  for (auto [mine, other] : {std::pair{&a, &b}, std::pair{&b, &a}}) {
    const Hits *hits =
        backward.isGradient(mine->of) ? backward.hits(mine->of) : nullptr;
    if (!hits)
      continue;
    if (keepsClasses(*mine, *hits)) {
      backward.giveHits(index, sumHits(*mine, *other, *hits));
      losses.rest = losses.rest.ofSums(terms());
    } else {
      losses.hit =
          losses.hit.both(losses.rest.ofSums(std::max(terms() - 1, 0.0)));
    }
    return backward.giveLosses(index, losses);
  }
  losses.hit = losses.hit.ofSums(terms());
  backward.giveLosses(index, losses);
}

void mpopt::giveContraction(SpreadContext &ctx, unsigned index, Factor a,
                            Factor b, ArrayRef<int> result, double factor) {
  bool refines = isEstimated(ctx, a, b, result);
  if (!refines && ctx.isUncorrelated())
    return ctx.giveSpread(index, rolesOf(a, b, result));
  if (!refines)
    for (Factor *of : {&a, &b})
      keepLabels(*of, [](int) { return false; });
  GroupSelection(ctx, a, b, result).run();
  GroupedContraction contraction(ctx, index, a, b, result, factor);
  AbstractValue value = contraction.sum();
  if (!refines)
    return ctx.giveSpread(index, contraction.spread());
  if (auto *backward = dyn_cast<BackwardSpreadContext>(&ctx);
      backward && ctx.computesGradient())
    contraction.giveLosses(*backward);
  ctx.give(index, std::move(value), contraction.spread());
}
