//===- FixTrial.cpp - Whether a fix helps
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FixTrial.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Report/RuleTable.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSwitch.h"

#include <set>

using namespace mlir;
using namespace mpopt;
using llvm::Expected;

/// Runs in which the set of ops to keep may grow, and runs of single fixes.
static constexpr unsigned kMostRounds = 4, kMostAlone = 64;
/// Ops in all single runs together.
static constexpr size_t kAloneBudget = 100'000;
/// New findings that are looked at for each fix.
static constexpr size_t kMostFresh = 64;

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

static bool isInserted(Operation *op) {
  auto cast = dyn_cast_or_null<mp::CastOp>(op);
  return cast && cast.getOrigin() != mp::CastOrigin::Model;
}

/// A value before the casts that a precision brought.
static Value peel(Value value) {
  while (isInserted(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return value;
}

/// Where a finding is: a constant however it is moved, else before casts.
static Value getPlace(Value value) {
  Value source = value;
  while (Operation *op = source.getDefiningOp()) {
    if (isa<mp::ConstantOp>(op))
      return source;
    if (!isa<mp::CastOp>(op) && !isViewLike(op))
      break;
    source = op->getOperand(0);
  }
  return peel(value);
}

/// Ops that compute with `value`, through inserted casts and ops that move it.
static void addReaders(Value value, llvm::SetVector<Operation *> &readers,
                       unsigned depth = 8) {
  for (Operation *user : value.getUsers()) {
    if (user->hasTrait<OpTrait::IsTerminator>())
      continue;
    if (!isInserted(user) && !readers.insert(user))
      continue;
    if (depth && (isInserted(user) || isViewLike(user)))
      for (Value result : user->getResults())
        addReaders(result, readers, depth - 1);
  }
}

/// The op that computes `value`, with those that move it on the way.
static void addProducers(Value value, llvm::SetVector<Operation *> &producers) {
  for (unsigned depth = 0; depth < 8; ++depth) {
    Operation *op = peel(value).getDefiningOp();
    if (!op || isa<mp::ConstantOp>(op))
      return;
    producers.insert(op);
    if (!isViewLike(op))
      return;
    value = op->getOperand(0);
  }
}

/// Specific forms are one hazard: fixing an overflow must not make another one.
static StringRef getHazard(const Finding &finding) {
  bool flush = finding.rule == "MP213" && finding.severity != Severity::Error;
  return llvm::StringSwitch<StringRef>(finding.rule)
      .Cases({"MP201", "MP207", "MP208", "MP209", "MP210"}, "overflow")
      .Case("MP213", flush ? "underflow" : "overflow")
      .Case("MP204", "underflow")
      .Default(findRule(finding.rule)->id);
}

/// Rules of which an op's arguments are the cause, by being rounded.
static bool isAboutArguments(StringRef rule) {
  return llvm::is_contained({"MP205", "MP206", "MP301", "MP306", "MP307"},
                            rule);
}

using IdiomMembers = llvm::DenseMap<int64_t, SmallVector<Operation *>>;

static IdiomMembers findMembers(ModuleOp module) {
  IdiomMembers members;
  module.walk([&](Operation *op) {
    if (auto idiom = op->getAttrOfType<mp::IdiomAttr>("mp.idiom"))
      members[idiom.getId()].push_back(op);
  });
  return members;
}

/// What a `keep-fp32` is tried on if its rule says no more.
static FixAction keepAround(const FindingList::Entry &entry,
                            const IdiomMembers &members) {
  llvm::SetVector<Operation *> ops;
  StringRef rule = entry.finding.rule;
  if (!isInserted(entry.op))
    ops.insert(entry.op);
  // The lists judge a composite as a whole.
  auto idiom = entry.op->getAttrOfType<mp::IdiomAttr>("mp.idiom");
  if (idiom && rule.starts_with("MP1"))
    if (auto found = members.find(idiom.getId()); found != members.end())
      ops.insert(found->second.begin(), found->second.end());
  if (entry.value.getDefiningOp() != entry.op)
    addProducers(entry.value, ops);
  // The lists ask for the op alone; a range has to be held on to by who reads.
  else if (isInserted(entry.op) || !rule.starts_with("MP1"))
    addReaders(entry.value, ops);
  if (isAboutArguments(rule))
    for (Value operand : entry.op->getOperands())
      if (isa<FloatType>(getElementType(operand)))
        addProducers(operand, ops);
  return FixAction::keep(ops.getArrayRef());
}

//===----------------------------------------------------------------------===//
// Trials
//===----------------------------------------------------------------------===//

namespace {
/// A hazard and the value of the original module that it is about; null if it
/// is at an op that a fix brought.
using Place = std::pair<StringRef, Value>;

/// A finding of a trial that the module as it is does not have, or not as sure.
struct Fresh {
  Value value;
  Severity severity;
  Certainty certainty, before;
  bool wasThere;

  /// Whether it counts against a fix of a finding of that severity, given how
  /// sure a finding must be to count.
  bool counts(Severity least, Certainty bar) const {
    return severity >= least && certainty >= bar && (!wasThere || before < bar);
  }
};

/// What a trial found.
struct Outcome {
  /// The surest finding of each place.
  llvm::DenseMap<Place, Certainty> present;
  std::vector<Fresh> fresh;
  /// Range findings that are likely, for what has to be kept, too.
  std::vector<std::pair<Value, Severity>> ranges;
};

/// A fix of a finding.
struct Candidate {
  size_t entry, fix;
  FixAction action;
  /// It could be applied, and what came of it.
  bool tried = false, gone = false, safe = false;
};

class Trials {
public:
  Trials(ModuleOp module, std::vector<FindingList::Entry> &entries,
         RunRules rules);

  /// Whether there is anything to try.
  bool empty(Certainty least) const;
  /// Learns what rules that are not selected say of the module as it is.
  llvm::Error learnAll();

  llvm::Error tryKeeping(Certainty least, bool notes, KeepPlan &plan);
  llvm::Error tryValues(Certainty least);
  void sortFixes();

private:
  void learn(const FindingList::Entry &entry);
  using Change = llvm::function_ref<bool(ModuleOp, const IRMapping &)>;
  Expected<Outcome> run(Change change);
  Expected<Outcome> runKeeping(const KeepPlan &plan);
  bool grow(KeepPlan &plan, const Outcome &outcome, bool notes) const;
  void judge(Candidate &candidate, const Outcome &outcome,
             ArrayRef<const Fresh *> fresh) const;
  void judgeAlone(Candidate &candidate, const Outcome &outcome) const;
  void record(const Candidate &candidate);
  ArrayRef<size_t> getFollowers(size_t entry) const {
    auto found = followers.find(entries[entry].finding.fingerprint);
    return found == followers.end() ? ArrayRef<size_t>() : found->second;
  }

  ModuleOp module;
  std::vector<FindingList::Entry> &entries;
  RunRules rules;
  /// How many fixes may be tried alone.
  unsigned mostAlone;
  /// Of the module as it is: the surest finding of each hazard and value.
  llvm::DenseMap<Place, Certainty> known;
  /// Findings that follow from the one of a fingerprint.
  llvm::StringMap<SmallVector<size_t>> followers;
};
} // namespace

Trials::Trials(ModuleOp module, std::vector<FindingList::Entry> &entries,
               RunRules rules)
    : module(module), entries(entries), rules(rules) {
  // Weights count, too, though most of them need not be read again.
  size_t ops = 1;
  module.walk([&](Operation *op) {
    ++ops;
    if (auto constant = dyn_cast<mp::ConstantOp>(op))
      if (std::optional<ConstantBytes> bytes = getConstantBytes(constant))
        ops += bytes->data.size() >> 14;
  });
  mostAlone = std::min<size_t>(kAloneBudget / ops, kMostAlone);
  for (auto [index, entry] : llvm::enumerate(entries)) {
    if (!entry.finding.root.empty())
      followers[entry.finding.root].push_back(index);
    learn(entry);
  }
}

void Trials::learn(const FindingList::Entry &entry) {
  auto [place, isNew] =
      known.try_emplace(Place(getHazard(entry.finding), getPlace(entry.value)),
                        entry.finding.certainty);
  place->second = std::max(place->second, entry.finding.certainty);
}

bool Trials::empty(Certainty least) const {
  return llvm::none_of(entries, [&](const FindingList::Entry &entry) {
    if (entry.finding.certainty < least)
      return false;
    return llvm::any_of(llvm::zip_equal(entry.finding.fixes, entry.actions),
                        [](auto &&pair) {
                          auto &[fix, action] = pair;
                          return fix.kind == "keep-fp32" ||
                                 action.kind != FixAction::Kind::None;
                        });
  });
}

llvm::Error Trials::learnAll() {
  Expected<std::vector<FindingList::Entry>> found = rules(module);
  if (!found)
    return found.takeError();
  for (const FindingList::Entry &entry : *found)
    learn(entry);
  return llvm::Error::success();
}

Expected<Outcome> Trials::run(Change change) {
  IRMapping mapping;
  OwningOpRef<ModuleOp> copy = cast<ModuleOp>(module->clone(mapping));
  (*copy)->setAttr("mp.trial", UnitAttr::get(module.getContext()));
  if (!change(*copy, mapping))
    return llvm::createStringError("a fix cannot be applied");
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
    Value value = originals.lookup(getPlace(entry.value));
    value = value ? getPlace(value) : value;
    Certainty certainty = entry.finding.certainty;
    auto before = known.end();
    if (value) {
      auto [place, isNew] =
          outcome.present.try_emplace(Place(hazard, value), certainty);
      place->second = std::max(place->second, certainty);
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

void Trials::judge(Candidate &candidate, const Outcome &outcome,
                   ArrayRef<const Fresh *> fresh) const {
  const FindingList::Entry &entry = entries[candidate.entry];
  // Below this certainty nothing counts for or against a fix.
  Certainty bar = std::min(entry.finding.certainty, Certainty::Likely);
  auto own = outcome.present.find(
      Place(getHazard(entry.finding), getPlace(entry.value)));
  candidate.tried = true;
  candidate.gone = own == outcome.present.end() || own->second < bar;
  auto stays = [&](size_t follower) {
    const FindingList::Entry &other = entries[follower];
    auto place = outcome.present.find(
        Place(getHazard(other.finding), getPlace(other.value)));
    return place != outcome.present.end() && place->second >= bar;
  };
  auto isWorse = [&](const Fresh *other) {
    return other->counts(entry.finding.severity, bar);
  };
  // A root whose consequences stay is not fixed.
  candidate.safe = candidate.gone && llvm::none_of(fresh, isWorse) &&
                   llvm::none_of(getFollowers(candidate.entry), stays);
}

/// Whatever is new counts.
void Trials::judgeAlone(Candidate &candidate, const Outcome &outcome) const {
  std::vector<const Fresh *> all;
  for (const Fresh &fresh : ArrayRef(outcome.fresh).take_front(kMostFresh))
    all.push_back(&fresh);
  judge(candidate, outcome, all);
}

void Trials::record(const Candidate &candidate) {
  Fix &fix = entries[candidate.entry].finding.fixes[candidate.fix];
  fix.tried = candidate.tried;
  fix.safe = candidate.tried && candidate.safe;
}

//===----------------------------------------------------------------------===//
// Ops in FP32
//===----------------------------------------------------------------------===//

Expected<Outcome> Trials::runKeeping(const KeepPlan &plan) {
  return run([&](ModuleOp copy, const IRMapping &mapping) {
    SmallVector<KeptOp> ops;
    for (const auto &[op, reasons] : plan) {
      KeptOp kept{mapping.lookupOrNull(op), {}};
      // All operands, unless every reason asks for some only.
      bool all = false;
      for (size_t reason : reasons) {
        bool some = false;
        for (const FixAction &action : entries[reason].actions)
          if (action.kind == FixAction::Kind::Keep &&
              !action.operands.empty() && action.ops.front() == op) {
            kept.operands = action.operands;
            some = true;
          }
        all |= !some;
      }
      if (all)
        kept.operands.clear();
      ops.push_back(std::move(kept));
    }
    return succeeded(keepInFp32(copy, ops));
  });
}

/// Ops that only move what one kept op gives another are kept, too.
static void joinIslands(KeepPlan &plan) {
  llvm::SmallVector<std::pair<Operation *, Operation *>> added;
  for (const auto &[op, reasons] : plan)
    for (Value operand : op->getOperands()) {
      llvm::SetVector<Operation *> makers;
      addProducers(operand, makers);
      if (makers.size() > 1 && plan.contains(makers.back()))
        for (Operation *view : makers.getArrayRef().drop_back())
          added.push_back({view, op});
    }
  for (auto [view, op] : added) {
    llvm::SetVector<size_t> reasons = plan[op];
    plan[view].insert(reasons.begin(), reasons.end());
  }
}

/// What reads a kept op's result and still finds it out of range is kept, too.
bool Trials::grow(KeepPlan &plan, const Outcome &outcome, bool notes) const {
  llvm::SmallVector<std::pair<Operation *, Operation *>> added;
  for (auto [value, severity] : outcome.ranges) {
    Operation *op = value.getDefiningOp();
    if (!op || !plan.contains(op) || (severity == Severity::Note && !notes))
      continue;
    llvm::SetVector<Operation *> readers;
    addReaders(value, readers);
    for (Operation *reader : readers)
      if (!plan.contains(reader))
        added.push_back({reader, op});
  }
  for (auto [reader, op] : added) {
    llvm::SetVector<size_t> reasons = plan[op];
    plan[reader].insert(reasons.begin(), reasons.end());
  }
  joinIslands(plan);
  return !added.empty();
}

llvm::Error Trials::tryKeeping(Certainty least, bool notes, KeepPlan &result) {
  std::vector<Candidate> candidates;
  KeepPlan plan;
  IdiomMembers members = findMembers(module);
  for (auto [index, entry] : llvm::enumerate(entries)) {
    if (entry.finding.certainty < least ||
        (entry.finding.severity == Severity::Note) != notes)
      continue;
    for (auto [number, fix] : llvm::enumerate(entry.finding.fixes)) {
      if (fix.kind != "keep-fp32")
        continue;
      FixAction &action = entry.actions[number];
      if (action.kind == FixAction::Kind::None)
        action = keepAround(entry, members);
      for (Operation *op : action.ops)
        plan[op].insert(index);
      candidates.push_back({index, number, action});
    }
  }
  if (plan.empty())
    return llvm::Error::success();
  joinIslands(plan);

  Expected<Outcome> outcome = runKeeping(plan);
  for (unsigned round = 1; outcome && round < kMostRounds; ++round) {
    if (!grow(plan, *outcome, notes))
      break;
    outcome = runKeeping(plan);
  }
  if (!outcome)
    return outcome.takeError();

  // What is new counts against the findings for which the op there is kept, or
  // against all, if it is next to none of these ops.
  llvm::DenseMap<size_t, SmallVector<const Fresh *>> concerns;
  std::vector<const Fresh *> common;
  for (const Fresh &fresh : outcome->fresh) {
    Operation *op = fresh.value ? fresh.value.getDefiningOp() : nullptr;
    auto kept = op ? plan.find(op) : plan.end();
    bool near = op && llvm::any_of(op->getOperands(), [&](Value operand) {
                  Operation *maker = peel(operand).getDefiningOp();
                  return maker && plan.contains(maker);
                });
    if (kept != plan.end())
      for (size_t reason : kept->second)
        concerns[reason].push_back(&fresh);
    else if (!near)
      common.push_back(&fresh);
  }
  common.resize(std::min<size_t>(common.size(), kMostFresh));
  unsigned alone = 0;
  for (Candidate &candidate : candidates) {
    SmallVector<const Fresh *> fresh = concerns.lookup(candidate.entry);
    llvm::append_range(fresh, common);
    judge(candidate, *outcome, fresh);
    if (!candidate.safe && candidates.size() > 1 && alone++ < mostAlone) {
      KeepPlan own;
      for (const auto &[op, reasons] : plan)
        if (reasons.contains(candidate.entry) ||
            llvm::any_of(getFollowers(candidate.entry), [&](size_t follower) {
              return reasons.contains(follower);
            }))
          own[op].insert(candidate.entry);
      Expected<Outcome> single = runKeeping(own);
      if (!single)
        return single.takeError();
      judgeAlone(candidate, *single);
    }
    record(candidate);
  }
  // Left are the ops of findings that are gone.
  std::set<size_t> gone;
  for (const Candidate &candidate : candidates)
    if (candidate.gone)
      gone.insert(candidate.entry);
  for (auto &[op, reasons] : plan)
    for (size_t reason : reasons)
      if (gone.contains(reason))
        result[op].insert(reason);
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Other values
//===----------------------------------------------------------------------===//

llvm::Error Trials::tryValues(Certainty least) {
  std::vector<Candidate> candidates;
  for (auto [index, entry] : llvm::enumerate(entries)) {
    if (entry.finding.certainty < least)
      continue;
    for (auto [number, action] : llvm::enumerate(entry.actions))
      if (action.kind != FixAction::Kind::None &&
          action.kind != FixAction::Kind::Keep)
        candidates.push_back({index, number, action});
  }
  auto apply = [](const Candidate &candidate, const IRMapping &mapping) {
    return applyFix(candidate.action,
                    [&](Operation *op) { return mapping.lookupOrNull(op); });
  };
  std::vector<bool> applied(candidates.size());
  Expected<Outcome> outcome = run([&](ModuleOp, const IRMapping &mapping) {
    bool any = false;
    for (auto [index, candidate] : llvm::enumerate(candidates))
      any |= applied[index] = apply(candidate, mapping);
    return any;
  });
  if (!outcome) {
    // Nothing could be applied: nothing was tried.
    llvm::consumeError(outcome.takeError());
    return llvm::Error::success();
  }
  unsigned alone = 0;
  for (auto [index, candidate] : llvm::enumerate(candidates)) {
    if (!applied[index])
      continue;
    judgeAlone(candidate, *outcome);
    if (!candidate.safe && candidates.size() > 1 && alone++ < mostAlone) {
      Expected<Outcome> single =
          run([&, &candidate = candidate](ModuleOp, const IRMapping &mapping) {
            return apply(candidate, mapping);
          });
      if (!single)
        return single.takeError();
      judgeAlone(candidate, *single);
    }
    record(candidate);
  }
  return llvm::Error::success();
}

void Trials::sortFixes() {
  for (FindingList::Entry &entry : entries) {
    for (Fix &fix : entry.finding.fixes)
      fix.safe = fix.safe && fix.tried;
    // Safe ones, those that nobody could try, those that do not help.
    llvm::stable_sort(entry.finding.fixes, [](const Fix &lhs, const Fix &rhs) {
      auto rank = [](const Fix &fix) {
        return fix.safe ? 0 : fix.tried ? 2 : 1;
      };
      return rank(lhs) < rank(rhs);
    });
  }
}

Expected<KeepPlan> mpopt::tryFixes(ModuleOp module,
                                   std::vector<FindingList::Entry> &entries,
                                   Certainty least, bool complete,
                                   RunRules rules) {
  Trials trials(module, entries, rules);
  KeepPlan plan, notes;
  if (trials.empty(least)) {
    trials.sortFixes();
    return plan;
  }
  if (!complete)
    if (llvm::Error error = trials.learnAll())
      return error;
  if (llvm::Error error = trials.tryKeeping(least, /*notes=*/false, plan))
    return error;
  if (llvm::Error error = trials.tryKeeping(least, /*notes=*/true, notes))
    return error;
  if (llvm::Error error = trials.tryValues(least))
    return error;
  trials.sortFixes();
  return plan;
}
