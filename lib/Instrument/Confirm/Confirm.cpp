//===- Confirm.cpp - Predictions against what was seen --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Instrument/Confirm.h"

#include "GradientTests.h"
#include "GradientTrace.h"
#include "Promises.h"
#include "RunRules.h"
#include "Scales.h"
#include "Tests.h"
#include "Trace.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mpopt;
using namespace mpopt::confirming;
using llvm::StringRef;

StringRef mpopt::toString(Status status) {
  switch (status) {
  case Status::Confirmed:
    return "confirmed";
  case Status::Refuted:
    return "refuted";
  case Status::NotExercised:
    return "not-exercised";
  case Status::NotObservable:
    return "not-observable";
  }
  llvm_unreachable("unknown status");
}

StringRef mpopt::toString(Reach reach) {
  switch (reach) {
  case Reach::Nothing:
    return "nothing";
  case Reach::Op:
    return "op";
  case Reach::Output:
    return "output";
  }
  llvm_unreachable("unknown reach");
}

unsigned Confirmation::count(Status status) const {
  return llvm::count_if(statuses, [&](const FindingStatus &entry) {
    return entry.status == status;
  });
}

namespace {
class Decider {
public:
  Decider(const Ledger &ledger, const RunRecords &runs,
          llvm::ArrayRef<BadValues> bad)
      : plan(ledger.plan), runs(runs), bad(bad), coarsest(findCoarsest(runs)),
        scale(findRunScale(ledger.plan, runs)),
        norm(findNorm(ledger.plan, runs)) {
    for (const Probe &probe : plan.probes) {
      if (probe.recordsValues())
        probes[probe.tensor.name] = probe.id;
      if (probe.role != ProbeRole::Scalar)
        gradients[probe.tensor.name].push_back(probe.id);
      if (probe.role == ProbeRole::Parameter)
        learns |= runs.gradients[probe.id].ran();
    }
    for (const Unprobed &tensor : ledger.plan.unprobed)
      unprobed[tensor.tensor] = tensor.why;
  }

  FindingStatus decide(const Finding &finding) const;

private:
  TestResult test(const Watch &watch, std::optional<int64_t> &probe) const;
  TestResult testGradient(const Watch &watch,
                          std::optional<int64_t> &probe) const;
  TestResult explainMissing(StringRef tensor) const;
  /// The probe that tells most of the gradient of a tensor in the dtype.
  std::optional<int64_t> findGradient(StringRef tensor, StringRef dtype) const;
  const ProbeSight *find(StringRef tensor) const {
    auto found = probes.find(tensor);
    return found == probes.end() ? nullptr : &runs.probes[found->second];
  }

  const ProbePlan &plan;
  const RunRecords &runs;
  llvm::ArrayRef<BadValues> bad;
  llvm::StringMap<int64_t> probes;
  llvm::StringMap<llvm::SmallVector<int64_t, 2>> gradients;
  llvm::StringMap<std::string> unprobed;
  const FloatFormat *coarsest;
  std::optional<RunScale> scale;
  std::optional<Interval> norm;
  /// Some parameter has a gradient.
  bool learns = false;
};
} // namespace

TestResult Decider::explainMissing(StringRef tensor) const {
  auto why = unprobed.find(tensor);
  return {Verdict::Unable,
          "there is no probe on '" + tensor.str() + "'" +
              (why == unprobed.end() ? std::string() : ": " + why->second)};
}

// A parameter may have one probe for its cast and one for itself.
std::optional<int64_t> Decider::findGradient(StringRef tensor,
                                             StringRef dtype) const {
  auto found = gradients.find(tensor);
  if (found == gradients.end())
    return std::nullopt;
  auto rank = [&](int64_t id) {
    return 2 * runs.gradients[id].ran() +
           (plan.probes[id].tensor.dtype == dtype);
  };
  return *llvm::max_element(
      found->second, [&](int64_t a, int64_t b) { return rank(a) < rank(b); });
}

TestResult Decider::testGradient(const Watch &watch,
                                 std::optional<int64_t> &probe) const {
  probe = findGradient(watch.tensor, watch.dtype);
  if (!probe)
    return explainMissing(watch.tensor);
  GradientSights sights;
  sights.gradient = &runs.gradients[*probe];
  sights.values = find(watch.tensor);
  if (auto against = findGradient(watch.against, watch.dtype))
    sights.against = &runs.gradients[*against];
  sights.factor = find(watch.factor);
  if (auto factor = findGradient(watch.factor, watch.dtype))
    sights.factorGradient = &runs.gradients[*factor];
  sights.scale = scale ? &*scale : nullptr;
  sights.norm = norm;
  sights.othersLearn =
      learns && plan.probes[*probe].role == ProbeRole::Parameter;
  sights.coarsest = coarsest;
  return runGradientTest(watch, sights);
}

TestResult Decider::test(const Watch &watch,
                         std::optional<int64_t> &probe) const {
  if (watch.tensor.empty())
    return {Verdict::Unable, "the file has no name for the " + watch.part};
  if (looksAtGradient(watch.test))
    return testGradient(watch, probe);
  auto found = probes.find(watch.tensor);
  if (found == probes.end())
    return explainMissing(watch.tensor);
  probe = found->second;
  const ProbeSight *against =
      watch.against.empty() ? nullptr : find(watch.against);
  if (against && !against->ran())
    against = nullptr;
  return runTest(watch, runs.probes[*probe], against, bad[*probe].given);
}

