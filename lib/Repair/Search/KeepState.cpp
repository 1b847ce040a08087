//===- KeepState.cpp - The verdict on a model with some nodes kept
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "KeepState.h"

#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Settings.h"
#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Repair/Fix.h"
#include "mpopt/Report/RuleTable.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

/// The value of the module that is stored where the copy stores `value`: a
/// result that is kept is rounded by the cast for its other readers.
static Value getStored(Value value, Origins origins) {
  if (Value original = origins.value(value))
    return original;
  return origins.value(peel(value, Peel::InsertedCasts));
}

static OutputState makeOutput(const Verdict &verdict, size_t index,
                              Origins origins) {
  const OutputEffect &effect = verdict.effects.outputs[index];
  OutputState output;
  output.error = effect.nonFinite ? kInfinity : effect.error.value_or(NAN);
  for (Value value : verdict.effects.originsOf(index))
    if (Value stored = getStored(value, origins))
      output.origins.push_back(stored);
  for (auto [value, square] : effect.squares)
    if (Value stored = getStored(value, origins))
      output.squares[stored] += square;
  for (const OutputEffect::Sum &given : effect.sums) {
    OutputEffect::Sum &mine = output.sums.emplace_back();
    mine.factor = given.factor;
    for (Value value : given.values)
      if (Value stored = getStored(value, origins))
        mine.values.push_back(stored);
  }
  return output;
}

KeepState mpopt::makeState(const Verdict &verdict, Certainty least,
                           Origins origins) {
  KeepState state;
  for (const FindingList::Entry &entry : verdict.entries) {
    const Finding &finding = entry.finding;
    const RuleInfo *rule = findRule(finding.rule);
    Operation *op = origins.op(entry.op);
    // The outputs are looked at themselves. The lists have something to say
    // about the casts around an island; they round nothing that was not rounded
    // before.
    if (finding.certainty < least || !rule || rule->byEffect ||
        entry.judged.value_or(finding.severity) == Severity::Note ||
        (rule->byList && isInserted(entry.op) && !op))
      continue;
    Trouble &trouble = state.troubles.emplace_back();
    Value value = origins.value(getPlace(entry.value));
    trouble.value = value ? getPlace(value) : value;
    trouble.place = {getHazard(finding), trouble.value};
    trouble.rule = rule->id;
    trouble.op = op;
    trouble.isPartial = finding.effect && std::isfinite(finding.effect->error);
  }
  for (size_t index = 0; index < verdict.effects.outputs.size(); ++index)
    state.outputs.push_back(makeOutput(verdict, index, origins));
  return state;
}

std::optional<KeepState> mpopt::tryKept(ModuleOp module,
                                        ArrayRef<Operation *> ops,
                                        Certainty least, JudgeCopy judge) {
  IRMapping mapping;
  OwningOpRef<ModuleOp> copy = cast<ModuleOp>(module->clone(mapping));
  (*copy)->setAttr(kTrialAttr, UnitAttr::get(module.getContext()));
  SmallVector<KeptOp> kept;
  for (Operation *op : ops)
    kept.push_back({mapping.lookupOrNull(op), {}});
  if (failed(keepInFp32(*copy, kept)))
    return std::nullopt;
  llvm::DenseMap<Operation *, Operation *> originals;
  for (auto [from, to] : mapping.getOperationMap())
    originals[to] = from;
  ChangedModule change = compareWithCopy(*copy, mapping);
  Verdict verdict = judge(*copy, change);
  return makeState(verdict, least,
                   {[&](Value value) { return change.originals.lookup(value); },
                    [&](Operation *op) { return originals.lookup(op); }});
}
