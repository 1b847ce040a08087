//===- Verify.cpp - A result that is run beside its source
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Both models are written once more, as FP32 with all roundings, and run by the
// Python package (python/mpopt/_verifying.py).
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
        for (const auto &[name, shape] : inputs.shapes)
          json.object([&, &name = name, &shape = shape] {
            json.attribute("role", "input");
            json.attribute("tensor", jsonText(name));
            json.attribute("shape", llvm::json::Array(shape));
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

static Expected<VerifiedConversion> runBoth(const Options &options,
                                            StringRef source, StringRef result,
                                            const AssumedInputs &inputs) {
  Folder folder;
  if (folder.error)
    return llvm::createStringError("a temporary folder: " +
                                   folder.error.message());
  const ConvertOptions &asked = options.convert;
  Side from, to;
  if (Error error = from.open(source))
    return std::move(error);
  if (Error error = to.open(result))
    return std::move(error);
  if (asked.verifiesTensors)
    addTensors(from, to);
  bool isBinary = detectFormat(from.file->getBuffer()) == ModelFormat::Onnx;
  if (from.restored.isChanged || asked.verifiesTensors || !isBinary)
    if (Error error = from.write(folder.file("source.onnx")))
      return std::move(error);
  if (Error error = to.write(folder.file("result.onnx")))
    return std::move(error);
  if (Error error = writeAssumed(folder.file("inputs.json"), inputs))
    return std::move(error);
  std::vector<std::string> words = {from.path, to.path};
  auto add = [&](StringRef option, StringRef text) {
    words.push_back((option + "=" + text).str());
  };
  add("--assumed", folder.file("inputs.json"));
  StringRef feeds = asked.verify;
  if (feeds == "random" || feeds.consume_front("random:"))
    add("--random", feeds == "random" ? "8" : feeds);
  else
    add("--data", feeds);
  for (const auto &[name, type] : from.restored.lowInputs)
    add("--source-low", type + ":" + name);
  for (const auto &[name, type] : to.restored.lowInputs)
    add("--result-low", type + ":" + name);
  if (asked.verifiesTensors)
    for (const std::string &name : to.restored.tensors)
      add("--tensor", name);
  // The run has no other way to the terminal: its own streams are read.
  int terminal = options.quiet ? -1 : dup(STDERR_FILENO);
  if (terminal >= 0)
    add("--progress", std::to_string(terminal));
  auto answer = askPython("mpopt._verifying", words);
  if (terminal >= 0)
    close(terminal);
  if (!answer)
    return answer.takeError();
  return readAnswer(*answer);
}

Expected<VerifiedConversion>
mpopt::verifyConversion(const Options &options, StringRef source,
                        StringRef result, const AssumedInputs &inputs) {
  auto verified = runBoth(options, source, result, inputs);
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
