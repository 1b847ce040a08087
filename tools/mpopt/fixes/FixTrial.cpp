//===- FixTrial.cpp - Which fixes are tried together, and what is safe
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FixTrial.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Ops/CoreOps.h"

#include "llvm/ADT/StringMap.h"

#include <set>

using namespace mlir;
using namespace mpopt;
using llvm::Expected;

/// Runs in which the set of ops to keep may grow, and runs of single fixes.
static constexpr unsigned kMostRounds = 4, kMostAlone = 64;
/// Ops in all single runs together.
static constexpr size_t kAloneBudget = 100'000;
/// New findings that are looked at for each fix.
static constexpr size_t kMostFresh = 64;

namespace {
/// A fix of a finding.
struct Candidate {
  size_t entry, fix;
  FixAction action;
  /// It could be applied, and what came of it.
  bool tried = false, gone = false, safe = false;
};

class Choice {
public:
  Choice(ModuleOp module, std::vector<FindingList::Entry> &entries,
         const Analyses &analyses, RunRules rules);

  /// Whether there is anything to try.
  bool empty(Certainty least) const;
  llvm::Error learnAll() { return trial.learnAll(); }

  llvm::Error tryKeeping(Certainty least, bool notes, KeepPlan &plan);
  llvm::Error tryOthers(Certainty least);
  /// Leaves the fixes that were tried, the safe ones first.
  void sortFixes();

private:
  Expected<std::optional<Outcome>> runKeeping(const KeepPlan &plan);
  bool grow(KeepPlan &plan, const Outcome &outcome, bool notes) const;
  void judge(Candidate &candidate, const Outcome &outcome,
             ArrayRef<const Fresh *> fresh) const;
  void judgeAlone(Candidate &candidate, const Outcome &outcome) const;
  void record(const Candidate &candidate);
  ArrayRef<size_t> getFollowers(size_t entry) const {
    auto found = followers.find(entries[entry].finding.fingerprint);
    return found == followers.end() ? ArrayRef<size_t>() : found->second;
  }

  ModuleOp module;
  std::vector<FindingList::Entry> &entries;
  Trial trial;
  /// How many fixes may be tried alone.
  unsigned mostAlone;
  /// Findings that follow from the one of a fingerprint.
  llvm::StringMap<SmallVector<size_t>> followers;
  /// Entry and number of the fixes that were tried.
  std::set<std::pair<size_t, size_t>> tried;
};
} // namespace

Choice::Choice(ModuleOp module, std::vector<FindingList::Entry> &entries,
               const Analyses &analyses, RunRules rules)
    : module(module), entries(entries),
      trial(module, entries, analyses, rules) {
  // Weights count, too, though most of them need not be read again.
  size_t ops = 1;
  module.walk([&](Operation *op) {
    ++ops;
    if (auto constant = dyn_cast<mp::ConstantOp>(op))
      if (std::optional<ConstantBytes> bytes = getConstantBytes(constant))
        ops += bytes->data.size() >> 14;
  });
  mostAlone = std::min<size_t>(kAloneBudget / ops, kMostAlone);
  for (auto [index, entry] : llvm::enumerate(entries))
    if (!entry.finding.root.empty())
      followers[entry.finding.root].push_back(index);
}

bool Choice::empty(Certainty least) const {
  return llvm::none_of(entries, [&](const FindingList::Entry &entry) {
    return entry.finding.certainty >= least && !entry.finding.fixes.empty();
  });
}

static bool isByList(const Finding &finding) {
  return StringRef(finding.rule).starts_with("MP1");
}

void Choice::judge(Candidate &candidate, const Outcome &outcome,
                   ArrayRef<const Fresh *> fresh) const {
  const FindingList::Entry &entry = entries[candidate.entry];
  // Below this certainty nothing counts for or against a fix.
  Certainty bar = std::min(entry.finding.certainty, Certainty::Likely);
  candidate.tried = true;
  candidate.gone = !outcome.has(entry, bar);
  // A root whose consequences stay is not fixed.
  candidate.safe =
      candidate.gone &&
      llvm::none_of(fresh,
                    [&](const Fresh *other) {
                      return other->counts(entry.finding.severity, bar);
                    }) &&
      llvm::none_of(getFollowers(candidate.entry), [&](size_t follower) {
        // What a list says of an op holds whatever its ranges are.
        return !isByList(entries[follower].finding) &&
               outcome.has(entries[follower], bar);
      });
}

/// Whatever is new counts.
void Choice::judgeAlone(Candidate &candidate, const Outcome &outcome) const {
  std::vector<const Fresh *> all;
  for (const Fresh &fresh : ArrayRef(outcome.fresh).take_front(kMostFresh))
    all.push_back(&fresh);
  judge(candidate, outcome, all);
}

void Choice::record(const Candidate &candidate) {
  if (!candidate.tried)
    return;
  entries[candidate.entry].finding.fixes[candidate.fix].safe = candidate.safe;
  tried.insert({candidate.entry, candidate.fix});
}

