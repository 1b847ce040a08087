//===- Convert.cpp - mpopt --convert
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The model is judged as if all of it were low; from the ops that then have to
// stay in FP32 follows the file, which is judged again as it is before it gets
// its name.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Driver/Convert.h"

#include "Fixer.h"
#include "Planning.h"
#include "Shapes.h"
#include "SourceWeights.h"
#include "TorchModel.h"
#include "Verify.h"
#include "mpopt/Driver/Actions.h"
#include "mpopt/Driver/CheckModel.h"
#include "mpopt/Driver/Output.h"
#include "mpopt/Driver/OutputConflicts.h"
#include "mpopt/Driver/Progress.h"

#include "mpopt/Effects/Severity.h"
#include "mpopt/Instrument/FilePatch.h"
#include "mpopt/Support/InputFile.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

#include <cmath>
#include <set>

using namespace mpopt;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

/// The word of `--to` for operands with scales.
static constexpr StringRef kScaled = "fp8-qdq";

// In metadata_props.
static constexpr StringRef kStampKey = "mpopt.convert";

namespace {
class Run {
public:
  Run(const Options &options, StringRef version)
      : options(options), path(options.models.front()), version(version),
        source(path), progress(options.quiet) {}
  int run();

private:
  Error open();
  Error openModel(llvm::MemoryBuffer &bytes, StringRef from);
  Error fix();
  void makeRequest();
  Error plan();
  Error raise();
  Error planScales();
  Error scale();
  Error convert();
  Error convertOnnx();
  Error convertByTorch();
  Error judge();
  Error analyse(StringRef file);
  Error verify(StringRef file);
  int write();
  Error writeReport() const;
  Error writeCopy();
  Options judging(StringRef precision) const;

  const Options &options;
  StringRef path, version;
  /// The model that is converted: that of `path`, or the one with fixes.
  std::string source;
  std::unique_ptr<llvm::MemoryBuffer> file, fixedBytes;
  std::optional<Fixer> fixer; ///< has the files of the latter
  std::optional<OnnxConverter> converter;
  ConvertRequest request;
  KnownShapes shapes;
  SourceWeights weights;
  JudgedConversion judged;
  bool isRaised = false; ///< to a later opset
  AssumedInputs inputs;
  ScaledProducts products;
  std::optional<PendingModel> pending;
  // A file of PyTorch has these, which no converter opens.
  bool isTorch = false;
  std::optional<PendingOutput> archive;
  TorchValues values;
  std::vector<std::string> outputs; ///< names
  std::vector<std::string> warnings;
  Progress progress;
};
} // namespace

Options Run::judging(StringRef precision) const {
  Options judging = options;
  judging.precision = precision;
  judging.policy.clear();
  return judging;
}

Error Run::open() {
  Expected<std::unique_ptr<llvm::MemoryBuffer>> read = readInputFile(path);
  if (!read)
    return read.takeError();
  file = std::move(*read);
  StringRef bytes = file->getBuffer();
  ModelFormat format = detectFormat(bytes);
  isTorch = format == ModelFormat::TorchScript ||
            format == ModelFormat::ExportedProgram;
  if (isTorch)
    return checkTorchOptions(options, format == ModelFormat::TorchScript);
  if (format != ModelFormat::Onnx && format != ModelFormat::OnnxText &&
      format != ModelFormat::OnnxTextProto)
    return llvm::createStringError(
        "--convert takes ONNX files and those of PyTorch, and this is " +
        (format == ModelFormat::Unknown ? "no model that mpopt knows"
                                        : getFormatName(format)));
  if (Error error = openModel(*file, path))
    return error;
  bool isMade = isStampOf(converter->findNote(kStampKey), options);
  return options.convert.withFixes && !isMade ? fix() : Error::success();
}

Error Run::openModel(llvm::MemoryBuffer &bytes, StringRef from) {
  Expected<OnnxConverter> opened = OnnxConverter::open(bytes.getBuffer(), from);
  if (!opened)
    return opened.takeError();
  pending.reset();
  converter.emplace(std::move(*opened));
  pending.emplace(*converter, options.output);
  return Error::success();
}

