//===- CheckModule.cpp - From an imported module to findings
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one place that knows the order of the stages: `checkModule`, at the end.
// Transforms are passes. Everything behind them changes nothing and is called
// with the analyses of the module, which are made when somebody asks first.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Driver/CheckModule.h"

#include "lib/Driver/TrainingStep.h"
#include "lib/Driver/TryInputs.h"

#include "lib/Driver/Conversion/Planning.h"
#include "lib/Driver/DescribeTraining.h"
#include "mpopt/Dialect/Interfaces/Interfaces.h"
#include "mpopt/Dialect/Origin.h"
#include "mpopt/Dialect/Settings.h"
#include "mpopt/Dialect/StorageTypes.h"
#include "mpopt/Effects/GradientErrors.h"
#include "mpopt/Effects/LayerProducts.h"
#include "mpopt/Effects/OperandScales.h"
#include "mpopt/Effects/ProductEffects.h"
#include "mpopt/Effects/Severity.h"
#include "mpopt/Gradients/LossScale.h"
#include "mpopt/Hazards/ConstantUses.h"
#include "mpopt/Hazards/LossScaling.h"
#include "mpopt/Hazards/OverflowSites.h"
#include "mpopt/Hazards/ParameterUpdates.h"
#include "mpopt/Hazards/Proved.h"
#include "mpopt/Hazards/SafeInput.h"
#include "mpopt/Policy/Policy.h"
#include "mpopt/Ranges/Analysis/Effort.h"
#include "mpopt/Repair/CodeFixes.h"
#include "mpopt/Repair/Fix.h"
#include "mpopt/Repair/Repair.h"
#include "mpopt/Report/RuleTable.h"
#include "passes/rules/RuleSequence.h"
#include "passes/transforms/Passes.h"

#include "mpopt/Numerics/Target.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringMap.h"

#include <cmath>
#include <map>
#include <tuple>

using namespace mlir;
using namespace mpopt;

/// Leaves on the module what its analyses and rules read there.
static void setOptions(const Options &options, ModuleOp module) {
  Builder builder(module.getContext());
  SmallVector<NamedAttribute> thresholds;
  for (const auto &[key, value] : options.thresholds)
    thresholds.push_back(
        builder.getNamedAttr(key, builder.getF64FloatAttr(value)));
  // Thresholds of the precision, where the request has none.
  if (const Precision *precision = Precision::byName(options.precision))
    for (auto [key, value] : {std::pair(kEffectWarning, precision->warning),
                              std::pair(kEffectError, precision->error)})
      if (value > 0 && !options.thresholds.count(key.str()))
        thresholds.push_back(
            builder.getNamedAttr(key, builder.getF64FloatAttr(value)));
  if (!thresholds.empty())
    module->setAttr(kThresholdsAttr, builder.getDictionaryAttr(thresholds));
  if (!options.target.empty())
    module->setAttr(kTargetAttr, builder.getStringAttr(options.target));
  if (options.highEffort)
    module->setAttr(kHighEffortAttr, builder.getUnitAttr());
}

static LogicalResult transform(const Options &options, ModuleOp module) {
  PassManager passes(module.getContext());
  // The importer verified the module.
  passes.enableVerifier(false);
  passes.addPass(createRecognizeIdioms());
  ApplyPrecisionOptions precision;
  precision.mode = options.precision;
  if (!options.policy.empty())
    precision.policy = options.policy;
  passes.addPass(createApplyPrecision(precision));
  return passes.run(module);
}

/// Marks the ops of a loss that autocast refuses to run: the loss is appended
/// to a model whose precision is settled, and is computed in the region.
static void markRefused(const Options &options, ModuleOp module) {
  if (!StringRef(options.precision).starts_with("autocast"))
    return;
  llvm::Expected<Policy> policy =
      Policy::load(options.policy.empty() ? StringRef(Policy::kDefault)
                                          : StringRef(options.policy));
  if (!policy) {
    llvm::consumeError(policy.takeError()); // told of before
    return;
  }
  Builder builder(module.getContext());
  module.walk([&](PrecisionOpInterface op) {
    if (!op->hasAttr(kLossPartAttr) ||
        policy->lookup(op.getFrameworkNames(policy->getFramework())) !=
            Category::Banned)
      return;
    op->setAttr("mp.category",
                builder.getStringAttr(toString(Category::Banned)));
    op->setAttr("mp.refused", builder.getUnitAttr());
  });
}

