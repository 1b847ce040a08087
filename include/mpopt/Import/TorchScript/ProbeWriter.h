//===- ProbeWriter.h - Writes a method with probes --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shows no LibTorch header. Only mpopt-import-torchscript links what is behind.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_IMPORT_TORCHSCRIPT_PROBEWRITER_H
#define MPOPT_IMPORT_TORCHSCRIPT_PROBEWRITER_H

#include "mpopt/Import/TorchScript/PlacedProbe.h"

#include <string>
#include <utility>
#include <vector>

namespace mpopt::torchscript {

/// Loads the archive `path` without running it, inlines `method`, puts probes
/// after the values that `probes` names, and prints the code of all classes
/// again. `records` are the files of the archive that this changes, their names
/// without the archive's folder. Attributes of modules are not written, so the
/// records that hold them, at `attributes` ([begin, end) bytes, sorted), are
/// not read. False if it cannot be done: `error` says why, in one line.
/// Precondition: the archive passed `inspectArchive`.
bool writeProbes(const std::string &path, const std::string &method,
                 const std::vector<std::pair<uint64_t, uint64_t>> &attributes,
                 const std::vector<PlacedProbe> &probes,
                 const std::string &ledgerHash, const FindLists &findLists,
                 std::vector<std::pair<std::string, std::string>> &records,
                 std::string &error);

} // namespace mpopt::torchscript

#endif // MPOPT_IMPORT_TORCHSCRIPT_PROBEWRITER_H