/// Converts the model with the fixes from here on, because a repaired model
/// keeps fewer ops in FP32.
Error Run::fix() {
  Options asked = judging(options.convert.isHalf() ? "fp16" : "bf16");
  asked.action = Action::Fix;
  fixer.emplace(asked, file->getBuffer(), path, options.output);
  if (Error error = fixer->run())
    return error;
  llvm::append_range(warnings, fixer->warnings());
  if (!fixer->isChanged())
    return Error::success();
  judged.fixes = fixer->listReasons();
  source = fixer->model().path();
  auto read = readInputFile(source);
  if (!read)
    return read.takeError();
  fixedBytes = std::move(*read);
  return openModel(*fixedBytes, source);
}

void Run::makeRequest() {
  request.plan.low = options.convert.isHalf() ? "f16" : "bf16";
  request.keep = options.convert.keep;
  request.never = options.convert.never;
  request.keepsAllIo = options.convert.keepsAllIo;
  request.keepIo = options.convert.keepIo;
  request.assumed = options.convert.assumed;
  for (const CarriedState &state : options.convert.states) {
    std::string why = "--state carries it from call to call";
    request.plan.inputs.push_back({state.input, why});
    request.plan.outputs.push_back({state.output, why});
  }
  request.findShape = [this](StringRef scope, StringRef name) {
    return shapes.find(scope, name);
  };
}

/// Judges the source as if all of it were low. An error without a text was
/// printed.
Error Run::plan() {
  std::string missing;
  std::vector<WideNode> listed;
  auto checked = [&](const ImportResult &imported, const RangeAnalysis &) {
    shapes.note(*imported.module);
    if (!imported.missingWeights.empty())
      missing = imported.missingWeights.begin()->first;
  };
  auto planned = [&](ConversionPlan plan) {
    request.plan.wide = std::move(plan.wide);
  };
  Error wrong = Error::success();
  auto imported = [&](const ImportResult &result) {
    if (!wrong)
      wrong = carryStates(*result.module, options.convert.states);
    inputs.shapes = listInputShapes(*result.module);
    // A copy is judged by the source.
    judged.work = countWork(*result.module);
    weights.note(*result.module);
    if (isTorch) {
      values = listTorchValues(result);
      outputs = result.outputs;
    }
    if (!options.policy.empty())
      listed = listByPolicy(*result.module, options.policy);
  };
  CheckHooks hooks;
  hooks.imported = imported;
  hooks.checked = checked;
  hooks.planned = planned;
  std::string precision = options.convert.isHalf() ? "fp16" : "bf16";
  if (isTorch && isSourcePatch(options))
    precision = "autocast-" + precision;
  Options first = judging(precision);
  if (options.convert.to == kScaled)
    first.convert.to = "mixed-bf16";
  first.import.wantPlaces = isTorch;
  // The search for the ops to keep aims below this.
  first.thresholds.try_emplace(kEffectWarning.str(),
                               getMaxError(options.convert));
  std::optional<ModelReport> report = checkModel(first, source, hooks);
  if (wrong || !report)
    return wrong ? std::move(wrong) : llvm::createStringError("");
  request.plan.wide.insert(request.plan.wide.begin(), listed.begin(),
                           listed.end());
  judged.nodes = report->nodes;
  llvm::append_range(warnings, report->warnings);
  inputs.assumptions = std::move(report->assumptions);
  return missing.empty() ? Error::success()
                         : llvm::createStringError("the weights in '" +
                                                   missing + "' are missing");
}

/// The products that may read FP8, and their scales.
Error Run::planScales() {
  Options third = judging("fp8-e4m3");
  // Only the list of products is searched.
  third.convert.to = "fp32";
  third.maxError = getMaxError(options.convert);
  auto scaled = [&](llvm::ArrayRef<TensorScale> scales) {
    for (const TensorScale &scale : scales)
      products.scales[scale.tensor] = scale.scales;
  };
  CheckHooks hooks;
  hooks.scaled = scaled;
  std::optional<ModelReport> report = checkModel(third, source, hooks);
  if (!report)
    return llvm::createStringError("");
  if (!report->scaling)
    return llvm::createStringError("--to fp8-qdq: there is no product of two "
                                   "operands in it");
  std::set<size_t> kept;
  if (report->scaling->keep)
    kept.insert(report->scaling->keep->begin(), report->scaling->keep->end());
  for (auto [index, product] : llvm::enumerate(report->scaling->products))
    if (product.op.scope.empty() && !kept.count(index))
      products.nodes.insert(product.op.name);
  return Error::success();
}

