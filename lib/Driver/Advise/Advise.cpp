//===- Advise.cpp - mpopt --advise
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Driver/Advise/Advice.h"

#include "mpopt/Dialect/StorageTypes.h"
#include "mpopt/Driver/Actions.h"
#include "mpopt/Driver/CheckModel.h"
#include "mpopt/Driver/Output.h"
#include "mpopt/Driver/Progress.h"
#include "mpopt/Numerics/Precision.h"
#include "mpopt/Report/RuleTable.h"
#include "mpopt/Support/TargetFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace mpopt;
using llvm::StringRef;

namespace {
/// A row of the table before it is measured.
struct Candidate {
  llvm::StringLiteral label, precision;
  /// The format of products, where the precision's own dtypes do not say it.
  llvm::StringLiteral products;
  bool canTrain;
};
} // namespace

// In the order in which ties are decided: fewer things to watch come first.
static constexpr Candidate kCandidates[] = {
    {"FP32", "as-is", "", true},         {"TF32", "tf32", "tf32", true},
    {"BF16", "autocast-bf16", "", true}, {"FP16", "autocast-fp16", "", true},
    {"pure BF16", "bf16", "", true},     {"pure FP16", "fp16", "", true},
    {"FP8", "fp8-e4m3", "f8", false},    {"INT8", "int8", "i8", false}};

// A gain below it is within what a roofline leaves out (fusion, caches).
static constexpr double kLeastGain = 1.1;

// Times that differ by less are equal, for the same reason.
static constexpr double kEqual = 1.05;

//===----------------------------------------------------------------------===//
// One precision
//===----------------------------------------------------------------------===//

/// Findings that the first row has as well are no reason for or against a
/// precision.
static void addVerdict(const ModelReport &report, const Options &options,
                       Advice &advice, AdviceRow &row) {
  bool ofStep = false;
  for (const Finding &finding : report.findings) {
    if (!isFailing(finding, options.failOn))
      continue;
    // A list of ops to keep says nothing of optimizer and loss scale.
    ofStep |= findRule(finding.rule)->family == "training";
    auto key = std::pair(finding.rule, finding.op.name + finding.tensor);
    if (advice.rows.empty())
      advice.common.push_back(key);
    else if (!advice.quantized && llvm::is_contained(advice.common, key))
      continue;
    ++(finding.severity == Severity::Error ? row.errors : row.warnings);
    if (row.finding.empty())
      row.finding =
          finding.rule + " at " +
          (finding.op.name.empty() ? finding.tensor : finding.op.name);
  }
  for (const EffectReport &effect : report.effects)
    if (!(row.error >= effect.error)) // NaN stays
      row.error = std::isnan(row.error) ? row.error : effect.error;
  // Codes are worth little where more than a quarter of the products stay in
  // FP32.
  constexpr unsigned kMostKept = 4;
  if ((ofStep && !advice.rows.empty()) ||
      (!row.products.empty() && row.kept * kMostKept > row.work.products))
    row.kept = 0;
  row.unknown = !report.isVerdictKnown();
}

/// The bytes that an optimizer reads and writes in a step: what it keeps of
/// each parameter twice, its gradient once.
static double getOptimizerBytes(const SchemeReport &scheme) {
  return 2 * (scheme.parameters + scheme.masters + scheme.state.value_or(0)) +
         scheme.gradients;
}

/// A step multiplies three times where a run does once, for the result and for
/// the gradients of either operand, and moves the same tensors three times.
static constexpr double kPasses = 3;

static void addTraining(const ModelReport &report, const DeviceProfile &device,
                        AdviceRow &row) {
  row.seconds = kPasses * row.work.seconds;
  if (!report.training)
    return;
  const TrainingReport &training = *report.training;
  row.scale = training.scale;
  bool isHalf = row.precision == "fp16", isBrain = row.precision == "bf16";
  row.updates = training.updates.size();
  row.lostUpdates =
      llvm::count_if(training.updates, [&](const UpdateReport &update) {
        return (isHalf && update.lostF16 > 0.5) ||
               (isBrain && update.lostBF16 > 0.5);
      });
  if (!training.memory || training.memory->schemes.empty())
    return;
  const MemoryReport &memory = *training.memory;
  const SchemeReport &scheme = memory.schemes[memory.chosen.value_or(0)];
  row.bytes = memory.fit->needed;
  row.changes = llvm::join(memory.fit->changes, " and ");
  row.seconds += getOptimizerBytes(scheme) / device.bandwidth;
}

/// False if the model cannot be judged; the error is printed.
static bool measure(const Options &options, const Candidate &candidate,
                    Advice &advice, std::vector<std::string> targets = {}) {
  AdviceRow row{candidate.label.str(), candidate.precision.str(),
                candidate.products.str(), std::move(targets)};
  Options mine = options;
  mine.action = Action::Check;
  mine.precision = row.precision;
  mine.memory = mine.train.has_value();
  mine.triesKeepList = true;
  if (mine.train)
    mine.train->rankMemory = advice.device.memory;
  auto checked = [&](const ImportResult &imported, const RangeAnalysis &) {
    advice.quantized |= isQuantized(*imported.module);
    row.work =
        measureWorkload(*imported.module, advice.device, candidate.products);
  };
  auto kept = [&](llvm::ArrayRef<KeptOpRef> list, unsigned stay) {
    if (stay == 0)
      row.kept = list.size();
  };
  CheckHooks hooks;
  hooks.checked = checked;
  hooks.kept = kept;
  std::optional<ModelReport> report =
      checkModel(mine, options.models.front(), hooks);
  if (!report)
    return false;
  row.seconds = row.work.seconds;
  row.bytes = row.work.weights + row.work.peak;
  addVerdict(*report, mine, advice, row);
  if (advice.train)
    addTraining(*report, advice.device, row);
  if (advice.rows.empty()) {
    advice.warnings = report->warnings;
    // A file that is FP32 throughout rounds nothing that an effect is about.
    if (!report->effects.empty())
      row.label = "as it is";
  }
  advice.rows.push_back(std::move(row));
  return true;
}

