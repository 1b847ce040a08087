//===- TextEffects.cpp - What comes of a precision, for people
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   fp16 is expected to move `logits` by 0.1 %: fine
//
// Estimates are off by up to a factor 4, so what is near the threshold is said
// to be so.
//
//===----------------------------------------------------------------------===//

#include "FindingText.h"
#include "TextReport.h"

#include "mpopt/Numerics/Precision.h"
#include "mpopt/Report/RuleTable.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>

using namespace mpopt;
using llvm::StringRef;

/// Outputs that are named, the worst first, and tensors of each.
static constexpr size_t kMostOutputs = 3, kMostTensors = 3;
/// So far from the threshold of warnings an estimate is believed.
static constexpr double kSure = 2.5;

bool ModelReport::isVerdictKnown() const {
  return llvm::none_of(effects,
                       [](const EffectReport &effect) {
                         return std::isnan(effect.error);
                       }) &&
         llvm::none_of(decisions, [](const DecisionReport &decision) {
           return std::isnan(decision.share);
         });
}

/// `: fine`, or how sure that is; `least` is the threshold of warnings.
static StringRef getVerdict(const EffectReport &effect, double least) {
  if (effect.level == 0)
    return effect.error * kSure <= least ? "fine" : "probably fine";
  return effect.error <= least * kSure ? "probably too much" : "too much";
}

StringRef mpopt::getVerdictWord(const ModelReport &report) {
  const EffectReport *worst = nullptr;
  for (const EffectReport &effect : report.effects)
    if (!std::isnan(effect.error) && (!worst || effect.error > worst->error))
      worst = &effect;
  if (worst && std::isinf(worst->error))
    return "Inf or NaN";
  if (worst && worst->level > 0)
    return getVerdict(*worst, report.effectWarning);
  if (llvm::any_of(report.decisions, [](const DecisionReport &decision) {
        return decision.level > 0;
      }))
    return "too much";
  if (report.effects.empty() && report.decisions.empty()) {
    SeverityCounts shown = countShown(report.findings);
    return shown.error + shown.warning == 0 ? "fine" : "findings";
  }
  if (!report.isVerdictKnown())
    return "not known";
  return worst ? getVerdict(*worst, report.effectWarning) : "fine";
}

static std::string describeEffect(const EffectReport &effect,
                                  StringRef precision, double least) {
  std::string who = ("`" + effect.output + "`");
  if (std::isinf(effect.error))
    return (precision + " is expected to make Inf or NaN of ").str() + who;
  std::string text = (precision + " is expected to change ").str() + who;
  text += effect.error >= 1 ? std::string(" by more than its largest value")
                            : " by " + getPercent(effect.error);
  auto worst = llvm::max_element(
      effect.slices, [](const EffectSlice &lhs, const EffectSlice &rhs) {
        return lhs.error < rhs.error;
      });
  if (worst != effect.slices.end())
    text += " in its elements " + std::to_string(worst->from) + " to " +
            std::to_string(worst->to - 1) + " along axis " +
            std::to_string(worst->axis);
  std::vector<std::string> sizes;
  for (const auto &[dim, size] : effect.sizes)
    if (size != 1)
      sizes.push_back(dim + " " + std::to_string(size));
  if (!sizes.empty())
    text += ", with " + llvm::join(sizes, ", ");
  text += (": " + getVerdict(effect, least)).str();
  if (effect.byCause)
    text += "; " + describeCauses(*effect.byCause);
  if (effect.level == 0)
    return text;
  std::vector<std::string> most;
  for (const EffectReport::Tensor &tensor : effect.tensors)
    if (most.size() < kMostTensors && tensor.share >= 0.1 &&
        !tensor.tensor.empty() && !llvm::is_contained(most, tensor.tensor))
      most.push_back(tensor.tensor);
  if (!most.empty())
    text += "; most of it from " + llvm::join(most, ", ");
  return text;
}

static std::string describeDecision(const DecisionReport &decision,
                                    StringRef precision) {
  std::string which =
      " of the " + decision.elements + " in `" + decision.output + "`";
  if (std::isnan(decision.share))
    return ("the share" + which + " that " + precision +
            " changes is not known" +
            (decision.unknown.empty()
                 ? ""
                 : ", nor are the errors of `" + decision.unknown + "`"))
        .str();
  return (precision + " is expected to change " + getPercent(decision.share) +
          which + (decision.level == 0 ? ": fine" : ": too many"))
      .str();
}

