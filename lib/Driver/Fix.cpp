//===- Fix.cpp - mpopt --fix
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The model is judged, and the fixes that trials have proved are made in the
// bytes of the file; the result is judged again before it gets its name. Fixes
// that take other ops are not made yet, only those of constants.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Driver/Actions.h"
#include "mpopt/Driver/CheckModel.h"
#include "mpopt/Driver/Output.h"

#include "mpopt/Instrument/OnnxConstants.h"
#include "mpopt/Support/InputFile.h"
#include "mpopt/Support/Printable.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"

#include <map>

using namespace mpopt;
using llvm::ArrayRef;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

namespace {
class FixRun {
public:
  explicit FixRun(const Options &options)
      : options(options), path(options.models.front()) {}
  int run();

private:
  Error open();
  Error findChanges();
  void makePatch();
  void printChanges() const;
  Expected<int> write();

  const Options &options;
  StringRef path;
  std::unique_ptr<llvm::MemoryBuffer> file;
  struct Change {
    std::vector<ConstantChange> fixes;
    ChangedElements elements;
  };
  /// By constant, in the order of the findings.
  llvm::MapVector<std::string, Change, std::map<std::string, unsigned>> changes;
  FilePatch patch;
};
} // namespace

Error FixRun::open() {
  Expected<std::unique_ptr<llvm::MemoryBuffer>> read = readInputFile(path);
  if (!read)
    return read.takeError();
  file = std::move(*read);
  ModelFormat format = detectFormat(file->getBuffer());
  if (format == ModelFormat::Onnx)
    return Error::success();
  return llvm::createStringError("--fix takes ONNX files, and this is " +
                                 (format == ModelFormat::Unknown
                                      ? "no model that mpopt knows"
                                      : getFormatName(format)));
}

/// An error without a text was printed.
Error FixRun::findChanges() {
  CheckHooks hooks;
  auto fixed = [&](std::vector<ConstantChange> found) {
    for (ConstantChange &change : found)
      if (change.safe || options.unsafeFixes)
        changes[change.tensor].fixes.push_back(std::move(change));
  };
  hooks.fixed = fixed;
  std::optional<ModelReport> report = checkModel(options, path, hooks);
  if (!report)
    return llvm::createStringError("");
  printWarnings(*report);
  return Error::success();
}

/// Leaves the changes that can be made, and says of the others why they cannot.
void FixRun::makePatch() {
  changes.remove_if([&](auto &entry) {
    auto &[tensor, made] = entry;
    ArrayRef<ConstantChange> fixes = made.fixes;
    auto change = [&](double number) {
      for (const ConstantChange &fix : fixes)
        number = fix.limits.apply(number);
      return number;
    };
    Expected<ChangedElements> changed =
        changeConstant(file->getBuffer(), tensor, change, patch);
    if (changed)
      made.elements = *changed;
    else
      printWarning(path + ": '" + tensor + "' is left as it is: " +
                   llvm::toString(changed.takeError()));
    return made.elements.count == 0;
  });
}

void FixRun::printChanges() const {
  if (options.quiet)
    return;
  for (const auto &[tensor, change] : changes) {
    const ChangedElements &elements = change.elements;
    llvm::outs() << printable(tensor) << ": "
                 << llvm::format("%g -> %g", elements.before, elements.after);
    if (elements.of > 1)
      llvm::outs() << ", the first of " << elements.count << " of "
                   << elements.of << " elements";
    llvm::outs() << '\n';
    for (const ConstantChange &fix : change.fixes)
      llvm::outs() << "  " << fix.rule << " at " << printable(fix.op) << ": "
                   << printable(fix.text)
                   << (fix.safe ? "\n" : " (not safe)\n");
  }
  if (changes.empty())
    llvm::outs() << "nothing to fix: no tried fix changes a constant\n";
}

/// The exit status, by what the result's findings are.
Expected<int> FixRun::write() {
  Expected<PendingOutput> written =
      PendingOutput::write(options.output, [&](llvm::raw_ostream &os) {
        patch.apply(file->getBuffer(), os);
      });
  if (!written)
    return written.takeError();
  std::optional<ModelReport> report =
      checkModel(options, written->path(), CheckHooks());
  if (!report)
    return llvm::createStringError("");
  if (Error error = written->keep())
    return std::move(error);
  auto fails = [&](const Finding &finding) {
    return isFailing(finding, options.failOn);
  };
  return llvm::any_of(report->findings, fails) ? kFindings : kClean;
}

int FixRun::run() {
  auto fail = [&](Error error) {
    if (std::string text = llvm::toString(std::move(error)); !text.empty())
      printError(path + ": " + text);
    return int(kFault);
  };
  if (Error error = open())
    return fail(std::move(error));
  if (Error error = findChanges())
    return fail(std::move(error));
  makePatch();
  if (options.dryRun)
    return printChanges(), kClean;
  Expected<int> status = write();
  if (!status)
    return fail(status.takeError());
  printChanges();
  return *status;
}

int mpopt::fix(const Options &options) { return FixRun(options).run(); }
