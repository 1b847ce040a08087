//===- Instrument.cpp - Models with probes, and back ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Driver/Instrument.h"

#include "mpopt/Driver/CheckModel.h"
#include "mpopt/Driver/Output.h"
#include "mpopt/Driver/OutputConflicts.h"

#include "mpopt/Adjoint/Loss.h"
#include "mpopt/Instrument/ExportedProgram.h"
#include "mpopt/Instrument/Ledger.h"
#include "mpopt/Instrument/Onnx.h"
#include "mpopt/Instrument/Tensors.h"
#include "mpopt/Instrument/TorchScript.h"
#include "mpopt/Support/InputFile.h"
#include "mpopt/Support/Printable.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mpopt;
using llvm::Error;
using llvm::failure;
using llvm::LogicalResult;
using llvm::StringRef;
using llvm::success;
using llvm::Twine;

static LogicalResult fail(const Twine &text) {
  printError(text);
  return failure();
}

static LogicalResult fail(StringRef path, Error error) {
  return fail(path + ": " + llvm::toString(std::move(error)));
}

/// The files that hold weights of an ONNX model, none of which an output may
/// replace. What is wrong is printed.
static std::optional<std::vector<std::string>>
findWeightFiles(const Options &options, StringRef model, StringRef path) {
  llvm::Expected<std::vector<std::string>> files =
      findExternalFiles(model, path);
  if (!files) {
    (void)fail(path, files.takeError());
    return std::nullopt;
  }
  if (Error error = checkFoundFiles(options, "the weights", *files)) {
    (void)fail(llvm::toString(std::move(error)));
    return std::nullopt;
  }
  return std::move(*files);
}

// External weights are found from the folder of the model that names them.
static Error checkFolder(StringRef model, StringRef output) {
  StringRef from = llvm::sys::path::parent_path(model);
  StringRef to = llvm::sys::path::parent_path(output);
  auto folder = [](StringRef path) { return path.empty() ? "." : path; };
  bool same = false;
  if (!llvm::sys::fs::equivalent(folder(from), folder(to), same) && same)
    return Error::success();
  return llvm::createStringError("its weights lie in files beside it, so '" +
                                 output +
                                 "' must be in the same folder to find them");
}

static void sumUp(const Options &options, const ProbePlan &plan,
                  StringRef ledgerFile) {
  unsigned byRole[6] = {};
  for (const Probe &probe : plan.probes)
    ++byRole[unsigned(probe.role)];
  llvm::raw_ostream &os = llvm::outs();
  os << printable(options.output) << ": " << plan.probes.size() << " probes";
  const char *separator = " (";
  for (ProbeRole role :
       {ProbeRole::Input, ProbeRole::Finding, ProbeRole::Sentinel,
        ProbeRole::Chosen, ProbeRole::Parameter, ProbeRole::Scalar})
    if (unsigned count = byRole[unsigned(role)]) {
      os << separator << count << ' ' << toString(role);
      separator = ", ";
    }
  os << (plan.probes.empty() ? "" : ")") << "; ledger " << printable(ledgerFile)
     << '\n';
  // Warnings that are printed; the ledger lists all of them.
  constexpr size_t kMost = 20;
  for (const Unprobed &tensor : llvm::ArrayRef(plan.unprobed).take_front(kMost))
    printWarning("no probe on '" + tensor.tensor + "': " + tensor.why);
  if (plan.unprobed.size() > kMost)
    printWarning("no probe on " + std::to_string(plan.unprobed.size() - kMost) +
                 " other tensors that the ledger lists under `unprobed`");
}

/// Plans the probes and writes the ledger and the model.
template <typename Instrumenter>
static LogicalResult writeProbed(const Options &options, StringRef version,
                                 Instrumenter &instrumenter,
                                 llvm::ArrayRef<TensorFacts> tensors,
                                 Ledger ledger) {
  StringRef path = options.models.front();
  llvm::Expected<ProbePlan> plan =
      makePlan(tensors, ledger.report.findings, options.probes,
               [&](StringRef tensor) { return instrumenter.whyNot(tensor); });
  if (!plan)
    return fail("--probe: " + llvm::toString(plan.takeError()));

  ledger.plan = std::move(*plan);
  // Silence about them is not a clean run.
  if constexpr (std::is_same_v<Instrumenter, TorchInstrumenter>) {
    for (Unprobed &tensor : instrumenter.listUnfollowed())
      if (llvm::none_of(ledger.plan.unprobed, [&](const Unprobed &known) {
            return known.tensor == tensor.tensor;
          }))
        ledger.plan.unprobed.push_back(std::move(tensor));
    for (Probe &probe : ledger.plan.probes)
      probe.gradient =
          probe.gradient && (probe.role == ProbeRole::Parameter ||
                             instrumenter.canTakeGradient(probe.tensor.name));
  }
  std::string text = writeLedger(ledger, version);
  if (Error error = instrumenter.prepare(ledger.plan.probes, sha256(text)))
    return fail(path, std::move(error));

  // Neither is of use without the other: both are written before either takes
  // the place of an older one.
  std::string ledgerFile = getLedgerFile(options.output);
  auto ledgerOut = PendingOutput::write(
      ledgerFile, [&](llvm::raw_ostream &os) { os << text; });
  if (!ledgerOut)
    return fail(llvm::toString(ledgerOut.takeError()));
  auto modelOut = PendingOutput::write(
      options.output, [&](llvm::raw_ostream &os) { instrumenter.write(os); });
  if (!modelOut)
    return fail(llvm::toString(modelOut.takeError()));
  if (Error error = ledgerOut->keep())
    return fail(llvm::toString(std::move(error)));
  if (Error error = modelOut->keep())
    return fail(llvm::toString(std::move(error)));
  sumUp(options, ledger.plan, ledgerFile);
  return success();
}

