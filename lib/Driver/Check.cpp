//===- Check.cpp - mpopt --check
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Driver/Actions.h"

#include "mpopt/Checkpoint/Checkpoint.h"
#include "mpopt/Driver/CheckModel.h"
#include "mpopt/Driver/Output.h"
#include "mpopt/Driver/OutputConflicts.h"
#include "mpopt/Driver/Progress.h"
#include "mpopt/Report/OutputFormat.h"
#include "mpopt/Support/InputFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Chrono.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mpopt;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

static Expected<std::optional<Baseline>> readBaseline(StringRef file) {
  if (file.empty())
    return std::nullopt;
  Expected<std::unique_ptr<llvm::MemoryBuffer>> buffer = readInputFile(file);
  if (!buffer)
    return llvm::createStringError("--baseline: " + file + ": " +
                                   llvm::toString(buffer.takeError()));
  Expected<Baseline> baseline = parseBaseline((*buffer)->getBuffer(), file);
  if (!baseline)
    return llvm::createStringError(
        "--baseline: '" + file +
        "' is no baseline of mpopt: " + llvm::toString(baseline.takeError()));
  return std::move(*baseline);
}

static std::string getToday() {
  return llvm::formatv("{0:%Y-%m-%d}",
                       llvm::sys::toTimePoint(std::time(nullptr)))
      .str();
}

namespace {
struct Run {
  const Options &options;
  std::optional<Baseline> baseline;
  std::vector<ModelReport> reports;
  std::vector<std::string> weights;
  bool failing = false;

  const Options &getOptions(size_t model) const {
    return options.byModel.empty() ? options : options.byModel[model];
  }
  void judge(size_t index, Progress &progress);
};
} // namespace

void Run::judge(size_t index, Progress &progress) {
  const Options &mine = getOptions(index);
  const std::string &path = options.models[index];
  progress.show("judging " + path);
  auto imported = [&](const ImportResult &result) {
    llvm::append_range(weights, result.weightFiles);
  };
  CheckHooks hooks;
  hooks.imported = imported;
  std::optional<ModelReport> report = Checkpoint::isNamed(path)
                                          ? checkCheckpoint(mine, path, weights)
                                          : checkModel(mine, path, hooks);
  progress.clear();
  if (!report)
    return;
  report->settings = mine.settingsFile;
  applySuppressions(mine.suppressions, getToday(), *report);
  if (baseline)
    applyBaseline(*baseline, mine.rules, options.models.size() == 1, *report);
  printWarnings(*report);
  failing |= llvm::any_of(report->findings, [&](const Finding &finding) {
    return isFailing(finding, options.failOn) ||
           (options.failOnWitness && finding.counts() &&
            !finding.witness.empty());
  });
  failing |= options.requireVerdict && !report->isVerdictKnown();
  reports.push_back(std::move(*report));
}

static Error writeAll(const Run &run, StringRef version) {
  const Options &options = run.options;
  // A baseline without the models that could not be read would forget them.
  if (!options.newBaselineFile.empty() &&
      run.reports.size() == options.models.size())
    if (Error error =
            writeOutput(options.newBaselineFile, [&](llvm::raw_ostream &os) {
              writeBaseline(os, run.reports, version);
            }))
      return error;
  std::vector<ReportFile> files = {{options.output, options.format}};
  llvm::append_range(files, options.otherReports);
  for (const ReportFile &file : files) {
    // Nothing is to be said on a terminal where nothing fails.
    if (options.quiet && file.path == "-" && !run.failing &&
        file.format == &getOutputFormats().front())
      continue;
    if (Error error = writeOutput(file.path, [&](llvm::raw_ostream &os) {
          file.format->writeReports(
              os, run.reports,
              {.color = wantsColor(file.path, options.color),
               .version = version,
               .several = options.models.size() > 1 || options.isExpanded,
               .failOn = options.failOn,
               .requireVerdict = options.requireVerdict,
               .pages = MPOPT_PAGES});
        }))
      return error;
  }
  return Error::success();
}

int mpopt::check(const Options &options, StringRef version) {
  Run run{options};
  Expected<std::optional<Baseline>> baseline =
      readBaseline(options.baselineFile);
  if (!baseline) {
    printError(llvm::toString(baseline.takeError()));
    return kFault;
  }
  run.baseline = std::move(*baseline);
  Progress progress(options.quiet);
  for (size_t index = 0; index < options.models.size(); ++index)
    run.judge(index, progress);
  bool fault = run.reports.size() < options.models.size();
  if (run.reports.empty())
    return kFault;
  // A model at fault does not stop the others, but its weights are spared.
  if (Error error = checkFoundFiles(options, "the weights", run.weights)) {
    llvm::consumeError(std::move(error));
    return kFault;
  }
  for (const ModelReport &report : run.reports)
    if (Error error = checkPrograms(options, report.findings)) {
      printError(llvm::toString(std::move(error)));
      return kFault;
    }
  if (Error error = writeAll(run, version)) {
    printError(llvm::toString(std::move(error)));
    return kFault;
  }
  if (fault && options.output == "-" &&
      options.format == &getOutputFormats().front())
    llvm::outs() << options.models.size() - run.reports.size() << " of "
                 << options.models.size() << " models not judged\n";
  if (fault)
    return kFault;
  return run.failing ? kFindings : kClean;
}
