//===- HelperProtocol.h - Messages of mpopt and its helper ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mpopt-import-torchscript writes bytecode to the file that it is told, with
// counts and warnings as attributes of the module, or one line of JSON an error
// to standard error:
//   {"code": "MPI205", "node": "fc/x", "reason": "..."}
//
// Asked for probes (--instrument PLAN) it reads the plan as JSON, and writes
// the records of the archive that change: one line of JSON with their names and
// sizes, then their bytes.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_IMPORT_TORCHSCRIPT_HELPERPROTOCOL_H
#define MPOPT_IMPORT_TORCHSCRIPT_HELPERPROTOCOL_H

#include "mpopt/Import/ImportResult.h"
#include "mpopt/Import/TorchScript/PlacedProbe.h"

#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

namespace mpopt::torchscript {

/// Copies counts and warnings to attributes of the module, and back.
void recordResult(ImportResult &result);
void restoreResult(ImportResult &result);

/// The probes and the hash of their ledger as JSON. A plan that does not parse
/// is an error of one line.
std::string printPlan(llvm::ArrayRef<PlacedProbe> probes,
                      llvm::StringRef ledgerHash);
llvm::Expected<std::pair<std::vector<PlacedProbe>, std::string>>
parsePlan(llvm::StringRef text);

/// A file in an archive, its name without the archive's own folder.
using NewRecords = std::vector<std::pair<std::string, std::string>>;

void writeRecords(llvm::raw_ostream &os, const NewRecords &records);
llvm::Expected<NewRecords> parseRecords(llvm::StringRef bytes);

std::string printError(const ImportError &error);
/// Nothing if the line is not one of ours (LibTorch's own messages).
std::optional<ImportError> parseError(llvm::StringRef line);

} // namespace mpopt::torchscript

#endif // MPOPT_IMPORT_TORCHSCRIPT_HELPERPROTOCOL_H
