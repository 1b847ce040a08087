//===- FixTrials.cpp - Which fixes of findings help
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fixes are tried together, since many help only together: all casts in one
// run, all changes of different ops in one. Those that this does not settle are
// tried alone, as far as the budget goes.
//
//===----------------------------------------------------------------------===//

#include "CastSearch.h"

#include "mpopt/Report/RuleTable.h"

#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace mpopt;

/// Runs of fixes that change the same ops: a finding has at most four fixes
/// that do.
static constexpr size_t kMostRounds = 4;
/// Total cost allowed for trials of single fixes: in full analyses of the
/// module, so that trials take at most a few times as long as the analysis,
/// and in ops, about a second.
static constexpr size_t kAloneModules = 4, kAloneBudget = 100'000;
/// A copy of the module takes about this part of its analysis.
static constexpr size_t kCopyShare = 16;
/// Declarations of training steps that are tried: more than there are settings
/// that rules name.
static constexpr size_t kMostDeclarations = 32;

namespace {
/// A fix of a finding.
struct Candidate {
  size_t entry, fix;
  FixAction action;
  /// It could be applied, and the results.
  bool tried = false, gone = false, safe = false;
};
using Round = SmallVector<Candidate *>;

class FixTrials {
public:
  FixTrials(ModuleOp module, std::vector<FindingList::Entry> &entries,
            Certainty least, Analyze analyze);

  CastPlan run(bool complete);

private:
  CastPlan tryCasts();
  void judgeCasts(const CastPlan &plan, const TrialResult &result,
                  MutableArrayRef<Candidate> candidates);
  void tryChanges();
  Round tryTogether(ArrayRef<Candidate *> candidates);
  std::optional<TrialResult> runChanges(Round &round);
  void tryDeclarations();

  bool mayTry(const FindingList::Entry &entry, const FixAction &action) const;
  std::vector<Candidate>
  collect(function_ref<bool(const Fix &, const FixAction &)> isMeant);
  bool isGone(size_t entry, const TrialResult &result) const;
  void judge(
      Candidate &candidate, const TrialResult &result,
      function_ref<bool(const Violation &)> concerns = [](const Violation &) {
        return true;
      });
  void judgeAlone(Candidate &candidate,
                  function_ref<std::optional<TrialResult>()> run);
  void record(const Candidate &candidate);
  void sortFixes();
  ArrayRef<size_t> getFollowers(size_t entry) const;

  ModuleOp module;
  std::vector<FindingList::Entry> &entries;
  AcceptancePolicy policy;
  Trials trials;
  size_t aloneBudget;
  /// Findings that follow from the one of a fingerprint.
  llvm::StringMap<SmallVector<size_t>> followers;
  /// Entry and number of the fixes that were tried.
  std::set<std::pair<size_t, size_t>> tried;
};
} // namespace

FixTrials::FixTrials(ModuleOp module, std::vector<FindingList::Entry> &entries,
                     Certainty least, Analyze analyze)
    : module(module), entries(entries), policy(least),
      trials(module, entries, analyze),
      aloneBudget(std::min(kAloneModules * trials.size(), kAloneBudget)) {
  for (auto [index, entry] : llvm::enumerate(entries))
    if (!entry.finding.root.empty())
      followers[entry.finding.root].push_back(index);
}

/// Against a note only settings of the training step are tried, which takes no
/// analysis of another module.
bool FixTrials::mayTry(const FindingList::Entry &entry,
                       const FixAction &action) const {
  // States that training reaches are listed, and so are their fixes.
  bool counts =
      policy.counts(entry) ||
      (entry.finding.byTraining && entry.finding.severity > Severity::Note);
  return counts || (action.kind == FixAction::Kind::DeclareStep &&
                    entry.finding.certainty >= policy.least);
}

