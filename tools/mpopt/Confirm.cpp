//===- Confirm.cpp - mpopt --confirm --------------------------------------===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Actions.h"

#include "mpopt/Driver/KeepList.h"
#include "mpopt/Driver/Output.h"

#include "mpopt/Instrument/Confirm.h"
#include "mpopt/Instrument/FilePatch.h"
#include "mpopt/Support/InputFile.h"

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

static void listSelected(const Options &options, std::vector<Finding> &list) {
  llvm::erase_if(list, [&](const Finding &finding) {
    return finding.certainty < options.minCertainty ||
           llvm::none_of(
               options.rules,
               [&](const RuleInfo *rule) {
                 return StringRef(rule->id) == finding.rule;
               });
  });
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

static bool isFailing(const Options &options, const Ledger &ledger,
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

int mpopt::confirm(const Options &options) {
  Expected<std::unique_ptr<llvm::MemoryBuffer>> file =
      readInputFile(options.ledger);
  if (!file)
    return fail(options.ledger + ": " + llvm::toString(file.takeError()));
  StringRef text = (*file)->getBuffer();
  Expected<Ledger> ledger = readLedger(text);
  if (!ledger)
    return fail("--ledger: '" + options.ledger + "' is no ledger of mpopt: " +
                llvm::toString(ledger.takeError()));
  Expected<RunRecords> runs = readRuns(options.models, options.ledger,
                                       sha256(text), ledger->plan.probes);
  if (!runs)
    return fail(llvm::toString(runs.takeError()));
  for (const std::string &warning : runs->warnings)
    printWarning(warning);

  listSelected(options, ledger->report.findings);
  ConfirmOptions wanted{options.rules, options.thresholds};
  Confirmation confirmation = confirm(*ledger, *runs, wanted);
  ConfirmWriter write = getConfirmWriter(*options.format);
  Error error = writeOutput(options.output, [&](llvm::raw_ostream &os) {
    write(os, *ledger, *runs, confirmation,
          {.color = wantsColor(options.output), .version = MPOPT_VERSION});
  });
  if (!error && !options.keepFile.empty())
    error = writeKept(options, *ledger, confirmation);
  if (error)
    return fail(llvm::toString(std::move(error)));
  return isFailing(options, *ledger, confirmation) ? kFindings : kClean;
}
