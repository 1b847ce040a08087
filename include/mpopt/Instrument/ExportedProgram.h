//===- ExportedProgram.h - Probes in a .pt2 archive -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_INSTRUMENT_EXPORTEDPROGRAM_H
#define MPOPT_INSTRUMENT_EXPORTEDPROGRAM_H

#include "mpopt/Import/ExportedProgram/ProbeInsertion.h"
#include "mpopt/Instrument/Plan.h"
#include "mpopt/Instrument/ProbedArchive.h"

namespace mpopt {

class ProgramInstrumenter {
public:
  /// `model` outlives this; `places` are from its import.
  static llvm::Expected<ProgramInstrumenter> open(llvm::StringRef model,
                                                  GraphPlaces places);

  /// The reason why the tensor can have no probe; empty if it can.
  std::string whyNot(llvm::StringRef tensor) const {
    return program.whyNot(tensor);
  }
  /// `ledgerHash` is 64 hex digits.
  llvm::Error prepare(llvm::ArrayRef<Probe> probes, llvm::StringRef ledgerHash);
  void write(llvm::raw_ostream &os) { archive.write(os); }

private:
  ProgramInstrumenter(ProbedArchive archive, exported::ProbeInsertion program)
      : archive(std::move(archive)), program(std::move(program)) {}

  ProbedArchive archive;
  exported::ProbeInsertion program;
};

} // namespace mpopt

#endif // MPOPT_INSTRUMENT_EXPORTEDPROGRAM_H
