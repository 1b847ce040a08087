//===- CheckModel.cpp - One model, from file to report
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Driver/CheckModel.h"

#include "lib/Driver/Calibration.h"
#include "lib/Driver/CompareFloat.h"
#include "lib/Driver/ConfigFindings.h"
#include "lib/Driver/DescribeTraining.h"
#include "lib/Driver/Witness.h"

#include "mpopt/Driver/Assumptions.h"
#include "mpopt/Driver/CheckModule.h"
#include "mpopt/Driver/KeepList.h"
#include "mpopt/Driver/MakeMap.h"
#include "mpopt/Driver/Output.h"
#include "mpopt/Driver/OutputConflicts.h"
#include "mpopt/Driver/RangeDump.h"
#include "mpopt/Driver/ScaleDump.h"
#include "mpopt/Effects/Severity.h"

#include "mpopt/Adjoint/DifferentiableInterface.h"
#include "mpopt/Dialect/SequentialContext.h"
#include "mpopt/Dialect/Settings.h"
#include "mpopt/Dialect/StorageTypes.h"
#include "mpopt/Gradients/SpreadModels.h"
#include "mpopt/Ranges/RangeInterface.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <chrono>

using namespace mlir;
using namespace mpopt;

void mpopt::printImportErrors(StringRef path, const ImportResult &result) {
  for (const ImportError &error : result.errors)
    printError(path + ": " + error.str());
  if (result.errors.empty() && !result.module)
    printError(path + ": the model cannot be imported");
}

// Names in options that the model does not have are errors, not ignored.
static llvm::Error checkNames(const Options &options,
                              const ImportResult &imported) {
  for (const auto &[dim, size] : options.import.dims)
    if (!llvm::is_contained(imported.dimNames, dim))
      return llvm::createStringError(
          "--dim: the model has no symbolic dimension '" + dim + "'");
  for (const InputShape &shape : options.import.inputShapes)
    if (!llvm::is_contained(imported.inputs, shape.input))
      return llvm::createStringError("--input-shape: the model has no input '" +
                                     shape.input + "'");
  if (!options.import.method.empty() &&
      imported.format != ModelFormat::TorchScript)
    return llvm::createStringError(
        "--method: only TorchScript models have methods");
  return llvm::Error::success();
}

static void describe(const ImportResult &imported, StringRef path,
                     ModelReport &report) {
  report.path = path == "-" ? "<stdin>" : path.str();
  report.format = getFormatName(imported.format).str();
  report.nodes = imported.coverage.ops;
  report.parameters = imported.parameters;
  report.ops = imported.coverage.ops;
  report.modelled = imported.coverage.modelled;
  report.unmodelled = imported.coverage.unmodelled;
  report.warnings = imported.warnings;
}

void mpopt::listFindings(std::vector<Finding> findings, Certainty least,
                         ModelReport &report) {
  for (Finding &finding : findings) {
    report.certain += finding.certainty == Certainty::Certain;
    report.likely += finding.certainty == Certainty::Likely;
    report.possible += finding.certainty == Certainty::Possible;
    report.consequences += !finding.root.empty();
    finding.byWitness = finding.certainty < least && !finding.witness.empty();
    if (finding.certainty >= least || finding.byTraining || finding.byWitness)
      report.findings.push_back(std::move(finding));
    else
      report.unlisted.push_back({finding.fingerprint, finding.rule,
                                 finding.severity, finding.certainty,
                                 finding.op.name, ""});
  }
}

static void describeTraining(const Options &options,
                             const CheckedTraining &training,
                             ModelReport &report) {
  llvm::append_range(report.assumptions, training.targets);
  if (training.holdsGradients && !options.train->lossTerms.empty())
    report.warnings.push_back("holds its gradients: the loss that was given is "
                              "not attached");
  if (training.chosen)
    report.warnings.push_back("no loss is given: '" +
                              llvm::join(training.loss, ", ") +
                              "' is taken, by the outputs");
  for (const auto &[op, count] : training.lacking)
    report.warnings.push_back(
        "gradients lack the part of " + std::to_string(count) + " " + op +
        (count == 1 ? " op" : " ops") +
        (StringRef(op).contains("_backward")
             ? ", a second derivative, which is not analysed"
             : ", whose gradient is not known"));
}