/// The inputs to declare where an effect is not known: those whose declaration
/// was tried and decides, else the whole numbers of which nothing is known.
/// Empty where there are none.
static std::string describeUndeclared(const ModelReport &report) {
  std::vector<std::string> free;
  if (report.tried) {
    std::string names, words;
    for (const auto &[input, bound] : report.tried->inputs) {
      names += (names.empty() ? "`" : ", `") + input + "`";
      words += (words.empty() ? "--input " : " --input ") + input + "=" +
               getNumber(bound.lo) + ":" + getNumber(bound.hi);
    }
    return "declare the values of " + names + " (with " + words + ", tried: " +
           describeEffect(report.tried->worst, report.precision,
                          report.effectWarning) +
           (report.tried->open ? "; " + plural(report.tried->open, "effect") +
                                     " still not known)"
                               : ")");
  }
  for (const EffectReport &effect : report.effects)
    if (!effect.undeclared.empty() &&
        !llvm::is_contained(free, effect.undeclared))
      free.push_back(effect.undeclared);
  return free.empty() ? ""
                      : "declare the values of the inputs (--input "
                        "NAME=LO:HI): " +
                            llvm::join(free, ", ") + " may be any whole number";
}

/// The ways to a smaller error: a recipe with finer scales, or products in
/// FP32.
static std::string describeRecipe(const ScalingReport &scaling) {
  std::string text;
  if (scaling.cheapest && *scaling.cheapest != scaling.recipe)
    text = "multiply by the recipe `" + *scaling.cheapest + "`";
  if (!scaling.keep || scaling.keep->empty())
    return text;
  size_t count = scaling.keep->size();
  return text + (text.empty() ? "" : ", or ") + "keep " +
         (count == 1 ? "the product" : std::to_string(count) + " products") +
         " that --keep-fp32 FILE lists in FP32";
}

/// An op that is not modelled and for which an output's error is not known;
/// empty if there is none.
static std::string findUnstated(const ModelReport &report) {
  for (const auto &[op, count] : report.unmodelled)
    if (llvm::any_of(report.effects, [&](const EffectReport &effect) {
          return StringRef(effect.unknown).contains("(" + op + ")");
        }))
      return op;
  return {};
}

/// The advice for findings above a note. `errors` and `warnings` leave out
/// states that only training reaches.
static std::string describeFix(const ModelReport &report, unsigned errors,
                               unsigned warnings, bool isListed) {
  std::string text;
  // Findings that are borne by a baseline or a suppression are not below.
  if (errors + warnings == 0)
    text = countShown(report.findings).note
               ? "look at the notes below"
               : "look at the known and suppressed findings";
  else
    text = "fix the " +
           (errors + warnings == 1 ? std::string(errors ? "error" : "warning")
            : warnings == 0        ? plural(errors, "error")
            : errors == 0
                ? plural(warnings, "warning")
                : std::to_string(errors + warnings) + " errors and warnings") +
           " below";
  // A file that is FP16 already has no FP32 to go back to.
  if (isListed && !Precision::of(report.precision).weights.empty())
    text += ", or keep in FP32 what --keep-fp32 FILE lists";
  return text;
}

