//===- RunRules.cpp - MP501 to MP504, from the record alone ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// They say what the analysis did not: a tensor whose overflow, flush or small
// margin is a confirmed finding already has no second one.
//
//===----------------------------------------------------------------------===//

#include "RunRules.h"
#include "Tests.h"

#include "mpopt/Instrument/FilePatch.h"
#include "mpopt/Report/Keys.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Format.h"

#include <cmath>
#include <limits>

using namespace mpopt;
using namespace mpopt::confirming;
using llvm::StringRef;
using llvm::Twine;

static std::string text(double value) {
  std::string out;
  llvm::raw_string_ostream(out) << llvm::format("%.6g", value);
  return out;
}

namespace {
class RunRules {
public:
  RunRules(const Ledger &ledger, const RunRecords &runs,
           const ConfirmOptions &options, const Confirmation &confirmation)
      : plan(ledger.plan), options(options), sights(runs.probes),
        bad(confirmation.bad) {
    takeFindings(ledger, confirmation);
  }
  /// Judges gradients, which may follow from the values that `values` judged.
  RunRules(const Ledger &ledger, const RunRecords &runs,
           const ConfirmOptions &options, const Confirmation &confirmation,
           const RunRules &values)
      : plan(ledger.plan), options(options), values(&values),
        sights(runs.gradients), bad(confirmation.gradients.bad) {
    takeFindings(ledger, confirmation);
  }

  void run();
  void append(Ledger &ledger, Confirmation &confirmation);

private:
  struct Known {
    const Finding *finding;
    Decision test;
  };

  void takeFindings(const Ledger &ledger, const Confirmation &confirmation);
  double threshold(StringRef key) const;
  /// `values`, or `gradients`.
  StringRef noun() const { return values ? "gradients" : "values"; }
  /// Empty for values.
  StringRef kind() const { return values ? StringRef(keys::kGradient) : ""; }
  bool wants(StringRef rule) const {
    return llvm::any_of(options.rules, [&](const RuleInfo *info) {
      return StringRef(info->id) == rule;
    });
  }
  /// A confirmed finding about the tensor that was decided by one of the tests.
  const Finding *findKnown(const Probe &probe,
                           llvm::ArrayRef<Decision> tests) const;
  /// The same of a tensor at which NaN or Inf began, by what its op read.
  const Finding *findExplained(const Probe &probe) const;
  /// The fingerprint of the finding at which bad values began; may be empty.
  std::string findRoot(int64_t origin) const;
  bool isJudged(const Probe &probe) const;
  void judge(const Probe &probe);
  void judgeNonFinite(const Probe &probe, const FloatFormat &judged);
  bool judgeNear(const Probe &probe, const FloatFormat &judged);
  void judgeFlush(const Probe &probe, const FloatFormat &judged);
  void judgeDead(const Probe &probe);
  void add(StringRef rule, Severity severity, const Probe &probe,
           Decision decision, const Twine &message,
           std::optional<uint64_t> step, StringRef root = "");

  const ProbePlan &plan;
  const ConfirmOptions &options;
  /// Null: values are judged.
  const RunRules *values = nullptr;
  llvm::ArrayRef<ProbeSight> sights;                 ///< by probe
  llvm::ArrayRef<BadValues> bad;                     ///< by probe
  llvm::DenseMap<int64_t, std::vector<Known>> known; ///< by probe
  /// By tensor: a confirmed finding that makes NaN and Inf of finite operands.
  llvm::StringMap<const Finding *> explained;
  /// By beginning without a finding: the first finding that follows from it.
  llvm::DenseMap<int64_t, std::string> roots;
  std::vector<Finding> found;
  std::vector<FindingStatus> statuses;
};
} // namespace

