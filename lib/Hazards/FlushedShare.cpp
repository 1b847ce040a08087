//===- FlushedShare.cpp - How much of a tensor becomes zero
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A value that is 0 in FP32 as well counts neither as flushed nor as kept.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Hazards/FlushedShare.h"

#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/ActivationOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Numerics/Masking.h"
#include "mpopt/Numerics/Normal.h"
#include "mpopt/Numerics/StorageError.h"
#include "mpopt/Propagate/Masks.h"
#include "mpopt/Ranges/Value/Expression.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace mpopt;

/// ln of the last magnitude that is 0 in FP32, 2^-150.
static constexpr double kLogZero = -103.97;
/// A group of this many times the flush threshold has hardly a value below it.
static constexpr double kFarAbove = 1e3;

/// The share of a normal variable that is at or below `x`.
static double shareBelow(double x, double mean, double variance) {
  double apart = mean - x;
  // So far out the other side has no double's worth of the share.
  if (!(variance > 0) || apart * apart > 72 * variance)
    return apart <= 0;
  return 0.5 * std::erfc(apart / std::sqrt(2 * variance));
}

//===----------------------------------------------------------------------===//
// One group
//===----------------------------------------------------------------------===//

static double expectedMagnitude(const Cell &cell) {
  return std::max(std::fabs(cell.likelyLo), std::fabs(cell.likelyHi));
}

namespace {
/// The amounts of flushed and of other non-zero values, summed over groups.
struct Tally {
  double flushed = 0, kept = 0;

  void addLogarithm(const Cell &cell, double edge) {
    if (cell.empty())
      return;
    double zero = shareBelow(kLogZero, cell.mean, cell.variance);
    double below = shareBelow(edge, cell.mean, cell.variance);
    flushed += below - zero;
    kept += 1 - below;
  }
  void addCell(const Cell &cell, double flushAt) {
    if (cell.likelyLo >= 0 || cell.likelyHi <= 0)
      return addLogarithm(logarithmOf(cell), std::log(flushAt));
    double below = shareBelow(flushAt, cell.mean, cell.variance) -
                   shareBelow(-flushAt, cell.mean, cell.variance);
    flushed += below;
    kept += 1 - below;
  }
  /// The share that is flushed; nothing if the groups only hold zeros.
  std::optional<double> share() const {
    double all = flushed + kept;
    return all > 1e-9 ? std::optional(flushed / all) : std::nullopt;
  }
};
} // namespace

QuantilePoints mpopt::quantilesOf(const Cell &cell) {
  static const QuantilePoints normal = [] {
    QuantilePoints at;
    for (size_t i = 0; i < at.size(); ++i)
      at[i] = normalQuantile((double(i) + 0.5) / double(at.size()));
    return at;
  }();
  QuantilePoints points = normal;
  for (double &z : points)
    z = std::clamp(cell.mean + z * std::sqrt(cell.variance), cell.likelyLo,
                   cell.likelyHi);
  return points;
}

/// The share of a function of one number, which may have next to nothing for
/// half of its arguments and large values for the others; nothing for other
/// values.
static std::optional<double> shareOfFunction(Value value,
                                             ArrayRef<double> edges,
                                             const RangeAnalysis &ranges) {
  std::optional<Expression> expression = Expression::ofValue(value);
  if (!expression)
    return std::nullopt;
  const AbstractValue &x = ranges.preRounding(expression->variable());
  if (!x.hasLikely())
    return std::nullopt;
  QuantilePoints values;
  Tally tally;
  double least = std::exp(kLogZero);
  auto add = [&](const Cell &cell, double flushAt) {
    expression->evaluate(quantilesOf(cell), values);
    for (double value : values) {
      double magnitude = std::fabs(value);
      if (magnitude > flushAt)
        tally.kept += 1;
      else if (magnitude > least)
        tally.flushed += 1;
    }
  };
  if (edges.size() == 1 || x.dims() != ranges.preRounding(value).dims()) {
    add(x.hull(), edges.front());
    return tally.share();
  }
  for (auto [group, edge] : llvm::enumerate(edges))
    add(x.cell(group), edge);
  return tally.share();
}

