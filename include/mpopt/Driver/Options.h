//===- Options.h - A request to mpopt, as data ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_DRIVER_OPTIONS_H
#define MPOPT_DRIVER_OPTIONS_H

#include "mpopt/Driver/Convert.h"
#include "mpopt/Driver/Npz.h"
#include "mpopt/Driver/Output.h"
#include "mpopt/Driver/StatedOps.h"

#include "mpopt/Import/Import.h"
#include "mpopt/Instrument/Onnx.h"
#include "mpopt/Instrument/Plan.h"
#include "mpopt/Report/Baseline.h"
#include "mpopt/Report/Finding.h"
#include "mpopt/Report/OutputFormat.h"
#include "mpopt/Report/RuleTable.h"
#include "mpopt/Report/TrainingReport.h"
#include "mpopt/Train/TrainConfig.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Error.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mpopt {

enum class Action {
  Check,
  Advise,
  Instrument,
  Fix,
  Confirm,
  Strip,
  EmitMlir,
  Explain,
  ListRules,
  Diff,
  Convert,
  Completion,
  Version,
  Help
};

/// The range of one input or target, from `--input` or `--train-config`.
struct InputRange {
  std::optional<Interval> bound;
  std::optional<double> mean, std;
  /// Set where the bound differs from element to element.
  std::shared_ptr<const ElementBounds> elements;
  /// Values of the input.
  std::shared_ptr<const SampleValues> samples;
  /// The file that states bound and moments, which are read once its shapes
  /// fit the model's input; empty if none was given.
  std::string file;
  NpzShapes shapes; ///< Of that file.
  /// The distribution of class numbers: the exponent of Zipf's law, or each
  /// one's share.
  std::optional<double> zipf;
  std::shared_ptr<const std::vector<double>> frequencies;
  /// True if a training configuration says so; the model may then lack it.
  bool fromConfig = false;

  /// True if more is known than how often each class is right.
  bool hasValues() const { return bound || mean || !file.empty(); }
};

/// A report and where it goes.
struct ReportFile {
  std::string path;
  const OutputFormat *format;
};

struct Options {
  Action action = Action::Check;
  std::vector<std::string> models;
  /// True if a model's place was a folder or a pattern: reports are those of
  /// several models, whatever their number.
  bool isExpanded = false;
  /// The rule of `--explain`; null where a prefix has chosen `rules`.
  const RuleInfo *explained = nullptr;

  // Judging.
  std::string precision = "auto";
  std::string policy;          ///< Empty: the default one.
  std::string target;          ///< Empty: the default one.
  std::string device = "h100"; ///< Of `--advise`.
  bool highEffort = false;
  std::map<std::string, InputRange> inputs;
  std::optional<Interval> assumed; ///< `--assume`.
  std::string calibration;         ///< A file; may be empty.
  StatedOps ops;
  ImportOptions import;

  // Fixing.
  bool unsafeFixes = false, dryRun = false;

  // Rules.
  std::vector<const RuleInfo *> rules; ///< Selected, by id.
  std::map<std::string, double> thresholds;

  // Reporting.
  Certainty minCertainty = Certainty::Likely;
  bool hasCertainty = false;                          ///< It was given.
  std::optional<Severity> failOn = Severity::Warning; ///< Nothing: never.
  bool requireVerdict = false; ///< An unknown effect fails as well.
  const OutputFormat *format = &getOutputFormats().front();
  std::string output = "-";
  /// Further reports of `--check`, each in its form.
  std::vector<ReportFile> otherReports;
  std::string rangesFile;
  std::string keepFile;
  bool triesKeepList = false; ///< Without a file.
  std::string scalesFile;
  ScaleRequest scales;
  /// The error of an output that is aimed at, where the operands of products
  /// alone are narrow; nothing: the precision's.
  std::optional<double> maxError;
  std::string witnesses; ///< A folder; empty: none are sought.
  bool failOnWitness = false;
  /// The errors of gradients at which products in FP8 aim: recipes leave a
  /// tenth in sound steps, a step tolerates a quarter, and one aim lies
  /// between.
  std::vector<double> gradientAims = {0.1, 0.15, 0.25};
  bool safeInput = false;
  bool wholeTrials = false;

  // A project's own.
  std::string settingsFile; ///< Empty if there is none.
  std::vector<Suppression> suppressions;
  std::string baselineFile, newBaselineFile; ///< May be empty.
  /// The options of each model, where one has settings; otherwise empty.
  std::vector<Options> byModel;

  // The terminal.
  ColorChoice color = ColorChoice::Auto;
  bool quiet = false;
  std::string topic; ///< Of `--help`; empty: all.
  std::string shell; ///< `--completion`.

  // Training.
  std::optional<TrainConfig> train; ///< `--train`: options over the file.
  std::string trainFile;            ///< `--train-config`; may be empty.
  std::vector<StepSetting> stepSettings;
  std::string gradientsFile;
  bool memory = false;

  // Probing.
  ProbeSelection probes;
  ProbeWith probeWith = ProbeWith::Op;

  ConvertOptions convert;

  // Confirming: `models` are the record files. Comparing: of either record; may
  // be empty.
  std::string ledger;
  /// The record files of another run, and its ledger. Checking: the checkpoint
  /// before it was quantised.
  std::vector<std::string> against;
  std::string againstLedger;
  /// The record of a training that only noise tells from the first one.
  std::string noise;

  /// True if a report draws the model.
  bool wantsMap() const {
    return format->wantsMap ||
           llvm::any_of(otherReports, [](const ReportFile &report) {
             return report.format->wantsMap;
           });
  }

  /// True if the ops to keep in FP32 are searched as one list.
  bool wantsKeepList() const {
    return triesKeepList || !keepFile.empty() ||
           (action == Action::Convert && convert.isMixed());
  }
};

} // namespace mpopt

#endif // MPOPT_DRIVER_OPTIONS_H
