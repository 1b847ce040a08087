//===- KeepSearch.cpp - The ops to keep in FP32
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every list is judged by the analysis of the model that has it. How many are
// tried depends on the model's size alone, so that the answer does not depend
// on the machine.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Repair/KeepSearch.h"

#include "KeepState.h"
#include "Nodes.h"
#include "RoundingCover.h"

#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Effects/Severity.h"
#include "mpopt/Hazards/RangeSupport.h"
#include "mpopt/Report/RuleTable.h"

#include <cmath>
#include <map>
#include <set>

using namespace mlir;
using namespace mpopt;

/// Runs in which the list may grow, of those that are allowed in all.
static constexpr unsigned kMostGrowth = 12;
/// Runs in all: as many as analyse so many ops, within limits.
static constexpr size_t kBudget = 60'000, kFewestRuns = 16, kMostRuns = 96;
/// The shares of the threshold that roundings are brought down to: estimates
/// are within a factor, and who keeps ops wants more than to be just below.
/// Where a model is broken they are mostly of few elements, and less certain.
static constexpr double kMargin = 0.5, kMarginOfBroken = 0.25;
/// Estimates of magnitudes are mostly within this factor.
static constexpr double kNear = 2;

namespace {
class KeepSearch {
public:
  KeepSearch(ModuleOp module, const Verdict &verdict, KeepRequest request,
             JudgeCopy judge);

  KeepList run();

private:
  using Kept = llvm::DenseSet<Node>;

  std::optional<KeepState> tryNodes(const Kept &nodes);
  void learnFrom(const KeepState &state);
  bool isOver(size_t output, double error, double limit) const;
  bool isContent(const KeepState &state) const;
  bool isAsGood(const KeepState &state) const;

  bool growNext(const KeepState &state);
  bool growByTroubles(const KeepState &state, bool partial);
  bool growByOrigins(const KeepState &state);
  bool growBySums(const KeepState &state);
  bool isNear(Value value, double factor) const;
  llvm::MapVector<Node, llvm::SetVector<size_t>> findOverflowing();
  void growToMargin();
  NodeSet around(const Trouble &trouble, const llvm::SetVector<size_t> &why);
  bool keep(const NodeSet &nodes, const llvm::SetVector<size_t> &why);
  llvm::SetVector<size_t> reasonsFor(const Trouble &trouble) const;
  llvm::SetVector<size_t> reasonsFor(size_t output) const;

  void shrink();
  bool shrinkBy(ArrayRef<Node> nodes, bool split);
  bool mayGo(const Kept &without);
  ArrayRef<Node> holding(Value value);
  unsigned countLeft() const;

  ModuleOp module;
  const Verdict &verdict;
  KeepRequest request;
  JudgeCopy judge;
  Nodes nodes;
  IdiomMembers members;
  double warning;
  unsigned runsLeft;
  /// The verdict without a list, and with the one that is held now.
  KeepState before, now;
  /// The roundings of each output in verdicts where nothing overflows: Inf
  /// hides how much a rounding after it counts.
  std::vector<OutputState> learned;
  /// The largest error that each output may have.
  std::vector<double> limits;
  Kept kept;
  /// Nodes that do not go, although the verdict would allow it.
  Kept pinned;
  llvm::DenseMap<Node, llvm::SetVector<size_t>> reasons;
  llvm::DenseMap<Value, SmallVector<Node, 4>> holders;
  /// Lists that are too short, sorted.
  std::set<std::vector<Node>> rejected;
};
} // namespace

static size_t countOps(ModuleOp module) {
  size_t count = 1;
  module.walk([&](Operation *) { ++count; });
  return count;
}

KeepSearch::KeepSearch(ModuleOp module, const Verdict &verdict,
                       KeepRequest request, JudgeCopy judge)
    : module(module), verdict(verdict), request(request), judge(judge),
      nodes(module), members(findMembers(module)),
      warning(getThreshold(module, kEffectWarning)),
      runsLeft(std::clamp(kBudget / countOps(module), kFewestRuns, kMostRuns)),
      before(makeState(verdict, request.least,
                       {[](Value value) { return value; },
                        [](Operation *op) { return op; }})),
      now(before), learned(before.outputs.size()) {
  learnFrom(before);
  double broken = getThreshold(module, kEffectError);
  for (const OutputState &output : before.outputs)
    limits.push_back(!(output.error < broken)  ? warning * kMarginOfBroken
                     : output.error >= warning ? warning * kMargin
                                               : warning);
}

