//===- Verify.cpp - A result that is run beside its source
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Both models are run by the Python package (python/mpopt/_verifying.py): those
// of ONNX are written once more for it, as FP32 with all roundings.
//
//===----------------------------------------------------------------------===//

#include "Verify.h"

#include "lib/Driver/PythonCommand.h"
#include "mpopt/Driver/Output.h"

#include "mpopt/Import/Format.h"
#include "mpopt/Report/JsonReader.h"
#include "mpopt/Report/JsonSupport.h"
#include "mpopt/Report/TextStyle.h"
#include "mpopt/Support/InputFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

#include <algorithm>
#include <climits>
#include <unistd.h>

using namespace mpopt;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
namespace fs = llvm::sys::fs;

namespace {
/// A folder that is gone with all that is in it.
struct Folder {
  llvm::SmallString<128> path;
  std::error_code error = fs::createUniqueDirectory("mpopt-verify", path);

  Folder() = default;
  Folder(const Folder &) = delete;
  ~Folder() {
    if (!error)
      (void)fs::remove_directories(path);
  }
  std::string file(StringRef name) const { return (path + "/" + name).str(); }
};

/// One of the two models.
struct Side {
  std::string path; ///< of what is run
  std::unique_ptr<llvm::MemoryBuffer> file;
  std::optional<OnnxConverter> model;
  RestoredModel restored;

  Error open(StringRef from);
  Error write(const std::string &to);
};
} // namespace

Error Side::open(StringRef from) {
  path = from.str();
  auto read = readInputFile(from);
  if (!read)
    return read.takeError();
  file = std::move(*read);
  auto opened = OnnxConverter::open(file->getBuffer(), from);
  if (!opened)
    return opened.takeError();
  model.emplace(std::move(*opened));
  auto made = model->restoreRoundings();
  if (!made)
    return made.takeError();
  restored = std::move(*made);
  return Error::success();
}

Error Side::write(const std::string &to) {
  path = to;
  Error error = Error::success();
  std::string data = to + ".data";
  if (model->placeWeights(llvm::sys::path::filename(data)))
    if (Error failed = writeOutput(data, [&](llvm::raw_ostream &os) {
          error = model->writeWeights(os);
        }))
      return llvm::joinErrors(std::move(failed), std::move(error));
  if (error)
    return error;
  if (Error failed = writeOutput(
          to, [&](llvm::raw_ostream &os) { error = model->writeModel(os); }))
    return llvm::joinErrors(std::move(failed), std::move(error));
  return error;
}

/// In the form of a ledger, which `mpopt run` reads alike.
static Error writeAssumed(const std::string &file,
                          const AssumedInputs &inputs) {
  return writeOutput(file, [&](llvm::raw_ostream &os) {
    llvm::json::OStream json(os);
    json.object([&] {
      writeAssumptions(json, inputs.assumptions);
      json.attributeArray("probes", [&] {
        for (const ShapedInput &input : inputs.shapes)
          json.object([&] {
            json.attribute("role", "input");
            json.attribute("tensor", jsonText(input.name));
            json.attribute("dtype", input.dtype);
            json.attribute("shape", llvm::json::Array(input.shape));
          });
      });
    });
  });
}

static Expected<VerifiedConversion> readAnswer(StringRef answer) {
  auto value = llvm::json::parse(answer);
  if (!value)
    return value.takeError();
  const llvm::json::Object *object = value->getAsObject();
  if (!object)
    return llvm::createStringError("the run gave no result");
  VerifiedConversion verified;
  std::string error;
  JsonReader json(*object, "", error);
  int64_t runs = 0;
  json.integer("runs", runs, 0, UINT_MAX);
  verified.runs = unsigned(runs);
  json.children(
      "values",
      [&](JsonReader row) {
        VerifiedValue made;
        bool isOutput = true;
        int64_t lost = 0;
        row.text("name", made.name);
        row.number("error", made.error, /*need=*/true);
        row.number("changed", made.changed);
        row.integer("lost", lost, 0, INT64_MAX);
        row.text("misfit", made.misfit);
        row.flag("output", isOutput);
        made.lost = uint64_t(lost);
        (isOutput ? verified.outputs : verified.tensors).push_back(made);
      },
      /*need=*/true);
  if (json.failed())
    return llvm::createStringError("the run gave no result: " + error);
  return verified;
}

/// Tensors of both models, as outputs of both.
static void addTensors(Side &source, Side &result) {
  llvm::StringSet<> known;
  for (const std::string &name : source.restored.tensors)
    known.insert(name);
  llvm::erase_if(result.restored.tensors, [&](const std::string &name) {
    return !known.contains(name);
  });
  for (Side *side : {&source, &result})
    side->model->addOutputs(result.restored.tensors);
}

static std::string makeWord(StringRef option, StringRef text) {
  return (option + "=" + text).str();
}

