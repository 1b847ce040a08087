//===- CastSearch.cpp - Sets of casts that grow
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How many sets are tried depends on the model's size alone, so that the answer
// does not depend on the machine.
//
//===----------------------------------------------------------------------===//

#include "CastSearch.h"

#include "RoundingCover.h"

#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Names.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Report/RuleTable.h"

#include "llvm/Support/FormatVariadic.h"

#include <cmath>
#include <functional>

using namespace mlir;
using namespace mpopt;

/// Runs in which the islands of fixes grow: one for what is named, one for each
/// op that passes a value on. Chains of more than three have mostly fixes of
/// another kind.
static constexpr unsigned kMostIslandRuns = 4;
/// Runs in all: as many as analyse so many ops, within limits: half a second to
/// a few seconds (docs/keep.md).
static constexpr size_t kBudget = 40'000, kFewestRuns = 10, kMostRuns = 96;

static size_t countOps(ModuleOp module) {
  size_t count = 1;
  module.walk([&](Operation *) { ++count; });
  return count;
}

CastSearch::CastSearch(ModuleOp module, ArrayRef<FindingList::Entry> entries,
                       Trials &trials, AcceptancePolicy policy)
    : module(module), entries(entries), trials(trials), policy(policy),
      nodes(module), prices(nodes), composites(module),
      runsLeft(std::clamp(kBudget / countOps(module), kFewestRuns, kMostRuns)) {
}

/// The operands that all findings ask for; empty: all.
static SmallVector<unsigned, 1>
findOperands(Operation *op, ArrayRef<FindingList::Entry> entries,
             const CastSearch::Reasons &reasons) {
  SmallVector<unsigned, 1> operands;
  for (size_t reason : reasons) {
    auto isMeant = [&](const FixAction &action) {
      return action.kind == FixAction::Kind::Keep && !action.operands.empty() &&
             action.ops.front() == op;
    };
    auto action = llvm::find_if(entries[reason].actions, isMeant);
    if (action == entries[reason].actions.end())
      return {};
    operands = action->operands;
  }
  return operands;
}

CastPlan CastSearch::getPlan(const Kept &planned) const {
  SmallVector<Node> order(planned.begin(), planned.end());
  llvm::sort(order);
  CastPlan plan;
  for (Node node : order)
    for (Operation *op : nodes.opsOf(node)) {
      OpCasts &casts = plan[op];
      casts.type = Float32Type::get(op->getContext());
      casts.reasons = reasons.lookup(node);
      casts.why = texts.lookup(node);
      // A list of nodes has no operands.
      if (!effects)
        casts.operands = findOperands(op, entries, casts.reasons);
    }
  return plan;
}

std::optional<TrialResult> CastSearch::tryNodes(const Kept &tried) {
  --runsLeft;
  std::optional<TrialResult> result = trials.run(getPlan(tried));
  // Where nothing is stored narrowly no output moves, and none is listed.
  if (result) {
    result->outputs.resize(learned.size());
    learnFrom(*result);
  }
  return result;
}

void CastSearch::learnFrom(const TrialResult &result) {
  if (llvm::any_of(result.violations, [&](const Violation &violation) {
        return policy.counts(violation) &&
               violation.place.first == StringRef(toString(Hazard::Overflow));
      }))
    return;
  for (auto [known, output] : llvm::zip(learned, result.outputs)) {
    for (auto [value, square] : output.squares)
      known.squares[value] = square;
    if (!output.sums.empty())
      known.sums = output.sums;
  }
}

//===----------------------------------------------------------------------===//
// Reasons
//===----------------------------------------------------------------------===//

std::optional<Node> CastSearch::findKept(Operation *op) const {
  NodeSet node;
  if (!op || !nodes.add(op, node) || !kept.contains(node.front()))
    return std::nullopt;
  return node.front();
}

/// The findings that count and are meant; all if nothing is said.
CastSearch::Reasons CastSearch::findReasons(
    function_ref<bool(const FindingList::Entry &)> isMeant) const {
  Reasons found;
  for (auto [index, entry] : llvm::enumerate(entries))
    if (policy.counts(entry) && (!isMeant || isMeant(entry)))
      found.insert(index);
  return found;
}

