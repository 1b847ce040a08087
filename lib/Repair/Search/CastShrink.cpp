//===- CastShrink.cpp - The list of nodes, as short as it can be
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "CastSearch.h"

#include "IslandCut.h"

#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Hazards/RangeSupport.h"
#include "mpopt/Report/RuleTable.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

/// Runs in which the list may grow, of those that are allowed in all: the least
/// number of runs leaves a few to shrink it.
static constexpr unsigned kMostGrowth = 12;
/// Estimates of magnitudes are mostly within this factor (docs/keep.md).
static constexpr double kNear = 2;
/// A set of roundings is not tried where their squared errors are this factor
/// too large: twice the error, the factor within which estimates mostly are.
static constexpr double kSure = 4;

//===----------------------------------------------------------------------===//
// A margin
//===----------------------------------------------------------------------===//

/// True if the value's largest magnitude is expected within a factor of the
/// largest number that its format has.
static bool isNear(Value value, const RangeAnalysis &ranges, double factor) {
  const FloatFormat *format = getFloatFormat(getElementType(value));
  return format && likelyMagnitude(ranges.preRounding(value)).value_or(0) >=
                       format->maxFinite / factor;
}

/// The kept nodes of which a result overflows, as it is now, and why they are
/// kept.
llvm::MapVector<Node, CastSearch::Reasons>
CastSearch::findOverflowing(const TrialResult &before) {
  llvm::MapVector<Node, Reasons> found;
  for (const Violation &violation : before.violations)
    if (policy.counts(violation) &&
        violation.place.first == StringRef(toString(Hazard::Overflow)))
      if (std::optional<Node> node = findKept(violation.op))
        found[*node].insert_range(reasonsFor(violation));
  return found;
}

/// Layers repeat: where some overflow by their estimates, those that come near
/// do it in another run. So do squares that a sum adds up which overflows: they
/// are a factor off where what is squared is by its root. bench/keep_zoo.py: of
/// seven lists of zoo seed 0 that are longer by it, one leaves Inf without it.
void CastSearch::growToMargin(const TrialResult &before,
                              const RangeAnalysis &ranges) {
  llvm::MapVector<Node, Reasons> overflowing = findOverflowing(before);
  if (overflowing.empty() || runsLeft == 0)
    return;
  std::map<std::string, Reasons> kinds;
  for (auto &[node, why] : overflowing)
    kinds[nodes.kindOf(node)].insert_range(why);
  Kept smaller = kept;
  NodeSet margin;
  auto pin = [&](Operation *op, double factor, const Reasons &why) {
    NodeSet added;
    for (Value result : op->getResults())
      if (isNear(result, ranges, factor))
        added.insert_range(nodes.nodesOf(result));
    added.remove_if([&](Node node) { return smaller.contains(node); });
    keep(added, why,
         "its numbers come as near to the largest one as those of ops of its "
         "kind that pass it");
    margin.insert_range(added);
  };
  for (auto &[node, why] : overflowing)
    for (Operation *op : nodes.opsOf(node))
      for (Value operand : op->getOperands())
        if (Operation *maker = getMaker(operand, Peel::InsertedCasts))
          pin(maker, kNear * kNear, why);
  for (Node node = 0; node < nodes.size(); ++node)
    if (auto why = kinds.find(nodes.kindOf(node)); why != kinds.end())
      for (Operation *op : nodes.opsOf(node))
        pin(op, kNear, why->second);
  if (margin.empty())
    return;
  std::optional<TrialResult> state = tryNodes(kept);
  if (state && policy.isAsGood(*state, now)) {
    now = std::move(*state);
    pinned.insert_range(margin);
    return;
  }
  kept = std::move(smaller);
}

//===----------------------------------------------------------------------===//
// Fewer nodes
//===----------------------------------------------------------------------===//

/// False if the roundings that come back are far too many to try.
bool CastSearch::mayGo(const Kept &without) {
  if (!policy.byErrors())
    return true;
  for (auto [index, output] : llvm::enumerate(learned)) {
    double held = now.outputs[index].error;
    if (!std::isfinite(held))
      continue;
    llvm::SmallDenseMap<Value, double> back;
    for (auto [value, square] : output.squares) {
      ArrayRef<Node> needed = nodes.nodesOf(value);
      auto isIn = [&](const Kept &set) {
        return !needed.empty() && llvm::all_of(needed, [&](Node node) {
          return set.contains(node);
        });
      };
      if (isIn(kept) && !isIn(without))
        back[value] = square;
    }
    // The largest sum makes the error: each by itself has to stay small.
    for (const OutputEffect::Sum &sum : output.sums) {
      double added = 0;
      if (sum.values.empty())
        for (auto [value, square] : back)
          added += square;
      for (Value value : sum.values)
        added += back.lookup(value);
      if (held * held + added * sum.factor / kSure >
          std::pow(std::max(policy.limit(index), held), 2))
        return false;
    }
  }
  return true;
}

