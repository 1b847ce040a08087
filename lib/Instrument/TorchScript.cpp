//===- TorchScript.cpp - Probes in a TorchScript archive ------------------===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpopt/Instrument/TorchScript.h"

#include "mpopt/Import/TorchScript/ProbeInsertion.h"
#include "mpopt/Support/ZipTail.h"

using namespace mpopt;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

static constexpr llvm::StringLiteral kUndo = "extra/mpopt_undo.json";
/// There are no edits inside the archive to be listed.
static constexpr uint64_t kMaxUndo = 1 << 16;
static constexpr llvm::StringLiteral kLedger = "extra/mpopt_ledger_sha256";

/// Files of an archive lie in one folder.
static StringRef findFolder(llvm::ArrayRef<ZipMember> members) {
  StringRef first = members.empty() ? StringRef() : members.front().name;
  return first.take_front(first.find('/') + 1);
}

static const ZipMember *findMember(llvm::ArrayRef<ZipMember> members,
                                   StringRef name) {
  StringRef folder = findFolder(members);
  for (const ZipMember &member : members)
    if (StringRef rest = member.name;
        rest.consume_front(folder) && rest == name)
      return &member;
  return nullptr;
}

Expected<TorchInstrumenter> TorchInstrumenter::open(StringRef model,
                                                    StringRef path,
                                                    StringRef method,
                                                    GraphPlaces places) {
  Expected<std::vector<ZipMember>> members = readZipDirectory(model);
  if (!members)
    return members.takeError();
  if (findMember(*members, kUndo))
    return llvm::createStringError(
        "it has probes already; mpopt --strip takes them out");
  TorchInstrumenter made(model);
  made.path = path.str();
  made.method = method.str();
  made.places = std::move(places);
  made.folder = findFolder(*members).str();
  made.members = std::move(*members);
  return made;
}

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
  ZipTail zip(std::move(members), model.size());
  for (const auto &[name, bytes] : *records)
    zip.add(folder + name, bytes);
  zip.add(folder + kLedger.str(), ledgerHash);
  zip.add(folder + kUndo.str(), FilePatch().makeUndo(model).encode());
  tail = zip.finish();
  return Error::success();
}

void TorchInstrumenter::write(llvm::raw_ostream &os) { os << model << tail; }

Expected<Undo> mpopt::findTorchProbes(StringRef model) {
  Expected<std::vector<ZipMember>> members = readZipDirectory(model);
  if (!members)
    return members.takeError();
  const ZipMember *undo = findMember(*members, kUndo);
  if (!undo)
    return llvm::createStringError("it has no probes");
  Expected<std::string> text = unpackZipMember(*undo, kMaxUndo);
  if (!text) {
    llvm::consumeError(text.takeError());
    return llvm::createStringError("what undoes the probes is damaged");
  }
  return Undo::decode(*text);
}
