//===- Trial.cpp - What the analysis finds with a fix applied
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Trial.h"

using namespace mlir;
using namespace mpopt;
using llvm::Expected;

Place mpopt::getPlaceOf(const FindingList::Entry &entry) {
  return {getHazard(entry.finding), getPlace(entry.value)};
}

bool Outcome::has(const FindingList::Entry &entry, Certainty bar) const {
  auto found = present.find(getPlaceOf(entry));
  return found != present.end() && found->second >= bar;
}

Trial::Trial(ModuleOp module, ArrayRef<FindingList::Entry> entries,
             RunRules rules)
    : module(module), rules(rules) {
  for (const FindingList::Entry &entry : entries)
    learn(entry);
}

void Trial::learn(const FindingList::Entry &entry) {
  auto [place, isNew] =
      known.try_emplace(getPlaceOf(entry), entry.finding.certainty);
  place->second = std::max(place->second, entry.finding.certainty);
}

llvm::Error Trial::learnAll() {
  Expected<std::vector<FindingList::Entry>> found = rules(module);
  if (!found)
    return found.takeError();
  for (const FindingList::Entry &entry : *found)
    learn(entry);
  return llvm::Error::success();
}

Expected<std::optional<Outcome>> Trial::run(Change change) {
  IRMapping mapping;
  // What is taken out of the copy goes after it.
  RetiredOps retired;
  OwningOpRef<ModuleOp> copy = cast<ModuleOp>(module->clone(mapping));
  (*copy)->setAttr("mp.trial", UnitAttr::get(module.getContext()));
  if (!change(*copy, mapping, retired))
    return std::optional<Outcome>();
  Expected<std::vector<FindingList::Entry>> found = rules(*copy);
  if (!found)
    return found.takeError();
  llvm::DenseMap<Value, Value> originals;
  for (auto [from, to] : mapping.getValueMap())
    originals[to] = from;
  llvm::DenseSet<Operation *> copied;
  for (auto [from, to] : mapping.getOperationMap())
    copied.insert(to);
  Outcome outcome;
  for (const FindingList::Entry &entry : *found) {
    // The lists have something to say about the casts around an island; they
    // round nothing that was not rounded before.
    if (StringRef(entry.finding.rule).starts_with("MP1") &&
        isInserted(entry.op) && !copied.contains(entry.op))
      continue;
    StringRef hazard = getHazard(entry.finding);
    Value place = getPlace(entry.value);
    Value value = originals.lookup(retired.getReplaced(place));
    value = value ? getPlace(value) : value;
    Certainty certainty = entry.finding.certainty;
    auto before = known.end();
    if (value) {
      auto [present, isNew] =
          outcome.present.try_emplace(Place(hazard, value), certainty);
      present->second = std::max(present->second, certainty);
      before = known.find(Place(hazard, value));
    }
    if (value && certainty >= Certainty::Likely &&
        (hazard == "overflow" || hazard == "underflow"))
      outcome.ranges.push_back({value, entry.finding.severity});
    bool wasThere = before != known.end();
    if (!wasThere || before->second < certainty)
      outcome.fresh.push_back({value, entry.finding.severity, certainty,
                               wasThere ? before->second : certainty,
                               wasThere});
  }
  // A few of them, worst first, decide.
  llvm::stable_sort(outcome.fresh, [](const Fresh &lhs, const Fresh &rhs) {
    return std::pair(lhs.severity, lhs.certainty) >
           std::pair(rhs.severity, rhs.certainty);
  });
  return outcome;
}