std::optional<KeepState> KeepSearch::tryNodes(const Kept &tried) {
  --runsLeft;
  SmallVector<Node> order(tried.begin(), tried.end());
  llvm::sort(order);
  SmallVector<Operation *> ops;
  for (Node node : order)
    llvm::append_range(ops, nodes.opsOf(node));
  std::optional<KeepState> state = tryKept(module, ops, request.least, judge);
  // Where nothing is stored narrowly no output moves, and none is listed.
  if (state) {
    state->outputs.resize(before.outputs.size());
    learnFrom(*state);
  }
  return state;
}

void KeepSearch::learnFrom(const KeepState &state) {
  if (llvm::any_of(state.troubles, [](const Trouble &trouble) {
        return trouble.place.first == StringRef(toString(Hazard::Overflow));
      }))
    return;
  for (auto [known, output] : llvm::zip(learned, state.outputs)) {
    for (auto [value, square] : output.squares)
      known.squares[value] = square;
    if (!output.sums.empty())
      known.sums = output.sums;
  }
}

ArrayRef<Node> KeepSearch::holding(Value value) {
  auto [entry, isNew] = holders.try_emplace(value);
  if (isNew)
    entry->second = nodes.holding(value);
  return entry->second;
}

//===----------------------------------------------------------------------===//
// Verdicts
//===----------------------------------------------------------------------===//

/// True if an error that was known, or is, passes the limit.
bool KeepSearch::isOver(size_t output, double error, double limit) const {
  if (std::isnan(error))
    return !std::isnan(before.outputs[output].error) &&
           std::isfinite(before.outputs[output].error);
  return error >= limit;
}

bool KeepSearch::isContent(const KeepState &state) const {
  if (!state.troubles.empty())
    return false;
  if (request.bySums)
    for (auto [index, output] : llvm::enumerate(state.outputs))
      if (isOver(index, output.error, limits[index]))
        return false;
  return true;
}

/// True if nothing is worse than with the list that is held.
bool KeepSearch::isAsGood(const KeepState &state) const {
  llvm::DenseSet<Place> known;
  for (const Trouble &trouble : now.troubles)
    known.insert(trouble.place);
  for (const Trouble &trouble : state.troubles)
    if (!known.contains(trouble.place))
      return false;
  if (request.bySums)
    for (auto [index, output] : llvm::enumerate(state.outputs)) {
      double held = now.outputs[index].error;
      if (std::isnan(output.error)
              ? !std::isnan(held)
              : output.error >= limits[index] && !(output.error <= held))
        return false;
    }
  return true;
}

unsigned KeepSearch::countLeft() const {
  unsigned left = unsigned(now.troubles.size());
  if (request.bySums && left == 0)
    for (auto [index, output] : llvm::enumerate(now.outputs))
      left += isOver(index, output.error, warning);
  return left;
}

//===----------------------------------------------------------------------===//
// More nodes
//===----------------------------------------------------------------------===//

/// The listed findings of the module as it is that a trial's is one of.
llvm::SetVector<size_t> KeepSearch::reasonsFor(const Trouble &trouble) const {
  llvm::SetVector<size_t> same, all;
  for (auto [index, entry] : llvm::enumerate(verdict.entries)) {
    if (entry.finding.certainty < request.least ||
        entry.judged.value_or(entry.finding.severity) == Severity::Note)
      continue;
    all.insert(index);
    if (getPlaceOf(entry) == trouble.place)
      same.insert(index);
  }
  if (!same.empty())
    return same;
  // One that came with the list: what is kept around it is the reason.
  SmallVector<Value> around;
  if (trouble.value)
    around.push_back(trouble.value);
  if (trouble.op)
    llvm::append_range(around, trouble.op->getOperands());
  for (Value value : around)
    if (Operation *maker = getMaker(value, Peel::InsertedCasts)) {
      NodeSet made;
      if (nodes.add(maker, made) && kept.contains(made.front()))
        same.insert_range(reasons.find(made.front())->second);
    }
  return same.empty() ? all : same;
}

llvm::SetVector<size_t> KeepSearch::reasonsFor(size_t output) const {
  llvm::SetVector<size_t> same, all;
  StringRef name = verdict.effects.outputs[output].name;
  for (auto [index, entry] : llvm::enumerate(verdict.entries)) {
    if (entry.finding.certainty < request.least ||
        entry.judged.value_or(entry.finding.severity) == Severity::Note)
      continue;
    all.insert(index);
    if (entry.finding.effect && entry.finding.effect->output == name)
      same.insert(index);
  }
  return same.empty() ? all : same;
}

bool KeepSearch::keep(const NodeSet &added,
                      const llvm::SetVector<size_t> &why) {
  bool grew = false;
  for (Node node : added) {
    grew |= kept.insert(node).second;
    reasons[node].insert_range(why);
  }
  return grew;
}

