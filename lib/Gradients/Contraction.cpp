//===- Contraction.cpp - Sums of products of numbers that vary together
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Sums.h"

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

void mpopt::giveContraction(SpreadContext &ctx, unsigned index, Factor a,
                            Factor b, ArrayRef<int> result, double factor) {
  bool refines = isEstimated(ctx, a, b, result);
  if (!refines && ctx.isUncorrelated())
    return ctx.giveSpread(index, rolesOf(a, b, result));
  if (!refines)
    for (Factor *of : {&a, &b})
      keepLabels(*of, [](int) { return false; });
  auto isKept = [&](const Factor &of, int label) {
    int axis = axisOf(of, label);
    return axis >= 0 && of.value.dims()[axis] != 1;
  };
  // Labels of both operands that the result lacks are summed; channels among
  // them may be told apart, and positions whose terms are uncorrelated. Neither
  // are positions of the result that both have, while channels of both (heads)
  // are.
  bool keepsBoth = true;
  bool keepsSummed = ctx.computesGradient() && !hasHits(ctx, a) &&
                     !hasHits(ctx, b) && addsIndependently(ctx, a, b, result);
  auto keeps = [&](const Factor &mine, const Factor &other, int label) {
    bool inResult = llvm::is_contained(result, label);
    if (inResult && axisOf(other, label) < 0)
      return true;
    bool sampled = isSampled(mine, axisOf(mine, label)) ||
                   isSampled(other, axisOf(other, label));
    if (inResult)
      return !sampled && keepsBoth;
    return (!sampled || keepsSummed) && isKept(a, label) && isKept(b, label);
  };
  auto keepAll = [&] {
    Factor before = a;
    keepLabels(a, [&](int label) { return keeps(before, b, label); });
    before = b;
    keepLabels(b, [&](int label) { return keeps(before, a, label); });
    // Labels that both have are paired once.
    size_t pairs = a.value.groups() * b.value.groups();
    for (int label : a.labels)
      if (isKept(a, label) && isKept(b, label))
        pairs /= size_t(a.value.dims()[axisOf(a, label)]);
    return pairs <= ctx.groupLimit().joint ||
           pairs == std::max(a.value.groups(), b.value.groups());
  };
  bool few = keepAll();
  if (!few) {
    keepsBoth = false;
    few = keepAll();
  }
  // One operand's groups are enough where all pairs would be too many.
  if (!few) {
    bool flatA = hasHits(ctx, a) || hasHits(ctx, b)
                     ? hasHits(ctx, b)
                     : unevenness(a.value) < unevenness(b.value);
    keepLabels(flatA ? a : b, [](int) { return false; });
    keepLabels(flatA ? b : a,
               [&](int label) { return llvm::is_contained(result, label); });
  }

  // How many terms each sum has.
  TermCount count;
  SmallVector<int> contracted;
  for (int label : a.labels) {
    if (llvm::is_contained(result, label) || axisOf(b, label) < 0)
      continue;
    if (isKept(a, label) && isKept(b, label)) {
      contracted.push_back(label);
      continue;
    }
    int64_t axis = axisOf(a, label), other = axisOf(b, label);
    bool fromA = isSampled(a, axis) || !isSampled(b, other);
    TermCount own =
        fromA ? ctx.countTerms(a.of, {axis}) : ctx.countTerms(b.of, {other});
    count.channels *= own.channels;
    count.samples *= own.samples;
    count.positions *= own.positions;
  }

  // The result's groups.
  AbstractValue::Dims dims;
  for (int label : result) {
    int64_t dim = 1;
    if (isKept(a, label))
      dim = a.value.dims()[axisOf(a, label)];
    else if (isKept(b, label))
      dim = b.value.dims()[axisOf(b, label)];
    dims.push_back(dim);
  }
  size_t inner = 1;
  for (int label : contracted)
    inner *= a.value.dims()[axisOf(a, label)];
  auto strideOf = [](const Factor &of, int label) {
    int axis = axisOf(of, label);
    if (axis < 0 || of.value.dims()[axis] == 1)
      return size_t(0);
    size_t stride = 1;
    for (size_t i = axis + 1; i < of.value.rank(); ++i)
      stride *= of.value.dims()[i];
    return stride;
  };
  AbstractValue shape(dims, Cell{0, 0});
  size_t groups = shape.groups();
  Value made = ctx.op()->getResult(index);
  double draws = ctx.elementsPerGroup(made, groups);
  double factors = a.spread.factors + b.spread.factors;
  bool across[2] = {false, false}; // the result has positions of a, of b
  for (int label : result) {
    across[0] |= isSampled(a, axisOf(a, label)) && axisOf(b, label) < 0;
    across[1] |= isSampled(b, axisOf(b, label)) && axisOf(a, label) < 0;
  }
  auto isBalanced = [&](const Factor &of) {
    return of.spread.balanced && isSummed(of, of.spread.axes.batch, result);
  };
  // Averages, weighted with probabilities.
  bool averages[2] = {isSummed(a, a.spread.unitSum, result),
                      isSummed(b, b.spread.unitSum, result)};
  double correlation = correlationOf(ctx, made, a, b, result);
  std::vector<Cell> cells(groups);
  Moments all;
  double inRow = 0;
  for (size_t group = 0; group < groups; ++group) {
    size_t rest = group, fromA = 0, fromB = 0;
    for (size_t axis = dims.size(); axis-- > 0;) {
      size_t place = rest % dims[axis];
      rest /= dims[axis];
      fromA += place * strideOf(a, result[axis]);
      fromB += place * strideOf(b, result[axis]);
    }
    Moments sum;
    double peak = 0;
    for (size_t term = 0; term < inner; ++term) {
      size_t left = term, inA = fromA, inB = fromB;
      for (int label : llvm::reverse(contracted)) {
        size_t dim = a.value.dims()[axisOf(a, label)];
        inA += left % dim * strideOf(a, label);
        inB += left % dim * strideOf(b, label);
        left /= dim;
      }
      Moments x = Moments::of(a.value.cell(inA), a.spread);
      Moments y = Moments::of(b.value.cell(inB), b.spread);
      // The common part of the other factor meets a sum of 0.
      bool zeroA = isSummed(a, a.spread.zeroSum, result),
           zeroB = isSummed(b, b.spread.zeroSum, result);
      if (zeroA && !zeroB)
        y = Moments{0, 0, y.square - y.common};
      if (zeroB && !zeroA)
        x = Moments{0, 0, x.square - x.common};
      Moments product = x * y;
      // The part that a sample's positions share meets that which samples do
      // not.
      for (auto [g, of, other] : {std::tuple{&a, x, y}, std::tuple{&b, y, x}})
        if (isBalanced(*g)) {
          double met =
              (of.common - of.mean * of.mean) * other.mean * other.mean;
          product.common -= met;
          product.square -= met;
        }
      Moments part = sumOf(product, count);
      // Other positions of the result meet the same positions of the operand
      // that does not have them.
      Moments same = {product.mean, product.common,
                      (across[0] ? x.common : x.square) *
                          (across[1] ? y.common : y.square),
                      product.steady};
      part.common = sumOf(same, count).square;
      inRow += sumOf({product.mean, product.common, x.square * y.common}, count)
                   .square;
      if (averages[0] != averages[1]) {
        part = averages[0] ? averageOf(x, y, count.all())
                           : averageOf(y, x, count.all());
      }
      part.square +=
          x.variance() * y.variance() * correlation * count.all() * count.all();
      sum = sum + part;
      peak = std::max(peak, std::sqrt(x.square * y.square));
    }
    cells[group] = SpreadContext::normalCell(sum.scaled(factor), draws);
    all = all + sum;
  }
  AbstractValue value(dims, cells);
  value.source = LikelySource::Propagated;

  Spread spread = rolesOf(a, b, result);
  double terms = count.all() * double(inner);
  spread.alike = all.alike();
  spread.steady = all.steadyPart();
  // Places along the last axis are those of the second operand.
  if (across[1] && !result.empty() && axisOf(a, result.back()) < 0)
    spread.alikeInRow = Moments{all.mean, inRow, all.square}.alike();
  spread.factors = terms < kFewTerms ? factors : 1;
  spread.zero = std::pow(1 - (1 - a.spread.zero) * (1 - b.spread.zero), terms);

  if (!refines)
    return ctx.giveSpread(index, spread);
  if (auto *backward = dyn_cast<BackwardSpreadContext>(&ctx);
      backward && ctx.computesGradient()) {
    Losses losses = backward->combineLosses();
    bool known = false;
    for (auto [mine, other] : {std::pair{&a, &b}, std::pair{&b, &a}}) {
      const Hits *hits =
          ctx.isGradient(mine->of) ? backward->hits(mine->of) : nullptr;
      if (!hits)
        continue;
      known = true;
      // Along classes each row has its target.
      AbstractValue share = hits->share, rest = hits->rest;
      bool keepsClasses = false;
      for (auto [axis, label] : llvm::enumerate(mine->labels))
        keepsClasses |= share.dims()[axis] != 1 &&
                        llvm::is_contained(result, label) &&
                        isKept(*mine, label);
      if (!keepsClasses) {
        losses.hit =
            losses.hit.both(losses.rest.ofSums(std::max(terms - 1, 0.0)));
        break;
      }
      std::vector<Cell> shares(groups), rests(groups);
      Moments y = Moments::of(other->value.hull(), other->spread.alike);
      for (size_t group = 0; group < groups; ++group) {
        size_t left = group, from = 0;
        for (size_t axis = dims.size(); axis-- > 0;) {
          from += left % dims[axis] * strideOf(*mine, result[axis]);
          left /= dims[axis];
        }
        double hit = std::min(share.cell(from).mean, 1.0);
        double size = std::sqrt(std::max(rest.cell(from).mean, 0.0));
        shares[group].mean = -std::expm1(terms * std::log1p(-hit));
        // Those that are not hit have one sign.
        rests[group].mean =
            sumOf(Moments::number(size * factor) * y, count).square;
      }
      backward->giveHits(
          index, {AbstractValue(dims, shares), AbstractValue(dims, rests)});
      losses.rest = losses.rest.ofSums(terms);
      break;
    }
    if (!known)
      losses.hit = losses.hit.ofSums(terms);
    backward->giveLosses(index, losses);
  }
  ctx.give(index, std::move(value), spread);
}