static Status getStatus(Verdict verdict) {
  switch (verdict) {
  case Verdict::Yes:
    return Status::Confirmed;
  case Verdict::No:
    return Status::Refuted;
  case Verdict::Unseen:
    return Status::NotExercised;
  case Verdict::Unable:
    return Status::NotObservable;
  }
  llvm_unreachable("unknown verdict");
}

// The surest answer of its tests; of equal ones the first.
FindingStatus Decider::decide(const Finding &finding) const {
  FindingStatus best;
  if (finding.watches.empty()) {
    best.why = "no statistic of a tensor decides it";
    return best;
  }
  std::optional<FindingStatus> unable;
  for (auto [index, watch] : llvm::enumerate(finding.watches)) {
    if (watch.test == Decision::FileFact) {
      best.status = Status::Confirmed;
      best.why = "a fact of the file";
      return best;
    }
    FindingStatus status;
    TestResult result = test(watch, status.probe);
    status.status = getStatus(result.verdict);
    status.isGradient = looksAtGradient(watch.test);
    status.why = std::move(result.why);
    status.watch = unsigned(index);
    status.firstStep = result.step;
    if (status.isGradient && status.status == Status::NotObservable && !unable)
      unable = status;
    if (index == 0 || status.status < best.status)
      best = std::move(status);
  }
  // It may be true of the parameter that the run does not show.
  if (best.status == Status::Refuted && unable)
    return *unable;
  return best;
}

double SeenCodes::difference() const {
  double all = expected.codes.hi - expected.codes.lo + 1;
  return std::max({std::fabs(seen.used - expected.used) / all,
                   std::fabs(seen.atEnds - expected.atEnds),
                   std::fabs(seen.atZero - expected.atZero)});
}

Confirmation mpopt::confirm(Ledger &ledger, const RunRecords &runs,
                            const ConfirmOptions &options) {
  Confirmation confirmation;
  confirmation.outside = findOutside(ledger, runs);
  bool holds = confirmation.outside.empty();
  confirmation.bad = classifyBadValues(ledger.plan, runs, holds);
  Decider decider(ledger, runs, confirmation.bad);
  for (const Finding &finding : ledger.report.findings)
    confirmation.statuses.push_back(decider.decide(finding));
  confirmation.beginnings =
      findBeginnings(ledger.plan, runs, confirmation.bad, holds);
  findExceeded(ledger, runs, confirmation);
  confirmation.gradients = traceGradients(ledger.plan, runs, confirmation.bad);
  addRunFindings(ledger, runs, options, confirmation);
  if (options.against)
    confirmation.against =
        compareRuns(ledger.plan, runs, options.against->ledger.plan,
                    options.against->records);
  addDivergence(ledger, options, confirmation);
  for (const Probe &probe : ledger.plan.probes) {
    const ProbeSight &seen = runs.probes[probe.id];
    if (std::optional<TensorScales> scales = findScales(probe.id, seen))
      confirmation.scales.push_back(*scales);
    // Counts are of all codes that the dtype has, and of integers alone.
    llvm::ArrayRef<uint64_t> counts = seen.codeCounts();
    if (const auto &codes = probe.tensor.codes; codes && !counts.empty())
      confirmation.codes.push_back(
          {probe.id, *codes,
           countShares(counts, seen.record.dtype == MPOPT_U8 ? 0 : -128,
                       *codes)});
  }
  return confirmation;
}

std::vector<KeptOpRef> mpopt::keepConfirmed(const Ledger &ledger,
                                            const Confirmation &confirmation) {
  // The ledger's plan was tried on the model: it also keeps the ops that read a
  // result.
  llvm::StringMap<const Finding *> wanted;
  for (auto [finding, status] :
       llvm::zip(ledger.report.findings, confirmation.statuses))
    // Gradients need a scale of the loss, or another op.
    if (status.status == Status::Confirmed && !status.isGradient &&
        finding.severity >= Severity::Warning)
      wanted[finding.fingerprint] = &finding;
  std::vector<KeptOpRef> list;
  llvm::StringSet<> served;
  /// Index in the list by name and scope, both as the ledger holds them.
  std::map<std::pair<StringRef, StringRef>, size_t> byOp;
  for (const KeptOpRef &kept : ledger.keep) {
    KeptOpRef entry = kept;
    llvm::erase_if(entry.why, [&](const std::string &print) {
      return !wanted.count(print);
    });
    if (entry.why.empty())
      continue;
    for (const std::string &print : entry.why)
      served.insert(print);
    byOp.try_emplace({kept.op.name, kept.op.scope}, list.size());
    list.push_back(std::move(entry));
  }
  // Findings without a tried plan: the op itself is kept.
  for (const Finding &finding : ledger.report.findings) {
    auto entry = wanted.find(finding.fingerprint);
    if (entry == wanted.end() || served.contains(finding.fingerprint) ||
        finding.op.name.empty())
      continue;
    if (!isByRange(finding.rule))
      continue;
    auto [known, isNew] =
        byOp.try_emplace({finding.op.name, finding.op.scope}, list.size());
    if (isNew)
      list.push_back({finding.op, {}});
    list[known->second].why.push_back(finding.fingerprint);
  }
  return list;
}