void RunRules::takeFindings(const Ledger &ledger,
                            const Confirmation &confirmation) {
  for (auto [finding, status] :
       llvm::zip(ledger.report.findings, confirmation.statuses))
    if (status.status == Status::Confirmed && status.probe && status.watch &&
        status.isGradient == (values != nullptr)) {
      known[*status.probe].push_back(
          {&finding, finding.watches[*status.watch].test});
      // A divisor of 0, an argument outside the domain: what the op makes of
      // it.
      if (finding.rule == "MP205" || finding.rule == "MP206")
        explained.try_emplace(finding.tensor, &finding);
    }
}

double RunRules::threshold(StringRef key) const {
  if (auto changed = options.thresholds.find(key.str());
      changed != options.thresholds.end())
    return changed->second;
  const ThresholdInfo *info = findThreshold(key);
  assert(info && "threshold is not in Rules.td");
  return info->value;
}

const Finding *RunRules::findKnown(const Probe &probe,
                                   llvm::ArrayRef<Decision> tests) const {
  auto list = known.find(probe.id);
  if (list == known.end())
    return nullptr;
  for (const Known &entry : list->second)
    if (llvm::is_contained(tests, entry.test) &&
        (entry.finding->tensor == probe.tensor.name))
      return entry.finding;
  return nullptr;
}

// Where the ledger does not know the model's structure, the place has a name.
static std::string makeFingerprint(StringRef rule, const Probe &probe,
                                   StringRef kind) {
  std::string place = probe.tensor.structure;
  if (place.empty())
    place = probe.tensor.op.scope + "\n" + probe.tensor.name;
  return sha256((rule + "\n" + place + (kind.empty() ? "" : "\n") + kind).str())
      .substr(0, 16);
}

void RunRules::add(StringRef rule, Severity severity, const Probe &probe,
                   Decision decision, const Twine &message,
                   std::optional<uint64_t> step, StringRef root) {
  Finding finding;
  finding.rule = rule.str();
  finding.severity = severity;
  finding.op = probe.tensor.op;
  finding.tensor = probe.tensor.name;
  finding.dtype = probe.tensor.dtype;
  if (!values) {
    finding.bound = probe.tensor.bound;
    finding.likely = probe.tensor.likely;
  }
  finding.message = message.str();
  finding.location = probe.tensor.location;
  finding.root = root.str();
  finding.fingerprint = makeFingerprint(rule, probe, kind());
  Watch watch;
  watch.test = decision;
  watch.tensor = probe.tensor.name;
  watch.dtype = probe.tensor.dtype;
  finding.watches.push_back(std::move(watch));
  found.push_back(std::move(finding));
  FindingStatus status;
  status.status = Status::Confirmed;
  status.isGradient = values != nullptr;
  status.watch = 0;
  status.probe = probe.id;
  status.firstStep = step;
  statuses.push_back(std::move(status));
}

/// `3 NaN, 1 Inf`.
static std::string listBad(const mpopt_record &record) {
  std::string out;
  auto part = [&](uint64_t count, StringRef what) {
    if (count)
      out += (Twine(out.empty() ? "" : ", ") + Twine(count) + " " + what).str();
  };
  part(record.nan, "NaN");
  part(record.pos_inf, "Inf");
  part(record.neg_inf, "-Inf");
  return out;
}

static StringRef describeOrigin(Begins begins, bool isGradient) {
  switch (begins) {
  case Begins::No:
    return isGradient ? ", handed on from the gradients that enter it"
                      : ", handed on from its operands";
  case Begins::Maybe:
    return ", which may have begun here";
  case Begins::Yes:
    return isGradient ? ", although no gradient that it is made of held any"
                      : ", although nothing that it depends on gave it any";
  }
  llvm_unreachable("unknown origin");
}

// Tests whose finding explains Inf and NaN in a run.
static constexpr Decision kNonFinite[] = {
    Decision::Overflow,          Decision::LossOfRange,
    Decision::NonFinite,         Decision::NearOverflow,
    Decision::GradientNonFinite, Decision::GradientOverflow};