FlushedShares::FlushedShares(Operation *module, AnalysisManager &manager)
    : ranges(manager.getAnalysis<RangeAnalysis>()), logarithms(ranges) {
  for (auto function : cast<ModuleOp>(module).getOps<FunctionOpInterface>())
    if (!function.isExternal())
      logarithms.run(function.getFunctionBody().front());
}

bool FlushedShares::isInvalidated(
    const AnalysisManager::PreservedAnalyses &analyses) {
  return !analyses.isPreserved<FlushedShares>() ||
         !analyses.isPreserved<RangeAnalysis>();
}

//===----------------------------------------------------------------------===//
// Shares
//===----------------------------------------------------------------------===//

std::optional<double> FlushedShares::judge(Value value,
                                           ArrayRef<double> edges) const {
  const AbstractValue &computed = ranges.preRounding(value);
  Tally tally;
  // Whatever the shape of the distribution, none is expected to be larger.
  double highest = *llvm::max_element(edges),
         lowest = *llvm::min_element(edges);
  if (double most = ranges.magnitudes(value).likely.value_or(0); most <= lowest)
    return most > 0 ? std::optional(1.0) : std::nullopt;
  auto edgeOf = [&](size_t group, size_t count) {
    return edges.size() == count ? edges[group] : highest;
  };
  if (const AbstractValue *known = logarithms.of(value)) {
    for (size_t group = 0; group < known->groups(); ++group)
      tally.addLogarithm(known->cell(group),
                         std::log(edgeOf(group, known->groups())));
    return tally.share();
  }
  if (std::optional<double> share = shareOfFunction(value, edges, ranges))
    return share;
  for (size_t group = 0; group < computed.groups(); ++group) {
    Cell cell = computed.cell(group);
    double flushAt = edgeOf(group, computed.groups()),
           far = flushAt * kFarAbove;
    if (cell.empty() || expectedMagnitude(cell) == 0)
      continue;
    if (cell.mean * cell.mean + cell.variance > far * far)
      tally.kept += 1;
    else if (expectedMagnitude(cell) <= flushAt)
      tally.flushed += 1;
    else
      tally.addCell(cell, flushAt);
  }
  return tally.share();
}

std::optional<double> FlushedShares::judge(Value value) {
  const FloatFormat *format = getFloatFormat(getElementType(value));
  if (!format || !(format->flushAt > 0))
    return std::nullopt;
  const AbstractValue &computed = ranges.preRounding(value);
  // Sums of stored values are 0 or no smaller than the smallest of them: that
  // they are 0 is what is asked.
  auto isLost = [](const Cell &cell) {
    return cell.absMax() == 0 && expectedMagnitude(cell) > 0;
  };
  if (!computed.hasLikely() || (computed.minNonZero > format->minSubnormal &&
                                llvm::none_of(computed.cells(), isLost)))
    return std::nullopt;
  // Moved elements are the same elements, all of them.
  Operation *op = value.getDefiningOp();
  if (hasRole(op, Role::Rearranges))
    if (auto known = shares.find(op->getOperand(0));
        known != shares.end() && known->second &&
        getElementType(op->getOperand(0)) == getElementType(value))
      return known->second;
  return judge(value, format->flushAt);
}

/// The scores that no mask hides, and the number of the others. A sum of scores
/// and a mask that is made of several has no more to tell them by.
static std::optional<MaskedScores> findMasked(Value scores,
                                              const RangeAnalysis &ranges) {
  if (auto known = findMaskedScores(scores, ranges))
    return known;
  Operation *op = scores.getDefiningOp();
  if (!hasRole(op, Role::Addition) || op->getNumOperands() != 2)
    return std::nullopt;
  for (unsigned index : {0u, 1u}) {
    const AbstractValue &mask = ranges.preRounding(op->getOperand(index)),
                        &live = ranges.preRounding(op->getOperand(1 - index));
    if (!mask.hasLikely() || !live.hasLikely() ||
        mask.hull().likelyLo > maskedBelow() ||
        live.hull().likelyLo <= maskedBelow())
      continue;
    MaskedScores masks;
    masks.live = live.hull();
    masks.masked = mask.hull().likelyLo;
    return masks;
  }
  return std::nullopt;
}

