//===- TorchScript.h - Probes in a TorchScript archive ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_INSTRUMENT_TORCHSCRIPT_H
#define MPOPT_INSTRUMENT_TORCHSCRIPT_H

#include "mpopt/Import/GraphPlace.h"
#include "mpopt/Instrument/Plan.h"
#include "mpopt/Instrument/ProbedArchive.h"

namespace mpopt {

class TorchInstrumenter {
public:
  /// `model` is the content of the file `path` and outlives this; `places` are
  /// from its import, of the method `method`.
  static llvm::Expected<TorchInstrumenter> open(llvm::StringRef model,
                                                llvm::StringRef path,
                                                llvm::StringRef method,
                                                GraphPlaces places);

  /// The reason why the tensor can have no probe; empty if it can.
  std::string whyNot(llvm::StringRef tensor) const;

  /// The gradient of the tensor can be recorded by an op of its own: it is no
  /// member of a list, nor one round's value in a loop.
  bool canTakeGradient(llvm::StringRef tensor) const;

  /// The tensors of the code that the analysis knows nothing of.
  std::vector<Unprobed> listUnfollowed() const;

  /// `ledgerHash` is 64 hex digits.
  llvm::Error prepare(llvm::ArrayRef<Probe> probes, llvm::StringRef ledgerHash);
  void write(llvm::raw_ostream &os) { archive.write(os); }

private:
  explicit TorchInstrumenter(ProbedArchive archive)
      : archive(std::move(archive)) {}

  ProbedArchive archive;
  std::string path, method;
  GraphPlaces places;
};

} // namespace mpopt

#endif // MPOPT_INSTRUMENT_TORCHSCRIPT_H