const Finding *RunRules::findExplained(const Probe &probe) const {
  return bad[probe.id].begins == Begins::No
             ? nullptr
             : explained.lookup(probe.tensor.name);
}

// The finding of where it began, which may be judged later: of a loop the end
// comes before the beginning.
std::string RunRules::findRoot(int64_t origin) const {
  if (auto known = roots.find(origin); known != roots.end())
    return known->second;
  const Probe &probe = plan.probes[origin];
  if (int64_t value = bad[origin].byValue; value >= 0)
    if (std::string root = values->findRoot(values->bad[value].origin);
        !root.empty())
      return root;
  const Finding *same = findKnown(probe, kNonFinite);
  if (!same)
    same = findExplained(probe);
  if (same)
    return same->fingerprint;
  return isJudged(probe) ? makeFingerprint("MP501", probe, kind()) : "";
}

void RunRules::judgeNonFinite(const Probe &probe, const FloatFormat &judged) {
  const ProbeSight &seen = sights[probe.id];
  const BadValues &own = bad[probe.id];
  const Finding *same = findKnown(probe, kNonFinite);
  if (own.step) {
    if (!same)
      same = findExplained(probe);
    if (same)
      return;
    // Gradients of values that were bad already follow from those.
    bool isFirst = own.origin == probe.id && own.byValue < 0;
    StringRef origin = own.byValue >= 0
                           ? ", after values that were NaN or infinite"
                           : describeOrigin(own.begins, values != nullptr);
    std::string root = findRoot(own.origin);
    add("MP501", Severity::Error, probe, Decision::NonFinite,
        listBad(seen.record) + " of " + Twine(seen.record.count) + " " +
            noun() + origin,
        own.step, isFirst ? StringRef() : StringRef(root));
    // A beginning without a finding: an input.
    if (root.empty())
      roots[own.origin] = found.back().fingerprint;
    return;
  }
  uint64_t count = seen.overflows(judged);
  if (!count || same)
    return;
  add("MP501", Severity::Error, probe, Decision::Overflow,
      Twine(count) + " of " + Twine(seen.record.count) + " " + noun() +
          ", up to " + text(seen.record.absmax) + ", are Inf in " + judged.name,
      seen.overflowStep(judged));
}

bool RunRules::judgeNear(const Probe &probe, const FloatFormat &judged) {
  const ProbeSight &seen = sights[probe.id];
  double margin = threshold("near-overflow") / FloatFormat::f16().maxFinite;
  double least = margin * judged.maxFinite;
  if (!seen.finite() || seen.record.absmax < least)
    return false;
  if (seen.overflows(judged) ||
      findKnown(probe, {Decision::NearOverflow, Decision::Overflow,
                        Decision::LossOfRange, Decision::GradientOverflow}))
    return true;
  add("MP502", Severity::Warning, probe, Decision::NearOverflow,
      "magnitudes " + Twine(values ? "of gradients " : "") + "reached " +
          text(seen.record.absmax) + ", the largest " + judged.name +
          " value is " + text(judged.maxFinite),
      seen.record.absmax_step);
  found.back().watches.front().threshold = least;
  return true;
}

void RunRules::judgeFlush(const Probe &probe, const FloatFormat &judged) {
  const ProbeSight &seen = sights[probe.id];
  double least = threshold("underflow-rate");
  uint64_t nonZero = seen.nonZero(), lost = seen.flushes(judged);
  if (!lost || double(lost) < least * double(nonZero) ||
      findKnown(probe, {Decision::FlushShare, Decision::LossOfRange,
                        Decision::GradientFlush}))
    return;
  // Values lost beside such large ones are smaller than their rounding error.
  bool beside = seen.record.absmax >= std::ldexp(judged.minNormal, 4);
  add("MP503", beside ? Severity::Note : Severity::Warning, probe,
      Decision::FlushShare,
      text(std::floor(100.0 * double(lost) / double(nonZero))) + " % of " +
          Twine(nonZero) + " non-zero " + noun() + " are 0 in " + judged.name +
          (beside ? ", beside values up to " + text(seen.record.absmax) : ""),
      seen.flushStep(judged));
  found.back().watches.front().threshold = least;
}

