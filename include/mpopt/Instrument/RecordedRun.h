//===- RecordedRun.h - A run's records with their ledger --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_INSTRUMENT_RECORDEDRUN_H
#define MPOPT_INSTRUMENT_RECORDEDRUN_H

#include "mpopt/Instrument/Ledger.h"
#include "mpopt/Instrument/RunRecords.h"

namespace mpopt {

/// A run as it was recorded, and what its probes are.
struct RecordedRun {
  Ledger ledger;
  RunRecords records;
};

/// True if the bytes begin as those of a record file do.
bool isRecordFile(llvm::StringRef bytes);

/// The record files at `path`: it, or, of a folder, those in it that are called
/// `*.mprec`, in the order of their names. The error is one line: the folder
/// cannot be read, or has none.
llvm::Expected<std::vector<std::string>> listRecordFiles(llvm::StringRef path);

/// The ledger that the record at `path` belongs to: the file of `known`, or of
/// those called `*.probes.json` beside the record, that has the SHA-256 which
/// is in the record. The error is one line.
llvm::Expected<std::string> findLedger(llvm::StringRef path,
                                       llvm::ArrayRef<std::string> known);

/// Reads the ledger at `path`, which the option `option` named, and merges the
/// record files that belong to it. The error is one line.
llvm::Expected<RecordedRun> readRecordedRun(llvm::ArrayRef<std::string> records,
                                            llvm::StringRef option,
                                            llvm::StringRef path);

} // namespace mpopt

#endif // MPOPT_INSTRUMENT_RECORDEDRUN_H
