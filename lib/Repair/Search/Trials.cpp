//===- Trials.cpp - The analysis of changed copies of a module
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Trials.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Settings.h"
#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Report/RuleTable.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

Place mpopt::getPlaceOf(const FindingList::Entry &entry) {
  return {getHazard(entry.finding), getPlace(entry.value)};
}

bool TrialResult::has(const FindingList::Entry &entry, Certainty bar) const {
  auto found = present.find(getPlaceOf(entry));
  return found != present.end() && found->second >= bar;
}

/// An op takes about as long as 16 KiB of weights.
static size_t costOf(Operation *op) {
  size_t cost = isa<mp::ConstantOp>(op) ? 0 : 1;
  for (Value operand : op->getOperands())
    if (auto constant = operand.getDefiningOp<mp::ConstantOp>())
      if (std::optional<ConstantBytes> bytes = getConstantBytes(constant))
        cost += bytes->data.size() >> 14;
  return cost;
}

/// Cost of the ops and all that they reach: an upper bound, since an analysis
/// stops where ranges stay as they were.
static size_t costOfReached(const llvm::DenseSet<Operation *> &ops) {
  llvm::DenseSet<Operation *> seen(ops.begin(), ops.end());
  SmallVector<Operation *> work(ops.begin(), ops.end());
  size_t cost = 0;
  while (!work.empty()) {
    Operation *op = work.pop_back_val();
    cost += costOf(op);
    for (Operation *user : op->getUsers())
      if (seen.insert(user).second)
        work.push_back(user);
  }
  return cost;
}

Trials::Trials(ModuleOp module, ArrayRef<FindingList::Entry> entries,
               Analyze analyze)
    : module(module), analyze(analyze) {
  module.walk([&](Operation *op) { moduleSize += costOf(op); });
  for (const FindingList::Entry &entry : entries)
    learn(entry);
}

void Trials::learn(const FindingList::Entry &entry) {
  auto [place, isNew] =
      known.try_emplace(getPlaceOf(entry), entry.finding.certainty);
  place->second = std::max(place->second, entry.finding.certainty);
}

void Trials::learnAll() {
  for (const FindingList::Entry &entry : analyze(module, nullptr).entries)
    learn(entry);
}

/// True if `copy` is `op` with its operands' copies.
static bool isCopy(Operation *copy, Operation *op, const IRMapping &mapping) {
  if (copy->getName() != op->getName() ||
      copy->getRawDictionaryAttrs() != op->getRawDictionaryAttrs() ||
      copy->getNumOperands() != op->getNumOperands() ||
      copy->getResultTypes() != op->getResultTypes() ||
      (op->getPropertiesStorageSize() &&
       !op->getName().compareOpProperties(op->getPropertiesStorage(),
                                          copy->getPropertiesStorage())))
    return false;
  return llvm::all_of(llvm::zip(copy->getOperands(), op->getOperands()),
                      [&](auto pair) {
                        auto [mine, theirs] = pair;
                        return mapping.lookupOrNull(theirs) == mine;
                      });
}