/// Moves what the analysis has found into the report.
static void fillReport(const Options &options, const ImportResult &imported,
                       CheckedModule &result, ModelReport &report) {
  ModuleOp module = *imported.module;
  if (result.training) {
    describeTraining(options, *result.training, report);
    report.training = std::move(result.training->gradients);
  }
  if (!result.unjudged.empty())
    report.warnings.push_back(result.unjudged);
  // Probes are there to decide what is only possible, too.
  bool all = options.action == Action::Instrument;
  listFindings(std::move(result.findings),
               all ? Certainty::Possible : options.minCertainty, report);
  report.effects = std::move(result.effects);
  report.decisions = std::move(result.decisions);
  report.tried = std::move(result.tried);
  report.scaling = std::move(result.scaling);
  report.effectWarning = getThreshold(module, kEffectWarning);
  report.proved = result.proved;
  report.tensors = result.tensors;
  report.unknownRanges = std::move(result.unknownRanges);
  report.target = std::move(result.target);
  report.targetSummary = std::move(result.targetSummary);
  if (options.safeInput)
    report.safeInputs = std::move(result.safeScales);
  const Precision &precision = getPrecision(module);
  report.precision = precision.name.str();
  if (auto policy = module->getAttrOfType<StringAttr>("mp.policy");
      policy && precision.byPolicy)
    report.policy = policy.str();
}

static llvm::Error writeScales(const Options &options,
                               llvm::ArrayRef<TensorScale> scales) {
  return writeOutput(options.scalesFile, [&](llvm::raw_ostream &os) {
    dumpScales(os, Precision::of(options.precision).name.split(':').first,
               scales);
  });
}

static llvm::Error writeKeepFile(const Options &options,
                                 const CheckedModule &result,
                                 ModelReport &report) {
  unsigned leftOut = 0;
  llvm::Error error = writeOutput(options.keepFile, [&](llvm::raw_ostream &os) {
    leftOut = writeKeepList(os, options.keepFile, result.keep);
  });
  if (result.keepLeaves)
    report.warnings.push_back(std::to_string(result.keepLeaves) +
                              (result.keepLeaves == 1
                                   ? " finding above a note stays"
                                   : " findings above a note stay") +
                              " with the ops of '" + options.keepFile +
                              "' in FP32: it needs another fix");
  if (leftOut)
    report.warnings.push_back(
        std::to_string(leftOut) +
        " of the ops to keep in FP32 have no name in the file, by which a "
        "converter could find them, and are left out of '" +
        options.keepFile + "'");
  return error;
}

/// Writes what options ask for beside the report. `ranges`: the text of
/// `--dump-ranges`.
static llvm::Error writeFiles(const Options &options, StringRef ranges,
                              const CheckedModule &result,
                              ModelReport &report) {
  if (!options.rangesFile.empty())
    if (llvm::Error error = writeOutput(
            options.rangesFile, [&](llvm::raw_ostream &os) { os << ranges; }))
      return error;
  if (!options.gradientsFile.empty() && report.training)
    if (llvm::Error error =
            writeOutput(options.gradientsFile, [&](llvm::raw_ostream &os) {
              dumpGradients(os, report.path, *report.training);
            }))
      return error;
  if (!options.scalesFile.empty())
    if (llvm::Error error = writeScales(options, result.scales))
      return error;
  return options.keepFile.empty() ? llvm::Error::success()
                                  : writeKeepFile(options, result, report);
}

static void callHooks(const CheckHooks &hooks, CheckedModule &result) {
  if (hooks.kept)
    hooks.kept(result.keep, result.keepLeaves);
  if (hooks.scaled)
    hooks.scaled(result.scales);
  if (hooks.planned)
    hooks.planned(std::move(result.plan));
  if (hooks.quantized)
    hooks.quantized(std::move(result.quantized));
}

/// Notes what options assume of the inputs, and what a float model has in place
/// of the codes.
static llvm::Error assume(const Options &options, ModuleOp module,
                          ModelReport &report) {
  llvm::Expected<std::vector<Assumption>> assumptions =
      assumeInputs(options, module);
  if (!assumptions)
    return assumptions.takeError();
  report.assumptions = std::move(*assumptions);
  if (failed(inferFromAssumptions(module)))
    return llvm::createStringError("--input: an input that is one number makes "
                                   "shapes that do not fit");
  if (options.action == Action::Check && !options.against.empty())
    return compareWithFloat(options, options.against.front(), module,
                            report.warnings);
  return llvm::Error::success();
}