/// Compares targets for a quantised file: other precisions are those of the
/// graph without its codes, which no file has. The first row is that of the
/// target that was asked for, which the file was measured on.
static bool measureTargets(const Options &options, Advice &advice) {
  auto judged = findTarget(options.target.empty() ? getTargetNames().front()
                                                  : options.target);
  std::string own = llvm::cantFail(std::move(judged))->name();
  advice.rows.front().targets = {own};
  for (std::vector<std::string> &names : groupByCodes(/*byLimits=*/true)) {
    if (llvm::is_contained(names, own)) {
      advice.rows.front().targets = std::move(names);
      continue;
    }
    Options mine = options;
    mine.target = names.front();
    if (!measure(mine, kCandidates[0], advice, std::move(names)))
      return false;
  }
  for (AdviceRow &row : advice.rows)
    row.label =
        llvm::is_contained(row.targets, own) ? own : row.targets.front();
  return true;
}

//===----------------------------------------------------------------------===//
// The choice
//===----------------------------------------------------------------------===//

/// The part that most of the first row's time is spent on, as a clause.
static std::string describeBound(const Workload &work) {
  double longest = std::max({work.compute, work.memory, work.launches});
  StringRef what =
      longest == work.launches
          ? "launches of small kernels, which a larger batch or a captured "
            "graph makes up for and no precision"
      : longest == work.memory ? "moving tensors through memory"
                               : "arithmetic";
  return llvm::formatv("{0:f0} % of its time is {1}",
                       work.seconds > 0 ? 100 * longest / work.seconds : 0,
                       what)
      .str();
}

/// At equal times a run takes the smaller error. A training takes the earlier
/// row, which needs no loss scale: its errors are noise of the same kind.
static bool isBetter(const AdviceRow &row, const AdviceRow &best, bool train) {
  if (row.seconds * kEqual < best.seconds)
    return true;
  return !train && row.seconds < best.seconds * kEqual &&
         row.error < best.error;
}

void mpopt::recommend(Advice &advice) {
  const AdviceRow &first = advice.rows.front();
  if (advice.quantized) {
    bool isFine = first.isFine(advice.device);
    advice.chosen = isFine ? std::optional<size_t>(0) : std::nullopt;
    std::vector<std::string> others;
    for (const AdviceRow &row : llvm::ArrayRef(advice.rows).drop_front())
      if (row.isFine(advice.device) != isFine)
        llvm::append_range(others, row.targets);
    advice.reason = isFine ? "since its codes are those of the file"
                           : "since the codes of the file are the finding: "
                             "mpopt --check names it";
    if (!others.empty())
      advice.reason += std::string(isFine ? "; not" : "; but it is fine") +
                       " on " + llvm::join(others, ", ");
    return;
  }
  bool fallsBack = first.work.lacking.empty() && first.fits(advice.device);
  std::optional<size_t> best;
  for (auto [index, row] : llvm::enumerate(advice.rows))
    if ((index == 0 ? fallsBack : row.isFine(advice.device)) &&
        (!best || isBetter(row, advice.rows[*best], advice.train)))
      best = index;
  if (!best) {
    advice.reason = "no precision is without a finding and fits the device";
    return;
  }
  const AdviceRow &row = advice.rows[*best];
  double gain = row.seconds > 0 ? first.seconds / row.seconds : 1;
  if (fallsBack && gain < kLeastGain) {
    advice.chosen = 0;
    advice.reason = "no gain: " + describeBound(first.work);
    return;
  }
  advice.chosen = best;
  advice.reason =
      llvm::formatv("{0:f1} times as fast as {1}", gain, first.label).str();
}

int mpopt::advise(const Options &options, StringRef version) {
  Advice advice;
  advice.path = options.models.front();
  advice.train = options.train.has_value();
  auto device = findDevice(options.device);
  if (!device) {
    printError("--device: " + llvm::toString(device.takeError()));
    return kFault;
  }
  advice.device = std::move(*device);
  Progress progress(options.quiet);
  for (const Candidate &candidate : kCandidates) {
    if (!Precision::byName(candidate.precision) ||
        (advice.train && !candidate.canTrain))
      continue;
    progress.show("judging " + candidate.label.str());
    bool known = measure(options, candidate, advice);
    progress.clear();
    if (!known)
      return kFault;
    if (advice.quantized)
      break;
  }
  if (advice.quantized && !measureTargets(options, advice))
    return kFault;
  recommend(advice);
  for (const std::string &warning : advice.warnings)
    printWarning(advice.path + ": " + warning);
  WriteOptions form{.color = wantsColor(options.output, options.color),
                    .version = version};
  llvm::Error error = writeOutput(options.output, [&](llvm::raw_ostream &os) {
    (options.format->name == "json" ? writeAdviceJson : writeAdvice)(os, advice,
                                                                     form);
  });
  if (error) {
    printError(llvm::toString(std::move(error)));
    return kFault;
  }
  return advice.chosen ? kClean : kFindings;
}
