//===- Severity.cpp - How bad findings are, by their effect
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Effects/Severity.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Names.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Hazards/ConstantText.h"
#include "mpopt/Hazards/RangeSupport.h"
#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Propagate/OpKind.h"
#include "mpopt/Report/RuleTable.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

/// Causes that a report names: as many as lines of a message are read, and
/// those that round to a percent.
static constexpr size_t kMostCauses = 5;
static constexpr double kLeastShare = 0.01;

/// By two thresholds, those of errors where none are named.
static Severity severityOf(double share, ModuleOp module,
                           StringRef errorFrom = kEffectError,
                           StringRef warningFrom = kEffectWarning) {
  return share >= getThreshold(module, errorFrom)     ? Severity::Error
         : share >= getThreshold(module, warningFrom) ? Severity::Warning
                                                      : Severity::Note;
}

/// Infinite if Inf or NaN is expected, NaN if the error is not known.
static double errorOf(const OutputEffect &output) {
  return output.nonFinite ? kInfinity : output.error.value_or(NAN);
}

/// The values whose storage the finding is about.
static SmallVector<Value, 2> subjectsOf(const FindingList::Entry &entry,
                                        const OutputEffects &effects) {
  SmallVector<Value, 2> subjects;
  llvm::DenseSet<Value> seen;
  auto add = [&](Value value) {
    for (Value source : effects.sourcesOf(value))
      if (seen.insert(source).second)
        subjects.push_back(source);
  };
  if (!entry.stored.empty()) {
    llvm::for_each(entry.stored, add);
    return subjects;
  }
  add(entry.value);
  const RuleInfo *rule = findRule(entry.finding.rule);
  if (rule && rule->about == Subject::Arguments)
    for (Value operand : entry.op->getOperands())
      add(operand);
  // A rule's claim about an op is true of its results.
  for (Value result : entry.op->getResults())
    if (result != entry.value && entry.value.getDefiningOp() != entry.op)
      add(result);
  return subjects;
}

/// True if the rule's findings may say why a value becomes Inf or NaN, as those
/// about a sum inside of an op. Others
/// tell of digits, which are not what such a value lacks.
static bool tellsOfInfinity(const RuleInfo &rule) {
  return rule.byRange || rule.nonFinite ||
         rule.decision == Decision::Overflow ||
         rule.decision == Decision::SumError;
}

/// The error of one output by the finding; NaN if it is not known.
static double errorBy(const FindingList::Entry &entry, ArrayRef<Value> subjects,
                      const OutputEffects &effects, size_t index) {
  const OutputEffect &output = effects.outputs[index];
  SmallVector<Value, 2> finite(subjects);
  llvm::erase_if(finite,
                 [&](Value value) { return effects.reaches(value, index); });
  if (finite.size() != subjects.size() &&
      tellsOfInfinity(*findRule(entry.finding.rule)))
    return kInfinity;
  return std::sqrt(entry.part) * effects.errorBy(finite, output).value_or(NAN);
}

static bool isJudgedByEffect(const FindingList::Entry &entry) {
  const RuleInfo *rule = findRule(entry.finding.rule);
  return rule && !rule->ownSeverity && !entry.unexpected && !rule->byEffect &&
         rule->family != "training" && rule->isPass &&
         entry.finding.certainty >= Certainty::Likely;
}

/// True of facts of a quantised file, which are as bad as their rule says, and
/// have an effect, too.
static bool isFactOfCodes(const FindingList::Entry &entry) {
  const RuleInfo *rule = findRule(entry.finding.rule);
  return rule && rule->ownSeverity && rule->isPass &&
         rule->family == "quantization" &&
         entry.finding.severity > Severity::Note;
}

void mpopt::judgeByEffect(ModuleOp module, const OutputEffects &effects,
                          std::vector<FindingList::Entry> &entries) {
  if (effects.outputs.empty() && effects.decisions.empty())
    return;
  for (FindingList::Entry &entry : entries) {
    bool isFact = isFactOfCodes(entry);
    if (!isFact && !isJudgedByEffect(entry))
      continue;
    SmallVector<Value, 2> subjects = subjectsOf(entry, effects);
    double most = -1;
    size_t where = 0;
    bool known = !effects.outputs.empty();
    for (size_t index = 0; index < effects.outputs.size(); ++index) {
      double error = errorBy(entry, subjects, effects, index);
      known &= !std::isnan(error);
      if (error > most) {
        most = error;
        where = index;
      }
    }
    if (isFact ? most > 0 : most >= 0)
      entry.finding.effect = {effects.outputs[where].name, most};
    if (isFact)
      continue;
    // An output of which nothing is known may be worse. What a list says of an
    // op is worth knowing, and no more where nothing is seen to come of it.
    Severity severity = severityOf(std::max(most, 0.0), module);
    Severity own =
        isByList(entry.finding.rule) ? Severity::Note : entry.finding.severity;
    entry.judged = known ? severity : std::max(severity, own);
  }
}

