//===- ProbeInsertion.h - Probes in a TorchScript method --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_IMPORT_TORCHSCRIPT_PROBEINSERTION_H
#define MPOPT_IMPORT_TORCHSCRIPT_PROBEINSERTION_H

#include "mpopt/Import/TorchScript/HelperProtocol.h"

namespace mpopt::torchscript {

/// Has mpopt-import-torchscript put probes into a method (empty: `forward`) of
/// the archive in the file `archive`. Returns the records that change; the
/// other ones stay as they are.
llvm::Expected<NewRecords> insertProbes(llvm::StringRef archive,
                                        llvm::StringRef method,
                                        llvm::ArrayRef<PlacedProbe> probes,
                                        llvm::StringRef ledgerHash);

} // namespace mpopt::torchscript

#endif // MPOPT_IMPORT_TORCHSCRIPT_PROBEINSERTION_H