CastSearch::Reasons CastSearch::reasonsFor(const Violation &violation) const {
  Reasons found = findReasons([&](const FindingList::Entry &entry) {
    return getPlaceOf(entry) == violation.place;
  });
  if (!found.empty())
    return found;
  // One that came with the casts: the reason is that of the ops around it.
  SmallVector<Value> around;
  if (violation.value())
    around.push_back(violation.value());
  if (violation.op)
    llvm::append_range(around, violation.op->getOperands());
  for (Value value : around)
    if (std::optional<Node> node =
            findKept(getMaker(value, Peel::InsertedCasts)))
      found.insert_range(reasons.lookup(*node));
  return found.empty() ? findReasons() : found;
}

CastSearch::Reasons CastSearch::reasonsFor(size_t output) const {
  size_t floats = effects->outputs.size();
  Reasons found = findReasons([&](const FindingList::Entry &entry) {
    if (output >= floats)
      return entry.value == effects->decisions[output - floats].value;
    return entry.finding.effect &&
           entry.finding.effect->output == effects->outputs[output].name;
  });
  return found.empty() ? findReasons() : found;
}

std::string CastSearch::describe(const Violation &violation) const {
  for (const FindingList::Entry &entry : entries)
    if (policy.counts(entry) && getPlaceOf(entry) == violation.place &&
        !entry.finding.message.empty())
      return entry.finding.message;
  const RuleInfo *rule = findRule(violation.rule);
  return ("beside ops in FP32: " + StringRef(rule->summary)).str();
}

std::string CastSearch::nameOf(size_t output) const {
  size_t floats = effects->outputs.size();
  return "`" +
         (output < floats ? effects->outputs[output].name
                          : effects->decisions[output - floats].name) +
         "`";
}

/// The tensor in which `value` is stored, as the model names it.
static std::string nameStored(Value value) {
  Value source = peel(value, Peel::InsertedCasts);
  std::string name = getTensorName(source);
  return name.empty() ? std::string("a number") : "`" + name + "`";
}

//===----------------------------------------------------------------------===//
// More nodes
//===----------------------------------------------------------------------===//

bool CastSearch::keep(const NodeSet &added, const Reasons &why,
                      const Twine &text) {
  bool grew = false;
  for (Node node : added) {
    if (kept.insert(node).second) {
      grew = true;
      texts[node] = text.str();
    }
    reasons[node].insert_range(why);
  }
  return grew;
}

void CastSearch::add(const FixAction &action, size_t entry) {
  NodeSet added;
  for (Operation *op : action.ops)
    nodes.add(op, added);
  Reasons why;
  why.insert(entry);
  keep(added, why, "");
}