void RunRules::judgeDead(const Probe &probe) {
  const ProbeSight &seen = sights[probe.id];
  // However small, a gradient may teach something.
  double least = values ? std::numeric_limits<double>::denorm_min()
                        : threshold("dead-layer");
  if (!probe.tensor.isLayer || seen.record.count < 2 ||
      seen.finite() != seen.record.count || seen.record.absmax >= least ||
      findKnown(probe, {Decision::GradientZero}))
    return;
  add("MP504", Severity::Warning, probe, Decision::Dead,
      seen.record.absmax == 0
          ? "all " + Twine(seen.record.count) + " " + noun() + " were 0"
          : "no magnitude passed " + Twine(text(seen.record.absmax)),
      std::nullopt);
  found.back().watches.front().threshold = least;
}

bool RunRules::isJudged(const Probe &probe) const {
  const ProbeSight &seen = sights[probe.id];
  // Inputs are named where assumptions are; constants are facts of the file.
  return seen.ran() && seen.record.count && seen.stored() &&
         FloatFormat::byName(probe.tensor.dtype) &&
         !(seen.record.flags & MPOPT_COUNT_ONLY) &&
         (values ||
          (probe.role != ProbeRole::Input && !probe.tensor.isConstant));
}

void RunRules::judge(const Probe &probe) {
  if (!isJudged(probe))
    return;
  const FloatFormat &judged = *FloatFormat::byName(probe.tensor.dtype);
  if (wants("MP501"))
    judgeNonFinite(probe, judged);
  if (wants("MP502"))
    judgeNear(probe, judged);
  if (wants("MP503"))
    judgeFlush(probe, judged);
  if (wants("MP504"))
    judgeDead(probe);
}

void RunRules::run() {
  for (const Probe &probe : plan.probes)
    judge(probe);
}

void RunRules::append(Ledger &ledger, Confirmation &confirmation) {
  llvm::append_range(ledger.report.findings, found);
  llvm::append_range(confirmation.statuses, statuses);
}

void confirming::addDivergence(Ledger &ledger, const ConfirmOptions &options,
                               Confirmation &confirmation) {
  if (!confirmation.against ||
      llvm::none_of(options.rules, [](const RuleInfo *info) {
        return StringRef(info->id) == "MP512";
      }))
    return;
  for (uint32_t kind = 0; kind < MPOPT_KINDS; ++kind) {
    const RunDifference *first = confirmation.against->findFirst(kind);
    if (!first)
      continue;
    const Probe &probe = ledger.plan.probes[first->probe];
    Finding finding;
    finding.rule = "MP512";
    finding.severity = Severity::Warning;
    finding.op = probe.tensor.op;
    finding.tensor = probe.tensor.name;
    finding.dtype = first->dtypes[1];
    finding.message = describeDifference(*first, probe.tensor.name);
    finding.location = probe.tensor.location;
    finding.fingerprint = makeFingerprint("MP512", probe, getKindName(kind));
    ledger.report.findings.push_back(std::move(finding));
    FindingStatus status;
    status.status = Status::Confirmed;
    status.firstStep = first->step;
    confirmation.statuses.push_back(std::move(status));
  }
}

void confirming::addRunFindings(Ledger &ledger, const RunRecords &runs,
                                const ConfirmOptions &options,
                                Confirmation &confirmation) {
  RunRules values(ledger, runs, options, confirmation);
  values.run();
  RunRules gradients(ledger, runs, options, confirmation, values);
  gradients.run();
  // Both look at the findings that were there before.
  values.append(ledger, confirmation);
  gradients.append(ledger, confirmation);
}
