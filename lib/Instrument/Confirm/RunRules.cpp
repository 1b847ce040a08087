//===- RunRules.cpp - MP501 to MP504, from the record alone ---------------===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// They say what the analysis did not: a tensor whose overflow, flush or small
// margin is a confirmed finding already has no second one.
//
//===----------------------------------------------------------------------===//

#include "RunRules.h"
#include "Tests.h"

#include "mpopt/Instrument/FilePatch.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Format.h"

#include <cmath>

using namespace mpopt;
using namespace mpopt::confirming;
using llvm::StringRef;
using llvm::Twine;

static std::string text(double value) {
  std::string out;
  llvm::raw_string_ostream(out) << llvm::format("%.6g", value);
  return out;
}

/// Ops whose result passes on what a layer learned; zeros in others (masks,
/// padding, indices) are ordinary.
static bool isLayer(StringRef type) {
  static const llvm::StringSet<> kTypes = {
      // ONNX
      "BatchNormalization", "Conv", "ConvTranspose", "Elu", "FusedConv",
      "FusedGemm", "FusedMatMul", "GRU", "Gelu", "Gemm", "GroupNormalization",
      "HardSwish", "InstanceNormalization", "LSTM", "LayerNormalization",
      "LeakyRelu", "MatMul", "Mish", "PRelu", "RMSNormalization", "RNN", "Relu",
      "Selu", "SimplifiedLayerNormalization", "SkipLayerNormalization", "Swish",
      // PyTorch
      "aten::_convolution", "aten::addmm", "aten::batch_norm", "aten::bmm",
      "aten::conv1d", "aten::conv2d", "aten::conv3d", "aten::convolution",
      "aten::elu", "aten::gelu", "aten::gelu_", "aten::group_norm", "aten::gru",
      "aten::hardswish", "aten::instance_norm", "aten::layer_norm",
      "aten::leaky_relu", "aten::leaky_relu_", "aten::linear", "aten::lstm",
      "aten::matmul", "aten::mish", "aten::mm", "aten::prelu", "aten::relu",
      "aten::relu_", "aten::rms_norm", "aten::selu", "aten::silu",
      "aten::silu_"};
  return kTypes.contains(type);
}

namespace {
class RunRules {
public:
  RunRules(Ledger &ledger, const RunRecords &runs,
           const ConfirmOptions &options, Confirmation &confirmation);
  void run();

private:
  struct Known {
    const Finding *finding;
    Decision test;
  };

  double threshold(StringRef key) const;
  bool wants(StringRef rule) const {
    return llvm::any_of(options.rules, [&](const RuleInfo *info) {
      return StringRef(info->id) == rule;
    });
  }
  /// A confirmed finding about the tensor that was decided by one of the tests.
  const Finding *findKnown(const Probe &probe,
                           llvm::ArrayRef<Decision> tests) const;
  void judge(const Probe &probe);
  void judgeNonFinite(const Probe &probe, const FloatFormat &judged);
  bool judgeNear(const Probe &probe, const FloatFormat &judged);
  void judgeFlush(const Probe &probe, const FloatFormat &judged);
  void judgeDead(const Probe &probe);
  void add(StringRef rule, Severity severity, const Probe &probe,
           Decision decision, const Twine &message,
           std::optional<uint64_t> step, StringRef root = "");

  Ledger &ledger;
  const RunRecords &runs;
  const ConfirmOptions &options;
  Confirmation &confirmation;
  llvm::DenseMap<int64_t, std::vector<Known>> known; ///< by probe
  /// By tensor: a confirmed finding that makes NaN and Inf of finite operands.
  llvm::StringMap<const Finding *> explained;
  /// What was handed on follows from where it began.
  llvm::DenseMap<int64_t, std::string> roots;
  std::vector<Finding> found;
  std::vector<FindingStatus> statuses;
};
} // namespace

