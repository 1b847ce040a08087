//===- Import.h - One archive to one file -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_TOOLS_MPOPT_IMPORT_TORCHSCRIPT_IMPORT_H
#define MPOPT_TOOLS_MPOPT_IMPORT_TORCHSCRIPT_IMPORT_H

#include "mpopt/Import/ErrorSink.h"
#include "mpopt/Import/TorchScript/Archive.h"

#include <optional>
#include <string>
#include <vector>

namespace mpopt::torchscript {

struct Request {
  std::string archive;
  std::string method = "forward";
  /// As `--input-shape` takes them.
  std::vector<std::string> inputShapes;
  std::string output = "-";
  /// Text instead of bytecode.
  bool text = false;
  /// With the places of all tensors.
  bool places = false;
};

/// Writes the archive's IR to `output`; 0, or 2 after errors were printed.
int importArchive(const Request &request);

/// Writes the records of the archive that probes change, by the plan in a file,
/// to `output`; 0, or 2 after errors were printed.
int instrumentArchive(const Request &request, llvm::StringRef plan);

/// The parts of the archive that LibTorch may read; nothing after an error.
std::optional<ArchiveFacts> inspectFile(llvm::StringRef archive,
                                        ErrorSink &sink);

/// Answers requests from standard input, one JSON object a line with the keys
/// of `Request` and `log`, the file that gets standard error. LibTorch is
/// loaded once; each archive is read in a process of its own, so one that
/// crashes the reader or takes more than `seconds` costs its own answer only: a
/// line
/// `{"status": 0}`, the negative number of a signal if one ended it.
int serve(unsigned seconds);

} // namespace mpopt::torchscript

#endif // MPOPT_TOOLS_MPOPT_IMPORT_TORCHSCRIPT_IMPORT_H
