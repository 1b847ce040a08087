//===- ProbedArchive.h - Archives of PyTorch with probes --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An archive is a zip file: its bytes stay as they are, and the code with
// probes follows them, with a directory that leads to it. Weights stay where
// they are.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_INSTRUMENT_PROBEDARCHIVE_H
#define MPOPT_INSTRUMENT_PROBEDARCHIVE_H

#include "mpopt/Instrument/FilePatch.h"
#include "mpopt/Support/ZipFile.h"

#include "llvm/ADT/ArrayRef.h"

#include <string>
#include <utility>
#include <vector>

namespace mpopt {

class ProbedArchive {
public:
  /// `model` outlives this. The error is a phrase for after its name; one is
  /// that it has probes already.
  static llvm::Expected<ProbedArchive> open(llvm::StringRef model);

  /// Sets the members that change, by their names in the archive's folder.
  /// `ledgerHash` is 64 hex digits.
  void finish(llvm::ArrayRef<std::pair<std::string, std::string>> changed,
              llvm::StringRef ledgerHash);
  void write(llvm::raw_ostream &os) const;

private:
  explicit ProbedArchive(llvm::StringRef model) : model(model) {}

  llvm::StringRef model;
  std::vector<ZipMember> members;
  std::string folder; ///< with a slash
  std::string tail;
};

/// Reads from an archive with probes how to remove them; an error if it has
/// none.
llvm::Expected<Undo> findArchiveProbes(llvm::StringRef model);

} // namespace mpopt

#endif // MPOPT_INSTRUMENT_PROBEDARCHIVE_H
