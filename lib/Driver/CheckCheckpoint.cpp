//===- CheckCheckpoint.cpp - A file of weights, from file to report
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Checkpoint/CheckCheckpoint.h"

#include "mpopt/Driver/CheckModel.h"
#include "mpopt/Driver/OutputConflicts.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <chrono>

using namespace mpopt;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

/// Options about a graph, which a checkpoint has not.
static Error refuseGraphOptions(const Options &options) {
  StringRef refused;
  if (options.precision != "auto" && options.precision != "as-is")
    refused = "--precision";
  else if (options.train)
    refused = "--train";
  else if (!options.rangesFile.empty())
    refused = "--dump-ranges";
  else if (!options.keepFile.empty())
    refused = "--keep-fp32";
  else if (options.safeInput)
    refused = "--safe-input";
  else if (options.requireVerdict)
    refused = "--require-verdict";
  if (!options.against.empty() &&
      options.against.size() + options.models.size() > 2)
    return llvm::createStringError(
        "--against compares one checkpoint with one other");
  if (refused.empty())
    return Error::success();
  return llvm::createStringError(refused +
                                 " needs a graph, and a checkpoint has none");
}

static Expected<Checkpoint> readFloats(const Options &options) {
  const std::string &path = options.against.front();
  auto fail = [&](const llvm::Twine &text) {
    return llvm::createStringError("--against: '" + path + "' " + text);
  };
  if (!Checkpoint::isNamed(path))
    return fail("is no safetensors file");
  Expected<Checkpoint> floats = Checkpoint::read(path);
  if (!floats)
    return fail(llvm::toString(floats.takeError()));
  return floats;
}

static Error judge(const Options &options, StringRef path, ModelReport &report,
                   std::vector<std::string> &files) {
  if (Error error = refuseGraphOptions(options))
    return error;
  Expected<Checkpoint> checkpoint = Checkpoint::read(path);
  if (!checkpoint)
    return checkpoint.takeError();
  std::optional<Checkpoint> against;
  if (!options.against.empty()) {
    Expected<Checkpoint> floats = readFloats(options);
    if (!floats)
      return floats.takeError();
    against = std::move(*floats);
  }
  std::vector<std::string> read = checkpoint->files();
  if (against)
    llvm::append_range(read, against->files());
  if (Error error = checkFoundFiles(options, "the weights", read))
    return error;
  llvm::append_range(files, read);
  auto threshold = [&](StringRef key) {
    auto set = options.thresholds.find(key.str());
    return set != options.thresholds.end()
               ? set->second
               : findThreshold(std::string_view(key.data(), key.size()))->value;
  };
  Expected<CheckpointVerdict> verdict =
      checkCheckpoint({.checkpoint = *checkpoint,
                       .against = against ? &*against : nullptr,
                       .rules = options.rules,
                       .threshold = threshold});
  if (!verdict)
    return verdict.takeError();
  report.path = path.str();
  report.format = kCheckpointFormat;
  report.precision = "as-is";
  report.nodes = checkpoint->tensors().size();
  for (const StoredTensor &tensor : checkpoint->tensors())
    report.parameters += tensor.count();
  report.warnings = std::move(verdict->warnings);
  listFindings(std::move(verdict->findings), options.minCertainty, report);
  return Error::success();
}

std::optional<ModelReport>
mpopt::checkCheckpoint(const Options &options, StringRef path,
                       std::vector<std::string> &files) {
  auto start = std::chrono::steady_clock::now();
  ModelReport report;
  if (Error error = judge(options, path, report, files)) {
    printError(path + ": " + llvm::toString(std::move(error)));
    return std::nullopt;
  }
  report.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  return report;
}
