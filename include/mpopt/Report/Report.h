//===- Report.h - The verdict on one model, and its forms
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_REPORT_REPORT_H
#define MPOPT_REPORT_REPORT_H

#include "mpopt/Report/Finding.h"
#include "mpopt/Report/ModelMap.h"
#include "mpopt/Report/ProductReport.h"
#include "mpopt/Report/TrainingReport.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace mpopt {

struct RuleInfo;

/// The assumption about one input.
struct Assumption {
  std::string input;
  Interval bound;
  /// NaN where nothing is expected.
  double mean = 0;
  double std = 0;
  std::string source; ///< `default`, `option`, `config`, `model`, `data`.
  std::string why;    ///< What in the model says so; may be empty.
  /// Elements have bounds of their own, of which `bound` is the hull.
  bool byElement = false;
};

/// The largest factor by which an input may be scaled without an overflow.
struct SafeScale {
  std::string input;
  /// By sound bounds, and by estimates. 0: no factor is safe; `kMost`: no
  /// overflow up to this factor.
  double proved = 0, likely = 0;

  static constexpr double kMost = 1 << 20;
};

/// A finding as a baseline keeps it.
struct BaselineEntry {
  std::string fingerprint;
  std::string rule;
  Severity severity = Severity::Warning;
  Certainty certainty = Certainty::Certain;
  std::string op; ///< The op's name.
  std::string message;
};

/// The outcome of a comparison with a baseline.
struct BaselineReport {
  std::string file;
  unsigned known = 0; ///< Listed findings that the baseline has.
  /// Findings of the baseline that the model no longer has, at any certainty.
  std::vector<BaselineEntry> fixed;
};

/// The format of files that hold weights and no graph.
inline constexpr const char *kCheckpointFormat = "safetensors";

struct ModelReport {
  std::string path;
  std::string format; ///< `onnx`, `torchscript`, `mlir` or `safetensors`.
  uint64_t nodes = 0; ///< Tensors of a checkpoint.
  uint64_t parameters = 0;
  std::string precision;
  std::string policy; ///< Empty unless the precision follows one.
  std::string target, targetSummary; ///< Empty unless ranges were computed.
  std::vector<Assumption> assumptions;
  /// Only with `--safe-input`.
  std::optional<std::vector<SafeScale>> safeInputs;

  unsigned ops = 0;
  unsigned modelled = 0;
  std::map<std::string, unsigned> unmodelled; ///< `domain::Type` -> nodes.
  /// Type -> number of ops with known operand ranges whose result range is
  /// unknown.
  std::map<std::string, unsigned> unknownRanges;

  /// The float outputs; empty if nothing is stored in narrow formats.
  std::vector<EffectReport> effects;
  /// The other outputs whose elements rounding changes.
  std::vector<DecisionReport> decisions;
  /// Only where the operands of products alone are narrow.
  std::optional<ScalingReport> scaling;
  /// Only where an effect is not known, and declared inputs make it known.
  std::optional<TriedInputs> tried;
  /// True if the effect on each output is known. None is as good as that:
  /// nothing is rounded, or nothing that rounding changes is an output.
  bool isVerdictKnown() const;
  /// The expected error from which an output is worth a warning.
  double effectWarning = 0;

  /// Findings of the selected rules that are listed.
  std::vector<Finding> findings;
  /// The findings of the selected rules that are not listed.
  std::vector<BaselineEntry> unlisted;
  /// Only with `--baseline`.
  std::optional<BaselineReport> baseline;
  /// The project's settings that were followed; empty if there are none.
  std::string settings;
  /// Number of findings by certainty, unlisted ones included.
  unsigned certain = 0, likely = 0, possible = 0;
  /// Number of findings that follow from another one.
  unsigned consequences = 0;
  /// Number of tensors whose bound stays in their dtype's range and that have
  /// no range finding, and number of all tensors.
  unsigned proved = 0, tensors = 0;

  /// Only with `--train`.
  std::optional<TrainingReport> training;

  /// Only for formats that show it (OutputFormat::wantsMap).
  std::optional<ModelMap> map;

  bool isOfGraph() const { return format != kCheckpointFormat; }

  /// Warnings about the check (missing weights), not about the model.
  std::vector<std::string> warnings;
  double seconds = 0;
};

struct SeverityCounts {
  unsigned error = 0, warning = 0, note = 0;
};
SeverityCounts countSeverities(llvm::ArrayRef<Finding> findings);

/// Options of writers; each ignores those that do not apply.
struct WriteOptions {
  bool color = false;
  unsigned width = 96;
  llvm::StringRef version; ///< Version of mpopt.
  /// Several models were given, even if only one could be read.
  bool several = false;
  /// The severity from which findings fail a check; nothing: none does.
  std::optional<Severity> failOn = Severity::Warning;
  /// A report without a verdict fails a check, too.
  bool requireVerdict = false;
  /// Where the pages of rules are published; empty if nowhere.
  llvm::StringRef pages = {};
};

/// True if the finding counts and is as severe as `failOn` asks for.
bool isFailing(const Finding &finding, std::optional<Severity> failOn);

/// Writes `mpopt-report/1`, or `mpopt-reports/1` for several models.
void writeJson(llvm::raw_ostream &os, llvm::ArrayRef<ModelReport> reports,
               const WriteOptions &options);
/// Writes text for people: findings by rule, repeated layers folded,
/// consequences counted.
void writeText(llvm::raw_ostream &os, llvm::ArrayRef<ModelReport> reports,
               const WriteOptions &options);

// `--list-rules` and `--explain`.
void writeRuleList(llvm::raw_ostream &os,
                   llvm::ArrayRef<const RuleInfo *> rules,
                   const WriteOptions &options);
void writeRuleListJson(llvm::raw_ostream &os,
                       llvm::ArrayRef<const RuleInfo *> rules,
                       const WriteOptions &options);
void writeRulePage(llvm::raw_ostream &os, const RuleInfo &rule,
                   const WriteOptions &options);
void writeRulePageJson(llvm::raw_ostream &os, const RuleInfo &rule,
                       const WriteOptions &options);

} // namespace mpopt

#endif // MPOPT_REPORT_REPORT_H
