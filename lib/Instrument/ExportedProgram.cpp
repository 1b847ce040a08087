//===- ExportedProgram.cpp - Probes in a .pt2 archive ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Instrument/ExportedProgram.h"

using namespace mpopt;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

Expected<ProgramInstrumenter> ProgramInstrumenter::open(StringRef model,
                                                        GraphPlaces places) {
  Expected<ProbedArchive> archive = ProbedArchive::open(model);
  if (!archive)
    return archive.takeError();
  auto program = exported::ProbeInsertion::open(model, std::move(places));
  if (!program)
    return program.takeError();
  // PyTorch saved a program with probes anew.
  if (program->hasProbes())
    return llvm::createStringError(
        "it has probes already, and not as --instrument wrote it: instrument "
        "the program without them");
  return ProgramInstrumenter(std::move(*archive), std::move(*program));
}

Error ProgramInstrumenter::prepare(llvm::ArrayRef<Probe> probes,
                                   StringRef ledgerHash) {
  std::vector<exported::PlacedProbe> placed;
  for (const Probe &probe : probes)
    placed.push_back({probe.id, probe.tensor.name, probe.channelAxis});
  archive.finish({{program.member().str(), program.insert(placed, ledgerHash)}},
                 ledgerHash);
  return Error::success();
}