/// The share of a softmax's probabilities whose scores a mask hides: these are
/// 0, or as far below the others as the mask is.
static std::optional<double> shareOfMasked(Value value, ArrayRef<double> edges,
                                           const RangeAnalysis &ranges) {
  auto op = getMaker(value, Peel::CastsAndViews);
  if (!isa_and_present<mp::SoftmaxOp>(op))
    return std::nullopt;
  Value scores = op->getOperand(0);
  std::optional<MaskedScores> masks = findMasked(scores, ranges);
  MaybeShape shape = getShape(scores);
  if (!masks || !shape || shape->empty())
    return std::nullopt;
  const Cell &live = masks->live;
  double masked =
      std::clamp((live.mean - ranges.preRounding(scores).hull().mean) /
                     (live.mean - masks->masked),
                 0.0, 1.0);
  double count =
      std::max((1 - masked) * double(std::max<int64_t>(shape->back(), 1)), 1.0);
  double sum = std::log(count) + live.mean + live.variance / 2;
  double edge = std::log(*llvm::max_element(edges));
  Tally tally;
  auto add = [&](double mean, double share) {
    Tally its;
    Cell cell = {-kInfinity, kInfinity, std::min(mean - sum, 0.0),
                 live.variance};
    its.addLogarithm(cell, edge);
    tally.flushed += share * its.flushed;
    tally.kept += share * its.kept;
  };
  add(live.mean, 1 - masked);
  add(masks->masked, masked);
  return tally.share();
}

double FlushedShares::below(Value value, ArrayRef<double> edges) {
  const AbstractValue &computed = ranges.preRounding(value);
  if (!computed.hasLikely() || edges.empty() ||
      computed.minNonZero > *llvm::max_element(edges))
    return 0;
  if (std::optional<double> share = shareOfMasked(value, edges, ranges))
    return *share;
  return judge(value, edges).value_or(0);
}

std::optional<double> FlushedShares::of(Value value) {
  auto [entry, isNew] = shares.try_emplace(value);
  if (!isNew)
    return entry->second;
  std::optional<double> share = judge(value);
  shares[value] = share;
  return share;
}

Certainty mpopt::certaintyOfFlush(Value value, const RangeAnalysis &ranges) {
  const FloatFormat &format = *getFloatFormat(getElementType(value));
  const AbstractValue &computed = ranges.preRounding(value);
  bool all = ranges.magnitudes(value).bound <= format.flushAt &&
             value.getDefiningOp() && runsAlways(value.getDefiningOp());
  for (const Cell &cell : computed.cells())
    all &= !cell.empty() && (cell.lo > 0 || cell.hi < 0);
  return all ? Certainty::Certain : Certainty::Likely;
}

/// True if products of matrices alone read the value, however its elements are
/// moved in between.
static bool onlyProductsRead(Value value) {
  constexpr size_t kMostLooked = 16;
  SmallVector<Value> work = {value};
  for (size_t looked = 0; looked < work.size(); ++looked) {
    if (work[looked].use_empty())
      return false;
    for (Operation *user : work[looked].getUsers()) {
      if (hasRole(user, Role::Contraction))
        continue;
      if (!hasRole(user, Role::MovesElements) || work.size() == kMostLooked)
        return false;
      work.push_back(user->getResult(0));
    }
  }
  return true;
}

double mpopt::partOfFlush(double share, Value value,
                          const RangeAnalysis &ranges) {
  if (!onlyProductsRead(value))
    return 1;
  const FloatFormat &format = *getFloatFormat(getElementType(value));
  const AbstractValue &x = ranges.preRounding(value);
  double all = 0;
  for (const Cell &cell : x.cells())
    all += storageErrorOf(cell.mean, cell.variance, format).square /
           double(x.groups());
  double flushed = share * format.flushAt * format.flushAt;
  return all > 0 ? std::min(1.0, flushed / all) : 1;
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