/// The nodes that a finding asks for; where they are kept already, those that
/// touch them.
NodeSet CastSearch::around(const Violation &violation, const Reasons &why) {
  llvm::SetVector<Operation *> ops;
  for (size_t index : why) {
    const FindingList::Entry &entry = entries[index];
    if (getPlaceOf(entry) != violation.place)
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
  Value value = violation.value();
  Operation *op = violation.op;
  if (!op && value)
    op = getMaker(value, Peel::InsertedCasts);
  if (ops.empty() && op && value) {
    FindingList::Entry entry{Finding(), op, value, {}};
    entry.finding.rule = violation.rule.str();
    ops.insert_range(keepAround(entry).ops);
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
  if (value) {
    addProducers(value, ops);
    addReaders(value, ops);
  }
  if (NodeSet found = collect(); !found.empty() || !op)
    return found;
  for (Value operand : op->getOperands())
    addProducers(operand, ops);
  for (Value result : op->getResults())
    addReaders(result, ops);
  return collect();
}

bool CastSearch::growByViolations(
    const TrialResult &result, function_ref<bool(const Violation &)> isMeant) {
  bool grew = false;
  for (const Violation &violation : result.violations) {
    if (!policy.counts(violation) || !isMeant(violation))
      continue;
    Reasons why = reasonsFor(violation);
    grew |= keep(around(violation, why), why, describe(violation));
  }
  return grew;
}

std::optional<TrialResult> CastSearch::growIslands() {
  std::optional<TrialResult> result = trials.run(getPlan(kept));
  auto continues = [&](const Violation &violation) {
    return violation.isAboutRange() &&
           violation.certainty >= Certainty::Likely && violation.value() &&
           findKept(violation.value().getDefiningOp());
  };
  for (unsigned run = 1; result && run < kMostIslandRuns; ++run) {
    if (!growByViolations(*result, continues))
      break;
    result = trials.run(getPlan(kept));
  }
  return result;
}

bool CastSearch::growByOrigins(const TrialResult &result) {
  bool grew = false;
  for (auto [index, output] : llvm::enumerate(result.outputs)) {
    for (Value value : output.origins) {
      NodeSet added;
      added.insert_range(nodes.nodesOf(value));
      grew |= keep(added, reasonsFor(index),
                   "Inf or NaN that begins at " + nameStored(value) +
                       " reaches " + nameOf(index));
    }
  }
  return grew;
}

namespace {
/// The roundings of outputs whose errors are too large.
struct ExcessiveErrors {
  std::vector<RoundingSum> sums;
  /// The output of each sum, and the factor of its squares.
  std::vector<std::pair<size_t, double>> outputs;
  llvm::MapVector<Value, RoundingSite> sites;

  void add(size_t index, const OutputState &output, double limit);
};
} // namespace

void ExcessiveErrors::add(size_t index, const OutputState &output,
                          double limit) {
  for (const OutputEffect::Sum &given : output.sums) {
    RoundingSum sum;
    sum.limit = std::pow(limit, 2) / given.factor;
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
    outputs.push_back({index, given.factor});
  }
}

/// "rounding `x` changes `y` by 3.00 %", of the output that it moves most.
std::string CastSearch::describeRounding(Value value,
                                         ArrayRef<double> errors) const {
  const auto *most = llvm::max_element(errors);
  size_t output = most - errors.begin();
  if (output >= effects->outputs.size())
    return llvm::formatv("rounding {0} changes {1:f2} % of {2}",
                         nameStored(value), *most * 100, nameOf(output));
  std::string moved = *most > 1 ? std::string("more than its largest value")
                                : llvm::formatv("{0:f2} %", *most * 100);
  return "rounding " + nameStored(value) + " changes " + nameOf(output) +
         " by " + moved;
}

/// Against the roundings that cause most of the errors which are too large.
bool CastSearch::growBySums(const TrialResult &result) {
  ExcessiveErrors excess;
  for (auto [index, output] : llvm::enumerate(result.outputs))
    if (std::isfinite(output.error) && output.error >= policy.limit(index))
      excess.add(index, output, policy.limit(index));
  std::vector<RoundingSite> held;
  std::vector<Value> values;
  for (auto &[value, site] : excess.sites) {
    llvm::append_range(site.nodes, nodes.nodesOf(value));
    if (site.nodes.empty())
      continue;
    held.push_back(std::move(site));
    values.push_back(value);
  }
  bool grew = false;
  for (auto [node, index] :
       coverRoundings(held, excess.sums, kept,
                      [&](Node node) { return prices.shareOf(node); })) {
    Reasons why;
    std::vector<double> errors(result.outputs.size());
    for (auto [sum, square] : held[index].parts) {
      auto [output, factor] = excess.outputs[sum];
      errors[output] = std::max(errors[output], std::sqrt(square * factor));
      why.insert_range(reasonsFor(output));
    }
    NodeSet added;
    added.insert(node);
    grew |= keep(added, why, describeRounding(values[index], errors));
  }
  return grew;
}

/// A finding that is expected to make Inf or NaN comes first: with it errors
/// are not known.
bool CastSearch::grow(const TrialResult &result) {
  auto isPartial = [](const Violation &found) { return found.isPartial(); };
  return growByViolations(result, std::not_fn(isPartial)) ||
         (policy.byErrors() && (growByOrigins(result) || growBySums(result))) ||
         growByViolations(result, isPartial);
}
