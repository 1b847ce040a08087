//===- DeclaredFixes.cpp - Other settings of the training step
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// No gradient depends on the scale of the loss, on the optimizer or on how
// gradients are added, so that a trial asks the rules again and nothing else.
// Findings that share a remedy share its trial.
//
//===----------------------------------------------------------------------===//

#include "Judgement.h"

using namespace mlir;
using namespace mpopt;

/// Declarations that are tried.
static constexpr size_t kMostDeclarations = 32;

void mpopt::tryDeclarations(Judgement &judgement, Certainty least) {
  llvm::MapVector<Attribute, std::optional<Outcome>> outcomes;
  for (auto [index, entry] : llvm::enumerate(judgement.entries)) {
    if (entry.finding.certainty < least)
      continue;
    for (auto [number, action] : llvm::enumerate(entry.actions)) {
      if (action.kind != FixAction::Kind::DeclareStep)
        continue;
      auto known = outcomes.find(action.step);
      if (known == outcomes.end()) {
        if (outcomes.size() == kMostDeclarations)
          continue;
        known =
            outcomes
                .insert({action.step, judgement.trial.runDeclared(action.step)})
                .first;
      }
      if (!known->second)
        continue;
      Candidate candidate{index, number, action};
      judgement.judgeByAll(candidate, *known->second);
      judgement.record(candidate);
    }
  }
}
