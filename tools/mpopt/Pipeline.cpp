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
  if (!options.target.empty())
    module->setAttr("mp.target", builder.getStringAttr(options.target));
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

namespace {
// By hand, since a callback is no option of a textual pipeline.
class DumpRanges : public PassWrapper<DumpRanges, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(DumpRanges)

  using Callback = llvm::function_ref<void(const RangeAnalysis &)>;
  explicit DumpRanges(Callback dump) : dump(dump) {}
  StringRef getName() const override { return "DumpRanges"; }

  void runOnOperation() override {
    dump(getAnalysis<RangeAnalysis>());
    markAllAnalysesPreserved();
  }

private:
  Callback dump;
};
} // namespace

llvm::Error
mpopt::runPipeline(const Options &options, ModuleOp module,
                   std::vector<Finding> &findings,
                   llvm::function_ref<void(const RangeAnalysis &)> dump) {
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
  if (!options.rangesFile.empty())
    passes.addPass(std::make_unique<DumpRanges>(dump));
  if (succeeded(passes.run(module)))
    return llvm::Error::success();
  return llvm::createStringError(firstError.empty() ? "the analysis failed"
                                                    : firstError);
}
