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

#include "mpopt/Driver/Pipeline.h"

#include "mpopt/Fix/FixTrial.h"

#include "mpopt/Hazards/Proved.h"
#include "mpopt/Hazards/SafeInput.h"
#include "passes/rules/Rules.h"
#include "passes/transforms/Passes.h"

#include "mpopt/Numerics/Target.h"

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

static void addRule(const RuleInfo &rule, OpPassManager &passes) {
  if (!rule.isPass)
    return;
  const PassInfo *pass = PassInfo::lookup("rule-" + std::string(rule.name));
  assert(pass && "every record of Rules.td has a pass");
  LogicalResult added =
      pass->addToPipeline(passes, "", [](const Twine &) { return failure(); });
  (void)added;
  assert(succeeded(added) && "rules have no options");
}

namespace {
// By hand, since a callback is no option of a textual pipeline.
class ObserveRanges
    : public PassWrapper<ObserveRanges, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ObserveRanges)

  explicit ObserveRanges(RangeObserver observe) : observe(observe) {}
  StringRef getName() const override { return "ObserveRanges"; }

  void runOnOperation() override {
    observe(getAnalysis<RangeAnalysis>());
    markAllAnalysesPreserved();
  }

private:
  RangeObserver observe;
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
// Tells a changed copy's analyses what differs.
class AdoptChange : public PassWrapper<AdoptChange, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(AdoptChange)

  explicit AdoptChange(ChangedModule &change) : change(change) {}
  StringRef getName() const override { return "AdoptChange"; }

  void runOnOperation() override {
    getAnalysis<KnownChange>().change = &change;
    if (!change.wholly)
      change.setScope(getOperation(), getAnalysis<RangeAnalysis>().varied());
    markAllAnalysesPreserved();
  }

private:
  ChangedModule &change;
};

class TryFixes : public PassWrapper<TryFixes, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TryFixes)

  using Callback =
      std::function<void(const RangeAnalysis &, const OverflowSites &)>;
  TryFixes(const std::vector<FindingList::Entry> &entries, Callback run)
      : entries(entries), run(std::move(run)) {}
  StringRef getName() const override { return "TryFixes"; }

  void runOnOperation() override {
    if (llvm::any_of(entries, [](const FindingList::Entry &entry) {
          return !entry.finding.fixes.empty();
        }))
      run(getAnalysis<RangeAnalysis>(), getAnalysis<OverflowSites>());
    markAllAnalysesPreserved();
  }

private:
  const std::vector<FindingList::Entry> &entries;
  Callback run;
};
} // namespace

// By op of the model: one may have become several.
static std::vector<KeptOpRef>
describePlan(ModuleOp module, const KeepPlan &plan,
             llvm::ArrayRef<FindingList::Entry> entries) {
  llvm::MapVector<std::pair<std::string, std::string>, KeptOpRef,
                  std::map<std::pair<std::string, std::string>, unsigned>>
      byName;
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    auto kept = plan.find(op);
    if (kept == plan.end())
      return;
    OpRef name = getOpRef(op);
    KeptOpRef &entry = byName[{name.scope, name.name}];
    entry.op = std::move(name);
    for (size_t reason : kept->second)
      if (const std::string &print = entries[reason].finding.fingerprint;
          !llvm::is_contained(entry.why, print))
        entry.why.push_back(print);
  });
  std::vector<KeptOpRef> list;
  for (auto &[name, entry] : byName)
    list.push_back(std::move(entry));
  return list;
}

llvm::Expected<PipelineResult> mpopt::runPipeline(const Options &options,
                                                  ModuleOp module,
                                                  RangeObserver observe) {
  PipelineResult result;
  std::vector<FindingList::Entry> entries;
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
  registerRulesPasses();
  for (const RuleInfo *rule : options.rules)
    addRule(*rule, passes);
  passes.addPass(std::make_unique<SumUp>(result));
  passes.addPass(createCollectFindings(entries));
  if (observe)
    passes.addPass(std::make_unique<ObserveRanges>(observe));
  if (options.safeInput)
    passes.addPass(std::make_unique<FindScales>(result.safeScales));
  auto fail = [&] {
    return llvm::createStringError(firstError.empty() ? "the analysis failed"
                                                      : firstError);
  };
  auto rules = [&](ModuleOp copy, ChangedModule *change)
      -> llvm::Expected<std::vector<FindingList::Entry>> {
    std::vector<FindingList::Entry> found;
    PassManager again(module.getContext());
    again.enableVerifier(false);
    if (change)
      again.addPass(std::make_unique<AdoptChange>(*change));
    for (const RuleInfo &rule : getRules())
      addRule(rule, again);
    again.addPass(createCollectFindings(found, /*wantFingerprints=*/false));
    if (failed(again.run(copy)))
      return fail();
    return found;
  };
  // A run may confirm what is only possible: its fixes have to be known, too.
  Certainty least = options.action == Action::Instrument ? Certainty::Possible
                                                         : options.minCertainty;
  llvm::Expected<KeepPlan> plan = KeepPlan();
  // As a pass, while the ranges of the module are there.
  passes.addPass(std::make_unique<TryFixes>(
      entries, [&](const RangeAnalysis &ranges, const OverflowSites &sites) {
        llvm::consumeError(plan.takeError());
        plan = tryFixes(module, entries, least,
                        options.rules.size() == getRules().size(),
                        {&ranges, &sites, options.wholeTrials}, rules);
      }));
  if (failed(passes.run(module)))
    return fail();

  if (!plan)
    return plan.takeError();
  result.keep = describePlan(module, *plan, entries);
  for (FindingList::Entry &entry : entries)
    result.findings.push_back(std::move(entry.finding));
  return result;
}
