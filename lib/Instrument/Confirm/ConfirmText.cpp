//===- ConfirmText.cpp - A confirmation for people ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   confirmed error[MP201]: overflow  x 2
//     --> /fc/MatMul (MatMul, f16)
//         12 of 4096 values past the edge from step 3 on, up to 7.1e+04 ...
//
//===----------------------------------------------------------------------===//

#include "SeenText.h"

#include "mpopt/Instrument/Confirm.h"

#include "mpopt/Report/Fold.h"
#include "mpopt/Report/RuleTable.h"
#include "mpopt/Report/TextStyle.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Format.h"

#include <cmath>

using namespace mpopt;
using namespace mpopt::confirming;
using llvm::StringRef;
using llvm::Twine;

// Limits of long lists; JSON has everything.
static constexpr size_t kMaxPlaces = 8, kMaxScales = 12;

namespace {
class ConfirmText {
public:
  ConfirmText(llvm::raw_ostream &os, const WriteOptions &options,
              const Ledger &ledger, const RunRecords &runs,
              const Confirmation &confirmation)
      : os(os), style(os, options), ledger(ledger), runs(runs),
        confirmation(confirmation) {}

  void write();

private:
  void writeHead();
  void writeExceeded();
  void writeBeginnings();
  void writeConfirmed();
  void writeOthers(Status status, StringRef title);
  void writeOutside();
  void writeScales();
  void writeCodes();
  void writeLossScale();
  void writeAgainst();
  void writeSummary();
  void writePlace(size_t index);
  std::string describe(int64_t probe) const;

  llvm::raw_ostream &os;
  TextStyle style;
  const Ledger &ledger;
  const RunRecords &runs;
  const Confirmation &confirmation;
};
} // namespace

std::string ConfirmText::describe(int64_t probe) const {
  return describeProbe(ledger.plan.probes[probe]);
}

void ConfirmText::writeHead() {
  style.bold(ledger.report.path);
  unsigned ran = llvm::count_if(
      runs.probes, [](const ProbeSight &seen) { return seen.ran(); });
  auto probes =
      size_t(llvm::count_if(ledger.plan.probes, [](const Probe &probe) {
        return probe.recordsValues();
      }));
  style.plain(": judged as " + ledger.report.precision + "; ");
  os << plural(runs.files, "record file") << ", " << ran << " of "
     << plural(probes, "probe") << " ran";
  if (size_t count = runs.countGradients())
    os << ", gradients of " << count;
  if (!runs.runtimes.empty())
    style.plain(" (" + llvm::join(runs.runtimes, ", ") + ")");
  os << '\n';
}

void ConfirmText::writeExceeded() {
  if (confirmation.exceeded.empty())
    return;
  os << '\n';
  style.severity(Severity::Error, "BUG IN MPOPT");
  os << ": ";
  style.wrap("a promise of the analysis was broken although every assumption "
             "held. Please report it with the model and the record",
             2, 14);
  for (const Exceeded &exceeded :
       llvm::ArrayRef(confirmation.exceeded).take_front(kMaxPlaces)) {
    style.dim("  --> ");
    style.bold(describe(exceeded.probe));
    os << '\n';
    os.indent(6);
    style.wrap(exceeded.text, 6);
  }
  if (confirmation.exceeded.size() > kMaxPlaces)
    os << "  --> and " << confirmation.exceeded.size() - kMaxPlaces
       << " more (--format json lists all)\n";
}

void ConfirmText::writeBeginnings() {
  BeginningText{os,
                style,
                ledger.plan,
                runs.probes,
                confirmation.bad,
                /*areGradients=*/false}
      .write(confirmation.beginnings);
  BeginningText{os,
                style,
                ledger.plan,
                runs.gradients,
                confirmation.gradients.bad,
                /*areGradients=*/true}
      .write(confirmation.gradients.beginnings);
}

