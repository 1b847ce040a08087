//===- OutputConflicts.h - Outputs that would overwrite inputs --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_DRIVER_OUTPUTCONFLICTS_H
#define MPOPT_DRIVER_OUTPUTCONFLICTS_H

#include "mpopt/Driver/Options.h"
#include "mpopt/Report/Finding.h"

namespace mpopt {

/// The file that --instrument writes beside OUT and --confirm reads.
std::string getLedgerFile(llvm::StringRef output);

/// Fails if two outputs are one file, or an output is an input of the options,
/// by whatever path or link. --instrument and --strip may replace their model,
/// since each can undo the other.
llvm::Error checkOutputs(const Options &options);

/// The same for files that no option names: a model's weights, which are known
/// only after its import, a ledger beside its record.
llvm::Error checkFoundFiles(const Options &options, llvm::StringRef what,
                            llvm::ArrayRef<std::string> files);

/// The same for the programs whose lines a report quotes.
llvm::Error checkPrograms(const Options &options,
                          llvm::ArrayRef<Finding> findings);

} // namespace mpopt

#endif // MPOPT_DRIVER_OUTPUTCONFLICTS_H
