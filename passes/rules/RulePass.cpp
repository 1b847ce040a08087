//===- RulePass.cpp - The base class of rules -----------------------------===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/rules/RulePass.h"

#include "mpopt/Report/RuleTable.h"

using namespace mlir;
using namespace mpopt;

FindingBuilder RulePass::report(Operation *op, Value value) {
  return FindingBuilder(*findings, *info, op, value);
}

double RulePass::threshold(StringRef key) {
  return getThreshold(getOperation(), key);
}

unsigned RulePass::jobs() {
  auto jobs = getOperation()->getAttrOfType<IntegerAttr>("mp.jobs");
  return jobs ? jobs.getInt() : 0;
}

void RulePass::runOnOperation() {
  info = findRule(getArgument().drop_front(StringRef("rule-").size()));
  assert(info && "rule is not in Rules.td");
  findings = &getAnalysis<FindingList>();
  AnalysisManager manager = getAnalysisManager();
  change = getChange(manager);
  check(getOperation());
  markAllAnalysesPreserved();
}

namespace {
// By hand, since where the findings go to is no option of a textual pipeline.
class CollectFindings
    : public PassWrapper<CollectFindings, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CollectFindings)

  CollectFindings(std::vector<FindingList::Entry> &out, bool wantFingerprints)
      : out(out), wantFingerprints(wantFingerprints) {}
  StringRef getName() const override { return "CollectFindings"; }

  void runOnOperation() override {
    out = takeFindings(getOperation(), getAnalysis<FindingList>(),
                       wantFingerprints);
    markAllAnalysesPreserved();
  }

private:
  std::vector<FindingList::Entry> &out;
  bool wantFingerprints;
};
} // namespace

std::unique_ptr<Pass>
mpopt::createCollectFindings(std::vector<FindingList::Entry> &out,
                             bool wantFingerprints) {
  return std::make_unique<CollectFindings>(out, wantFingerprints);
}