/// Learns from a result without some nodes which of them have to stay: those of
/// each value that was wide and has a finding now whose effect is among the
/// largest. What is far smaller may come from the others.
void CastSearch::learnNeeded(ArrayRef<Node> gone, const TrialResult &result) {
  llvm::DenseSet<Node> isGone(gone.begin(), gone.end());
  llvm::DenseSet<Place> known;
  for (const Violation &violation : now.violations)
    known.insert(violation.place);
  SmallVector<std::pair<double, ArrayRef<Node>>> found;
  double largest = 0;
  for (const Violation &violation : result.violations) {
    if (!policy.counts(violation) || known.contains(violation.place) ||
        !violation.value())
      continue;
    ArrayRef<Node> around = nodes.nodesOf(violation.value());
    if (!llvm::all_of(around, [&](Node node) { return kept.contains(node); }))
      continue;
    largest = std::max(largest, violation.effect);
    found.push_back({violation.effect, around});
  }
  for (auto [effect, around] : found)
    if (effect >= largest / kSure)
      for (Node node : around)
        if (isGone.contains(node))
          needed.insert(node);
}

/// The nodes of `gone` that add least to the errors: as many as may go together
/// by the errors that their roundings added before.
SmallVector<Node> CastSearch::findLight(ArrayRef<Node> gone) {
  if (!policy.byErrors())
    return SmallVector<Node>(gone);
  // By sum, the share of what it may grow by.
  llvm::DenseMap<Node, llvm::MapVector<unsigned, double>> shares;
  for (Node node : gone)
    shares[node];
  unsigned index = 0;
  for (auto [number, output] : llvm::enumerate(learned)) {
    double held = now.outputs[number].error;
    if (!std::isfinite(held))
      continue;
    double free =
        std::pow(std::max(policy.limit(number), held), 2) - std::pow(held, 2);
    for (const OutputEffect::Sum &sum : output.sums) {
      auto add = [&](Value value, double square) {
        ArrayRef<Node> around = nodes.nodesOf(value);
        if (square > 0 && llvm::all_of(around, [&](Node node) {
              return kept.contains(node);
            }))
          for (Node node : around)
            if (auto found = shares.find(node); found != shares.end())
              found->second[index] += square * sum.factor / free;
      };
      if (sum.values.empty())
        for (auto [value, square] : output.squares)
          add(value, square);
      for (Value value : sum.values)
        add(value, output.squares.lookup(value));
      ++index;
    }
  }
  auto largest = [&](Node node) {
    double most = 0;
    for (auto [sum, share] : shares[node])
      most = std::max(most, share);
    return most;
  };
  SmallVector<Node> light(gone);
  llvm::stable_sort(
      light, [&](Node lhs, Node rhs) { return largest(lhs) < largest(rhs); });
  std::vector<double> added(index);
  size_t count = 0;
  for (; count < light.size(); ++count) {
    for (auto [sum, share] : shares[light[count]])
      added[sum] += share;
    if (llvm::any_of(added, [](double share) { return !(share <= 1); }))
      break;
  }
  light.truncate(count);
  return light;
}

/// Lets nodes go, all or (`split`) those that can. True if all are gone.
bool CastSearch::shrinkBy(ArrayRef<Node> gone, bool split) {
  SmallVector<Node> rest;
  llvm::copy_if(gone, std::back_inserter(rest),
                [&](Node node) { return !needed.contains(node); });
  if (rest.size() < gone.size()) {
    if (split && !rest.empty())
      shrinkBy(rest, true);
    return false;
  }
  if (runsLeft == 0)
    return false;
  Kept without = kept;
  for (Node node : gone)
    without.erase(node);
  std::vector<Node> order(without.begin(), without.end());
  llvm::sort(order);
  if (rejected.insert(std::move(order)).second && mayGo(without))
    if (std::optional<TrialResult> state = tryNodes(without)) {
      if (policy.isAsGood(*state, now)) {
        kept = std::move(without);
        now = std::move(*state);
        return true;
      }
      size_t before = needed.size();
      learnNeeded(gone, *state);
      if (needed.size() > before)
        return shrinkBy(gone, split);
    }
  if (!split || gone.size() == 1)
    return false;
  if (SmallVector<Node> light = findLight(gone); light.size() < gone.size()) {
    if (!light.empty())
      shrinkBy(light, true);
    return false;
  }
  bool first = shrinkBy(gone.take_front(gone.size() / 2), true);
  bool second = shrinkBy(gone.drop_front(gone.size() / 2), true);
  return first && second;
}

