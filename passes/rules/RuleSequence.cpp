//===- RuleSequence.cpp - Rules that are called one after another
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/rules/RuleSequence.h"

#include "passes/rules/Rules.h"

#include "mlir/Pass/PassRegistry.h"

using namespace mlir;
using namespace mpopt;

RuleSequence::RuleSequence(ArrayRef<const RuleInfo *> rules)
    : passes(ModuleOp::getOperationName()) {
  registerRulesPasses();
  for (const RuleInfo *rule : rules) {
    if (!rule->isPass)
      continue;
    const PassInfo *pass = PassInfo::lookup("rule-" + std::string(rule->name));
    assert(pass && "every record of Rules.td has a pass");
    LogicalResult added = pass->addToPipeline(
        passes, "", [](const Twine &) { return failure(); });
    (void)added;
    assert(succeeded(added) && "rules have no options");
  }
}

void RuleSequence::addFindings(ModuleOp module, AnalysisManager analyses) {
  for (Pass &rule : passes)
    static_cast<RulePass &>(rule).addFindings(module, analyses);
}