/// The plan by ops of the model, one of which may have become several.
static std::vector<KeptOpRef>
describePlan(ModuleOp module, const CastPlan &plan,
             llvm::ArrayRef<FindingList::Entry> entries) {
  std::vector<KeptOpRef> list;
  std::map<std::pair<std::string, std::string>, size_t> byName;
  // An op may be kept for as many findings as there are ops.
  llvm::StringMap<size_t> known;
  std::vector<size_t> prints;
  for (const FindingList::Entry &entry : entries)
    prints.push_back(known.try_emplace(entry.finding.fingerprint, known.size())
                         .first->second);
  llvm::DenseSet<std::pair<size_t, size_t>> listed;
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    auto kept = plan.find(op);
    if (kept == plan.end())
      return;
    OpRef name = getOpRef(op);
    size_t index =
        byName.try_emplace({name.scope, name.name}, list.size()).first->second;
    if (index == list.size())
      list.emplace_back();
    KeptOpRef &entry = list[index];
    entry.op = std::move(name);
    if (entry.reason.empty())
      entry.reason = kept->second.why;
    for (Value result : op->getResults())
      if (std::string tensor = getTensorPath(result);
          !tensor.empty() && isa<FloatType>(getElementType(result)) &&
          !llvm::is_contained(entry.outputs, tensor))
        entry.outputs.push_back(std::move(tensor));
    for (size_t reason : kept->second.reasons)
      if (listed.insert({index, prints[reason]}).second)
        entry.why.push_back(entries[reason].finding.fingerprint);
  });
  return list;
}

static std::vector<TriedFix> listFixes(ArrayRef<FindingList::Entry> entries) {
  std::vector<TriedFix> fixes;
  for (auto [index, entry] : llvm::enumerate(entries))
    for (auto [fix, action] : llvm::zip(entry.finding.fixes, entry.actions))
      fixes.push_back({index, action, entry.finding.rule, entry.finding.op.name,
                       fix.text, fix.safe && action.keepsFunction});
  return fixes;
}

namespace {
/// The stages behind the transforms, on one module.
class ModuleCheck {
public:
  /// Has the rules for which `isMeant` is true look at the module.
  ModuleCheck(const Options &options, ModuleOp module,
              bool (*isMeant)(const RuleInfo *))
      : options(options), module(module),
        manager(module, /*passInstrumentor=*/nullptr), analyses(manager) {
    llvm::copy_if(options.rules, std::back_inserter(selected), isMeant);
    for (const RuleInfo &rule : getRules())
      if (isMeant(&rule))
        all.push_back(&rule);
  }

  void runRules();
  /// The findings whose fixes are tried, and which are described.
  Certainty getLeast() const;
  void countProved();
  void takeFindings();
  /// Severities by the findings' effects on the outputs.
  void judgeByEffect();
  /// Declarations of inputs that make unknown effects known.
  void tryInputs();
  void observeRanges(RangeObserver observe);
  void findScales();
  /// Products whose operands alone are narrow, and the recipe for them.
  void describeScaling();
  /// The list of `--keep-fp32`, if it is wanted.
  void findKeepList();
  void keepProducts();
  void tryFixes(FixObserver observe);
  /// The fixes of a file's own codes.
  void tryCodeFixes();
  void forgetStep();
  /// The estimates of a training step.
  TrainingReport describeStep();
  CheckedModule takeResult();

private:
  const RangeAnalysis &ranges() {
    return analyses.getAnalysis<RangeAnalysis>();
  }
  /// The rule of that name; null if it is not selected.
  const RuleInfo *findSelected(StringRef name) const;
  std::vector<FindingList::Entry> findIn(RuleSequence &rules, ModuleOp judged,
                                         AnalysisManager known) const;
  /// A changed copy by rules whose findings `counts` lets pass.
  Verdict
  judgeCopy(RuleSequence &rules, ModuleOp copy, const ChangedModule &change,
            bool decides,
            llvm::function_ref<bool(const FindingList::Entry &)> counts);
  Recompute howToTry() const {
    return options.wholeTrials ? Recompute::All : Recompute::Reached;
  }

