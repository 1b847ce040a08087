//===- Reader.h - A TorchScript archive to a Graph --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shows no LibTorch header. Only mpopt-import-torchscript links what is behind.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_IMPORT_TORCHSCRIPT_READER_H
#define MPOPT_IMPORT_TORCHSCRIPT_READER_H

#include "mpopt/Import/Aten/Graph.h"

#include <string>
#include <utility>
#include <vector>

namespace mpopt::torchscript {

/// Loads the archive `path` without running it and inlines `method`. Records
/// that hold tensors are at `weights` ([begin, end) bytes, sorted); of those
/// the ones at `attributes` are not copied. The others are constants of code,
/// among which LibTorch looks for equal ones. False if it cannot be read:
/// `error` says why, in one line.
/// Precondition: the archive passed `inspectArchive`.
bool readArchive(const std::string &path, const std::string &method,
                 const std::vector<std::pair<uint64_t, uint64_t>> &weights,
                 const std::vector<std::pair<uint64_t, uint64_t>> &attributes,
                 aten::Graph &graph, std::string &error);

} // namespace mpopt::torchscript

#endif // MPOPT_IMPORT_TORCHSCRIPT_READER_H
