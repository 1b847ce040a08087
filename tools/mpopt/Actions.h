//===- Actions.h - What mpopt can be told to do -----------------*- C++ -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each action returns the exit status, and says on stderr what is wrong.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TOOLS_MPOPT_ACTIONS_H
#define MPOPT_TOOLS_MPOPT_ACTIONS_H

#include "mpopt/Driver/Options.h"

namespace mpopt {

enum ExitStatus { kClean = 0, kFindings = 1, kFault = 2 };

/// Judges every model and writes the report.
int check(const Options &options);

/// Joins records with the ledger and writes what came of the predictions.
int confirm(const Options &options);

/// Writes the imported IR.
int emitMlir(const Options &options);

} // namespace mpopt

#endif // MPOPT_TOOLS_MPOPT_ACTIONS_H