//===----------------------------------------------------------------------===//
// Ops in FP32
//===----------------------------------------------------------------------===//

Expected<std::optional<Outcome>> Choice::runKeeping(const KeepPlan &plan) {
  return trial.run([&](ModuleOp copy, const IRMapping &mapping, RetiredOps &) {
    SmallVector<KeptOp> ops;
    for (const auto &[op, reasons] : plan) {
      KeptOp kept{mapping.lookupOrNull(op), {}};
      // All operands, unless every reason asks for some only.
      bool all = false;
      for (size_t reason : reasons) {
        bool some = false;
        for (const FixAction &action : entries[reason].actions)
          if (action.kind == FixAction::Kind::Keep &&
              !action.operands.empty() && action.ops.front() == op) {
            kept.operands = action.operands;
            some = true;
          }
        all |= !some;
      }
      if (all)
        kept.operands.clear();
      ops.push_back(std::move(kept));
    }
    return succeeded(keepInFp32(copy, ops));
  });
}

/// Ops that only move what one kept op gives another are kept, too.
static void joinIslands(KeepPlan &plan) {
  llvm::SmallVector<std::pair<Operation *, Operation *>> added;
  for (const auto &[op, reasons] : plan)
    for (Value operand : op->getOperands()) {
      llvm::SetVector<Operation *> makers;
      addProducers(operand, makers);
      if (makers.size() > 1 && plan.contains(makers.back()))
        for (Operation *view : makers.getArrayRef().drop_back())
          added.push_back({view, op});
    }
  for (auto [view, op] : added) {
    llvm::SetVector<size_t> reasons = plan[op];
    plan[view].insert(reasons.begin(), reasons.end());
  }
}

/// What reads a kept op's result and still finds it out of range is kept, too.
bool Choice::grow(KeepPlan &plan, const Outcome &outcome, bool notes) const {
  llvm::SmallVector<std::pair<Operation *, Operation *>> added;
  for (auto [value, severity] : outcome.ranges) {
    Operation *op = value.getDefiningOp();
    if (!op || !plan.contains(op) || (severity == Severity::Note && !notes))
      continue;
    llvm::SetVector<Operation *> readers;
    addReaders(value, readers);
    for (Operation *reader : readers)
      if (!plan.contains(reader))
        added.push_back({reader, op});
  }
  for (auto [reader, op] : added) {
    llvm::SetVector<size_t> reasons = plan[op];
    plan[reader].insert(reasons.begin(), reasons.end());
  }
  joinIslands(plan);
  return !added.empty();
}