/// The tensor that is the loss by itself, from among the outputs; empty if the
/// loss is another one, or several terms.
static std::string findLoss(const TrainingReport &training,
                            const llvm::StringMap<std::string> &outputs) {
  if (training.loss.size() != 1)
    return {};
  llvm::Expected<LossTerm> term = parseLossTerm(training.loss.front());
  if (!term) {
    llvm::consumeError(term.takeError());
    return {};
  }
  bool isOutput = term->kind == LossKind::Sum || term->kind == LossKind::Mean;
  if (!isOutput || term->weight != 1 || term->predictions.size() != 1)
    return {};
  return outputs.lookup(term->predictions.front());
}

/// Probes need a file that they can be put into, and the options suit it.
static LogicalResult checkFormat(const Options &options, ModelFormat format,
                                 const ModelReport &report) {
  StringRef path = options.models.front();
  bool isTorch = format == ModelFormat::TorchScript;
  bool isProgram = format == ModelFormat::ExportedProgram;
  if (format != ModelFormat::Onnx && !isTorch && !isProgram)
    return fail(path +
                ": --instrument takes binary ONNX files, TorchScript archives "
                "and exported programs, and this is " +
                (report.format == "onnx" ? "ONNX as text" : report.format));
  StringRef kind = isTorch     ? "TorchScript"
                   : isProgram ? "an exported program"
                               : "ONNX";
  if (format != ModelFormat::Onnx && options.probeWith == ProbeWith::Outputs)
    return fail(path + ": --probe-with outputs is for ONNX, and this is " +
                kind);
  if (!isTorch && options.probes.train)
    return fail(path +
                ": --instrument --train is for TorchScript, which is "
                "trained as it is, and this is " +
                kind);
  return success();
}

LogicalResult mpopt::instrument(const Options &given, StringRef version) {
  Options options = given;
  options.import.wantPlaces = true;
  StringRef path = options.models.front();
  std::vector<TensorFacts> tensors;
  llvm::StringMap<std::string> fileDtypes;
  llvm::StringSet<> parameters;
  GraphPlaces places;
  CheckHooks hooks;
  ModelFormat format = ModelFormat::Unknown;
  auto imported = [&](const ImportResult &result) {
    format = result.format;
    fileDtypes = collectDtypes(*result.module);
    if (options.probes.train)
      parameters = collectParameters(*result.module);
    places = result.places;
  };
  llvm::StringMap<std::string> outputs;
  auto judged = [&](const ImportResult &result, const RangeAnalysis &ranges) {
    tensors = collectTensors(*result.module, ranges, fileDtypes, parameters);
    outputs = collectOutputs(*result.module);
  };
  std::vector<KeptOpRef> keep;
  auto kept = [&](llvm::ArrayRef<KeptOpRef> ops, unsigned) { keep = ops; };
  hooks.imported = imported;
  hooks.checked = judged;
  hooks.kept = kept;
  std::optional<ModelReport> report = checkModel(options, path, hooks);
  if (!report)
    return failure();
  printWarnings(*report);
  if (report->training)
    options.probes.loss = findLoss(*report->training, outputs);
  if (failed(checkFormat(options, format, *report)))
    return failure();
  llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> file =
      readInputFile(path);
  if (!file)
    return fail(path, file.takeError());
  StringRef model = (*file)->getBuffer();
  Ledger ledger{sha256(model),
                options.probeWith == ProbeWith::Op ? "op" : "outputs",
                {},
                std::move(*report),
                std::move(keep)};
  if (format == ModelFormat::TorchScript) {
    auto instrumenter = TorchInstrumenter::open(
        model, path, options.import.method, std::move(places));
    if (!instrumenter)
      return fail(path, instrumenter.takeError());
    return writeProbed(options, version, *instrumenter, tensors,
                       std::move(ledger));
  }
  if (format == ModelFormat::ExportedProgram) {
    auto instrumenter = ProgramInstrumenter::open(model, std::move(places));
    if (!instrumenter)
      return fail(path, instrumenter.takeError());
    return writeProbed(options, version, *instrumenter, tensors,
                       std::move(ledger));
  }
  llvm::Expected<OnnxInstrumenter> instrumenter =
      OnnxInstrumenter::open(model, options.probeWith);
  if (!instrumenter)
    return fail(path, instrumenter.takeError());
  std::optional<std::vector<std::string>> weights =
      findWeightFiles(options, model, path);
  if (!weights)
    return failure();
  if (!weights->empty())
    if (Error error = checkFolder(path, options.output))
      return fail(path, std::move(error));
  return writeProbed(options, version, *instrumenter, tensors,
                     std::move(ledger));
}

LogicalResult mpopt::strip(const Options &options) {
  StringRef path = options.models.front();
  llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> file =
      readInputFile(path);
  if (!file)
    return fail("cannot read '" + path +
                "': " + llvm::toString(file.takeError()));
  StringRef model = (*file)->getBuffer();
  ModelFormat format = detectFormat(model);
  bool isArchive = format == ModelFormat::TorchScript ||
                   format == ModelFormat::ExportedProgram;
  llvm::Expected<Undo> undo =
      isArchive ? findArchiveProbes(model) : findOnnxProbes(model);
  if (!undo)
    return fail(path, undo.takeError());
  if (!isArchive && !findWeightFiles(options, model, path))
    return failure();
  Error error = revert(model, *undo, [&](StringRef original) {
    return writeOutput(options.output,
                       [&](llvm::raw_ostream &os) { os << original; });
  });
  return error ? fail(path, std::move(error)) : success();
}