/// The nodes that a finding asks for; where they are kept already, those that
/// touch them.
NodeSet KeepSearch::around(const Trouble &trouble,
                           const llvm::SetVector<size_t> &why) {
  llvm::SetVector<Operation *> ops;
  for (size_t index : why) {
    const FindingList::Entry &entry = verdict.entries[index];
    if (getPlaceOf(entry) != trouble.place)
      continue;
    for (const FixAction &action : entry.actions) {
      if (action.kind != FixAction::Kind::Keep)
        continue;
      ops.insert_range(action.ops);
      NodeSet held;
      for (Operation *op : action.ops)
        if (action.together)
          nodes.add(op, held);
      pinned.insert_range(held);
    }
  }
  Operation *op = trouble.op;
  if (!op && trouble.value)
    op = getMaker(trouble.value, Peel::InsertedCasts);
  if (ops.empty() && op && trouble.value) {
    FindingList::Entry entry{Finding(), op, trouble.value, {}};
    entry.finding.rule = trouble.rule.str();
    ops.insert_range(keepAround(entry, members).ops);
  }
  auto collect = [&] {
    NodeSet found;
    for (Operation *candidate : ops)
      nodes.add(candidate, found);
    found.remove_if([&](Node node) { return kept.contains(node); });
    return found;
  };
  if (NodeSet found = collect(); !found.empty())
    return found;
  if (trouble.value) {
    addProducers(trouble.value, ops);
    addReaders(trouble.value, ops);
  }
  if (NodeSet found = collect(); !found.empty() || !op)
    return found;
  for (Value operand : op->getOperands())
    addProducers(operand, ops);
  for (Value result : op->getResults())
    addReaders(result, ops);
  return collect();
}

bool KeepSearch::growByTroubles(const KeepState &state, bool partial) {
  bool grew = false;
  for (const Trouble &trouble : state.troubles) {
    if (trouble.isPartial != partial)
      continue;
    llvm::SetVector<size_t> why = reasonsFor(trouble);
    grew |= keep(around(trouble, why), why);
  }
  return grew;
}

bool KeepSearch::growByOrigins(const KeepState &state) {
  bool grew = false;
  for (auto [index, output] : llvm::enumerate(state.outputs)) {
    NodeSet added;
    for (Value value : output.origins)
      added.insert_range(holding(value));
    grew |= keep(added, reasonsFor(index));
  }
  return grew;
}

/// Against the roundings that cause most of the errors which are too large.
bool KeepSearch::growBySums(const KeepState &state) {
  std::vector<RoundingSum> sums;
  std::vector<size_t> outputs;
  llvm::MapVector<Value, RoundingSite> sites;
  for (auto [index, output] : llvm::enumerate(state.outputs)) {
    if (!std::isfinite(output.error) || output.error < limits[index])
      continue;
    for (const OutputEffect::Sum &given : output.sums) {
      RoundingSum sum;
      sum.limit = std::pow(limits[index], 2) / given.factor;
      auto add = [&](Value value, double square) {
        sites[value].parts.push_back({unsigned(sums.size()), square});
        sum.value += square;
      };
      if (given.values.empty())
        for (auto [value, square] : output.squares)
          add(value, square);
      else
        for (Value value : given.values)
          add(value, output.squares.lookup(value));
      sums.push_back(sum);
    }
    outputs.push_back(index);
  }
  std::vector<RoundingSite> held;
  for (auto &[value, site] : sites) {
    llvm::append_range(site.nodes, holding(value));
    if (!site.nodes.empty())
      held.push_back(std::move(site));
  }
  NodeSet added;
  added.insert_range(coverRoundings(held, sums, kept));
  bool grew = false;
  for (size_t index : outputs)
    grew |= keep(added, reasonsFor(index));
  return grew;
}

/// What is expected to make Inf or NaN comes first: with it errors are not
/// known.
bool KeepSearch::growNext(const KeepState &state) {
  if (growByTroubles(state, /*partial=*/false))
    return true;
  if (!request.bySums)
    return growByTroubles(state, /*partial=*/true);
  return growByOrigins(state) || growBySums(state) ||
         growByTroubles(state, /*partial=*/true);
}

/// True if the value's largest magnitude is expected within a factor of the
/// largest number that its format has.
bool KeepSearch::isNear(Value value, double factor) const {
  const FloatFormat *format = getFloatFormat(getElementType(value));
  return format &&
         likelyMagnitude(request.ranges.preRounding(value)).value_or(0) >=
             format->maxFinite / factor;
}