  const Options &options;
  ModuleOp module;
  SmallVector<const RuleInfo *> selected, all;
  ModuleAnalysisManager manager;
  AnalysisManager analyses;
  std::vector<FindingList::Entry> entries;
  std::optional<OutputEffects> effects;
  CheckedModule result;
};
} // namespace

// A run or a witness may confirm what is only possible: its fixes have to be
// known, too.
Certainty ModuleCheck::getLeast() const {
  bool all = options.action == Action::Instrument || !options.witnesses.empty();
  return all ? Certainty::Possible : options.minCertainty;
}

void ModuleCheck::runRules() {
  analyses.getAnalysis<FindingList>().described = getLeast();
  RuleSequence(selected).addFindings(module, analyses);
}

/// Sums up what the ranges were worth, if any rule asked for them.
void ModuleCheck::countProved() {
  auto cached = analyses.getCachedAnalysis<RangeAnalysis>();
  if (!cached)
    return;
  const RangeAnalysis &known = *cached;
  Proved count =
      mpopt::countProved(module, known, analyses.getAnalysis<FindingList>());
  result.proved = count.proved;
  result.tensors = count.tensors;
  for (Operation *op : known.unknown())
    ++result.unknownRanges[getOpRef(op).type];
  result.target = known.target().name();
  result.targetSummary = known.target().summary();
}

/// The analyses that do not depend on the declared training step.
static AnalysisManager::PreservedAnalyses keepEstimates() {
  AnalysisManager::PreservedAnalyses kept;
  kept.preserve<FindingList, RangeAnalysis, OverflowSites, ConstantUses,
                GradientAnalysis, TrainingEstimate, ParameterWeights>();
  return kept;
}

void ModuleCheck::takeFindings() {
  entries = mpopt::takeFindings(module, analyses.getAnalysis<FindingList>());
  // Flushed shares, which only rules ask for, are as large as the ranges.
  AnalysisManager::PreservedAnalyses kept = keepEstimates();
  kept.preserve<LossScaling, ParameterUpdates>();
  analyses.invalidate(kept);
}

const RuleInfo *ModuleCheck::findSelected(StringRef name) const {
  const auto *found = llvm::find_if(selected, [&](const RuleInfo *rule) {
    return StringRef(rule->name) == name;
  });
  return found == selected.end() ? nullptr : *found;
}

void ModuleCheck::judgeByEffect() {
  effects.emplace(module, analyses, entries);
  mpopt::judgeByEffect(module, *effects, entries);
  if (const RuleInfo *rule = findSelected(kOutputError))
    reportOutputErrors(module, *effects, ranges(), *rule,
                       /*isQuantized=*/false, entries);
  if (const RuleInfo *rule = findSelected(kQuantizationError))
    reportOutputErrors(module, *effects, ranges(), *rule, /*isQuantized=*/true,
                       entries);
  if (const RuleInfo *rule = findSelected(kChangedDecisions))
    reportChangedDecisions(module, *effects, *rule, entries);
  result.decisions = describeDecisions(module, *effects);
  result.effects = describeEffects(module, *effects, entries);
  if (options.action == Action::Diff && getPrecision(module).isAsIs() &&
      isQuantized(module))
    result.quantized = listQuantized(module, ranges(), *effects);
}

/// The findings of a copy: where they are is enough.
std::vector<FindingList::Entry>
ModuleCheck::findIn(RuleSequence &rules, ModuleOp judged,
                    AnalysisManager known) const {
  auto &list = known.getAnalysis<FindingList>();
  list.described = std::nullopt;
  rules.addFindings(judged, known);
  return mpopt::takeFindings(judged, list, /*wantFingerprints=*/false);
}

