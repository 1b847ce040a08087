//===- Judgement.cpp - What the trials say of each fix
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Judgement.h"

#include "mpopt/Report/RuleTable.h"

using namespace mlir;
using namespace mpopt;

/// Total cost allowed for trials of single fixes: in full analyses of the
/// module, and in ops.
static constexpr size_t kAloneModules = 4, kAloneBudget = 100'000;

Judgement::Judgement(ModuleOp module, std::vector<FindingList::Entry> &entries,
                     FindAll findAll)
    : module(module), entries(entries), trial(module, entries, findAll),
      aloneBudget(std::min(kAloneModules * trial.size(), kAloneBudget)) {
  for (auto [index, entry] : llvm::enumerate(entries))
    if (!entry.finding.root.empty())
      followers[entry.finding.root].push_back(index);
}

/// Below this certainty nothing counts for or against a fix.
static Certainty barOf(const FindingList::Entry &entry) {
  return std::min(entry.finding.certainty, Certainty::Likely);
}

bool Judgement::isGone(size_t entry, const Outcome &outcome) const {
  return !outcome.has(entries[entry], barOf(entries[entry]));
}

void Judgement::judge(Candidate &candidate, const Outcome &outcome,
                      ArrayRef<const Fresh *> fresh) const {
  if (candidate.safe)
    return;
  const FindingList::Entry &entry = entries[candidate.entry];
  Certainty bar = barOf(entry);
  Severity severity = entry.finding.severity;
  // Settings of one step trade one trouble for another.
  if (candidate.action.kind == FixAction::Kind::DeclareStep)
    severity = std::min(severity, Severity::Warning);
  candidate.tried = true;
  candidate.gone = isGone(candidate.entry, outcome);
  // A root whose consequences stay is not fixed.
  candidate.safe =
      candidate.gone &&
      llvm::none_of(
          fresh,
          [&](const Fresh *other) { return other->counts(severity, bar); }) &&
      llvm::none_of(getFollowers(candidate.entry), [&](size_t follower) {
        // Findings by a list of ops do not depend on ranges.
        return !isByList(entries[follower].finding.rule) &&
               outcome.has(entries[follower], bar);
      });
}

void Judgement::judgeByAll(Candidate &candidate, const Outcome &outcome) const {
  std::vector<const Fresh *> all;
  for (const Fresh &fresh : ArrayRef(outcome.fresh).take_front(kMostFresh))
    all.push_back(&fresh);
  judge(candidate, outcome, all);
}

void Judgement::judgeAlone(Candidate &candidate, Run run) {
  if (candidate.safe || aloneBudget == 0)
    return;
  std::optional<Outcome> outcome = run();
  if (outcome)
    judgeByAll(candidate, *outcome);
  // A copy of the module, at the least.
  size_t cost = outcome ? outcome->cost : 0;
  aloneBudget -= std::min(aloneBudget, cost + trial.size() / 16 + 1);
}

void Judgement::record(const Candidate &candidate) {
  if (!candidate.tried)
    return;
  entries[candidate.entry].finding.fixes[candidate.fix].safe = candidate.safe;
  tried.insert({candidate.entry, candidate.fix});
}

void Judgement::sortFixes() {
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
