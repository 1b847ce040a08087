//===- Dot.cpp - Ranges of a product of two unknown rows
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Ranges/Weights/Kernels/Dot.h"

#include "mpopt/Numerics/EstimateMath.h"
#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Numerics/Rounding.h"

#include <cassert>
#include <cmath>

using namespace mpopt;
using llvm::ArrayRef;

template <typename T> static T pick(ArrayRef<T> list, size_t index) {
  if (list.empty())
    return T();
  return list[list.size() == 1 ? 0 : index];
}

/// Terms that differ from one another; 1 if both sides are alike for all k.
static uint64_t distinct(const DotOperand &a, const DotOperand &b,
                         uint64_t count) {
  for (const DotOperand *side : {&a, &b})
    if (side->range.size() > 1 || side->mean.size() > 1 ||
        side->variance.size() > 1 || side->halfRange.size() > 1)
      return count;
  return std::min<uint64_t>(count, 1);
}

/// An upper bound of the norm of a row of the box.
static double normOf(const DotOperand &side, uint64_t count) {
  double squares = 0;
  if (side.range.size() == 1) {
    double size = side.range.front().maxAbs();
    squares = mulUp(mulUp(size, size), double(count));
  } else {
    for (const Interval &range : side.range)
      squares = addUp(squares, mulUp(range.maxAbs(), range.maxAbs()));
  }
  double norm = sqrtUp(squares);
  return side.norm ? std::min(norm, *side.norm) : norm;
}

static Interval hullOf(ArrayRef<Interval> ranges) {
  Interval all = Interval::empty();
  for (const Interval &range : ranges)
    all = hull(all, range);
  return all;
}

/// Elements are not negative and sum to s: sum a b lies between s min b and
/// s max b.
static void combine(const DotOperand &weights, const DotOperand &values,
                    DotRange &result) {
  if (!weights.sum)
    return;
  Interval sum = intersect(*weights.sum, {0, kInfinity});
  Interval hull = hullOf(values.range);
  if (sum.isEmpty() || hull.isEmpty())
    return;
  result.bound = intersect(result.bound, sum * hull);
  result.terms = std::min(result.terms, mulUp(sum.hi, hull.maxAbs()));
}

/// Weights that sum to 1 move what they combine toward its mean only: of the
/// other side's means their distance from the combination counts.
static double combinedMean(const DotOperand &weights, const DotOperand &values,
                           uint64_t different) {
  if (!weights.sum || weights.sum->lo < 0.5 || weights.sum->hi > 2)
    return 0;
  double sum = 0, total = 0;
  for (uint64_t k = 0; k < different; ++k) {
    sum += pick(weights.mean, k) * pick(values.mean, k);
    total += pick(weights.mean, k);
  }
  return total > 0 ? sum / total : 0;
}

DotRange mpopt::dotOfBoxes(const DotOperand &a, const DotOperand &b,
                           uint64_t count) {
  DotRange result;
  if (count == 0)
    return result;
  assert((a.range.size() == 1 || a.range.size() == count) &&
         (b.range.size() == 1 || b.range.size() == count) &&
         "a range per term");
  uint64_t different = distinct(a, b, count);
  uint64_t times = count / different;
  double repeats = double(times), sixth = 0;
  double centreA = combinedMean(b, a, different);
  double centreB = combinedMean(a, b, different);
  for (uint64_t k = 0; k < different; ++k) {
    Interval left = pick(a.range, k), right = pick(b.range, k);
    result.bound = result.bound + left * right;
    result.terms = addUp(result.terms, mulUp(left.maxAbs(), right.maxAbs()));
    double meanA = pick(a.mean, k), meanB = pick(b.mean, k);
    double varianceA = pick(a.variance, k), varianceB = pick(b.variance, k);
    result.mean += meanA * meanB;
    double offA = meanA - centreA, offB = meanB - centreB;
    result.variance += varianceA * varianceB + varianceA * offB * offB +
                       varianceB * offA * offA;
    // Half the range of the product of [m - h, m + h], the extremes of either
    // side seldom meeting: h cos and h' sin.
    double halfA = pick(a.halfRange, k), halfB = pick(b.halfRange, k);
    double product =
        getLength(meanA * halfB, meanB * halfA) + halfA * halfB / 2;
    double squared = product * product;
    sixth += squared * squared * squared;
  }
  result.bound = result.bound * repeats;
  result.terms = mulUp(result.terms, repeats);
  result.mean *= repeats;
  result.variance *= repeats;
  result.tail = std::pow(sixth * repeats, 1.0 / 6);

  double norms = mulUp(normOf(a, count), normOf(b, count));
  if (!std::isnan(norms)) {
    result.bound = intersect(result.bound, Interval::symmetric(norms));
    result.terms = std::min(result.terms, norms);
  }
  combine(a, b, result);
  combine(b, a, result);
  return result;
}