Error Run::scale() {
  if (options.convert.to != kScaled)
    return Error::success();
  if (Error error = planScales())
    return error;
  auto scaled = converter->scaleOperands(products);
  if (!scaled)
    return scaled.takeError();
  if (scaled->empty())
    return llvm::createStringError("--to fp8-qdq: no product reads operands "
                                   "whose scales are known");
  judged.made.scaled = std::move(*scaled);
  // Without kernels for BF16.
  if (StringRef(options.target).starts_with("ort-cpu"))
    request.keep = {".*"};
  return Error::success();
}

Error Run::raise() {
  unsigned opset = options.convert.opset;
  if (opset == 0)
    return Error::success();
  isRaised = opset > converter->getOpset();
  return converter->raiseOpset(opset);
}

Error Run::convertByTorch() {
  // A copy of the source, which the package overwrites.
  auto copy = PendingOutput::write(
      options.output, [&](llvm::raw_ostream &os) { os << file->getBuffer(); });
  if (!copy)
    return copy.takeError();
  archive.emplace(std::move(*copy));
  makeRequest();
  if (Error error = plan())
    return error;
  bool isPatch = isSourcePatch(options);
  Expected<Conversion> made = convertTorch(
      path, archive->path(), request, values,
      makeStamp(options, sha256(file->getBuffer()), judged.made), isPatch);
  if (!made)
    return made.takeError();
  judged.made = std::move(*made);
  judged.isCopy = !judged.made.isChanged && !isPatch;
  return Error::success();
}

Error Run::convert() { return isTorch ? convertByTorch() : convertOnnx(); }

Error Run::convertOnnx() {
  std::string staleBefore, stale;
  std::string fault = converter->findFault(staleBefore);
  if (!fault.empty())
    return llvm::createStringError("is not valid: " + fault);
  if (options.convert.to == "fp32") {
    if (Error error = raise())
      return error;
    judged.made = converter->widenAll();
  } else if (isStampOf(converter->findNote(kStampKey), options)) {
    judged.isCopy = true;
    return Error::success();
  } else {
    makeRequest();
    if (Error error = plan())
      return error;
    // By FP32, which has the numbers of FP16: each is rounded once.
    if (StringRef(options.convert.to).ends_with("bf16"))
      llvm::append_range(request.plan.wide, converter->widenHalf());
    if (Error error = raise())
      return error;
    if (Error error = scale())
      return error;
    Expected<Conversion> made = converter->convert(request);
    if (!made)
      return made.takeError();
    auto scaled = std::move(judged.made.scaled);
    judged.made = std::move(*made);
    judged.made.scaled = std::move(scaled);
    // Pairs are no arithmetic.
    if (!judged.made.scaled.empty())
      llvm::erase_if(judged.made.kept, [](const KeptNode &node) {
        return node.type == "QuantizeLinear" || node.type == "DequantizeLinear";
      });
    judged.made.isChanged |= !judged.made.scaled.empty();
  }
  judged.isCopy = !judged.made.isChanged && !isRaised && judged.fixes.empty();
  if (judged.isCopy)
    return Error::success();
  converter->setNote(
      kStampKey, makeStamp(options, sha256(file->getBuffer()), judged.made));
  fault = converter->findFault(stale);
  if (!stale.empty() && !staleBefore.empty())
    converter->mendShapes();
  // The result may have the faults of the source.
  if (fault.empty() && staleBefore.empty())
    fault = stale;
  return fault.empty()
             ? Error::success()
             : llvm::createStringError(
                   "the result would not be valid, a fault of mpopt: " + fault);
}

