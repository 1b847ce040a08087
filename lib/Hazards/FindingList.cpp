//===- FindingList.cpp - The findings of a module as rules report them ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Hazards/FindingList.h"

#include "mpopt/Dialect/Composite.h"
#include "mpopt/Dialect/Fingerprint.h"
#include "mpopt/Dialect/Names.h"
#include "mpopt/Dialect/Origin.h"
#include "mpopt/Dialect/Settings.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Hazards/TrainingFacts.h"
#include "mpopt/Report/Keys.h"
#include "mpopt/Report/RuleTable.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace mpopt;

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

OpRef mpopt::getOpRef(Operation *op) {
  return {getOpName(op), getOpType(op), getScopeText(op), getKind(op).str()};
}

std::optional<SourceLine> mpopt::getModelLine(Operation *op) {
  FileLineColLoc line = getSourceLine(op->getLoc());
  if (!line)
    return std::nullopt;
  return SourceLine{line.getFilename().str(), line.getLine()};
}

//===----------------------------------------------------------------------===//
// FindingBuilder
//===----------------------------------------------------------------------===//

FindingBuilder::FindingBuilder(FindingList &list, const RuleInfo &rule,
                               Operation *op, Value value, Certainty certainty)
    : list(list), index(list.entries.size()) {
  list.entries.push_back({Finding(), op, value, {}, {}, {}});
  Finding &finding = entry().finding;
  finding.rule = rule.id;
  finding.severity = rule.severity;
  finding.certainty = certainty;
  if (isDescribed())
    describe();
}

void FindingBuilder::describe() {
  Finding &finding = entry().finding;
  finding.op = getOpRef(entry().op);
  finding.tensor = getTensorName(entry().value);
  finding.dtype = getDtypeName(getElementType(entry().value));
  finding.location = getModelLine(entry().op);
}

FindingBuilder &FindingBuilder::reachedByTraining() {
  if (entry().finding.certainty != Certainty::Possible)
    return *this;
  bool before = isDescribed();
  entry().finding.byTraining = true;
  if (!before && isDescribed())
    describe();
  return *this;
}

FindingBuilder &FindingBuilder::severity(Severity severity) {
  entry().finding.severity = severity;
  return *this;
}

FindingBuilder &FindingBuilder::certainty(Certainty certainty) {
  entry().finding.certainty = certainty;
  return *this;
}

FindingBuilder &FindingBuilder::message(const Twine &text) {
  if (isDescribed())
    entry().finding.message = text.str();
  return *this;
}

FindingBuilder &FindingBuilder::cause(Value value, const Twine &why) {
  if (!isDescribed())
    return *this;
  Operation *op = value.getDefiningOp();
  entry().finding.causes.push_back({getTensorName(value),
                                    op ? getOpRef(op).name : "", why.str(),
                                    op ? getModelLine(op) : std::nullopt});
  entry().causeLocations.push_back(value.getLoc());
  return *this;
}

FindingBuilder &FindingBuilder::cause(Operation *op, const Twine &why) {
  if (!isDescribed())
    return *this;
  std::string tensor =
      op->getNumResults() ? getTensorName(op->getResult(0)) : "";
  entry().finding.causes.push_back(
      {tensor, getOpRef(op).name, why.str(), getModelLine(op)});
  entry().causeLocations.push_back(op->getLoc());
  return *this;
}

FindingBuilder &FindingBuilder::fix(StringRef kind, const Twine &text,
                                    FixAction action) {
  if (!isDescribed() || (!action && kind != "keep-fp32"))
    return *this;
  entry().finding.fixes.push_back({kind.str(), text.str()});
  entry().actions.push_back(std::move(action));
  return *this;
}

