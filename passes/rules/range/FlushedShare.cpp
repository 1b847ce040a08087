//===- FlushedShare.cpp - How much of a tensor becomes zero
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From the mean and spread of each group, taken as normal: of the result, or
// where the op bends the distribution (exponentials, squares) of its operand.
//
//===----------------------------------------------------------------------===//

#include "passes/rules/range/FlushedShare.h"
#include "passes/rules/range/OverflowSites.h"

#include "mpopt/Dialect/TypeSupport.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

/// Of a normal variable, the share at or below `x`.
static double shareBelow(double x, double mean, double variance) {
  if (!(variance > 0))
    return mean <= x;
  return 0.5 * std::erfc((mean - x) / std::sqrt(2 * variance));
}

/// Where exp of a shifted score is 0 in FP32 as well.
static constexpr double kMostScoreSpread = 104;

/// Mean over groups of `share`.
template <typename Function>
static std::optional<double> averageShare(const AbstractValue &value,
                                          Function share) {
  if (!value.hasLikely())
    return std::nullopt;
  double sum = 0;
  size_t groups = 0;
  for (const Cell &cell : value.cells())
    if (!cell.empty()) {
      sum += share(cell);
      ++groups;
    }
  if (groups == 0)
    return std::nullopt;
  return sum / double(groups);
}

std::optional<double> mpopt::flushedShare(Value value,
                                          const RangeAnalysis &ranges) {
  const FloatFormat *format = getFloatFormat(getElementType(value));
  if (!format || !(format->flushAt > 0))
    return std::nullopt;
  const AbstractValue &computed = ranges.preRounding(value);
  double flushAt = format->flushAt;
  if (computed.minNonZero > flushAt || !computed.hasLikely() ||
      computed.constant() == 0.0)
    return std::nullopt;
  // What is nowhere other than zero has nothing to lose.
  if (likelyMagnitude(computed).value_or(0) == 0)
    return std::nullopt;
  Operation *op = value.getDefiningOp();
  if (isAnyOf(op, {"exp", "sigmoid", "expm1", "exp2", "softmax"})) {
    if (isAnyOf(op, {"expm1"}))
      return std::nullopt;
    const AbstractValue &argument = ranges.of(op->getOperand(0));
    double edge =
        isAnyOf(op, {"exp2"}) ? std::log2(flushAt) : std::log(flushAt);
    if (!isAnyOf(op, {"softmax"}))
      return averageShare(argument, [&](const Cell &cell) {
        return shareBelow(edge, cell.mean, cell.variance);
      });
    // Masked scores are two heaps, not one normal one, and what is masked is 0
    // in any format.
    Cell hull = argument.hull();
    if (hull.likelyHi - hull.likelyLo > kMostScoreSpread)
      return std::nullopt;
    return averageShare(argument, [&](const Cell &cell) {
      double most = cell.mean + 2 * std::sqrt(cell.variance);
      return shareBelow(edge + most, cell.mean, cell.variance);
    });
  }
  if (op && isSquare(op)) {
    const AbstractValue &base = ranges.of(op->getOperand(0));
    double edge = std::sqrt(flushAt);
    return averageShare(base, [&](const Cell &cell) {
      return shareBelow(edge, cell.mean, cell.variance) -
             shareBelow(-edge, cell.mean, cell.variance);
    });
  }
  return averageShare(computed, [&](const Cell &cell) {
    if (std::max(std::fabs(cell.likelyLo), std::fabs(cell.likelyHi)) <= flushAt)
      return 1.0;
    // Zero is where a one-sided value piles up, not what flushes.
    if (!(cell.variance > 0))
      return 0.0;
    return shareBelow(flushAt, cell.mean, cell.variance) -
           shareBelow(-flushAt, cell.mean, cell.variance);
  });
}

Certainty mpopt::certaintyOfFlush(Value value, const RangeAnalysis &ranges) {
  const FloatFormat &format = *getFloatFormat(getElementType(value));
  const AbstractValue &computed = ranges.preRounding(value);
  bool all = boundMagnitude(computed) <= format.flushAt &&
             value.getDefiningOp() && runsAlways(value.getDefiningOp());
  for (const Cell &cell : computed.cells())
    all &= !cell.empty() && (cell.lo > 0 || cell.hi < 0);
  return all ? Certainty::Certain : Certainty::Likely;
}

std::string mpopt::describeFlush(double share, Value value) {
  const FloatFormat &format = *getFloatFormat(getElementType(value));
  std::string much =
      share > 0.99
          ? std::string("nearly all")
          : "about " + formatNumber(std::round(share * 100)) + " % of the";
  return much + (share > 0.99 ? " of the" : "") +
         " non-zero values are below " + formatNumber(format.flushAt) +
         " and become 0 in " + std::string(format.name);
}
