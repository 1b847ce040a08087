//===- Pipeline.cpp - From an imported module to findings
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one place that knows the order of the stages.
//
//===----------------------------------------------------------------------===//

#include "Pipeline.h"

#include "passes/rules/Rules.h"
#include "passes/transforms/Passes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;
using namespace mpopt;

// What rules read from the module.
static void setOptions(const Options &options, ModuleOp module) {
  Builder builder(module.getContext());
  SmallVector<NamedAttribute> thresholds;
  for (const auto &[key, value] : options.thresholds)
    thresholds.push_back(
        builder.getNamedAttr(key, builder.getF64FloatAttr(value)));
  if (!thresholds.empty())
    module->setAttr("mp.thresholds", builder.getDictionaryAttr(thresholds));
  if (options.jobs)
    module->setAttr("mp.jobs", builder.getI64IntegerAttr(options.jobs));
}

static void addTransforms(const Options &options, OpPassManager &passes) {
  passes.addPass(createRecognizeIdioms());
  ApplyPrecisionOptions precision;
  precision.mode = options.precision;
  if (!options.policy.empty())
    precision.policy = options.policy;
  passes.addPass(createApplyPrecision(precision));
}

static void addRules(const Options &options, OpPassManager &passes) {
  registerRulesPasses();
  for (const RuleInfo *rule : options.rules) {
    const PassInfo *pass = PassInfo::lookup("rule-" + std::string(rule->name));
    assert(pass && "every record of Rules.td has a pass");
    LogicalResult added = pass->addToPipeline(
        passes, "", [](const Twine &) { return failure(); });
    (void)added;
    assert(succeeded(added) && "rules have no options");
  }
}

llvm::Error mpopt::runPipeline(const Options &options, ModuleOp module,
                               std::vector<Finding> &findings) {
  setOptions(options, module);
  std::string firstError;
  ScopedDiagnosticHandler handler(
      module.getContext(), [&](Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
          return failure();
        if (firstError.empty())
          firstError = diagnostic.str();
        return success();
      });

  PassManager passes(module.getContext());
  // What comes out of the importer was verified; rules change nothing.
  passes.enableVerifier(false);
  addTransforms(options, passes);
  addRules(options, passes);
  passes.addPass(createCollectFindings(findings));
  if (succeeded(passes.run(module)))
    return llvm::Error::success();
  return llvm::createStringError(firstError.empty() ? "the analysis failed"
                                                    : firstError);
}
