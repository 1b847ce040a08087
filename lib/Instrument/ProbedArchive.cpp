//===- ProbedArchive.cpp - Archives of PyTorch with probes ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Instrument/ProbedArchive.h"

#include "mpopt/Support/ZipTail.h"

using namespace mpopt;
using llvm::Expected;
using llvm::StringRef;

/// Members of a probed archive.
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

Expected<ProbedArchive> ProbedArchive::open(StringRef model) {
  Expected<std::vector<ZipMember>> members = readZipDirectory(model);
  if (!members)
    return members.takeError();
  if (findMember(*members, kUndo))
    return llvm::createStringError(
        "it has probes already; mpopt --strip takes them out");
  ProbedArchive made(model);
  made.folder = findFolder(*members).str();
  made.members = std::move(*members);
  return made;
}

void ProbedArchive::finish(
    llvm::ArrayRef<std::pair<std::string, std::string>> changed,
    StringRef ledgerHash) {
  ZipTail zip(std::move(members), model.size());
  for (const auto &[name, bytes] : changed)
    zip.add(folder + name, bytes);
  zip.add(folder + kLedger.str(), ledgerHash);
  zip.add(folder + kUndo.str(), FilePatch().makeUndo(model).encode());
  tail = zip.finish();
}

void ProbedArchive::write(llvm::raw_ostream &os) const { os << model << tail; }

Expected<Undo> mpopt::findArchiveProbes(StringRef model) {
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
