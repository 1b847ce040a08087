//===- KeepFixes.cpp - Ops that are kept in FP32
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All are tried in one run, since they work only together with the ops that
// read what they compute; the set grows until they do.
//
//===----------------------------------------------------------------------===//

#include "Judgement.h"

using namespace mlir;
using namespace mpopt;
using llvm::Expected;

namespace {
class Keeping {
public:
  Keeping(Judgement &judgement, bool notes)
      : judgement(judgement), entries(judgement.entries), notes(notes) {}

  llvm::Error run(Certainty least, KeepPlan &result);

private:
  void collect(Certainty least);
  Expected<Outcome> growPlan();
  std::optional<Outcome> tryPlan(const KeepPlan &tried);
  bool isSettled(const Outcome &outcome) const;
  bool grow(const Outcome &outcome);
  void judge(const Outcome &outcome);

  Judgement &judgement;
  std::vector<FindingList::Entry> &entries;
  bool notes;
  std::vector<Candidate> candidates;
  KeepPlan plan;
};
} // namespace

std::optional<Outcome> Keeping::tryPlan(const KeepPlan &tried) {
  return judgement.trial.run(
      [&](ModuleOp copy, const IRMapping &mapping, RetiredOps &) {
        SmallVector<KeptOp> ops;
        for (const auto &[op, reasons] : tried) {
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

/// True if all candidates' findings are gone and there are no new ones.
bool Keeping::isSettled(const Outcome &outcome) const {
  return llvm::all_of(candidates,
                      [&](const Candidate &candidate) {
                        return judgement.isGone(candidate.entry, outcome);
                      }) &&
         llvm::none_of(outcome.fresh, [](const Fresh &fresh) {
           return fresh.certainty >= Certainty::Likely;
         });
}

/// Also keeps ops that read a kept op's result and have a range finding still.
bool Keeping::grow(const Outcome &outcome) {
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

void Keeping::collect(Certainty least) {
  IdiomMembers members = findMembers(judgement.module);
  for (auto [index, entry] : llvm::enumerate(entries)) {
    if (entry.finding.certainty < least ||
        (entry.judged.value_or(entry.finding.severity) == Severity::Note) !=
            notes)
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
  joinIslands(plan);
}

/// The plan, as large as it has to be, and what comes of it.
Expected<Outcome> Keeping::growPlan() {
  std::optional<Outcome> outcome;
  for (unsigned round = 0; round < kMostRounds; ++round) {
    if (outcome && (isSettled(*outcome) || !grow(*outcome)))
      break;
    outcome = tryPlan(plan);
    if (!outcome)
      return llvm::createStringError("ops cannot be kept in FP32");
  }
  return std::move(*outcome);
}

void Keeping::judge(const Outcome &outcome) {
  // A new finding counts against the findings for which the op there is kept,
  // or against all, if it is next to none of these ops.
  llvm::DenseMap<size_t, SmallVector<const Fresh *>> concerns;
  std::vector<const Fresh *> common;
  for (const Fresh &fresh : outcome.fresh) {
    Operation *op = fresh.value ? fresh.value.getDefiningOp() : nullptr;
    auto kept = op ? plan.find(op) : plan.end();
    bool near = op && llvm::any_of(op->getOperands(), [&](Value operand) {
                  Operation *maker = getMaker(operand, Peel::InsertedCasts);
                  return maker && plan.contains(maker);
                });
    if (kept != plan.end())
      for (size_t reason : kept->second)
        concerns[reason].push_back(&fresh);
    else if (!near)
      common.push_back(&fresh);
  }
  common.resize(std::min<size_t>(common.size(), kMostFresh));
  for (Candidate &candidate : candidates) {
    SmallVector<const Fresh *> fresh = concerns.lookup(candidate.entry);
    llvm::append_range(fresh, common);
    judgement.judge(candidate, outcome, fresh);
    auto run = [&] {
      KeepPlan own;
      for (const auto &[op, reasons] : plan)
        if (reasons.contains(candidate.entry) ||
            llvm::any_of(
                judgement.getFollowers(candidate.entry),
                [&](size_t follower) { return reasons.contains(follower); }))
          own[op].insert(candidate.entry);
      return tryPlan(own);
    };
    if (candidates.size() > 1)
      judgement.judgeAlone(candidate, run);
    judgement.record(candidate);
  }
}

llvm::Error Keeping::run(Certainty least, KeepPlan &result) {
  collect(least);
  if (plan.empty())
    return llvm::Error::success();
  Expected<Outcome> outcome = growPlan();
  if (!outcome)
    return outcome.takeError();
  judge(*outcome);
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

llvm::Error mpopt::tryKeeping(Judgement &judgement, Certainty least, bool notes,
                              KeepPlan &plan) {
  return Keeping(judgement, notes).run(least, plan);
}