/// The advice under the verdict, which has to stand without the findings.
static std::string describeNextStep(const ModelReport &report) {
  unsigned errors = 0, warnings = 0, reached = 0,
           notes = countShown(report.findings).note;
  bool isAboutOps = false;
  for (const FindingGroup &group : groupFindings(report.findings)) {
    if (group.severity == Severity::Note)
      continue;
    const Finding &first = group.folded.front().first();
    (first.byTraining                    ? reached
     : group.severity == Severity::Error ? errors
                                         : warnings) += group.size();
    const RuleInfo *rule = findRule(first.rule);
    isAboutOps |= rule && rule->family != "training";
  }
  auto isBad = [](const auto &output) { return output.level != 0; };
  bool harms = llvm::any_of(report.effects, isBad) ||
               llvm::any_of(report.decisions, isBad);
  bool isUnknown = llvm::any_of(report.effects, [](const EffectReport &effect) {
    return std::isnan(effect.error);
  });
  if (harms && report.scaling)
    if (std::string recipe = describeRecipe(*report.scaling); !recipe.empty())
      return recipe;
  // An unknown effect may be known for other inputs than the assumed ones.
  std::string text;
  if (isUnknown && !harms) {
    std::string op = findUnstated(report), inputs = describeUndeclared(report);
    if (!op.empty())
      text = "state in mpopt.toml what " + op +
             " does (docs/custom-ops.md; mpopt.try_op prints the entry)";
    else if (!inputs.empty())
      text = std::move(inputs);
  }
  // No list of ops changes an optimizer.
  if (errors + warnings != 0 || harms)
    return text + (text.empty() ? "" : "; then ") +
           describeFix(report, errors, warnings, isAboutOps || harms);
  if (!text.empty())
    return text;
  if (!isUnknown)
    return reached ? "nothing to do yet; below are states that training reaches"
           : notes == 0 ? std::string("nothing to do")
                        : "nothing to do (" + plural(notes, "note") + " below)";
  text = "run it with probes to know (--instrument)";
  std::vector<std::string> types;
  for (const EffectReport &effect : report.effects)
    if (effect.stop && !llvm::is_contained(types, effect.stop->type))
      types.push_back(effect.stop->type);
  if (!types.empty())
    text += ", and report that no estimate passes " + llvm::join(types, ", ");
  return text;
}

/// `a`, `b` and 3 more outputs.
static std::string nameOutputs(llvm::ArrayRef<const EffectReport *> effects) {
  std::vector<std::string> names;
  for (const EffectReport *effect : effects.take_front(kMostOutputs))
    names.push_back("`" + effect->output + "`");
  std::string text = llvm::join(names, ", ");
  if (size_t more = effects.size() - names.size())
    text += " and " + std::to_string(more) +
            (more == 1 ? " more output" : " more outputs");
  return text;
}

void TextReport::writeEffects(const ModelReport &report) {
  if (report.effects.empty() && report.decisions.empty()) {
    style.wrap("no rounding reaches an output: nothing is stored in fewer bits "
               "than FP32, or no output is a float",
               4);
    return;
  }
  std::vector<const EffectReport *> known, unknown;
  for (const EffectReport &effect : report.effects)
    (std::isnan(effect.error) ? unknown : known).push_back(&effect);
  llvm::stable_sort(known, [](const auto *lhs, const auto *rhs) {
    return lhs->error > rhs->error;
  });
  bool isQuantized =
      llvm::any_of(report.effects, [](const EffectReport &effect) {
        return effect.byCause.has_value();
      });
  std::string precision = report.precision;
  if (Precision::of(report.precision).isAsIs() &&
      !Precision::of(report.precision).operands)
    precision = isQuantized ? "quantisation" : "storage in its own dtypes";
  auto writeKnown = [&] {
    for (const EffectReport *effect :
         llvm::ArrayRef(known).take_front(kMostOutputs))
      style.wrap(describeEffect(*effect, precision, report.effectWarning), 4);
    if (known.size() > kMostOutputs) {
      size_t more = known.size() - kMostOutputs;
      os << "and " << more << (more == 1 ? " other output" : " other outputs")
         << " by no more\n";
    }
  };
  auto writeUnknown = [&] {
    // Outputs that are unknown for one reason share a line.
    llvm::MapVector<llvm::StringRef, std::vector<const EffectReport *>> reasons;
    for (const EffectReport *effect : unknown)
      reasons[effect->unknown].push_back(effect);
    for (const auto &[reason, effects] : reasons)
      style.wrap("the effect of " + precision + " on " + nameOutputs(effects) +
                     " is not known" + (reason.empty() ? "" : ": ") +
                     reason.str(),
                 4);
  };
  // An unknown effect may be anything, and comes behind one that is known to be
  // bad.
  if (!known.empty() && known.front()->level != 0) {
    writeKnown();
    writeUnknown();
  } else {
    writeUnknown();
    writeKnown();
  }
  for (const DecisionReport &decision :
       llvm::ArrayRef(report.decisions).take_front(kMostOutputs))
    style.wrap(describeDecision(decision, precision), 4);
  style.wrap("next: " + describeNextStep(report), 4);
}
