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
#include "passes/rules/range/Proved.h"
#include "passes/rules/range/SafeInput.h"
#include "passes/transforms/Passes.h"

#include "mpopt/Transfer/Target.h"

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

// What the ranges were worth, if any rule asked for them.
class SumUp : public PassWrapper<SumUp, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SumUp)

  explicit SumUp(PipelineResult &result) : result(result) {}
  StringRef getName() const override { return "SumUp"; }

  void runOnOperation() override {
    markAllAnalysesPreserved();
    auto cached = getCachedAnalysis<RangeAnalysis>();
    if (!cached)
      return;
    const RangeAnalysis &ranges = *cached;
    Proved count =
        countProved(getOperation(), ranges, getAnalysis<FindingList>());
    result.proved = count.proved;
    result.tensors = count.tensors;
    for (Operation *op : ranges.unknown())
      ++result.unknownRanges[getOpRef(op).type];
    result.target = ranges.target().name();
    result.targetSummary = ranges.target().summary();
  }

private:
  PipelineResult &result;
};

class FindScales : public PassWrapper<FindScales, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FindScales)

  explicit FindScales(std::vector<SafeScale> &scales) : scales(scales) {}
  StringRef getName() const override { return "FindScales"; }

  void runOnOperation() override {
    scales = findSafeScales(getOperation(), getAnalysis<OverflowSites>());
    markAllAnalysesPreserved();
  }

private:
  std::vector<SafeScale> &scales;
};
} // namespace

llvm::Expected<PipelineResult>
mpopt::runPipeline(const Options &options, ModuleOp module,
                   llvm::function_ref<void(const RangeAnalysis &)> dump) {
  PipelineResult result;
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
  passes.addPass(std::make_unique<SumUp>(result));
  passes.addPass(createCollectFindings(result.findings));
  if (!options.rangesFile.empty())
    passes.addPass(std::make_unique<DumpRanges>(dump));
  if (options.safeInput)
    passes.addPass(std::make_unique<FindScales>(result.safeScales));
  if (succeeded(passes.run(module)))
    return result;
  return llvm::createStringError(firstError.empty() ? "the analysis failed"
                                                    : firstError);
}
