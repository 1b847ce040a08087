//===- Fix.cpp - mpopt --fix
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The model is judged, the fixes that trials have proved are made in it, and
// the result is judged again before it gets its name.
//
//===----------------------------------------------------------------------===//

#include "lib/Driver/Conversion/Fixer.h"
#include "lib/Driver/Conversion/Verify.h"
#include "mpopt/Driver/Actions.h"
#include "mpopt/Driver/Output.h"

#include "mpopt/Support/InputFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"

using namespace mpopt;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

static Error checkFormat(StringRef bytes) {
  ModelFormat format = detectFormat(bytes);
  if (format == ModelFormat::Onnx || format == ModelFormat::OnnxText ||
      format == ModelFormat::OnnxTextProto)
    return Error::success();
  return llvm::createStringError("--fix takes ONNX files, and this is " +
                                 (format == ModelFormat::Unknown
                                      ? "no model that mpopt knows"
                                      : getFormatName(format)));
}

/// Where the rounds of `--dry-run` write.
static std::string getOutput(const Options &options) {
  if (!options.dryRun)
    return options.output;
  llvm::SmallString<128> path;
  (void)llvm::sys::fs::getPotentiallyUniqueTempFileName("mpopt-fix", "onnx",
                                                        path);
  return path.str().str();
}

/// Runs the result beside the model, from which it must not be far.
static Error verify(const Options &options, StringRef path, Fixer &fixer) {
  if (options.convert.verify.empty() || !fixer.isChanged())
    return Error::success();
  Expected<VerifiedConversion> verified =
      verifyConversion(options, path, fixer.model().path(), fixer.inputs());
  if (!verified)
    return verified.takeError();
  std::string obstacle = findObstacle(*verified, getMaxError(options.convert));
  if (!obstacle.empty())
    return llvm::createStringError(obstacle);
  if (!options.quiet)
    llvm::outs() << describe(*verified) << '\n';
  return Error::success();
}

/// The exit status, by what the result's findings are.
static Expected<int> run(const Options &options, StringRef path) {
  auto file = readInputFile(path);
  if (!file)
    return file.takeError();
  if (Error error = checkFormat((*file)->getBuffer()))
    return std::move(error);
  Fixer fixer(options, (*file)->getBuffer(), path, getOutput(options));
  if (Error error = fixer.run())
    return std::move(error);
  printWarnings(fixer.result());
  for (const std::string &note : fixer.warnings())
    printWarning(path + ": " + note);
  if (!options.quiet) {
    fixer.print(llvm::outs());
    if (!fixer.isChanged())
      llvm::outs() << "nothing to fix: no tried fix changes the model\n";
  }
  if (Error error = verify(options, path, fixer))
    return std::move(error);
  if (options.dryRun)
    return kClean;
  if (!fixer.isChanged())
    if (Error error = fixer.model().write())
      return std::move(error);
  if (Error error = fixer.model().keep())
    return std::move(error);
  auto fails = [&](const Finding &finding) {
    return isFailing(finding, options.failOn);
  };
  return llvm::any_of(fixer.result().findings, fails) ? kFindings : kClean;
}

int mpopt::fix(const Options &options) {
  StringRef path = options.models.front();
  Expected<int> status = run(options, path);
  if (status)
    return *status;
  // An error without a text was printed.
  if (std::string text = llvm::toString(status.takeError()); !text.empty())
    printError(path + ": " + text);
  return kFault;
}
