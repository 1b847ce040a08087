//===- Sums.cpp - Sums of numbers that vary together
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sums.h"

#include "mpopt/Numerics/Likely.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

/// Terms of which few are added up are as far from normal as one of them.
static constexpr double kFewTerms = 4;

//===----------------------------------------------------------------------===//
// Moments
//===----------------------------------------------------------------------===//

Moments mpopt::sumOf(const Moments &term, const TermCount &count) {
  // One sample: its positions are alike.
  double positions = count.positions, mean = positions * term.mean;
  double square =
      positions * (positions - 1) * term.common + positions * term.square;
  double common = positions * positions * term.common;
  // Samples and channels are independent, given the mean.
  double many = count.channels * count.samples;
  double whole = count.all() * term.mean;
  return {whole, many * (common - mean * mean) + whole * whole,
          many * (square - mean * mean) + whole * whole};
}

Cell SpreadContext::normalCell(const Moments &moments, double count) {
  Likely likely =
      Likely::normal(moments.mean, moments.variance(), expectedExtreme(count));
  return {likely.lo,       likely.hi, likely.mean,
          likely.variance, likely.lo, likely.hi};
}

TermCount SpreadContext::countTerms(Value value, ArrayRef<int64_t> axes) {
  TermCount count;
  const AxisRoles &roles = spread(value).axes;
  for (int64_t axis : axes) {
    double dim = double(std::max<int64_t>(dimOf(value, axis).value_or(1), 1));
    if (axis == roles.batch) {
      double inside = std::min(dim, samples());
      count.samples *= inside;
      count.positions *= dim / inside;
    } else {
      (roles.isPosition(axis) ? count.positions : count.channels) *= dim;
    }
  }
  return count;
}

//===----------------------------------------------------------------------===//
// Sums of one tensor
//===----------------------------------------------------------------------===//

static uint32_t dropAxes(uint32_t positions, ArrayRef<int64_t> axes,
                         size_t rank, bool keepDims) {
  uint32_t result = 0;
  unsigned to = 0;
  for (size_t axis = 0; axis < std::min<size_t>(rank, 32); ++axis) {
    bool dropped = llvm::is_contained(axes, int64_t(axis));
    if (!dropped)
      result |= (positions >> axis & 1) << to;
    to += !dropped || keepDims;
  }
  return result;
}

static int dropAxis(int batch, ArrayRef<int64_t> axes, bool keepDims) {
  if (batch < 0 || llvm::is_contained(axes, batch))
    return -1;
  return keepDims ? batch : batch - int(llvm::count_if(axes, [&](int64_t axis) {
                              return axis < batch;
                            }));
}