Verdict ModuleCheck::judgeCopy(
    RuleSequence &rules, ModuleOp copy, const ChangedModule &change,
    bool decides, llvm::function_ref<bool(const FindingList::Entry &)> counts) {
  ModuleAnalysisManager own(copy, /*passInstrumentor=*/nullptr);
  AnalysisManager known = own;
  reuseRanges(known, ranges(), change, howToTry());
  std::vector<FindingList::Entry> found = findIn(rules, copy, known);
  llvm::erase_if(
      found, [&](const FindingList::Entry &entry) { return !counts(entry); });
  OutputEffects its(copy, known, found, decides);
  mpopt::judgeByEffect(copy, its, found);
  return {std::move(found), std::move(its)};
}

void ModuleCheck::tryInputs() {
  if (options.action != Action::Check)
    return;
  RuleSequence rules(all);
  result.tried = findDecidingInputs(
      module, result.effects, result.decisions,
      [&](ModuleOp copy, const ChangedModule *change) {
        return judgeCopy(rules, copy, *change, /*decides=*/false,
                         [](const FindingList::Entry &) { return true; });
      });
}

/// The errors of other recipes are those of the same graph with other errors of
/// operands.
void ModuleCheck::describeScaling() {
  const Precision &precision = getPrecision(module);
  if (!precision.operands || !effects)
    return;
  double aim = options.maxError.value_or(precision.aim);
  result.scaling = describeProducts(module, analyses, *effects, aim);
  if (!options.scalesFile.empty() || options.action == Action::Convert)
    result.scales = chooseScales(module, ranges(), options.scales);
  result.scaling->compared = precision.cost > 0;
  if (!result.scaling->compared)
    return;
  Attribute own = module->getAttr(kPrecisionAttr);
  unsigned best = 0;
  for (const Precision &other : Precision::all()) {
    if (other.cost == 0 || (best != 0 && other.cost > best) ||
        other.operands->weights.format != precision.operands->weights.format)
      continue;
    module->setAttr(kPrecisionAttr,
                    StringAttr::get(module.getContext(), other.name));
    double worst = worstError(module, OutputEffects(module, analyses, entries));
    if (worst <= aim) {
      best = other.cost;
      result.scaling->cheapest = other.recipe().str();
    }
  }
  module->setAttr(kPrecisionAttr, own);
}

/// The products of which a list says that they stay in FP32.
void ModuleCheck::keepProducts() {
  CastPlan plan;
  std::vector<Operation *> products = findScaledProducts(module);
  if (result.scaling && result.scaling->keep)
    for (size_t index : *result.scaling->keep)
      plan[products[index]];
  result.keep = describePlan(module, plan, entries);
}

void ModuleCheck::findKeepList() {
  if (getPrecision(module).operands)
    return keepProducts();
  if (!options.wantsKeepList() || !effects)
    return;
  RuleSequence rules(all);
  const RuleInfo *decided = findSelected(kChangedDecisions);
  bool decides = llvm::any_of(entries, [&](const FindingList::Entry &entry) {
    return decided && entry.finding.rule == decided->id;
  });
  if (decides)
    effects.emplace(module, analyses, entries, decides);
  auto judge = [&](ModuleOp judged, const ChangedModule *change) {
    // Other rules count for what the list does: it must not move a hazard to
    // where nobody looks.
    return judgeCopy(
        rules, judged, *change, decides, [&](const FindingList::Entry &entry) {
          return change->changed.contains(entry.op) ||
                 llvm::is_contained(selected, findRule(entry.finding.rule));
        });
  };
  Verdict verdict{std::move(entries), std::move(effects)};
  KeepList list = mpopt::findKeepList(module, verdict,
                                      {ranges(), options.minCertainty,
                                       findSelected(kOutputError) || decides,
                                       options.convert.keepsAllIo},
                                      judge);
  entries = std::move(verdict.entries);
  effects = std::move(verdict.effects);
  result.keep = describePlan(module, list.plan, entries);
  result.keepLeaves = list.left;
  result.plan = planConversion(module, list.plan, entries);
}

