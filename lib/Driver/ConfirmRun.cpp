//===- ConfirmRun.cpp - mpopt --confirm -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ConfirmedFindings.h"

#include "mpopt/Driver/Actions.h"
#include "mpopt/Driver/KeepList.h"
#include "mpopt/Driver/Output.h"
#include "mpopt/Driver/OutputConflicts.h"

#include "mpopt/Instrument/Confirm.h"

#include "llvm/ADT/STLExtras.h"

using namespace mpopt;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;

static int fail(const Twine &text) {
  printError(text);
  return kFault;
}

static Error writeKept(const Options &options, const Ledger &ledger,
                       const Confirmation &confirmation) {
  unsigned leftOut = 0;
  Error error = writeOutput(options.keepFile, [&](llvm::raw_ostream &os) {
    leftOut = writeKeepList(os, options.keepFile,
                            keepConfirmed(ledger, confirmation));
  });
  if (leftOut)
    printWarning(Twine(leftOut) +
                 " of the ops to keep in FP32 have no name in the file, by "
                 "which a converter could find them, and are left out of '" +
                 options.keepFile + "'");
  return error;
}

static bool hasFailure(const Options &options, const Ledger &ledger,
                       const Confirmation &confirmation) {
  if (!options.failOn)
    return false;
  if (!confirmation.exceeded.empty())
    return true;
  return llvm::any_of(llvm::zip(ledger.report.findings, confirmation.statuses),
                      [&](const auto &pair) {
                        const auto &[finding, status] = pair;
                        return status.status == Status::Confirmed &&
                               finding.severity >= *options.failOn;
                      });
}

static Expected<RecordedRun> readAndWarn(llvm::ArrayRef<std::string> records,
                                         StringRef option, StringRef path) {
  Expected<RecordedRun> run = readRecordedRun(records, option, path);
  if (run)
    for (const std::string &warning : run->records.warnings)
      printWarning(warning);
  return run;
}

int mpopt::confirm(const Options &options, StringRef version) {
  Expected<RecordedRun> run =
      readAndWarn(options.models, "--ledger", options.ledger);
  if (!run)
    return fail(llvm::toString(run.takeError()));
  auto &[ledger, runs] = *run;
  Expected<RecordedRun> other =
      options.against.empty() ? RecordedRun()
                              : readAndWarn(options.against, "--against-ledger",
                                            options.againstLedger);
  if (!other)
    return fail(llvm::toString(other.takeError()));

  if (Error error = checkPrograms(options, ledger.report.findings))
    return fail(llvm::toString(std::move(error)));
  keepSelected(options, ledger.report.findings);
  ConfirmOptions wanted{options.rules, options.thresholds,
                        options.against.empty() ? nullptr : &*other};
  Confirmation confirmation = confirm(ledger, runs, wanted);
  ConfirmWriter write = getConfirmWriter(*options.format);
  Error error = writeOutput(options.output, [&](llvm::raw_ostream &os) {
    write(os, ledger, runs, confirmation,
          {.color = wantsColor(options.output, options.color),
           .version = version});
  });
  if (!error && !options.keepFile.empty())
    error = writeKept(options, ledger, confirmation);
  if (error)
    return fail(llvm::toString(std::move(error)));
  return hasFailure(options, ledger, confirmation) ? kFindings : kClean;
}