void mpopt::giveSum(SpreadContext &ctx, unsigned index, Value of,
                    const AbstractValue &whole, const Spread &spread,
                    ArrayRef<int64_t> axes, bool keepDims, double factor) {
  AbstractValue value = whole;
  // Positions whose means differ are one group here: the terms of a sum.
  SmallVector<int64_t> merged;
  AbstractValue::Dims target(value.dims());
  for (int64_t axis : axes) {
    if (axis == spread.axes.batch || spread.axes.isPosition(axis))
      value = value.merging(axis);
    if (value.dims()[axis] == 1)
      merged.push_back(axis);
  }
  target.assign(value.dims().begin(), value.dims().end());
  for (int64_t axis : axes)
    target[axis] = 1;
  TermCount count = ctx.countTerms(of, merged);
  double terms = ctx.countTerms(of, axes).all();

  // The sums of the groups that go into one.
  AbstractValue spots(target, Cell{0, 0});
  std::vector<Moments> sums(spots.groups());
  std::vector<double> peaks(spots.groups());
  SmallVector<size_t> strides(value.rank());
  size_t stride = 1;
  for (size_t axis = value.rank(); axis-- > 0; stride *= target[axis])
    strides[axis] = target[axis] == 1 ? 0 : stride;
  SmallVector<int64_t> place(value.rank());
  for (size_t group = 0; group < value.groups(); ++group) {
    size_t rest = group, into = 0;
    for (size_t axis = value.rank(); axis-- > 0;) {
      into += rest % value.dims()[axis] * strides[axis];
      rest /= value.dims()[axis];
    }
    Cell cell = value.cell(group);
    sums[into] = sums[into] + sumOf(Moments::of(cell, spread.alike), count);
    peaks[into] = std::max(
        {peaks[into], std::fabs(cell.likelyLo), std::fabs(cell.likelyHi)});
  }
  Value result = ctx.op()->getResult(index);
  double draws = ctx.elementsPerGroup(result, sums.size());
  std::vector<Cell> cells;
  Moments all;
  for (auto [sum, peak] : llvm::zip(sums, peaks)) {
    Moments scaled = sum.scaled(factor);
    Cell cell = SpreadContext::normalCell(scaled, draws);
    // A single huge term decides.
    double least = peak * std::fabs(factor);
    if (cell.likelyHi < least && -cell.likelyLo < least)
      (cell.mean < 0 ? cell.likelyLo : cell.likelyHi) =
          cell.mean < 0 ? -least : least;
    cells.push_back(cell);
    all = all + scaled;
  }
  AbstractValue summed(target, cells);
  if (!keepDims) {
    AbstractValue::Dims dims;
    for (size_t axis = 0; axis < target.size(); ++axis)
      if (!llvm::is_contained(axes, int64_t(axis)))
        dims.push_back(target[axis]);
    summed = summed.withDims(std::move(dims));
  }
  summed.source = LikelySource::Propagated;

  Spread its = spread;
  its.axes.positions =
      dropAxes(spread.axes.positions, axes, value.rank(), keepDims);
  its.axes.batch = dropAxis(spread.axes.batch, axes, keepDims);
  its.alike = all.alike();
  its.zero = std::pow(spread.zero, terms);
  its.zeroRows = 0;
  its.bounded = false;
  its.zeroSum = -1;
  its.alikeInRow = -1;
  if (terms >= kFewTerms)
    its.factors = 1;
  if (ctx.isGradient(of)) {
    Losses losses = ctx.losses(of);
    if (const Hits *hits = ctx.hits(of)) {
      AbstractValue share = hits->share.regrouped(target);
      AbstractValue rest = hits->rest.regrouped(target);
      for (CellRef cell : share.mutableCells())
        cell.mean = -std::expm1(terms * std::log1p(-std::min(cell.mean, 1.0)));
      // Those that are not hit have one sign.
      for (CellRef cell : rest.mutableCells())
        cell.mean *= terms * terms * factor * factor;
      if (!keepDims) {
        share = share.withDims(AbstractValue::Dims(summed.dims()));
        rest = rest.withDims(AbstractValue::Dims(summed.dims()));
      }
      ctx.giveHits(index, {std::move(share), std::move(rest)});
      losses.rest = losses.rest.ofSums(terms);
    } else {
      losses.hit = losses.hit.ofSums(terms);
    }
    ctx.giveLosses(index, losses);
  }
  // Sums of what is not alike are what their ranges say.
  if (!ctx.computesGradient() && !ctx.isRefined(of) && count.positions <= 1)
    return ctx.giveSpread(index, its);
  ctx.give(index, std::move(summed), its);
}

void mpopt::giveSum(SpreadContext &ctx, unsigned index, Value value,
                    ArrayRef<int64_t> axes, bool keepDims, double factor) {
  giveSum(ctx, index, value, ctx.of(value), ctx.spread(value), axes, keepDims,
          factor);
}

//===----------------------------------------------------------------------===//
// Sums of products
//===----------------------------------------------------------------------===//

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

/// Merges all axes of `factor` that `keep` does not ask for.
static void keepLabels(Factor &factor, llvm::function_ref<bool(int)> keep) {
  SmallVector<int64_t> axes;
  for (auto [axis, label] : llvm::enumerate(factor.labels))
    if (factor.value.dims()[axis] != 1 && keep(label))
      axes.push_back(axis);
  factor.value = factor.value.keeping(axes);
}