void ModuleCheck::observeRanges(RangeObserver observe) {
  if (observe)
    observe(ranges());
}

void ModuleCheck::findScales() {
  if (options.safeInput)
    result.safeScales =
        findSafeScales(module, analyses.getAnalysis<OverflowSites>());
}

/// The declared training step has changed: estimates of gradients do
/// not depend on it.
void ModuleCheck::forgetStep() { analyses.invalidate(keepEstimates()); }

void ModuleCheck::tryFixes(FixObserver observe) {
  if (options.action == Action::Convert)
    return;
  if (llvm::all_of(entries, [](const FindingList::Entry &entry) {
        return entry.finding.fixes.empty();
      }))
    return;
  RuleSequence rules(all);
  auto findAll = [&](ModuleOp judged, const ChangedModule *change) {
    if (!change) {
      forgetStep();
      return Verdict{findIn(rules, judged, analyses)};
    }
    ModuleAnalysisManager own(judged, /*passInstrumentor=*/nullptr);
    reuseRanges(own, ranges(), *change, howToTry());
    return Verdict{findIn(rules, judged, own)};
  };
  bool complete = selected.size() == all.size();
  CastPlan plan =
      mpopt::tryFixes(module, entries, getLeast(), complete, findAll);
  forgetStep();
  if (observe)
    observe(module, listFixes(entries));
  if (!options.wantsKeepList())
    result.keep = describePlan(module, plan, entries);
}

void ModuleCheck::tryCodeFixes() {
  if (options.action != Action::Convert && effects &&
      getPrecision(module).isAsIs() && isQuantized(module))
    mpopt::tryCodeFixes(module, analyses, *effects, entries);
}

TrainingReport ModuleCheck::describeStep() {
  int exponent = analyses.getAnalysis<LossScaling>().inUse();
  const std::optional<Fp8Recipe> &recipe = options.train->fp8.recipe;
  std::optional<ScaledLayers> layers;
  AddedErrors added;
  bool isSampled = false;
  if (recipe) {
    layers.emplace(module, analyses);
    if (auto kept = findKeptLayers(options.train->fp8, layers->modules()))
      layers->keep(*kept);
    isSampled = layers->sample(*recipe);
    if (!isSampled)
      added = layers->errorsOf(*recipe);
  }
  GradientErrors errors(module, analyses, exponent);
  if (!isSampled)
    errors.walk(added, layers ? layers->count() : 0);
  auto errorOf = [&](Value gradient) {
    return isSampled ? layers->sampledError(gradient) : errors.of(gradient);
  };
  TrainingReport report =
      describeGradients(module, analyses.getAnalysis<TrainingEstimate>(),
                        analyses.getAnalysis<ParameterUpdates>(), errorOf,
                        ranges(), !options.gradientsFile.empty());
  if (layers)
    report.fp8 = layers->describe(*recipe, errors, options.gradientAims);
  return report;
}

/// The worst first; of those above a note what is wrong before what comes of it
/// all in an output, and last what only a list says of an op. Otherwise the
/// larger effect leads.
static void sortByEffect(std::vector<FindingList::Entry> &entries) {
  auto weigh = [](const FindingList::Entry &entry) {
    const Finding &finding = entry.finding;
    const RuleInfo *rule = findRule(finding.rule);
    bool saysWhy = rule && !rule->byList, ofOutput = rule && rule->byEffect;
    // Findings that no estimate expects come behind those of all samples.
    double effect = finding.effect ? finding.effect->error : 0;
    return std::tuple(finding.severity > Severity::Note, saysWhy && !ofOutput,
                      int(finding.severity), saysWhy,
                      std::isnan(effect) ? 0 : effect);
  };
  llvm::stable_sort(entries, [&](const FindingList::Entry &lhs,
                                 const FindingList::Entry &rhs) {
    return weigh(lhs) > weigh(rhs);
  });
}

