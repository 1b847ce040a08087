//===- OutputConflicts.cpp - Outputs that would overwrite inputs ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Driver/OutputConflicts.h"

#include "mpopt/Driver/TrainRequest.h"
#include "mpopt/Instrument/RecordedRun.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mpopt;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
namespace fs = llvm::sys::fs;

namespace {
/// A regular file, or the place where one would be made.
struct FileId {
  fs::UniqueID id; ///< of the file, or of its folder
  std::string newName;
  bool operator==(const FileId &) const = default;
};

struct Named {
  std::string what; ///< an option, or the kind of what is read
  std::string path;
  std::optional<FileId> id;
};
} // namespace

/// `-` is `stream`. Nothing for what cannot be overwritten: devices and pipes.
static std::optional<FileId> identify(StringRef path, int stream) {
  fs::file_status status;
  std::error_code code =
      path == "-" ? fs::status(stream, status) : fs::status(path, status);
  if (!code) {
    if (status.type() != fs::file_type::regular_file)
      return std::nullopt;
    return FileId{status.getUniqueID(), ""};
  }
  StringRef folder = llvm::sys::path::parent_path(path);
  if (path == "-" || fs::status(folder.empty() ? "." : folder, status))
    return std::nullopt;
  return FileId{status.getUniqueID(), llvm::sys::path::filename(path).str()};
}

static Named output(StringRef option, StringRef path) {
  return {option.str(), path.str(), identify(path, /*stream=*/1)};
}
static Named input(StringRef what, StringRef path) {
  return {what.str(), path.str(), identify(path, /*stream=*/0)};
}

std::string mpopt::getLedgerFile(StringRef output) {
  return (output + ".probes.json").str();
}

static std::vector<Named> listOutputs(const Options &options) {
  std::vector<Named> outputs = {output("-o", options.output)};
  for (const ReportFile &report : options.otherReports)
    outputs.push_back(output("-o", report.path));
  if (!options.rangesFile.empty())
    outputs.push_back(output("--dump-ranges", options.rangesFile));
  if (!options.keepFile.empty())
    outputs.push_back(output("--keep-fp32", options.keepFile));
  if (!options.scalesFile.empty())
    outputs.push_back(output("--scales", options.scalesFile));
  if (!options.gradientsFile.empty())
    outputs.push_back(output("--dump-gradients", options.gradientsFile));
  if (!options.newBaselineFile.empty())
    outputs.push_back(output("--write-baseline", options.newBaselineFile));
  if (!options.convert.report.empty())
    outputs.push_back(output("--report", options.convert.report));
  if (options.action == Action::Convert)
    outputs.push_back(output("the weights", options.output + ".data"));
  if (options.action == Action::Instrument)
    outputs.push_back(output("the ledger", getLedgerFile(options.output)));
  return outputs;
}

/// Adds `paths`, and the records in those that are folders of them.
static void addRecords(const Options &options,
                       llvm::ArrayRef<std::string> paths, StringRef what,
                       std::vector<Named> &inputs) {
  for (const std::string &path : paths) {
    inputs.push_back(input(what, path));
    if (options.action != Action::Diff || !fs::is_directory(path))
      continue;
    Expected<std::vector<std::string>> files = listRecordFiles(path);
    if (!files)
      llvm::consumeError(files.takeError()); // Said when it is read.
    else
      for (const std::string &file : *files)
        inputs.push_back(input("the record", file));
  }
}

static std::vector<Named> listInputs(const Options &options) {
  std::vector<Named> inputs;
  StringRef what =
      options.action == Action::Confirm ? "the record" : "the model";
  addRecords(options, options.models, what, inputs);
  if (!options.ledger.empty())
    inputs.push_back(input("the ledger", options.ledger));
  addRecords(options, options.against, "the other record", inputs);
  if (!options.againstLedger.empty())
    inputs.push_back(input("the other ledger", options.againstLedger));
  if (options.action == Action::Strip)
    inputs.push_back(
        input("the ledger", getLedgerFile(options.models.front())));
  // Either may be a name that is built in; then no file is called so.
  if (!options.policy.empty())
    inputs.push_back(input("the policy", options.policy));
  if (!options.target.empty())
    inputs.push_back(input("the target", options.target));
  if (!options.trainFile.empty())
    inputs.push_back(input("the training configuration", options.trainFile));
  if (options.train)
    for (const TrainLossTerm &term : options.train->lossTerms)
      if (isLossFile(term))
        inputs.push_back(input("the loss", term.kind));
  if (!options.settingsFile.empty())
    inputs.push_back(input("the settings", options.settingsFile));
  for (const Options &own : options.byModel)
    if (!own.settingsFile.empty())
      inputs.push_back(input("the settings", own.settingsFile));
  // A baseline may be written over: it was read before.
  if (options.baselineFile != options.newBaselineFile &&
      !options.baselineFile.empty())
    inputs.push_back(input("the baseline", options.baselineFile));
  if (StringRef feeds = options.convert.verify;
      !feeds.empty() && feeds != "random" && !feeds.starts_with("random:"))
    inputs.push_back(input("the feeds", feeds));
  if (!options.calibration.empty())
    inputs.push_back(input("the calibration", options.calibration));
  for (const auto &[name, range] : options.inputs)
    if (!range.file.empty())
      inputs.push_back(input("the ranges of '" + name + "'", range.file));
  return inputs;
}

static Error checkPair(const Named &output, const Named &input) {
  if (!output.id || output.id != input.id)
    return Error::success();
  return llvm::createStringError(output.what + ": '" + output.path +
                                 "' would overwrite " + input.what + " '" +
                                 input.path + "'");
}

Error mpopt::checkOutputs(const Options &options) {
  std::vector<Named> outputs = listOutputs(options);
  for (size_t index = 0; index < outputs.size(); ++index)
    for (const Named &other : llvm::ArrayRef(outputs).take_front(index))
      if (other.path == outputs[index].path ||
          (other.id && other.id == outputs[index].id))
        return llvm::createStringError("two outputs go to '" +
                                       outputs[index].path + "'");
  bool inPlace =
      options.action == Action::Instrument || options.action == Action::Strip;
  std::vector<Named> inputs = listInputs(options);
  for (const Named &input : inputs)
    for (const Named &output : outputs)
      if (!inPlace || &input != &inputs.front() || &output != &outputs.front())
        if (Error error = checkPair(output, input))
          return error;
  return Error::success();
}

Error mpopt::checkFoundFiles(const Options &options, StringRef what,
                             llvm::ArrayRef<std::string> files) {
  std::vector<Named> outputs = listOutputs(options);
  for (const std::string &file : files)
    for (const Named &output : outputs)
      if (Error error = checkPair(output, input(what, file)))
        return error;
  return Error::success();
}

Error mpopt::checkPrograms(const Options &options,
                           llvm::ArrayRef<Finding> findings) {
  llvm::StringSet<> files;
  for (const Finding &finding : findings)
    if (finding.location)
      files.insert(finding.location->file);
  std::vector<std::string> sorted;
  for (StringRef file : files.keys())
    sorted.push_back(file.str());
  llvm::sort(sorted);
  return checkFoundFiles(options, "the program", sorted);
}
