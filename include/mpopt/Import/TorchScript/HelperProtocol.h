//===- HelperProtocol.h - What mpopt and its helper say to each other -*- C++
//-*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// mpopt-import-torchscript writes bytecode to the file that it is told, with
// counts and warnings as attributes of the module, or one line of JSON an error
// to standard error:
//   {"code": "MPI205", "node": "fc/x", "reason": "..."}
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_IMPORT_TORCHSCRIPT_HELPERPROTOCOL_H
#define MPOPT_IMPORT_TORCHSCRIPT_HELPERPROTOCOL_H

#include "mpopt/Import/Import.h"

namespace mpopt::torchscript {

/// Counts and warnings to attributes of the module, and back.
void recordResult(ImportResult &result);
void restoreResult(ImportResult &result);

std::string printError(const ImportError &error);
/// Nothing if the line is not one of ours (LibTorch's own messages).
std::optional<ImportError> parseError(llvm::StringRef line);

} // namespace mpopt::torchscript

#endif // MPOPT_IMPORT_TORCHSCRIPT_HELPERPROTOCOL_H
