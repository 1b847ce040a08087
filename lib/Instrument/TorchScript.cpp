//===- TorchScript.cpp - Probes in a TorchScript archive ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Instrument/TorchScript.h"

#include "mpopt/Import/TorchScript/ProbeInsertion.h"

using namespace mpopt;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

Expected<TorchInstrumenter> TorchInstrumenter::open(StringRef model,
                                                    StringRef path,
                                                    StringRef method,
                                                    GraphPlaces places) {
  Expected<ProbedArchive> archive = ProbedArchive::open(model);
  if (!archive)
    return archive.takeError();
  TorchInstrumenter made(std::move(*archive));
  made.path = path.str();
  made.method = method.str();
  made.places = std::move(places);
  return made;
}

/// The reason that the ledger gives for a tensor without a probe.
static constexpr llvm::StringLiteral kUnfollowed =
    "it is in a list or dictionary of unknown length, or in a loop that "
    "changes one";

std::vector<Unprobed> TorchInstrumenter::listUnfollowed() const {
  std::vector<Unprobed> list;
  for (const auto &[name, found] : places)
    if (found.empty())
      list.push_back({name, kUnfollowed.str()});
  return list;
}

std::string TorchInstrumenter::whyNot(StringRef tensor) const {
  auto found = places.find(tensor.str());
  if (found == places.end())
    return "no value of the TorchScript code is this tensor";
  if (found->second.empty())
    return kUnfollowed.str();
  if (found->second.size() > 1)
    return "more than one value of the TorchScript code has this name";
  return {};
}

bool TorchInstrumenter::canTakeGradient(StringRef tensor) const {
  auto found = places.find(tensor.str());
  if (found == places.end() || found->second.size() != 1)
    return false;
  const GraphPlace &place = found->second.front();
  return place.members.empty() && place.rounds.empty();
}

Error TorchInstrumenter::prepare(llvm::ArrayRef<Probe> probes,
                                 StringRef ledgerHash) {
  std::vector<torchscript::PlacedProbe> placed;
  for (const Probe &probe : probes)
    if (probe.role != ProbeRole::Scalar)
      placed.push_back({probe.id, places.at(probe.tensor.name).front(),
                        probe.channelAxis, probe.gradient,
                        probe.role == ProbeRole::Parameter, probe.cast});
  Expected<torchscript::NewRecords> records =
      torchscript::insertProbes(path, method, placed, ledgerHash);
  if (!records)
    return records.takeError();
  archive.finish(*records, ledgerHash);
  return Error::success();
}