void ConfirmText::writePlace(size_t index) {
  const Finding &finding = ledger.report.findings[index];
  const FindingStatus &status = confirmation.statuses[index];
  style.dim("  --> ");
  // Findings about training are of the gradient itself.
  StringRef tensor = finding.tensor;
  if (status.isGradient) {
    os << "gradient of ";
    if (tensor.consume_front("grad("))
      tensor = tensor.drop_back();
  }
  style.bold(finding.op.name.empty() || status.isGradient ? tensor.str()
                                                          : finding.op.name);
  if (!finding.op.type.empty())
    style.plain(" (" + finding.op.type +
                (finding.dtype.empty() ? "" : ", " + finding.dtype) + ")");
  if (finding.certainty != Certainty::Certain)
    os << ", " << StringRef(toString(finding.certainty));
  if (status.firstStep)
    os << ", from step " << *status.firstStep << " on";
  os << '\n';
  os.indent(6);
  style.wrap(finding.message, 6);
  if (status.probe && status.watch) {
    const Watch &watch = finding.watches[*status.watch];
    os.indent(6) << "seen: ";
    std::string who = watch.tensor == finding.tensor
                          ? ""
                          : watch.part + " " + watch.tensor + ": ";
    const ProbeSight &seen = status.isGradient ? runs.gradients[*status.probe]
                                               : runs.probes[*status.probe];
    style.wrap(who + describeSeen(seen, watch.dtype, getNoun(status.isGradient),
                                  watch.test == Decision::Zero),
               8, 12);
  }
  if (!status.why.empty()) {
    os.indent(6);
    style.wrap(status.why, 6);
  }
}

void ConfirmText::writeConfirmed() {
  // As the report lists them: worst first, then by rule. Consequences of a
  // shown finding are counted there.
  std::vector<size_t> order;
  const std::vector<Finding> &findings = ledger.report.findings;
  llvm::StringMap<unsigned> consequences;
  for (size_t index = 0; index < confirmation.statuses.size(); ++index)
    if (confirmation.statuses[index].status == Status::Confirmed)
      consequences[findings[index].fingerprint] = 0;
  for (size_t index = 0; index < confirmation.statuses.size(); ++index) {
    if (confirmation.statuses[index].status != Status::Confirmed)
      continue;
    auto root = consequences.find(findings[index].root);
    if (findings[index].root.empty() || root == consequences.end())
      order.push_back(index);
    else
      ++root->second;
  }
  auto key = [&](size_t index) {
    return std::pair(-int(findings[index].severity),
                     StringRef(findings[index].rule));
  };
  llvm::stable_sort(order, [&](size_t a, size_t b) { return key(a) < key(b); });
  for (size_t at = 0; at < order.size();) {
    size_t end = at;
    while (end < order.size() && key(order[end]) == key(order[at]))
      ++end;
    const Finding &first = findings[order[at]];
    const RuleInfo *rule = findRule(first.rule);
    os << '\n';
    style.severity(first.severity,
                   ("confirmed " + Twine(StringRef(toString(first.severity))) +
                    "[" + first.rule + "]")
                       .str());
    os << ": " << (rule ? StringRef(rule->name) : StringRef());
    if (end - at > 1)
      os << "  x " << end - at;
    os << '\n';
    size_t shown = first.severity == Severity::Note ? size_t(1) : kMaxPlaces;
    for (size_t place = at; place < std::min(end, at + shown); ++place) {
      writePlace(order[place]);
      unsigned more = consequences.lookup(findings[order[place]].fingerprint);
      if (more)
        os << "      " << plural(more, "other confirmed finding")
           << (more == 1 ? " follows" : " follow") << " from it\n";
    }
    if (end - at > shown) {
      style.dim("  --> ");
      os << "and " << end - at - shown << " more (--format json lists all)\n";
    }
    at = end;
  }
}