FindingBuilder &FindingBuilder::fixByStep(StringRef kind, const Twine &text,
                                          const TrainingFacts &facts) {
  MLIRContext *context = entry().op->getContext();
  auto module = entry().op->getParentOfType<ModuleOp>();
  DictionaryAttr step = facts.toAttribute(context);
  if (step == TrainingFacts::of(module).toAttribute(context))
    return *this;
  return fix(kind, text, FixAction::declare(step));
}

FindingBuilder &FindingBuilder::tensor(Value value) {
  if (isDescribed())
    entry().finding.tensor = getTensorName(value);
  return *this;
}

FindingBuilder &FindingBuilder::dtype(Type elementType) {
  if (isDescribed())
    entry().finding.dtype = getDtypeName(elementType);
  return *this;
}

FindingBuilder &FindingBuilder::bound(double lo, double hi) {
  entry().finding.bound = Interval{lo, hi};
  return *this;
}

FindingBuilder &FindingBuilder::likely(double lo, double hi) {
  entry().finding.likely = Interval{lo, hi};
  return *this;
}

FindingBuilder &FindingBuilder::watch(Decision test, Value value,
                                      StringRef part, double threshold) {
  if (!isDescribed())
    return *this;
  Watch watch;
  watch.test = test;
  watch.part = part.str();
  watch.tensor = getTensorName(value);
  watch.dtype = getDtypeName(getElementType(value));
  watch.threshold = threshold;
  entry().finding.watches.push_back(std::move(watch));
  return *this;
}

FindingBuilder &FindingBuilder::watch(Decision test, Value value, Value against,
                                      StringRef part) {
  if (!isDescribed())
    return *this;
  watch(test, value, part);
  entry().finding.watches.back().against = getTensorName(against);
  return *this;
}

FindingBuilder &FindingBuilder::watchAs(Type elementType, Decision test,
                                        Value value, StringRef part) {
  if (!isDescribed())
    return *this;
  watch(test, value, part);
  entry().finding.watches.back().dtype = getDtypeName(elementType);
  return *this;
}

FindingBuilder &FindingBuilder::watchChannels(Value value, int64_t axis) {
  if (!isDescribed())
    return *this;
  watch(Decision::ChannelRatio, value);
  entry().finding.watches.back().axis = axis;
  return *this;
}

FindingBuilder &FindingBuilder::watchSum(Value summed,
                                         const FloatFormat &format,
                                         int64_t terms, bool pairwise,
                                         bool oneSign) {
  if (!isDescribed())
    return *this;
  watch(Decision::SumError, summed, "terms");
  Watch &watch = entry().finding.watches.back();
  watch.dtype = format.name.str();
  watch.terms = terms;
  watch.pairwise = pairwise;
  watch.oneSign = oneSign;
  return *this;
}

FindingBuilder &FindingBuilder::watchDomain(Value value, double lo, double hi,
                                            bool open) {
  if (!isDescribed())
    return *this;
  watch(Decision::Domain, value, "argument");
  Watch &watch = entry().finding.watches.back();
  watch.lo = lo;
  watch.hi = hi;
  watch.open = open;
  return *this;
}

FindingBuilder &FindingBuilder::watchGradient(Decision test, Value value,
                                              Type elementType, double scale,
                                              Value against, Value factor) {
  if (!isDescribed())
    return *this;
  watchAs(elementType, test, value, keys::kGradient);
  Watch &watch = entry().finding.watches.back();
  watch.scale = scale;
  if (against)
    watch.against = getTensorName(against);
  if (factor)
    watch.factor = getTensorName(factor);
  return *this;
}

FindingBuilder &FindingBuilder::watchGradientRatio(Value value, Value against,
                                                   double lo, double hi) {
  if (!isDescribed())
    return *this;
  watchGradient(Decision::GradientRatio, value, getElementType(value),
                /*scale=*/0, against);
  Watch &watch = entry().finding.watches.back();
  watch.lo = lo;
  watch.hi = hi;
  return *this;
}

