//===- RulePass.cpp - The base class of rules -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/rules/RulePass.h"

#include "mpopt/Dialect/Settings.h"
#include "mpopt/Report/RuleTable.h"

using namespace mlir;
using namespace mpopt;

FindingBuilder RulePass::report(Operation *op, Value value,
                                Certainty certainty) {
  return FindingBuilder(*findings, *info, op, value, certainty);
}

double RulePass::threshold(StringRef key) { return getThreshold(module, key); }

void RulePass::addFindings(ModuleOp judged, AnalysisManager manager) {
  info = findRule(getArgument().drop_front(StringRef("rule-").size()));
  assert(info && "rule is not in Rules.td");
  module = judged;
  analyses = manager;
  findings = &getAnalysis<FindingList>();
  check(module);
  limitRounded();
}

void RulePass::limitRounded() const {
  if (auto ranges = analyses->getCachedAnalysis<RangeAnalysis>())
    ranges->get().limitRounded();
}

void RulePass::runOnOperation() {
  addFindings(getOperation(), getAnalysisManager());
  markAllAnalysesPreserved();
}