// Lists findings that were not seen by rule and place alone.
void ConfirmText::writeOthers(Status status, StringRef title) {
  std::map<std::string, std::vector<size_t>> byRule;
  for (auto [index, entry] : llvm::enumerate(confirmation.statuses))
    if (entry.status == status)
      byRule[ledger.report.findings[index].rule].push_back(index);
  if (byRule.empty())
    return;
  os << '\n';
  style.bold(title);
  os << '\n';
  for (const auto &[rule, list] : byRule) {
    const RuleInfo *info = findRule(rule);
    style.plain("  " + rule + " ");
    os << (info ? StringRef(info->name) : StringRef()) << ": ";
    std::string text;
    for (size_t index : llvm::ArrayRef(list).take_front(3)) {
      const Finding &finding = ledger.report.findings[index];
      text += (text.empty() ? "" : ", ") +
              (finding.op.name.empty() ? finding.tensor : finding.op.name);
      const std::string &why = confirmation.statuses[index].why;
      if (!why.empty() && list.size() == 1)
        text += " (" + why + ")";
    }
    if (list.size() > 3)
      text += " and " + std::to_string(list.size() - 3) + " more";
    style.wrap(text, 6, 6 + rule.size() + (info ? info->name.size() : 0));
  }
}

void ConfirmText::writeOutside() {
  if (confirmation.outside.empty())
    return;
  os << '\n';
  style.bold("outside the assumptions");
  os << ": bounds promise nothing for this run\n";
  for (const Outside &outside :
       llvm::ArrayRef(confirmation.outside).take_front(kMaxPlaces)) {
    os << "  ";
    style.wrap(describe(outside.probe) + " " + outside.text, 6, 2);
  }
  if (confirmation.outside.size() > kMaxPlaces)
    os << "  and " << confirmation.outside.size() - kMaxPlaces
       << " more (--format json lists all)\n";
}

/// One value in a thousand is lost without.
static bool isWorthIt(const BestScale &scale, uint64_t values) {
  return scale.overflowBefore ||
         double(scale.flushBefore -
                std::min(scale.flushBefore, scale.flushAfter)) >=
             1e-3 * double(values);
}

// Where FP16 loses something at a scale of 1; FP8 has a scale in any case.
void ConfirmText::writeScales() {
  std::vector<const TensorScales *> worth;
  for (const TensorScales &scales : confirmation.scales)
    if (!ledger.plan.probes[scales.probe].tensor.isConstant &&
        isWorthIt(scales.f16, runs.probes[scales.probe].nonZero()))
      worth.push_back(&scales);
  if (worth.empty())
    return;
  os << '\n';
  style.bold("best scales");
  os << ": the factor of each tensor that loses values in FP16 without one\n";
  for (const TensorScales *scales :
       llvm::ArrayRef(worth).take_front(kMaxScales)) {
    uint64_t values = runs.probes[scales->probe].nonZero();
    os << "  ";
    style.wrap(ledger.plan.probes[scales->probe].tensor.name + ": f16 " +
                   describeScale(scales->f16, values) + ", e4m3 " +
                   describeScale(scales->e4m3, values) + ", e5m2 " +
                   describeScale(scales->e5m2, values),
               6, 2);
  }
  if (worth.size() > kMaxScales)
    os << "  and " << worth.size() - kMaxScales
       << " more (--format json lists all)\n";
}

// What differs most from what was expected comes first.
void ConfirmText::writeCodes() {
  if (confirmation.codes.empty())
    return;
  std::vector<const SeenCodes *> order;
  for (const SeenCodes &codes : confirmation.codes)
    order.push_back(&codes);
  llvm::stable_sort(order, [](const SeenCodes *lhs, const SeenCodes *rhs) {
    return lhs->difference() > rhs->difference();
  });
  auto both = [](double seen, double expected, double factor, StringRef unit) {
    return num(seen * factor) + unit.str() + " (" + num(expected * factor) +
           ")";
  };
  os << '\n';
  style.bold("codes");
  os << ": in use, at the first and the last one, and of 0; in brackets what "
        "was expected\n";
  for (const SeenCodes *codes : llvm::ArrayRef(order).take_front(kMaxScales)) {
    const CodeShares &seen = codes->seen, &expected = codes->expected;
    os << "  ";
    style.wrap(ledger.plan.probes[codes->probe].tensor.name + ": " +
                   both(seen.used, expected.used, 1, "") + " of " +
                   num(seen.codes.hi - seen.codes.lo + 1) + ", " +
                   both(seen.atEnds, expected.atEnds, 100, " %") + ", " +
                   both(seen.atZero, expected.atZero, 100, " %"),
               6, 2);
  }
  if (order.size() > kMaxScales)
    os << "  and " << order.size() - kMaxScales
       << " more (--format json lists all)\n";
}