void mpopt::giveContraction(SpreadContext &ctx, unsigned index, Factor a,
                            Factor b, ArrayRef<int> result, double factor) {
  auto isKept = [&](const Factor &of, int label) {
    int axis = axisOf(of, label);
    return axis >= 0 && of.value.dims()[axis] != 1;
  };
  auto isSampled = [](const Factor &of, int axis) {
    return axis >= 0 &&
           (axis == of.spread.axes.batch || of.spread.axes.isPosition(axis));
  };
  // Labels of both operands that the result lacks are summed; channels among
  // them may be told apart, positions are not.
  auto keeps = [&](const Factor &mine, const Factor &other, int label) {
    bool inResult = llvm::is_contained(result, label);
    if (inResult)
      return axisOf(other, label) < 0;
    return !isSampled(mine, axisOf(mine, label)) &&
           !isSampled(other, axisOf(other, label)) && isKept(a, label) &&
           isKept(b, label);
  };
  Factor before = a;
  keepLabels(a, [&](int label) { return keeps(before, b, label); });
  before = b;
  keepLabels(b, [&](int label) { return keeps(before, a, label); });
  // One operand's groups are enough where all pairs would be too many.
  if (a.value.groups() * b.value.groups() > ctx.groupLimit().joint &&
      a.value.groups() > 1 && b.value.groups() > 1) {
    bool flatA = ctx.hits(a.of) || ctx.hits(b.of)
                     ? ctx.hits(b.of) != nullptr
                     : unevenness(a.value) < unevenness(b.value);
    Factor &flat = flatA ? a : b;
    flat.value = flat.value.merged();
    Factor &other = &flat == &a ? b : a;
    keepLabels(other,
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
  auto isSummed = [&](const Factor &of) {
    int axis = of.spread.zeroSum;
    return axis >= 0 && !llvm::is_contained(result, of.labels[axis]);
  };
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
      Moments x = Moments::of(a.value.cell(inA), a.spread.alike);
      Moments y = Moments::of(b.value.cell(inB), b.spread.alike);
      // What the other factor has in common meets a sum of 0.
      if (isSummed(a) && !isSummed(b))
        y = Moments{0, 0, y.square - y.common};
      if (isSummed(b) && !isSummed(a))
        x = Moments{0, 0, x.square - x.common};
      Moments product = x * y;
      Moments part = sumOf(product, count);
      // Other positions of the result meet the same positions of the operand
      // that does not have them.
      Moments same = {product.mean, product.common,
                      (across[0] ? x.common : x.square) *
                          (across[1] ? y.common : y.square)};
      part.common = sumOf(same, count).square;
      inRow += sumOf({product.mean, product.common, x.square * y.common}, count)
                   .square;
      sum = sum + part;
      peak = std::max(peak, std::sqrt(x.square * y.square));
    }
    cells[group] = SpreadContext::normalCell(sum.scaled(factor), draws);
    all = all + sum;
  }
  AbstractValue value(dims, cells);
  value.source = LikelySource::Propagated;

  Spread spread;
  for (auto [axis, label] : llvm::enumerate(result)) {
    for (const Factor *of : {&a, &b}) {
      int own = axisOf(*of, label);
      if (own < 0)
        continue;
      if (own == of->spread.axes.batch)
        spread.axes.batch = int(axis);
      if (of->spread.axes.isPosition(own) && axis < 32)
        spread.axes.positions |= 1u << axis;
    }
  }
  double terms = count.all() * double(inner);
  spread.alike = all.alike();
  // Places along the last axis are those of the second operand.
  if (across[1] && !result.empty() && axisOf(a, result.back()) < 0)
    spread.alikeInRow = Moments{all.mean, inRow, all.square}.alike();
  spread.factors = terms < kFewTerms ? factors : 1;
  spread.zero = std::pow(1 - (1 - a.spread.zero) * (1 - b.spread.zero), terms);

  if (ctx.computesGradient()) {
    Losses losses = ctx.combineLosses();
    bool known = false;
    for (auto [mine, other] : {std::pair{&a, &b}, std::pair{&b, &a}}) {
      const Hits *hits =
          ctx.isGradient(mine->of) ? ctx.hits(mine->of) : nullptr;
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
      ctx.giveHits(index,
                   {AbstractValue(dims, shares), AbstractValue(dims, rests)});
      losses.rest = losses.rest.ofSums(terms);
      break;
    }
    if (!known)
      losses.hit = losses.hit.ofSums(terms);
    ctx.giveLosses(index, losses);
  }
  ctx.give(index, std::move(value), spread);
}