//===----------------------------------------------------------------------===//
// Outputs
//===----------------------------------------------------------------------===//

/// The tensors that cause most of an output's error, with their shares.
static std::vector<std::pair<Value, double>>
findCauses(const OutputEffect &output) {
  std::vector<std::pair<Value, double>> causes(output.squares.begin(),
                                               output.squares.end());
  double sum = 0;
  for (auto [value, square] : causes)
    sum += square;
  llvm::stable_sort(causes, [](const auto &lhs, const auto &rhs) {
    return lhs.second > rhs.second;
  });
  causes.resize(std::min(causes.size(), kMostCauses));
  for (auto &[value, square] : causes)
    square /= sum;
  return causes;
}

/// An estimate has no more.
static double withTwoDigits(double number) {
  if (!(number > 0) || !std::isfinite(number))
    return number;
  double unit = std::pow(10, std::floor(std::log10(number)) - 1);
  return std::round(number / unit) * unit;
}

/// True for truth values as numbers, which no rounding changes.
static bool holdsTruths(Value value) {
  Operation *op = getMaker(value, Peel::InsertedCasts);
  return op && getOpKind(op) == OpKind::Copy &&
         getElementType(op->getOperand(0)).isInteger(1);
}

/// The op that computes with an input or a constant, if it is one alone.
static Operation *findReader(Value value) {
  while (value.hasOneUse()) {
    Operation *user = *value.user_begin();
    if (user->getNumResults() != 1 || user->getNumRegions() > 0)
      return nullptr;
    if (OpKind kind = getOpKind(user);
        kind != OpKind::Copy && kind != OpKind::Gather)
      return user;
    value = user->getResult(0);
  }
  return nullptr;
}

/// The op whose result, as it is stored, causes most of the error, or which
/// reads it; else that of the output, unless it only moves elements.
static Operation *findPlace(const OutputEffect &output,
                            ArrayRef<std::pair<Value, double>> causes) {
  constexpr double kMost = 0.5;
  bool moves = hasRole(getMaker(output.value, Peel::InsertedCasts),
                       Role::Concatenation | Role::CopiesElements);
  if (!causes.empty() && (moves || causes.front().second >= kMost)) {
    Operation *op = getMaker(causes.front().first, Peel::InsertedCasts);
    if (!op || isConstant(op->getResult(0)))
      op = findReader(causes.front().first);
    if (op)
      return op;
  }
  Operation *op = output.value.getDefiningOp();
  return op ? op : Value(output.value).getParentBlock()->getTerminator();
}

/// How bad what the finding does to outputs is.
static Severity severityByEffect(const FindingList::Entry &entry,
                                 ModuleOp module) {
  return isFactOfCodes(entry) ? severityOf(entry.finding.effect->error, module)
                              : entry.judged.value_or(entry.finding.severity);
}

void mpopt::reportOutputErrors(ModuleOp module, const OutputEffects &effects,
                               const RangeAnalysis &ranges,
                               const RuleInfo &rule, bool isQuantized,
                               std::vector<FindingList::Entry> &entries) {
  FindingList list(module);
  std::string aim = formatNumber(100 * getThreshold(module, kEffectWarning));
  for (const OutputEffect &output : effects.outputs) {
    if (output.byCause.has_value() != isQuantized)
      continue;
    double error = errorOf(output);
    if (std::isnan(error) || severityOf(error, module) == Severity::Note)
      continue;
    bool said = llvm::any_of(entries, [&](const FindingList::Entry &entry) {
      return entry.finding.certainty >= Certainty::Likely &&
             entry.finding.effect &&
             severityByEffect(entry, module) >= severityOf(error, module);
    });
    if (said)
      continue;
    std::vector<std::pair<Value, double>> causes;
    if (!std::isinf(error))
      causes = findCauses(output);
    // An error by quantisation is reported at the output.
    auto places = ArrayRef(causes).take_front(isQuantized ? 0 : causes.size());
    Operation *op = findPlace(output, places);
    bool isPlace = op != output.value.getDefiningOp() && !places.empty();
    FindingBuilder finding(list, rule, op,
                           isPlace ? places.front().first : output.value,
                           Certainty::Likely);
    finding.severity(severityOf(error, module));
    list.entries.back().finding.effect = {output.name, error};
    if (std::isinf(error)) {
      finding.message("is expected to become Inf or NaN");
    } else {
      finding.message(
          (isPlace ? "`" + output.name + "` is expected" : "is expected") +
          " to be off by " +
          (error >= 1 ? "more than"
                      : formatNumber(withTwoDigits(error * 100)) + " % of") +
          " its largest value, by " +
          (isQuantized ? "quantisation: " + describeCauses(*output.byCause) +
                             " (aim: " + aim + " %)"
                       : "all roundings together"));
      for (auto [value, share] : causes)
        if (share >= kLeastShare)
          finding.cause(value,
                        std::string(isQuantized ? "quantising it causes "
                                    : holdsTruths(value)
                                        ? "truth values that change cause "
                                        : "rounding it causes ") +
                            formatNumber(std::round(share * 100)) +
                            " % of the squared error");
    }
    addRange(finding, isPlace ? places.front().first : output.value, ranges);
  }
  if (!list.entries.empty())
    llvm::append_range(entries, takeFindings(module, list));
}