// All gradients by one scale, which is that of the loss.
void ConfirmText::writeLossScale() {
  const RecordedGradients &gradients = confirmation.gradients;
  if (!gradients.scales || !isWorthIt(gradients.scales->f16, gradients.nonZero))
    return;
  const BestScale &scale = gradients.scales->f16;
  os << '\n';
  style.bold("best loss scale");
  os << ": ";
  style.wrap(
      "f16 " + describeScale(scale, gradients.nonZero) + ", without it " +
          num(100.0 * double(scale.flushBefore) / double(gradients.nonZero)) +
          " % of the gradients that are not 0 are lost" +
          (scale.overflowBefore
               ? ", and " + plural(scale.overflowBefore, "other") + " overflow"
               : ""),
      2, 17);
}

void ConfirmText::writeAgainst() {
  if (!confirmation.against)
    return;
  const RunComparison &against = *confirmation.against;
  std::vector<const RunDifference *> apart;
  for (const RunDifference &entry : against.differences)
    if (!entry.isExplained())
      apart.push_back(&entry);
  os << '\n';
  style.bold("the other run");
  os << ": " << plural(against.files, "record file") << "; of "
     << plural(against.differences.size(), "tensor") << " in both "
     << apart.size() << " differ by more than formats explain\n";
  for (const RunDifference *entry :
       llvm::ArrayRef(apart).take_front(kMaxPlaces)) {
    os << "  ";
    style.wrap(ledger.plan.probes[entry->probe].tensor.name + " (" +
                   getKindName(entry->kind).str() +
                   "): " + num(entry->difference) + " apart, " +
                   num(entry->explained) + " explained",
               6, 2);
  }
  if (apart.size() > kMaxPlaces)
    os << "  and " << apart.size() - kMaxPlaces
       << " more (--format json lists all)\n";
  if (!against.incomparable.empty()) {
    const RunComparison::Incomparable &first = against.incomparable.front();
    os << "  ";
    style.wrap(
        "not compared: " + plural(against.incomparable.size(), "tensor") +
            ", such as " + first.tensor + " (" + first.why + ")",
        6, 2);
  }
}

void ConfirmText::writeSummary() {
  os << '\n';
  style.bold(plural(ledger.report.findings.size(), "finding"));
  os << ": " << confirmation.count(Status::Confirmed) << " confirmed, "
     << confirmation.count(Status::Refuted) << " refuted, "
     << confirmation.count(Status::NotExercised) << " not exercised, "
     << confirmation.count(Status::NotObservable) << " not observable\n";
  if (!confirmation.outside.empty())
    os << "no bound was compared: assumptions did not hold\n";
  else if (confirmation.comparable)
    os << "bounds of " << plural(confirmation.comparable, "tensor")
       << " compared: "
       << (confirmation.exceeded.empty() ? "all hold" : "see above") << '\n';
  else if (llvm::none_of(runs.probes,
                         [](const ProbeSight &seen) { return seen.ran(); }))
    os << "no bound was compared: nothing was recorded\n";
  else
    os << "no bound was compared: the run computed in another precision than "
          "was judged\n";
}

void ConfirmText::write() {
  writeHead();
  writeExceeded();
  writeBeginnings();
  writeConfirmed();
  writeOthers(Status::Refuted, "refuted by this run");
  writeOthers(Status::NotExercised, "not exercised");
  writeOthers(Status::NotObservable, "not observable");
  writeOutside();
  writeScales();
  writeCodes();
  writeLossScale();
  writeAgainst();
  writeSummary();
}

void mpopt::writeConfirmText(llvm::raw_ostream &os, const Ledger &ledger,
                             const RunRecords &runs,
                             const Confirmation &confirmation,
                             const WriteOptions &options) {
  ConfirmText(os, options, ledger, runs, confirmation).write();
}