/// Runs two models; `words` name their files, and what is special to them.
static Expected<VerifiedConversion> run(const Options &options,
                                        std::vector<std::string> words,
                                        const Folder &folder,
                                        const AssumedInputs &inputs) {
  std::string assumed = folder.file("inputs.json");
  if (Error error = writeAssumed(assumed, inputs))
    return std::move(error);
  words.push_back(makeWord("--assumed", assumed));
  StringRef feeds = options.convert.verify;
  if (feeds == "random" || feeds.consume_front("random:"))
    words.push_back(makeWord("--random", feeds == "random" ? "8" : feeds));
  else
    words.push_back(makeWord("--data", feeds));
  // The run has no other way to the terminal: its own streams are read.
  int terminal = options.quiet ? -1 : dup(STDERR_FILENO);
  if (terminal >= 0)
    words.push_back(makeWord("--progress", std::to_string(terminal)));
  auto answer = askPython("mpopt._verifying", words);
  if (terminal >= 0)
    close(terminal);
  if (!answer)
    return answer.takeError();
  return readAnswer(*answer);
}

static Expected<VerifiedConversion> runOnnx(const Options &options,
                                            StringRef source, StringRef result,
                                            const Folder &folder,
                                            const AssumedInputs &inputs) {
  bool wantsTensors = options.convert.verifiesTensors;
  Side from, to;
  if (Error error = from.open(source))
    return std::move(error);
  if (Error error = to.open(result))
    return std::move(error);
  if (wantsTensors)
    addTensors(from, to);
  bool isBinary = detectFormat(from.file->getBuffer()) == ModelFormat::Onnx;
  if (from.restored.isChanged || wantsTensors || !isBinary)
    if (Error error = from.write(folder.file("source.onnx")))
      return std::move(error);
  if (Error error = to.write(folder.file("result.onnx")))
    return std::move(error);
  std::vector<std::string> words = {from.path, to.path};
  for (const auto &[name, type] : from.restored.lowInputs)
    words.push_back(makeWord("--source-low", type + ":" + name));
  for (const auto &[name, type] : to.restored.lowInputs)
    words.push_back(makeWord("--result-low", type + ":" + name));
  for (const std::string &name : from.restored.wholeOutputs)
    words.push_back(makeWord("--whole", name));
  if (wantsTensors)
    for (const std::string &name : to.restored.tensors)
      words.push_back(makeWord("--tensor", name));
  return run(options, std::move(words), folder, inputs);
}

static Expected<VerifiedConversion> runTorch(const Options &options,
                                             StringRef source, StringRef result,
                                             const Folder &folder,
                                             const AssumedInputs &inputs,
                                             const TorchBorders &borders) {
  std::vector<std::string> words = {source.str(), result.str()};
  for (const ConvertedBorder &border : borders.io)
    if (border.from != border.to)
      words.push_back(makeWord("--result-low", border.to + ":" + border.name));
  for (const std::string &name : borders.outputs)
    words.push_back(makeWord("--output", name));
  if (options.convert.verifiesTensors)
    words.push_back("--tensors");
  return run(options, std::move(words), folder, inputs);
}

Expected<VerifiedConversion>
mpopt::verifyConversion(const Options &options, StringRef source,
                        StringRef result, const AssumedInputs &inputs,
                        const TorchBorders *borders) {
  Folder folder;
  if (folder.error)
    return llvm::createStringError("--verify: a temporary folder: " +
                                   folder.error.message());
  auto verified =
      borders ? runTorch(options, source, result, folder, inputs, *borders)
              : runOnnx(options, source, result, folder, inputs);
  if (!verified)
    return llvm::createStringError("--verify: " +
                                   llvm::toString(verified.takeError()));
  return verified;
}

std::string mpopt::describe(const VerifiedConversion &verified) {
  double largest = 0;
  for (const VerifiedValue &output : verified.outputs)
    largest = std::max({largest, output.error, output.changed});
  return llvm::formatv("measured {0:F3} % in {1}", largest * 100,
                       plural(verified.runs, "run"))
      .str();
}

double mpopt::getMaxError(const ConvertOptions &asked) {
  if (asked.to == "fp8-qdq")
    return asked.maxError.value_or(0.15);
  return asked.maxError.value_or(4 * (asked.isHalf() ? 0.005 : 0.03));
}

std::string mpopt::findObstacle(const VerifiedConversion &verified,
                                double most) {
  for (const VerifiedValue &output : verified.outputs) {
    std::string head = "run beside the source, output '" + output.name + "' ";
    if (!output.misfit.empty())
      return head + output.misfit;
    if (output.lost > 0)
      return head + llvm::formatv("has {0} Inf or NaN that the source has not",
                                  output.lost)
                        .str();
    if (output.changed > most)
      return head + llvm::formatv("has other integers in {0:F3} % of its "
                                  "elements, and {1:F3} % is asked for",
                                  output.changed * 100, most * 100)
                        .str();
    if (!(output.error <= most))
      return head + llvm::formatv("is off by {0:F3} %, and {1:F3} % is asked "
                                  "for",
                                  output.error * 100, most * 100)
                        .str();
  }
  return "";
}