/// The nodes that may go, by kind: products first, which cost most, then by
/// where a kind comes first.
SmallVector<SmallVector<Node>> CastSearch::groupByKind(bool backward) const {
  SmallVector<Node> order;
  llvm::copy_if(kept, std::back_inserter(order),
                [&](Node node) { return !pinned.contains(node); });
  llvm::sort(order);
  if (backward)
    std::reverse(order.begin(), order.end());
  llvm::MapVector<std::string, SmallVector<Node>,
                  std::map<std::string, unsigned>>
      kinds;
  for (Node node : order)
    kinds[nodes.kindOf(node)].push_back(node);
  SmallVector<SmallVector<Node>> groups;
  for (auto &[kind, ofKind] : kinds)
    groups.push_back(std::move(ofKind));
  llvm::stable_sort(groups, [&](ArrayRef<Node> lhs, ArrayRef<Node> rhs) {
    return prices.multiplies(lhs.front()) > prices.multiplies(rhs.front());
  });
  return groups;
}

/// Layers repeat: what one does without, the others mostly do, too. From the
/// end to the front, then back, so that islands are peeled from both sides.
void CastSearch::shrink() {
  for (auto [backward, split] :
       {std::pair(true, false), std::pair(false, false), std::pair(true, true)})
    for (ArrayRef<Node> ofKind : groupByKind(backward))
      shrinkBy(ofKind, split && ofKind.size() > 1);
}

/// The reasons of the nodes beside one.
CastSearch::Reasons CastSearch::reasonsBeside(Node node) const {
  Reasons found;
  for (Operation *op : nodes.opsOf(node)) {
    llvm::SetVector<Operation *> beside;
    for (Value operand : op->getOperands())
      if (Operation *maker = getMaker(operand, Peel::InsertedCasts))
        beside.insert(maker);
    for (Value result : op->getResults())
      addReaders(result, beside, 1);
    for (Operation *neighbour : beside)
      if (std::optional<Node> its = findKept(neighbour))
        found.insert_range(reasons.lookup(*its));
  }
  return found;
}

/// Nodes between islands that cost less than the casts.
void CastSearch::fillIslands(bool wideBorders) {
  NodeSet inside = findCheaperInside(module, nodes, prices, kept, wideBorders);
  if (inside.empty() || runsLeft == 0)
    return;
  Kept smaller = kept;
  for (Node node : inside) {
    NodeSet added;
    added.insert(node);
    keep(added, reasonsBeside(node),
         "beside ops in FP32: casts would cost more");
  }
  std::optional<TrialResult> state = tryNodes(kept);
  if (state && policy.isAsGood(*state, now))
    now = std::move(*state);
  else
    kept = std::move(smaller);
}

/// Nothing if an error is not known.
static std::optional<double> largestError(const TrialResult &result) {
  double largest = 0;
  for (const OutputState &output : result.outputs) {
    if (std::isnan(output.error))
      return std::nullopt;
    largest = std::max(largest, output.error);
  }
  return largest;
}

KeepList CastSearch::findList(const Verdict &verdict, const TrialResult &before,
                              const KeepRequest &request) {
  effects = &*verdict.effects;
  nodes.setDeciding(!effects->decisions.empty());
  now = before;
  learned.resize(before.outputs.size());
  learnFrom(before);
  for (unsigned growth = 0; growth < kMostGrowth && !policy.isMet(now);
       ++growth) {
    Kept smaller = kept;
    if (!grow(now))
      break;
    std::optional<TrialResult> result = tryNodes(kept);
    if (!result) {
      kept = std::move(smaller);
      break;
    }
    now = std::move(*result);
  }
  growToMargin(before, request.ranges);
  if (!kept.empty()) {
    shrink();
    fillIslands(request.wideBorders);
  }
  return {getPlan(), policy.countLeft(now), largestError(now)};
}

KeepList mpopt::findKeepList(ModuleOp module, const Verdict &verdict,
                             const KeepRequest &request, Analyze analyze) {
  Trials trials(module, verdict.entries, analyze);
  TrialResult before = trials.describe(verdict);
  AcceptancePolicy policy(request.least);
  if (request.byErrors)
    policy = AcceptancePolicy(request.least, module, before);
  return CastSearch(module, verdict.entries, trials, policy)
      .findList(verdict, before, request);
}
