//===- Masks.cpp - Scores that softmax drops
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Masks.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Hazards/ConstantUses.h"
#include "mpopt/Ranges/Value/TransferContext.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

/// Masks add at most this, or put it in the place of a score.
static constexpr double kMasked = -1000;
static constexpr unsigned kMostSteps = 8;

static bool reachesSoftmax(Value value, unsigned depth, unsigned &budget) {
  for (Operation *user : value.getUsers()) {
    if (budget == 0 || depth == 0)
      return false;
    --budget;
    if (hasRole(user, Role::Maskable | Role::Attention))
      return true;
    if ((isa<mp::CastOp>(user) || passesScores(user)) &&
        user->getNumResults() == 1 &&
        reachesSoftmax(user->getResult(0), depth - 1, budget))
      return true;
  }
  return false;
}

/// The elements that are not masked. Nothing if they are not told apart.
static std::optional<Cell> findLive(Value value, const RangeAnalysis &ranges,
                                    unsigned depth) {
  const AbstractValue &x = ranges.preRounding(value);
  if (!x.hasLikely())
    return std::nullopt;
  Cell all = x.hull();
  if (all.likelyLo > kMasked)
    return all;
  Operation *op = value.getDefiningOp();
  // A mask alone: 0, or a number near it, is kept.
  auto alone = [&]() -> std::optional<Cell> {
    if (isConstant(value) && all.likelyHi < kMasked)
      return Cell{0, 0}; // nothing is kept
    if (std::fabs(all.likelyHi) > -kMasked)
      return std::nullopt;
    return Cell{0, 0, all.likelyHi, 0, all.likelyHi, all.likelyHi};
  };
  if (!op || depth == 0)
    return alone();
  if (isa<mp::CastOp, mp::IdentityOp>(op) || isViewLike(op))
    return findLive(op->getOperand(0), ranges, depth - 1);
  if (hasRole(op, Role::Addition | Role::Select)) {
    Cell sum{0, 0};
    bool any = false;
    for (Value operand : op->getOperands()) {
      if (!isa<FloatType>(getElementType(operand)))
        continue;
      std::optional<Cell> part = findLive(operand, ranges, depth - 1);
      if (hasRole(op, Role::Addition) && !part)
        return std::nullopt;
      if (!part || (hasRole(op, Role::Select) && part->likelyHi < kMasked))
        continue;
      if (hasRole(op, Role::Select) && any)
        continue;
      any = true;
      sum.mean += part->mean;
      sum.variance += part->variance;
      sum.likelyLo += part->likelyLo;
      sum.likelyHi += part->likelyHi;
    }
    return any ? std::optional(sum) : std::nullopt;
  }
  return alone();
}

/// The probability that an element of the group is masked.
static double shareMasked(const Cell &cell) {
  if (cell.likelyLo > kMasked)
    return 0;
  if (cell.likelyHi < kMasked)
    return 1;
  double share = (cell.likelyHi - cell.mean) / (cell.likelyHi - cell.likelyLo);
  return std::clamp(share, 0.0, 1.0);
}

/// The expected share of rows, along the last axis, without an element that is
/// kept. Elements are independent, given their group's share.
static double shareOfFullRows(Value value, const AbstractValue &x) {
  MaybeShape shape = getShape(value);
  if (!shape || shape->empty() || shape->back() < 1 ||
      x.rank() != shape->size())
    return 0;
  int64_t kept = x.dims().back();
  double each = double(shape->back()) / double(kept), sum = 0;
  for (size_t first = 0; first < x.groups(); first += size_t(kept)) {
    double all = 1;
    for (int64_t group = 0; group < kept && all > 0; ++group)
      all *= std::pow(shareMasked(x.cell(first + size_t(group))), each);
    sum += all;
  }
  return sum * double(kept) / double(x.groups());
}

std::optional<MaskedScores>
mpopt::findMaskedScores(Value value, const RangeAnalysis &ranges) {
  const AbstractValue &x = ranges.preRounding(value);
  if (!x.hasLikely() || x.hull().likelyLo > kMasked)
    return std::nullopt;
  unsigned budget = 64;
  if (!reachesSoftmax(value, kMostSteps, budget))
    return std::nullopt;
  std::optional<Cell> live = findLive(value, ranges, kMostSteps);
  if (!live)
    return std::nullopt;
  MaskedScores scores;
  scores.live = *live;
  scores.masked = x.hull().likelyLo;
  // A mask alone is broadcast to rows that are not seen here, and is often a
  // number that the format has.
  if (live->variance > 0) {
    scores.fullRows = shareOfFullRows(value, x);
    double rows = 1;
    MaybeShape shape = getShape(value);
    for (int64_t dim : ArrayRef(*shape).drop_back())
      rows *= double(std::max<int64_t>(dim, 1));
    scores.expectedRows = rows * scores.fullRows;
  }
  return scores;
}