llvm::Error Choice::tryKeeping(Certainty least, bool notes, KeepPlan &result) {
  std::vector<Candidate> candidates;
  KeepPlan plan;
  IdiomMembers members = findMembers(module);
  for (auto [index, entry] : llvm::enumerate(entries)) {
    if (entry.finding.certainty < least ||
        (entry.finding.severity == Severity::Note) != notes)
      continue;
    for (auto [number, fix] : llvm::enumerate(entry.finding.fixes)) {
      if (fix.kind != "keep-fp32")
        continue;
      FixAction &action = entry.actions[number];
      if (action.kind == FixAction::Kind::None)
        action = keepAround(entry, members);
      for (Operation *op : action.ops)
        plan[op].insert(index);
      candidates.push_back({index, number, action});
    }
  }
  if (plan.empty())
    return llvm::Error::success();
  joinIslands(plan);

  std::optional<Outcome> outcome;
  for (unsigned round = 0; round < kMostRounds; ++round) {
    if (outcome && !grow(plan, *outcome, notes))
      break;
    Expected<std::optional<Outcome>> found = runKeeping(plan);
    if (!found)
      return found.takeError();
    if (!*found)
      return llvm::createStringError("ops cannot be kept in FP32");
    outcome = std::move(*found);
  }

  // What is new counts against the findings for which the op there is kept, or
  // against all, if it is next to none of these ops.
  llvm::DenseMap<size_t, SmallVector<const Fresh *>> concerns;
  std::vector<const Fresh *> common;
  for (const Fresh &fresh : outcome->fresh) {
    Operation *op = fresh.value ? fresh.value.getDefiningOp() : nullptr;
    auto kept = op ? plan.find(op) : plan.end();
    bool near = op && llvm::any_of(op->getOperands(), [&](Value operand) {
                  Operation *maker = peelInserted(operand).getDefiningOp();
                  return maker && plan.contains(maker);
                });
    if (kept != plan.end())
      for (size_t reason : kept->second)
        concerns[reason].push_back(&fresh);
    else if (!near)
      common.push_back(&fresh);
  }
  common.resize(std::min<size_t>(common.size(), kMostFresh));
  unsigned alone = 0;
  for (Candidate &candidate : candidates) {
    SmallVector<const Fresh *> fresh = concerns.lookup(candidate.entry);
    llvm::append_range(fresh, common);
    judge(candidate, *outcome, fresh);
    if (!candidate.safe && candidates.size() > 1 && alone++ < mostAlone) {
      KeepPlan own;
      for (const auto &[op, reasons] : plan)
        if (reasons.contains(candidate.entry) ||
            llvm::any_of(getFollowers(candidate.entry), [&](size_t follower) {
              return reasons.contains(follower);
            }))
          own[op].insert(candidate.entry);
      Expected<std::optional<Outcome>> single = runKeeping(own);
      if (!single)
        return single.takeError();
      if (*single)
        judgeAlone(candidate, **single);
    }
    record(candidate);
  }
  // Left are the ops of findings that are gone.
  std::set<size_t> gone;
  for (const Candidate &candidate : candidates)
    if (candidate.gone)
      gone.insert(candidate.entry);
  for (auto &[op, reasons] : plan)
    for (size_t reason : reasons)
      if (gone.contains(reason))
        result[op].insert(reason);
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Other fixes
//===----------------------------------------------------------------------===//

/// Those that change the same op cannot be tried together.
static std::vector<SmallVector<size_t>>
makeRounds(ArrayRef<Candidate> candidates) {
  std::vector<SmallVector<size_t>> rounds;
  std::vector<llvm::DenseSet<Operation *>> changed;
  for (auto [index, candidate] : llvm::enumerate(candidates)) {
    size_t round = 0;
    auto overlaps = [&, &candidate = candidate](size_t other) {
      return llvm::any_of(candidate.action.ops, [&](Operation *op) {
        return changed[other].contains(op);
      });
    };
    while (round + 1 < kMostRounds && round < rounds.size() && overlaps(round))
      ++round;
    if (round == rounds.size()) {
      rounds.emplace_back();
      changed.emplace_back();
    }
    rounds[round].push_back(index);
    changed[round].insert(candidate.action.ops.begin(),
                          candidate.action.ops.end());
  }
  return rounds;
}

llvm::Error Choice::tryOthers(Certainty least) {
  std::vector<Candidate> candidates;
  for (auto [index, entry] : llvm::enumerate(entries)) {
    if (entry.finding.certainty < least)
      continue;
    for (auto [number, action] : llvm::enumerate(entry.actions))
      if (action && action.kind != FixAction::Kind::Keep)
        candidates.push_back({index, number, action});
  }
  auto apply = [](const Candidate &candidate, const IRMapping &mapping,
                  RetiredOps &retired) {
    return applyFix(
        candidate.action,
        [&](Operation *op) { return mapping.lookupOrNull(op); }, retired);
  };
  unsigned alone = 0;
  for (SmallVector<size_t> &round : makeRounds(candidates)) {
    Expected<std::optional<Outcome>> outcome = std::optional<Outcome>();
    // What cannot be applied may have been begun: once more without it.
    for (size_t before = 0; !*outcome && before != round.size();) {
      before = round.size();
      SmallVector<size_t> applied;
      outcome = trial.run(
          [&](ModuleOp, const IRMapping &mapping, RetiredOps &retired) {
            for (size_t index : round)
              if (apply(candidates[index], mapping, retired))
                applied.push_back(index);
            return !applied.empty() && applied.size() == round.size();
          });
      if (!outcome)
        return outcome.takeError();
      round = std::move(applied);
    }
    if (!*outcome)
      continue;
    for (size_t index : round) {
      Candidate &candidate = candidates[index];
      judgeAlone(candidate, **outcome);
      if (!candidate.safe && round.size() > 1 && alone++ < mostAlone) {
        Expected<std::optional<Outcome>> single = trial.run(
            [&](ModuleOp, const IRMapping &mapping, RetiredOps &retired) {
              return apply(candidate, mapping, retired);
            });
        if (!single)
          return single.takeError();
        if (*single)
          judgeAlone(candidate, **single);
      }
      record(candidate);
    }
  }
  return llvm::Error::success();
}

void Choice::sortFixes() {
  for (auto [index, entry] : llvm::enumerate(entries)) {
    std::vector<Fix> fixes;
    for (auto [number, fix] : llvm::enumerate(entry.finding.fixes))
      if (tried.contains({index, number}))
        fixes.push_back(std::move(fix));
    llvm::stable_sort(fixes, [](const Fix &lhs, const Fix &rhs) {
      return lhs.safe > rhs.safe;
    });
    entry.finding.fixes = std::move(fixes);
  }
}

Expected<KeepPlan> mpopt::tryFixes(ModuleOp module,
                                   std::vector<FindingList::Entry> &entries,
                                   Certainty least, bool complete,
                                   const Analyses &analyses, RunRules rules) {
  Choice choice(module, entries, analyses, rules);
  KeepPlan plan, notes;
  if (!choice.empty(least)) {
    if (!complete)
      if (llvm::Error error = choice.learnAll())
        return error;
    if (llvm::Error error = choice.tryKeeping(least, /*notes=*/false, plan))
      return error;
    if (llvm::Error error = choice.tryKeeping(least, /*notes=*/true, notes))
      return error;
    if (llvm::Error error = choice.tryOthers(least))
      return error;
  }
  choice.sortFixes();
  return plan;
}