RunRules::RunRules(Ledger &ledger, const RunRecords &runs,
                   const ConfirmOptions &options, Confirmation &confirmation)
    : ledger(ledger), runs(runs), options(options), confirmation(confirmation) {
  for (auto [finding, status] :
       llvm::zip(ledger.report.findings, confirmation.statuses))
    if (status.status == Status::Confirmed && status.probe && status.watch) {
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

void RunRules::add(StringRef rule, Severity severity, const Probe &probe,
                   Decision decision, const Twine &message,
                   std::optional<uint64_t> step, StringRef root) {
  Finding finding;
  finding.rule = rule.str();
  finding.severity = severity;
  finding.op = probe.tensor.op;
  finding.tensor = probe.tensor.name;
  finding.dtype = probe.tensor.dtype;
  finding.bound = probe.tensor.bound;
  finding.likely = probe.tensor.likely;
  finding.message = message.str();
  finding.location = probe.tensor.location;
  finding.root = root.str();
  // There is no graph to take a fingerprint of; the place has a name.
  finding.fingerprint =
      sha256((rule + "\n" + probe.tensor.op.scope + "\n" + probe.tensor.name)
                 .str())
          .substr(0, 16);
  Watch watch;
  watch.test = decision;
  watch.tensor = probe.tensor.name;
  watch.dtype = probe.tensor.dtype;
  finding.watches.push_back(std::move(watch));
  found.push_back(std::move(finding));
  FindingStatus status;
  status.status = Status::Confirmed;
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

void RunRules::judgeNonFinite(const Probe &probe, const FloatFormat &judged) {
  const ProbeSight &seen = runs.probes[probe.id];
  const BadValues &bad = confirmation.bad[probe.id];
  const Finding *same =
      findKnown(probe, {Decision::Overflow, Decision::LossOfRange,
                        Decision::NonFinite, Decision::NearOverflow});
  if (bad.step) {
    std::string root;
    for (int64_t from : probe.from)
      if (auto it = roots.find(from); it != roots.end() && !bad.begins)
        root = it->second;
    if (!same && bad.begins)
      same = explained.lookup(probe.tensor.name);
    if (same) {
      roots[probe.id] = same->fingerprint;
      return;
    }
    add("MP501", Severity::Error, probe, Decision::NonFinite,
        listBad(seen.record) + " of " + Twine(seen.record.count) + " values" +
            (bad.begins ? ", although nothing that it depends on held any"
                        : ", handed on from what it depends on"),
        bad.step, bad.begins ? "" : StringRef(root));
    roots[probe.id] = root.empty() ? found.back().fingerprint : root;
    return;
  }
  uint64_t count = seen.overflows(judged);
  if (!count || same)
    return;
  add("MP501", Severity::Error, probe, Decision::Overflow,
      Twine(count) + " of " + Twine(seen.record.count) + " values, up to " +
          text(seen.record.absmax) + ", are Inf in " + judged.name,
      seen.overflowStep(judged));
}

bool RunRules::judgeNear(const Probe &probe, const FloatFormat &judged) {
  const ProbeSight &seen = runs.probes[probe.id];
  double margin = threshold("near-overflow") / FloatFormat::f16().maxFinite;
  double least = margin * judged.maxFinite;
  if (!seen.finite() || seen.record.absmax < least)
    return false;
  if (seen.overflows(judged) ||
      findKnown(probe, {Decision::NearOverflow, Decision::Overflow,
                        Decision::LossOfRange}))
    return true;
  add("MP502", Severity::Warning, probe, Decision::NearOverflow,
      "magnitudes reached " + text(seen.record.absmax) + ", the largest " +
          judged.name + " value is " + text(judged.maxFinite),
      seen.record.absmax_step);
  found.back().watches.front().threshold = least;
  return true;
}

void RunRules::judgeFlush(const Probe &probe, const FloatFormat &judged) {
  const ProbeSight &seen = runs.probes[probe.id];
  double least = threshold("underflow-rate");
  uint64_t values = seen.nonZero(), lost = seen.flushes(judged);
  if (!lost || double(lost) < least * double(values) ||
      findKnown(probe, {Decision::FlushShare, Decision::LossOfRange}))
    return;
  // What is lost beside them is less than their rounding.
  bool beside = seen.record.absmax >= std::ldexp(judged.minNormal, 4);
  add("MP503", beside ? Severity::Note : Severity::Warning, probe,
      Decision::FlushShare,
      text(std::floor(100.0 * double(lost) / double(values))) + " % of " +
          Twine(values) + " non-zero values are 0 in " + judged.name +
          (beside ? ", beside values up to " + text(seen.record.absmax) : ""),
      seen.flushStep(judged));
  found.back().watches.front().threshold = least;
}

void RunRules::judgeDead(const Probe &probe) {
  const ProbeSight &seen = runs.probes[probe.id];
  double least = threshold("dead-layer");
  if (!isLayer(probe.tensor.op.type) || seen.record.count < 2 ||
      seen.finite() != seen.record.count || seen.record.absmax >= least)
    return;
  add("MP504", Severity::Warning, probe, Decision::Dead,
      seen.record.absmax == 0
          ? "all " + Twine(seen.record.count) + " values were 0"
          : "no magnitude passed " + Twine(text(seen.record.absmax)),
      std::nullopt);
  found.back().watches.front().threshold = least;
}

void RunRules::judge(const Probe &probe) {
  const ProbeSight &seen = runs.probes[probe.id];
  const FloatFormat *judged = FloatFormat::byName(probe.tensor.dtype);
  if (!seen.ran() || !seen.record.count || !seen.stored() || !judged ||
      (seen.record.flags & MPOPT_COUNT_ONLY))
    return;
  // Inputs are named where assumptions are; constants are facts of the file.
  if (probe.role == ProbeRole::Input || probe.tensor.isConstant)
    return;
  if (wants("MP501"))
    judgeNonFinite(probe, *judged);
  if (wants("MP502"))
    judgeNear(probe, *judged);
  if (wants("MP503"))
    judgeFlush(probe, *judged);
  if (wants("MP504"))
    judgeDead(probe);
}

void RunRules::run() {
  for (const Probe &probe : ledger.plan.probes)
    judge(probe);
  llvm::append_range(ledger.report.findings, found);
  llvm::append_range(confirmation.statuses, statuses);
}

void confirming::addRunFindings(Ledger &ledger, const RunRecords &runs,
                                const ConfirmOptions &options,
                                Confirmation &confirmation) {
  RunRules(ledger, runs, options, confirmation).run();
}