/// How a changed copy of a module differs from it. `mapping` is that of the
/// clone.
static ChangedModule compareWithCopy(ModuleOp copy, const IRMapping &mapping) {
  ChangedModule change;
  llvm::DenseMap<Operation *, Operation *> originals;
  for (auto [from, to] : mapping.getOperationMap())
    originals[to] = from;
  for (auto [from, to] : mapping.getValueMap())
    change.originals[to] = from;
  copy->walk([&](Operation *op) {
    Operation *original = originals.lookup(op);
    if (isa<ModuleOp>(op) || (original && isCopy(op, original, mapping)))
      return;
    change.changed.insert(op);
    // Another constant has nothing of the one before.
    if (original && isa<mp::ConstantOp>(op))
      change.originals.erase(op->getResult(0));
  });
  return change;
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

void Trials::add(const FindingList::Entry &entry, Origins origins,
                 TrialResult &result) const {
  const RuleInfo *rule = findRule(entry.finding.rule);
  Operation *op = origins.op(entry.op);
  // Output errors are compared themselves. The lists have findings at the casts
  // around an island, which round nothing that was not rounded before.
  if (!rule || rule->byEffect || (rule->byList && isInserted(entry.op) && !op))
    return;
  Value value = origins.value(getPlace(entry.value));
  Violation violation;
  violation.place = {getHazard(entry.finding), value ? getPlace(value) : value};
  violation.rule = rule->id;
  violation.op = op;
  violation.severity = entry.judged.value_or(entry.finding.severity);
  violation.certainty = entry.finding.certainty;
  violation.effect =
      entry.finding.effect ? entry.finding.effect->error : kInfinity;
  if (value) {
    auto [present, isNew] =
        result.present.try_emplace(violation.place, violation.certainty);
    present->second = std::max(present->second, violation.certainty);
    if (auto before = known.find(violation.place); before != known.end())
      violation.before = before->second;
  }
  result.violations.push_back(violation);
}

/// The value of the module that is stored where a copy stores `value`: a result
/// that is kept is rounded by the cast for its other readers.
static Value getStored(Value value, function_ref<Value(Value)> originOf) {
  if (Value original = originOf(value))
    return original;
  return originOf(peel(value, Peel::InsertedCasts));
}

template <typename List>
static void translate(ArrayRef<Value> values,
                      function_ref<Value(Value)> originOf, List &stored) {
  for (Value value : values)
    if (Value original = getStored(value, originOf))
      stored.push_back(original);
}

static OutputState makeOutput(double error, const CausedError &caused,
                              function_ref<Value(Value)> originOf) {
  OutputState output;
  output.error = error;
  for (auto [value, square] : caused.squares)
    if (Value stored = getStored(value, originOf))
      output.squares[stored] += square;
  for (const CausedError::Sum &sum : caused.sums) {
    output.sums.push_back({{}, sum.factor});
    translate(sum.values, originOf, output.sums.back().values);
  }
  return output;
}

static std::vector<OutputState>
makeOutputs(const OutputEffects &effects, function_ref<Value(Value)> originOf) {
  std::vector<OutputState> outputs;
  for (auto [index, effect] : llvm::enumerate(effects.outputs)) {
    outputs.push_back(
        makeOutput(effect.nonFinite ? kInfinity : effect.error.value_or(NAN),
                   effect, originOf));
    translate(effects.originsOf(index), originOf, outputs.back().origins);
  }
  for (const OutputDecision &decision : effects.decisions) {
    outputs.push_back(
        makeOutput(decision.share.value_or(NAN), decision, originOf));
    outputs.back().isDecision = true;
  }
  return outputs;
}

TrialResult Trials::translate(const Verdict &verdict, Origins origins) const {
  TrialResult result;
  for (const FindingList::Entry &entry : verdict.entries)
    add(entry, origins, result);
  llvm::stable_sort(result.violations,
                    [](const Violation &lhs, const Violation &rhs) {
                      return std::pair(lhs.severity, lhs.certainty) >
                             std::pair(rhs.severity, rhs.certainty);
                    });
  if (verdict.effects)
    result.outputs = makeOutputs(*verdict.effects, origins.value);
  return result;
}

TrialResult Trials::describe(const Verdict &verdict) const {
  return translate(verdict, {[](Value value) { return value; },
                             [](Operation *op) { return op; }});
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

std::optional<TrialResult> Trials::run(Change change) {
  IRMapping mapping;
  // Destroyed after the copy: the copy may refer to the ops.
  RetiredOps retired;
  OwningOpRef<ModuleOp> copy = cast<ModuleOp>(module->clone(mapping));
  (*copy)->setAttr(kTrialAttr, UnitAttr::get(module.getContext()));
  if (!change(*copy, mapping, retired))
    return std::nullopt;
  ChangedModule changed = compareWithCopy(*copy, mapping);
  Verdict verdict = analyze(*copy, &changed);
  llvm::DenseMap<Operation *, Operation *> originals;
  for (auto [from, to] : mapping.getOperationMap())
    originals[to] = from;
  TrialResult result = translate(
      verdict, {[&](Value value) {
                  return changed.originals.lookup(retired.getReplaced(value));
                },
                [&](Operation *op) { return originals.lookup(op); }});
  result.cost = costOfReached(changed.changed);
  return result;
}

std::optional<TrialResult> Trials::run(const CastPlan &plan) {
  return run([&](ModuleOp copy, const IRMapping &mapping, RetiredOps &) {
    return succeeded(applyCasts(
        copy, plan, [&](Operation *op) { return mapping.lookupOrNull(op); }));
  });
}

/// The function whose declaration TrainingFacts reads, or that would have one.
static FunctionOpInterface findTrained(ModuleOp module) {
  FunctionOpInterface first;
  for (auto function : module.getOps<FunctionOpInterface>()) {
    if (function->hasAttr(kTrainingStepAttr))
      return function;
    if (!first && !function.isExternal())
      first = function;
  }
  return first;
}

std::optional<TrialResult> Trials::runDeclared(DictionaryAttr step) {
  FunctionOpInterface trained = findTrained(module);
  if (!trained)
    return std::nullopt;
  Attribute before = trained->getAttr(kTrainingStepAttr);
  trained->setAttr(kTrainingStepAttr, step);
  TrialResult result = describe(analyze(module, nullptr));
  if (before)
    trained->setAttr(kTrainingStepAttr, before);
  else
    trained->removeAttr(kTrainingStepAttr);
  return result;
}