FindingBuilder &FindingBuilder::watchUnits(Value value, int64_t axis,
                                           double share) {
  if (!isDescribed())
    return *this;
  watchGradient(Decision::GradientZero, value, getElementType(value));
  Watch &watch = entry().finding.watches.back();
  watch.axis = axis;
  watch.threshold = share;
  return *this;
}

FindingBuilder &FindingBuilder::follows(Value root) {
  entry().root = root;
  return *this;
}

//===----------------------------------------------------------------------===//
// Completing findings
//===----------------------------------------------------------------------===//

double mpopt::getThreshold(Operation *module, StringRef key) {
  if (auto changed = module->getAttrOfType<DictionaryAttr>(kThresholdsAttr))
    if (auto value = changed.getAs<FloatAttr>(key))
      return value.getValueAsDouble();
  const ThresholdInfo *threshold = findThreshold(key);
  assert(threshold && "threshold is not in Rules.td");
  return threshold->value;
}

// Which of its op's values a finding is about, as a number that does not depend
// on names: results from 0, operands from -1 down.
static int64_t getPosition(Operation *op, Value value) {
  if (value.getDefiningOp() == op)
    return cast<OpResult>(value).getResultNumber();
  for (OpOperand &operand : op->getOpOperands())
    if (operand.get() == value)
      return -1 - int64_t(operand.getOperandNumber());
  return INT64_MIN;
}

// Findings of the range family by the value they are about, where they are
// roots: what others can follow from.
static llvm::DenseMap<Value, const Finding *>
findRoots(ArrayRef<FindingList::Entry> entries) {
  llvm::DenseMap<Value, const Finding *> roots;
  for (const FindingList::Entry &entry : entries) {
    if (entry.root || !isByRange(entry.finding.rule))
      continue;
    const Finding *&root = roots[entry.value];
    if (!root || entry.finding.certainty > root->certainty)
      root = &entry.finding;
  }
  return roots;
}

// Fills in the tests by which a run decides a finding, where the rule has not.
static void completeWatches(Finding &finding, Operation *module) {
  const RuleInfo *rule = findRule(finding.rule);
  if (!rule || rule->decision == Decision::None)
    return;
  if (finding.watches.empty()) {
    Watch watch;
    watch.test = rule->decision;
    watch.tensor = finding.tensor;
    watch.dtype = finding.dtype;
    finding.watches.push_back(std::move(watch));
  }
  if (rule->decisionThreshold.empty())
    return;
  for (Watch &watch : finding.watches)
    if (watch.threshold == 0 && watch.test == rule->decision)
      watch.threshold = getThreshold(module, rule->decisionThreshold);
}

static void addFingerprints(ModuleOp module, FindingList &list) {
  Fingerprints fingerprints(module);
  llvm::StringMap<unsigned> seen;
  for (FindingList::Entry &entry : list.entries) {
    std::string key = (Twine(entry.finding.rule) + "," +
                       Twine(getPosition(entry.op, entry.value)))
                          .str();
    std::string print = fingerprints.get(entry.op, key);
    // Findings of one rule on one tensor are distinguished by the order of
    // reports.
    if (unsigned count = seen[print]++)
      print = fingerprints.get(entry.op, key + "," + std::to_string(count));
    entry.finding.fingerprint = std::move(print);
  }
  llvm::DenseMap<Value, const Finding *> roots = findRoots(list.entries);
  for (FindingList::Entry &entry : list.entries)
    if (const Finding *root = entry.root ? roots.lookup(entry.root) : nullptr)
      entry.finding.root = root->fingerprint;
}

std::vector<FindingList::Entry>
mpopt::takeFindings(ModuleOp module, FindingList &list, bool wantFingerprints) {
  if (wantFingerprints && !list.entries.empty())
    addFingerprints(module, list);
  for (FindingList::Entry &entry : list.entries)
    if (list.described && entry.finding.certainty >= *list.described)
      completeWatches(entry.finding, module);
  return std::exchange(list.entries, {});
}