/// Judges the result as it is; sets `judged.obstacle`.
Error Run::analyse(StringRef written) {
  Options second = judging("as-is");
  // Nothing is planned for the result.
  second.convert.to = "fp32";
  // An archive of TorchScript says nothing of its inputs.
  if (!isTorch)
    second.import.inputShapes.clear();
  for (InputShape &shape : second.import.inputShapes)
    for (const ConvertedBorder &border : judged.made.io)
      if (border.name == shape.input)
        shape.elementType = border.to;
  Error wrong = Error::success();
  auto imported = [&](const ImportResult &result) {
    if (!wrong)
      wrong = carryStates(*result.module, options.convert.states);
    judged.work = countWork(*result.module);
    weights.restore(*result.module);
    roundInputs(*result.module, judged.made.io);
  };
  CheckHooks hooks;
  hooks.imported = imported;
  std::optional<ModelReport> report = checkModel(second, written, hooks);
  if (wrong)
    return wrong;
  if (!report)
    return llvm::createStringError("");
  std::set<std::string> hazards = listHazards(*report);
  judged.error = getLargestError(*report);
  double most = getMaxError(options.convert);
  if (hazards.empty() && !(judged.error && *judged.error > most))
    return Error::success();
  std::optional<ModelReport> original = checkModel(second, path, {});
  if (!original)
    return llvm::createStringError("");
  // The error of quantisation is none of the conversion's.
  if (std::optional<double> before = getLargestError(*original);
      before && judged.error)
    judged.error = std::max(*judged.error - *before, 0.0);
  if (judged.error && *judged.error > most)
    judged.obstacle = describeError(*judged.error, most);
  std::set<std::string> known = listHazards(*original);
  for (const std::string &hazard : hazards)
    if (judged.obstacle.empty() && !known.count(hazard))
      judged.obstacle = "the result has " + hazard;
  return Error::success();
}

/// Runs the result beside the source; sets `judged.obstacle`.
Error Run::verify(StringRef written) {
  if (options.convert.verify.empty() || judged.isCopy)
    return Error::success();
  progress.clear();
  TorchBorders borders{judged.made.io, outputs};
  Expected<VerifiedConversion> verified = verifyConversion(
      options, path, written, inputs, isTorch ? &borders : nullptr);
  if (!verified)
    return verified.takeError();
  judged.verified = std::move(*verified);
  std::string found =
      findObstacle(*judged.verified, getMaxError(options.convert));
  if (judged.obstacle.empty())
    judged.obstacle = std::move(found);
  return Error::success();
}

Error Run::judge() {
  if (!isTorch)
    if (Error error = pending->write())
      return error;
  StringRef written = isTorch ? archive->path() : pending->path();
  bool isModel = !isTorch || !isSourcePatch(options);
  if (options.convert.to != "fp32" && !judged.isCopy && isModel)
    if (Error failed = analyse(written))
      return failed;
  return verify(written);
}

Error Run::writeReport() const {
  if (options.convert.report.empty())
    return Error::success();
  return writeOutput(options.convert.report, [&](llvm::raw_ostream &os) {
    writeConversion(os, options, judged, version);
  });
}

int Run::write() {
  double low = 1 - judged.work.wideShare();
  if (judged.obstacle.empty() && low < options.convert.minLow)
    judged.obstacle = llvm::formatv("{0:P0} of the multiplications became low, "
                                    "and --min-low asks for {1:P0}",
                                    low, options.convert.minLow)
                          .str();
  bool keeps = judged.obstacle.empty() || options.convert.writesAnyway;
  auto fail = [&](Error error) {
    printError(llvm::toString(std::move(error)));
    return int(kFault);
  };
  if (Error error = writeReport())
    return fail(std::move(error));
  if (keeps)
    if (Error error = isTorch ? archive->keep() : pending->keep())
      return fail(std::move(error));
  for (const std::string &warning : warnings)
    printWarning(path + ": " + warning);
  for (const std::string &warning : judged.made.warnings)
    printWarning(path + ": " + warning);
  if (!judged.obstacle.empty())
    printError(path + ": " + judged.obstacle +
               (keeps ? "" : "; --write-anyway writes it all the same"));
  if (keeps && !options.quiet)
    llvm::outs() << sumUp(options, judged) << '\n';
  return judged.obstacle.empty() ? kClean : kFindings;
}

int Run::run() {
  progress.show("converting " + path.str());
  Error error = open();
  if (!error)
    error = convert();
  if (!error)
    error = judge();
  progress.clear();
  if (!error)
    return write();
  // An error without a text was printed.
  if (std::string text = llvm::toString(std::move(error)); !text.empty())
    printError(path + ": " + text);
  return kFault;
}

int mpopt::convert(const Options &options, StringRef version) {
  return Run(options, version).run();
}