std::vector<Candidate>
FixTrials::collect(function_ref<bool(const Fix &, const FixAction &)> isMeant) {
  std::vector<Candidate> found;
  for (auto [index, entry] : llvm::enumerate(entries))
    for (auto [number, fix] : llvm::enumerate(entry.finding.fixes))
      if (const FixAction &action = entry.actions[number];
          mayTry(entry, action) && isMeant(fix, action))
        found.push_back({index, number, action});
  return found;
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// Below this certainty nothing counts for or against a fix.
static Certainty barOf(const FindingList::Entry &entry) {
  return std::min(entry.finding.certainty, Certainty::Likely);
}

bool FixTrials::isGone(size_t entry, const TrialResult &result) const {
  return !result.has(entries[entry], barOf(entries[entry]));
}

ArrayRef<size_t> FixTrials::getFollowers(size_t entry) const {
  auto found = followers.find(entries[entry].finding.fingerprint);
  return found == followers.end() ? ArrayRef<size_t>() : found->second;
}

/// By a run with others, of which what `concerns` this one counts. What is safe
/// stays so.
void FixTrials::judge(Candidate &candidate, const TrialResult &result,
                      function_ref<bool(const Violation &)> concerns) {
  if (candidate.safe)
    return;
  const FindingList::Entry &entry = entries[candidate.entry];
  Certainty bar = barOf(entry);
  Severity severity = entry.finding.severity;
  // Settings of one step trade one finding for another.
  if (candidate.action.kind == FixAction::Kind::DeclareStep)
    severity = std::min(severity, Severity::Warning);
  candidate.tried = true;
  candidate.gone = isGone(candidate.entry, result);
  auto isAgainst = [&](const Violation &violation) {
    return violation.severity >= severity && violation.isNew(bar) &&
           concerns(violation);
  };
  // A root whose consequences stay is not fixed; but findings by a list of ops
  // do not depend on ranges.
  auto stays = [&](size_t follower) {
    return !isByList(entries[follower].finding.rule) &&
           result.has(entries[follower], bar);
  };
  candidate.safe = candidate.gone &&
                   llvm::none_of(result.violations, isAgainst) &&
                   llvm::none_of(getFollowers(candidate.entry), stays);
}

void FixTrials::judgeAlone(Candidate &candidate,
                           function_ref<std::optional<TrialResult>()> run) {
  if (candidate.safe || aloneBudget == 0)
    return;
  std::optional<TrialResult> result = run();
  if (result)
    judge(candidate, *result);
  size_t cost = result ? result->cost : 0;
  aloneBudget -= std::min(aloneBudget, cost + trials.size() / kCopyShare + 1);
}

void FixTrials::record(const Candidate &candidate) {
  if (!candidate.tried)
    return;
  entries[candidate.entry].finding.fixes[candidate.fix].safe = candidate.safe;
  tried.insert({candidate.entry, candidate.fix});
}

/// Leaves the fixes that were tried, the safe ones first.
void FixTrials::sortFixes() {
  for (auto [index, entry] : llvm::enumerate(entries)) {
    std::vector<Fix> fixes;
    std::vector<FixAction> actions;
    for (bool safe : {true, false})
      for (auto [number, fix] : llvm::enumerate(entry.finding.fixes))
        if (fix.safe == safe && tried.contains({index, number})) {
          fixes.push_back(fix);
          actions.push_back(entry.actions[number]);
        }
    entry.finding.fixes = std::move(fixes);
    entry.actions = std::move(actions);
  }
}

//===----------------------------------------------------------------------===//
// Casts
//===----------------------------------------------------------------------===//

CastPlan FixTrials::tryCasts() {
  std::vector<Candidate> candidates =
      collect([](const Fix &fix, const FixAction &) {
        return fix.kind == "keep-fp32";
      });
  if (candidates.empty())
    return {};
  CastSearch search(module, entries, trials, policy);
  for (Candidate &candidate : candidates) {
    FindingList::Entry &entry = entries[candidate.entry];
    if (!candidate.action)
      candidate.action = entry.actions[candidate.fix] =
          search.keepAround(entry);
    search.add(candidate.action, candidate.entry);
  }
  std::optional<TrialResult> result = search.growIslands();
  if (!result)
    return {};
  CastPlan plan = search.getPlan();
  judgeCasts(plan, *result, candidates);
  // Left are the ops of findings that are gone.
  std::set<size_t> gone;
  for (const Candidate &candidate : candidates)
    if (candidate.gone)
      gone.insert(candidate.entry);
  for (auto &[op, casts] : plan)
    casts.reasons.remove_if(
        [&](size_t reason) { return !gone.contains(reason); });
  plan.remove_if([](auto &planned) { return planned.second.reasons.empty(); });
  return plan;
}

/// A new finding counts against the findings for which the op there is kept, or
/// against all, if it is next to none of these ops.
void FixTrials::judgeCasts(const CastPlan &plan, const TrialResult &result,
                           MutableArrayRef<Candidate> candidates) {
  auto isNear = [&](Operation *op) {
    return llvm::any_of(op->getOperands(), [&](Value operand) {
      Operation *maker = getMaker(operand, Peel::InsertedCasts);
      return maker && plan.contains(maker);
    });
  };
  for (Candidate &candidate : candidates) {
    judge(candidate, result, [&](const Violation &violation) {
      Value value = violation.value();
      Operation *op = value ? value.getDefiningOp() : nullptr;
      auto kept = op ? plan.find(op) : plan.end();
      return kept != plan.end() ? kept->second.reasons.contains(candidate.entry)
                                : !op || !isNear(op);
    });
    auto isOwn = [&](size_t reason) {
      return reason == candidate.entry ||
             llvm::is_contained(getFollowers(candidate.entry), reason);
    };
    if (candidates.size() > 1)
      judgeAlone(candidate, [&] {
        CastPlan own;
        for (const auto &[op, casts] : plan)
          if (llvm::any_of(casts.reasons, isOwn))
            own[op] = casts;
        return trials.run(own);
      });
    record(candidate);
  }
}

//===----------------------------------------------------------------------===//
// Changes of ops and constants
//===----------------------------------------------------------------------===//

/// Those that change the same op cannot be tried together.
static std::vector<Round> makeRounds(ArrayRef<Candidate *> candidates) {
  std::vector<Round> rounds;
  std::vector<llvm::DenseSet<Operation *>> changed;
  for (Candidate *candidate : candidates) {
    ArrayRef<Operation *> ops = candidate->action.ops;
    size_t round = 0;
    auto overlaps = [&] {
      return llvm::any_of(
          ops, [&](Operation *op) { return changed[round].contains(op); });
    };
    while (round + 1 < kMostRounds && round < rounds.size() && overlaps())
      ++round;
    if (round == rounds.size()) {
      rounds.emplace_back();
      changed.emplace_back();
    }
    rounds[round].push_back(candidate);
    changed[round].insert(ops.begin(), ops.end());
  }
  return rounds;
}

/// Leaves those that could be applied.
std::optional<TrialResult> FixTrials::runChanges(Round &round) {
  std::optional<TrialResult> result;
  // A change that fails may be half applied: run again without it.
  for (size_t before = 0; !result && before != round.size();) {
    before = round.size();
    Round applied;
    result = trials.run(
        [&](ModuleOp, const IRMapping &mapping, RetiredOps &retired) {
          auto find = [&](Operation *op) { return mapping.lookupOrNull(op); };
          for (Candidate *candidate : round)
            if (applyFix(candidate->action, find, retired))
              applied.push_back(candidate);
          return !applied.empty() && applied.size() == round.size();
        });
    round = std::move(applied);
  }
  return result;
}

/// Those that could be tried with others.
Round FixTrials::tryTogether(ArrayRef<Candidate *> candidates) {
  Round together;
  for (Round &round : makeRounds(candidates)) {
    bool alone = round.size() == 1;
    std::optional<TrialResult> result = runChanges(round);
    for (Candidate *candidate : round)
      if (result)
        judge(*candidate, *result);
    if (!alone)
      llvm::append_range(together, round);
  }
  return together;
}

void FixTrials::tryChanges() {
  std::vector<Candidate> candidates =
      collect([](const Fix &, const FixAction &action) {
        return action && action.kind != FixAction::Kind::Keep &&
               action.kind != FixAction::Kind::DeclareStep;
      });
  Round all;
  for (Candidate &candidate : candidates)
    all.push_back(&candidate);
  Round alone = tryTogether(all);
  // Those of one kind do the same good and harm.
  llvm::MapVector<FixAction::Kind, Round> kinds;
  for (Candidate *candidate : alone)
    if (!candidate->safe)
      kinds[candidate->action.kind].push_back(candidate);
  for (auto &[kind, left] : kinds)
    if (left.size() > 1 && left.size() < alone.size())
      tryTogether(left);
  // The budget goes to what is surest.
  llvm::stable_sort(alone, [&](const Candidate *lhs, const Candidate *rhs) {
    return entries[lhs->entry].finding.certainty >
           entries[rhs->entry].finding.certainty;
  });
  for (Candidate *candidate : alone)
    judgeAlone(*candidate, [&] {
      Round own{candidate};
      return runChanges(own);
    });
  for (Candidate &candidate : candidates)
    record(candidate);
}

//===----------------------------------------------------------------------===//
// Declared training steps
//===----------------------------------------------------------------------===//

/// No gradient depends on the scale of the loss, on the optimizer or on how
/// gradients are added, so that a trial asks the rules again and nothing else.
/// Findings that share a remedy share its trial.
void FixTrials::tryDeclarations() {
  llvm::MapVector<Attribute, std::optional<TrialResult>> results;
  for (Candidate &candidate : collect([](const Fix &, const FixAction &action) {
         return action.kind == FixAction::Kind::DeclareStep;
       })) {
    DictionaryAttr step = candidate.action.step;
    auto known = results.find(step);
    if (known == results.end()) {
      if (results.size() == kMostDeclarations)
        continue;
      known = results.insert({step, trials.runDeclared(step)}).first;
    }
    if (known->second)
      judge(candidate, *known->second);
    record(candidate);
  }
}

CastPlan FixTrials::run(bool complete) {
  CastPlan plan;
  if (!collect([](const Fix &, const FixAction &) { return true; }).empty()) {
    if (!complete)
      trials.learnAll();
    plan = tryCasts();
    tryChanges();
    tryDeclarations();
  }
  sortFixes();
  return plan;
}

CastPlan mpopt::tryFixes(ModuleOp module,
                         std::vector<FindingList::Entry> &entries,
                         Certainty least, bool complete, Analyze analyze) {
  return FixTrials(module, entries, least, analyze).run(complete);
}
