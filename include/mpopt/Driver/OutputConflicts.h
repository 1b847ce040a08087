//===- OutputConflicts.h - Outputs that would overwrite inputs --*- C++ -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_DRIVER_OUTPUTCONFLICTS_H
#define MPOPT_DRIVER_OUTPUTCONFLICTS_H

#include "mpopt/Driver/Options.h"

namespace mpopt {

/// The file that --instrument writes beside OUT and --confirm reads.
std::string getLedgerFile(llvm::StringRef output);

/// Fails if two outputs are one file, or an output is a file that the options
/// tell to read, by whatever path or link. The model that --instrument or
/// --strip gets may be replaced: it can be had back.
llvm::Error checkOutputs(const Options &options);

/// The same for the files with the weights of a model, which are known only
/// once it is read.
llvm::Error checkWeightFiles(const Options &options,
                             llvm::ArrayRef<std::string> weights);

} // namespace mpopt

#endif // MPOPT_DRIVER_OUTPUTCONFLICTS_H