//===----------------------------------------------------------------------===//
// Decisions
//===----------------------------------------------------------------------===//

static Severity severityOf(const OutputDecision &output, ModuleOp module) {
  return severityOf(output.share.value_or(0), module, kDecisionError,
                    kDecisionWarning);
}

static StringRef nameElements(Value output) {
  return getElementType(output).isInteger(1) ? "truth values" : "integers";
}

/// The op that decides about whole numbers: it reads floats, and what is behind
/// computes with its whole numbers alone.
static Operation *findDecider(Value value) {
  Operation *op = value.getDefiningOp();
  while (op) {
    Value source;
    for (Value operand : op->getOperands()) {
      if (isa<FloatType>(getElementType(operand)))
        return op;
      if (!isConstant(operand) && std::exchange(source, operand))
        return value.getDefiningOp();
    }
    op = source ? source.getDefiningOp() : nullptr;
  }
  return value.getDefiningOp();
}

void mpopt::reportChangedDecisions(ModuleOp module,
                                   const OutputEffects &effects,
                                   const RuleInfo &rule,
                                   std::vector<FindingList::Entry> &entries) {
  FindingList list(module);
  for (const OutputDecision &output : effects.decisions) {
    Operation *op = findDecider(output.value);
    Severity severity = severityOf(output, module);
    if (!op || severity == Severity::Note)
      continue;
    FindingBuilder finding(list, rule, op, output.value, Certainty::Likely);
    finding.severity(severity);
    finding.message(
        formatNumber(withTwoDigits(*output.share * 100)) + " % of the " +
        nameElements(output.value).str() +
        (op == output.value.getDefiningOp() ? ""
                                            : " in `" + output.name + "`") +
        " are expected to change, by rounding of the floats that decide them");
  }
  if (!list.entries.empty())
    llvm::append_range(entries, takeFindings(module, list));
}

std::vector<DecisionReport>
mpopt::describeDecisions(ModuleOp module, const OutputEffects &effects) {
  std::vector<DecisionReport> reports;
  for (const OutputDecision &output : effects.decisions)
    if (output.unknown || output.share != 0.0)
      reports.push_back(
          {output.name, nameElements(output.value).str(),
           output.share.value_or(NAN),
           output.unknown ? getTensorName(output.unknown) : std::string(),
           int(severityOf(output, module))});
  return reports;
}

std::vector<EffectReport>
mpopt::describeEffects(ModuleOp module, const OutputEffects &effects,
                       ArrayRef<FindingList::Entry> entries) {
  std::vector<EffectReport> reports;
  std::vector<SmallVector<Value, 2>> subjects;
  for (const FindingList::Entry &entry : entries)
    subjects.push_back(isJudgedByEffect(entry) ? subjectsOf(entry, effects)
                                               : SmallVector<Value, 2>());
  for (auto [index, output] : llvm::enumerate(effects.outputs)) {
    EffectReport &report = reports.emplace_back();
    report.output = output.name;
    report.error = errorOf(output);
    if (output.unknown) {
      report.unknown = output.unknown->why;
      report.undeclared = output.unknown->input;
      if (Operation *op = output.unknown->op)
        report.stop = getOpRef(op);
    }
    report.byCause = output.byCause;
    report.slices = output.slices;
    report.rms = output.nonFinite ? kInfinity : output.rms.value_or(NAN);
    for (const AssumedSize &assumed : output.sizes)
      report.sizes.emplace_back(assumed.dim, assumed.size);
    if (!std::isnan(report.error))
      report.level = int(severityOf(report.error, module));
    if (!output.nonFinite)
      for (auto [value, share] : findCauses(output))
        report.tensors.push_back({getTensorName(value), share});
    for (auto [entry, its] : llvm::zip_equal(entries, subjects)) {
      if (!isJudgedByEffect(entry) && !isFactOfCodes(entry))
        continue;
      double error = errorBy(entry, its, effects, index);
      double share = std::isinf(error) ? 1
                     : output.nonFinite || !(report.error > 0)
                         ? 0
                         : std::pow(error / report.error, 2);
      if (share >= kLeastShare)
        report.causes.push_back({entry.finding.fingerprint, share});
    }
    llvm::sort(report.causes, [](const auto &lhs, const auto &rhs) {
      return std::tie(rhs.share, lhs.fingerprint) <
             std::tie(lhs.share, rhs.fingerprint);
    });
    report.causes.resize(std::min(report.causes.size(), kMostCauses));
  }
  return reports;
}
