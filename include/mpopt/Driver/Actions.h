//===- Actions.h - What mpopt can be told to do -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each action returns the exit status, and says on stderr what is wrong.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_DRIVER_ACTIONS_H
#define MPOPT_DRIVER_ACTIONS_H

#include "mpopt/Driver/Options.h"

#include <optional>

namespace mpopt {

enum ExitStatus { kClean = 0, kFindings = 1, kFault = 2 };

/// Judges every model and writes the report, which names `version`.
int check(const Options &options, llvm::StringRef version);

/// Judges one model in each precision and writes what each costs on a device.
int advise(const Options &options, llvm::StringRef version);

/// Writes the model with the fixes that were tried; returns the status that a
/// check of the result has.
int fix(const Options &options);

/// Joins records with the ledger and writes what came of the predictions.
int confirm(const Options &options, llvm::StringRef version);

/// Writes the imported IR.
int emitMlir(const Options &options);

/// Becomes the Python package's command of that name (lint, run or view) with
/// these words, by the interpreter that MPOPT_PYTHON names, that of the wheel,
/// or that of the checkout. Returns nothing for other names, and a status if
/// the command cannot be run, after an error was printed.
std::optional<int> runPythonCommand(llvm::StringRef name, int count,
                                    char **words);

/// Compares two models or reports and writes what changed; the JSON names
/// `version`.
int diff(const Options &options, llvm::StringRef version);

} // namespace mpopt

#endif // MPOPT_DRIVER_ACTIONS_H