CheckedModule ModuleCheck::takeResult() {
  for (FindingList::Entry &entry : entries)
    entry.finding.severity = entry.judged.value_or(entry.finding.severity);
  sortByEffect(entries);
  for (FindingList::Entry &entry : entries) {
    result.findings.push_back(std::move(entry.finding));
    result.places.push_back(
        {entry.op->getLoc(), std::move(entry.causeLocations)});
  }
  return std::move(result);
}

/// Rules about gradients need them; what others say of a model does not depend
/// on how it is trained, but for what they say of the loss.
static bool isAboutTraining(const RuleInfo *rule) {
  return rule->family == "training" || rule->ofLosses;
}
static bool isAboutModel(const RuleInfo *rule) {
  return rule->family != "training";
}

/// An overflow that one has to expect: whatever the loss is scaled by, it is
/// not finite.
static bool isExpectedOverflow(const Finding &finding) {
  const RuleInfo *rule = findRule(finding.rule);
  return rule && rule->hazard == Hazard::Overflow &&
         finding.severity == Severity::Error &&
         finding.certainty >= Certainty::Likely &&
         llvm::none_of(finding.watches, [](const Watch &watch) {
           return watch.test == Decision::FlushShare;
         });
}

/// Joins what was found about the model with what was about its training step.
static void addTraining(CheckedModule &result, CheckedModule trained,
                        CheckedTraining training, TrainingReport gradients) {
  llvm::append_range(result.findings, std::move(trained.findings));
  llvm::append_range(result.places, std::move(trained.places));
  result.training = std::move(training);
  gradients.loss = result.training->loss;
  gradients.memory = std::move(result.training->memory);
  gradients.forwardOverflows =
      llvm::any_of(result.findings, isExpectedOverflow);
  result.training->gradients = std::move(gradients);
}

/// Has the rules of training look at the step, which has been appended, and
/// adds what they find.
static void checkStep(const Options &options, ModuleOp module,
                      TrainingStep &step, RangeObserver observe,
                      CheckedModule &result) {
  ModuleCheck whole(options, module, isAboutTraining);
  whole.runRules();
  whole.takeFindings();
  whole.observeRanges(observe);
  whole.tryFixes(nullptr);
  CheckedModule trained = whole.takeResult();
  addTraining(result, std::move(trained), step.takeResult(),
              whole.describeStep());
  result.training->gradients.settings = options.stepSettings;
}

llvm::Expected<CheckedModule> mpopt::checkModule(const Options &options,
                                                 ModuleOp module,
                                                 RangeObserver observe,
                                                 RangeObserver observeModel,
                                                 FixObserver observeFixes) {
  std::string firstError;
  ScopedDiagnosticHandler handler(
      module.getContext(), [&](Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
          return failure();
        if (firstError.empty())
          firstError = diagnostic.str();
        return success();
      });
  setOptions(options, module);
  // An error without a text is one that a diagnostic told of.
  auto fail = [&](llvm::Error error) {
    std::string text = llvm::toString(std::move(error));
    if (text.empty())
      text = firstError.empty() ? "the analysis failed" : firstError;
    return llvm::createStringError(text);
  };
  std::optional<TrainingStep> step;
  if (options.train) {
    step.emplace(options, module);
    if (llvm::Error error = step->prepare())
      return fail(std::move(error));
  }
  if (failed(transform(options, module)))
    return fail(llvm::createStringError(""));

  ModuleCheck check(options, module, isAboutModel);
  check.runRules();
  // The findings still say which tensors they are about.
  check.countProved();
  check.takeFindings();
  check.judgeByEffect();
  check.tryInputs();
  check.observeRanges(observeModel);
  if (!step)
    check.observeRanges(observe);
  check.findScales();
  check.describeScaling();
  check.findKeepList();
  check.tryFixes(observeFixes);
  check.tryCodeFixes();
  CheckedModule result = check.takeResult();
  if (!step)
    return result;

  if (llvm::Error error = step->append())
    return fail(std::move(error));
  markRefused(options, module);
  result.unjudged = step->whyUnjudged();
  if (result.unjudged.empty())
    checkStep(options, module, *step, observe, result);
  else
    check.observeRanges(observe);
  return result;
}