static llvm::Error check(const Options &options, const ImportResult &imported,
                         const CheckHooks &hooks, ModelReport &report) {
  if (llvm::Error error = checkNames(options, imported))
    return error;
  if (options.train)
    report.warnings.insert(report.warnings.end(),
                           options.train->warnings.begin(),
                           options.train->warnings.end());
  if (llvm::Error error = assume(options, *imported.module, report))
    return error;
  if (options.train)
    listFindings(findConfigFaults(options, *imported.module),
                 options.minCertainty, report);
  std::string ranges;
  auto observe = [&](const RangeAnalysis &known) {
    llvm::raw_string_ostream os(ranges);
    dumpRanges(os, *imported.module, imported, known);
  };
  auto observeModel = [&](const RangeAnalysis &known) {
    if (options.wantsMap())
      report.map = makeMap(*imported.module, known);
    if (hooks.checked)
      hooks.checked(imported, known);
  };
  bool isObserved = hooks.checked || options.wantsMap();
  llvm::Expected<CheckedModule> result = checkModule(
      options, *imported.module,
      options.rangesFile.empty() ? nullptr : RangeObserver(observe),
      isObserved ? RangeObserver(observeModel) : nullptr, hooks.fixed);
  if (!result)
    return result.takeError();
  if (!options.witnesses.empty())
    if (std::string why = findWitnesses(*imported.module, options.witnesses,
                                        result->findings);
        !why.empty())
      report.warnings.push_back("no witness was sought: " + why);
  if (result->training)
    listFindings(findLayerFaults(options, result->training->gradients),
                 options.minCertainty, report);
  fillReport(options, imported, *result, report);
  if (options.models.size() == 1)
    if (llvm::Error error = checkPrograms(options, report.findings))
      return error;
  for (KeptOpRef &kept : result->keep)
    kept.unnamed = imported.unnamed.contains(kept.op.name);
  if (llvm::Error error = writeFiles(options, ranges, *result, report))
    return error;
  callHooks(hooks, *result);
  return llvm::Error::success();
}

/// A calibration decides about codes alone.
static llvm::Error useCalibration(const Options &options, ModuleOp module,
                                  ModelReport &report) {
  if (options.calibration.empty())
    return llvm::Error::success();
  const OperandRecipe *recipe = Precision::of(options.precision).operands;
  bool hasCodes =
      recipe && recipe->isStatic && !recipe->activations.codes().floats;
  if (!hasCodes && !isQuantized(module))
    return llvm::createStringError("--calibration: the model is not quantised, "
                                   "and --precision is not int8");
  return noteCalibration(options.calibration, module, report.warnings);
}

std::optional<ModelReport> mpopt::checkModel(const Options &options,
                                             StringRef path, CheckHooks hooks) {
  auto start = std::chrono::steady_clock::now();
  // Passes work on the module, one after another: threads would only cost.
  // Weight scans and the range analysis have their own.
  DialectRegistry registry;
  registerTransferModels(registry);
  registerGradientModels(registry);
  registerSpreadModels(registry);
  SequentialContext context(registry);
  ImportResult imported = importModel(path, options.import, context);
  if (!imported.module || !imported.errors.empty()) {
    if (options.action == Action::Convert && !imported.errors.empty())
      imported.errors.resize(1); // one line
    printImportErrors(path, imported);
    return std::nullopt;
  }
  if (llvm::Error error = replaceStatedOps(options.ops, imported)) {
    printError(path + ": " + llvm::toString(std::move(error)));
    return std::nullopt;
  }
  ModelReport report;
  describe(imported, path, report);
  if (hooks.imported)
    hooks.imported(imported);
  if (llvm::Error error =
          checkFoundFiles(options, "the weights", imported.weightFiles)) {
    printError(llvm::toString(std::move(error)));
    return std::nullopt;
  }
  if (llvm::Error error = useCalibration(options, *imported.module, report)) {
    printError(path + ": " + llvm::toString(std::move(error)));
    return std::nullopt;
  }
  if (llvm::Error error = check(options, imported, hooks, report)) {
    printError(path + ": " + llvm::toString(std::move(error)));
    return std::nullopt;
  }
  report.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  return report;
}

void mpopt::printWarnings(const ModelReport &report) {
  for (const std::string &warning : report.warnings)
    printWarning(report.path + ": " + warning);
}
