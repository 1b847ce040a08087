//===- RecordedRun.cpp - A run's records with their ledger ----------------===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpopt/Instrument/RecordedRun.h"

#include "mpopt/Instrument/FilePatch.h"
#include "mpopt/Support/InputFile.h"

using namespace mpopt;
using llvm::Expected;
using llvm::StringRef;

Expected<RecordedRun>
mpopt::readRecordedRun(llvm::ArrayRef<std::string> records, StringRef option,
                       StringRef path) {
  Expected<std::unique_ptr<llvm::MemoryBuffer>> file = readInputFile(path);
  if (!file)
    return llvm::createStringError(path + ": " +
                                   llvm::toString(file.takeError()));
  StringRef text = (*file)->getBuffer();
  Expected<Ledger> ledger = readLedger(text);
  if (!ledger)
    return llvm::createStringError(
        option + ": '" + path +
        "' is no ledger of mpopt: " + llvm::toString(ledger.takeError()));
  Expected<RunRecords> runs =
      readRuns(records, path, sha256(text), ledger->plan.probes);
  if (!runs)
    return runs.takeError();
  return RecordedRun{std::move(*ledger), std::move(*runs)};
}