/// The kept nodes of which a result overflows, as it is now, and why they are
/// kept.
llvm::MapVector<Node, llvm::SetVector<size_t>> KeepSearch::findOverflowing() {
  llvm::MapVector<Node, llvm::SetVector<size_t>> found;
  for (const Trouble &trouble : before.troubles) {
    NodeSet node;
    if (trouble.place.first == StringRef(toString(Hazard::Overflow)) &&
        trouble.op && nodes.add(trouble.op, node) &&
        kept.contains(node.front()))
      found[node.front()].insert_range(reasonsFor(trouble));
  }
  return found;
}

/// Layers repeat: where some overflow by their estimates, those that come near
/// do it in another run. So do squares that a sum adds up which overflows: they
/// are a factor off where what is squared is by its root.
void KeepSearch::growToMargin() {
  llvm::MapVector<Node, llvm::SetVector<size_t>> overflowing =
      findOverflowing();
  if (overflowing.empty() || runsLeft == 0)
    return;
  std::map<std::string, llvm::SetVector<size_t>> kinds;
  for (auto &[node, why] : overflowing)
    kinds[nodes.kindOf(node)].insert_range(why);
  Kept smaller = kept;
  NodeSet margin;
  auto pin = [&](Operation *op, double factor,
                 const llvm::SetVector<size_t> &why) {
    NodeSet added;
    for (Value result : op->getResults())
      if (isNear(result, factor))
        added.insert_range(holding(result));
    added.remove_if([&](Node node) { return smaller.contains(node); });
    keep(added, why);
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
  std::optional<KeepState> state = tryNodes(kept);
  if (state && isAsGood(*state)) {
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
bool KeepSearch::mayGo(const Kept &without) {
  if (!request.bySums)
    return true;
  constexpr double kSure = 4;
  for (auto [index, output] : llvm::enumerate(learned)) {
    double held = now.outputs[index].error;
    if (!std::isfinite(held))
      continue;
    llvm::SmallDenseMap<Value, double> back;
    for (auto [value, square] : output.squares) {
      ArrayRef<Node> needed = holding(value);
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
          std::pow(std::max(limits[index], held), 2))
        return false;
    }
  }
  return true;
}

/// Lets nodes go, all or (`split`) those that can. True if all are gone.
bool KeepSearch::shrinkBy(ArrayRef<Node> gone, bool split) {
  if (runsLeft == 0)
    return false;
  Kept without = kept;
  for (Node node : gone)
    without.erase(node);
  std::vector<Node> order(without.begin(), without.end());
  llvm::sort(order);
  if (rejected.insert(std::move(order)).second && mayGo(without))
    if (std::optional<KeepState> state = tryNodes(without);
        state && isAsGood(*state)) {
      kept = std::move(without);
      now = std::move(*state);
      return true;
    }
  if (!split || gone.size() == 1)
    return false;
  bool first = shrinkBy(gone.take_front(gone.size() / 2), true);
  bool second = shrinkBy(gone.drop_front(gone.size() / 2), true);
  return first && second;
}

/// Layers repeat: what one does without, the others mostly do, too. From the
/// end to the front, then back, so that islands are peeled from both sides.
void KeepSearch::shrink() {
  for (bool split : {false, true}) {
    for (bool backward : {true, false}) {
      llvm::MapVector<StringRef, SmallVector<Node>> kinds;
      SmallVector<Node> order;
      llvm::copy_if(kept, std::back_inserter(order),
                    [&](Node node) { return !pinned.contains(node); });
      llvm::sort(order);
      if (backward)
        std::reverse(order.begin(), order.end());
      std::vector<std::string> texts;
      texts.reserve(order.size());
      for (Node node : order)
        kinds[texts.emplace_back(nodes.kindOf(node))].push_back(node);
      for (auto &[kind, ofKind] : kinds)
        shrinkBy(ofKind, split && ofKind.size() > 1);
      if (split)
        break;
    }
  }
}

KeepList KeepSearch::run() {
  unsigned growth = kMostGrowth;
  while (!isContent(now) && growth-- > 0) {
    Kept smaller = kept;
    if (!growNext(now))
      break;
    std::optional<KeepState> state = tryNodes(kept);
    if (!state) {
      kept = std::move(smaller);
      break;
    }
    now = std::move(*state);
  }
  growToMargin();
  if (!kept.empty())
    shrink();
  KeepList list;
  list.left = countLeft();
  SmallVector<Node> order(kept.begin(), kept.end());
  llvm::sort(order);
  for (Node node : order)
    for (Operation *op : nodes.opsOf(node))
      list.plan[op] = reasons[node];
  return list;
}

KeepList mpopt::findKeepList(ModuleOp module, const Verdict &verdict,
                             KeepRequest request, JudgeCopy judge) {
  return KeepSearch(module, verdict, request, judge).run();
}
