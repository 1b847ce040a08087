//===- ChangeFixes.cpp - Fixes that change ops and constants
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All that change different ops are tried in one run, since many help only
// together; then those of a kind that this does not settle, which do the same
// good and harm; then each alone, as far as the budget goes.
//
//===----------------------------------------------------------------------===//

#include "Judgement.h"

using namespace mlir;
using namespace mpopt;

using Round = SmallVector<Candidate *>;

namespace {
class Changes {
public:
  Changes(Judgement &judgement, Certainty least);

  void run();

private:
  void tryTogether(Round round);
  void tryAlone(Candidate &candidate);

  Judgement &judgement;
  std::vector<Candidate> candidates;
};
} // namespace

Changes::Changes(Judgement &judgement, Certainty least) : judgement(judgement) {
  for (auto [index, entry] : llvm::enumerate(judgement.entries)) {
    if (entry.finding.certainty < least)
      continue;
    for (auto [number, action] : llvm::enumerate(entry.actions))
      if (action && action.kind != FixAction::Kind::Keep &&
          action.kind != FixAction::Kind::DeclareStep)
        candidates.push_back({index, number, action});
  }
}

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

static bool apply(const Candidate &candidate, const IRMapping &mapping,
                  RetiredOps &retired) {
  return applyFix(
      candidate.action, [&](Operation *op) { return mapping.lookupOrNull(op); },
      retired);
}

void Changes::tryTogether(Round round) {
  std::optional<Outcome> outcome;
  // A change that fails may be half applied: run again without it.
  for (size_t before = 0; !outcome && before != round.size();) {
    before = round.size();
    Round applied;
    outcome = judgement.trial.run(
        [&](ModuleOp, const IRMapping &mapping, RetiredOps &retired) {
          for (Candidate *candidate : round)
            if (apply(*candidate, mapping, retired))
              applied.push_back(candidate);
          return !applied.empty() && applied.size() == round.size();
        });
    round = std::move(applied);
  }
  if (outcome)
    for (Candidate *candidate : round)
      judgement.judgeByAll(*candidate, *outcome);
}

void Changes::tryAlone(Candidate &candidate) {
  judgement.judgeAlone(candidate, [&] {
    return judgement.trial.run(
        [&](ModuleOp, const IRMapping &mapping, RetiredOps &retired) {
          return apply(candidate, mapping, retired);
        });
  });
}

void Changes::run() {
  // How many others were in the last round of each.
  llvm::DenseMap<Candidate *, size_t> company;
  auto tryAll = [&](ArrayRef<Candidate *> together) {
    for (Round &round : makeRounds(together)) {
      for (Candidate *candidate : round)
        company[candidate] = round.size() - 1;
      tryTogether(round);
    }
  };
  Round all;
  for (Candidate &candidate : candidates)
    all.push_back(&candidate);
  tryAll(all);
  llvm::MapVector<FixAction::Kind, Round> kinds;
  for (Candidate *candidate : all)
    if (candidate->tried && !candidate->safe && company[candidate])
      kinds[candidate->action.kind].push_back(candidate);
  // Again only where others were with them before.
  for (auto &[kind, left] : kinds)
    if (left.size() > 1 && left.size() <= company[left.front()])
      tryAll(left);
  // The budget goes to what is surest.
  auto certaintyOf = [&](const Candidate *candidate) {
    return judgement.entries[candidate->entry].finding.certainty;
  };
  llvm::stable_sort(all, [&](const Candidate *lhs, const Candidate *rhs) {
    return certaintyOf(lhs) > certaintyOf(rhs);
  });
  for (Candidate *candidate : all) {
    if (candidate->tried && company[candidate])
      tryAlone(*candidate);
    judgement.record(*candidate);
  }
}

void mpopt::tryChanges(Judgement &judgement, Certainty least) {
  Changes(judgement, least).run();
}
