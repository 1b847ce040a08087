//===- Trial.cpp - What the analysis finds with a fix applied
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Repair/Trial.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Settings.h"
#include "mpopt/Report/RuleTable.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mpopt;

Place mpopt::getPlaceOf(const FindingList::Entry &entry) {
  return {getHazard(entry.finding), getPlace(entry.value)};
}

bool Outcome::has(const FindingList::Entry &entry, Certainty bar) const {
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

Trial::Trial(ModuleOp module, ArrayRef<FindingList::Entry> entries,
             FindAll findAll)
    : module(module), findAll(findAll) {
  module.walk([&](Operation *op) { moduleSize += costOf(op); });
  for (const FindingList::Entry &entry : entries)
    learn(entry);
}

void Trial::learn(const FindingList::Entry &entry) {
  auto [place, isNew] =
      known.try_emplace(getPlaceOf(entry), entry.finding.certainty);
  place->second = std::max(place->second, entry.finding.certainty);
}

void Trial::learnAll() {
  for (const FindingList::Entry &entry : findAll(module, nullptr))
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

ChangedModule mpopt::compareWithCopy(ModuleOp copy, const IRMapping &mapping) {
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

/// `value`: the place of the finding in the unchanged module; null if it has
/// none.
void Trial::add(const FindingList::Entry &entry, Value value,
                Outcome &outcome) const {
  StringRef hazard = getHazard(entry.finding);
  Certainty certainty = entry.finding.certainty;
  auto before = known.end();
  if (value) {
    auto [present, isNew] =
        outcome.present.try_emplace(Place(hazard, value), certainty);
    present->second = std::max(present->second, certainty);
    before = known.find(Place(hazard, value));
  }
  if (value && certainty >= Certainty::Likely &&
      hazard != StringRef(findRule(entry.finding.rule)->id))
    outcome.ranges.push_back({value, entry.finding.severity});
  bool wasThere = before != known.end();
  if (!wasThere || before->second < certainty)
    outcome.fresh.push_back({value, entry.finding.severity, certainty,
                             wasThere ? before->second : certainty, wasThere});
}

/// A few of them, worst first, decide.
static void sortFresh(Outcome &outcome) {
  llvm::stable_sort(outcome.fresh, [](const Fresh &lhs, const Fresh &rhs) {
    return std::pair(lhs.severity, lhs.certainty) >
           std::pair(rhs.severity, rhs.certainty);
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

std::optional<Outcome> Trial::run(Change change) {
  IRMapping mapping;
  // Destroyed after the copy: the copy may refer to the ops.
  RetiredOps retired;
  OwningOpRef<ModuleOp> copy = cast<ModuleOp>(module->clone(mapping));
  (*copy)->setAttr(kTrialAttr, UnitAttr::get(module.getContext()));
  if (!change(*copy, mapping, retired))
    return std::nullopt;
  ChangedModule changed = compareWithCopy(*copy, mapping);
  std::vector<FindingList::Entry> found = findAll(*copy, &changed);
  const llvm::DenseMap<Value, Value> &originals = changed.originals;
  llvm::DenseSet<Operation *> copied;
  for (auto [from, to] : mapping.getOperationMap())
    copied.insert(to);
  Outcome outcome;
  outcome.cost = costOfReached(changed.changed);
  for (const FindingList::Entry &entry : found) {
    // The lists have something to say about the casts around an island; they
    // round nothing that was not rounded before.
    if (isByList(entry.finding.rule) && isInserted(entry.op) &&
        !copied.contains(entry.op))
      continue;
    Value place = getPlace(entry.value);
    Value value = originals.lookup(retired.getReplaced(place));
    add(entry, value ? getPlace(value) : value, outcome);
  }
  sortFresh(outcome);
  return outcome;
}

std::optional<Outcome> Trial::runDeclared(DictionaryAttr step) {
  FunctionOpInterface trained = findTrained(module);
  if (!trained)
    return std::nullopt;
  Attribute before = trained->getAttr(kTrainingStepAttr);
  trained->setAttr(kTrainingStepAttr, step);
  std::vector<FindingList::Entry> found = findAll(module, nullptr);
  if (before)
    trained->setAttr(kTrainingStepAttr, before);
  else
    trained->removeAttr(kTrainingStepAttr);
  Outcome outcome;
  for (const FindingList::Entry &entry : found)
    add(entry, getPlace(entry.value), outcome);
  sortFresh(outcome);
  return outcome;
}
