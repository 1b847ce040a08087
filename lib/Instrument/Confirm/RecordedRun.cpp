//===- RecordedRun.cpp - A run's records with their ledger ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Instrument/RecordedRun.h"

#include "mpopt/Instrument/FilePatch.h"
#include "mpopt/Support/InputFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <set>

using namespace mpopt;
using llvm::Expected;
using llvm::StringRef;

bool mpopt::isRecordFile(StringRef bytes) {
  return bytes.starts_with(MPOPT_FILE_MAGIC);
}

Expected<std::vector<std::string>> mpopt::listRecordFiles(StringRef path) {
  namespace fs = llvm::sys::fs;
  if (!fs::is_directory(path))
    return std::vector<std::string>{path.str()};
  std::vector<std::string> files;
  std::error_code code;
  for (fs::directory_iterator entry(path, code), end; !code && entry != end;
       entry.increment(code))
    if (StringRef(entry->path()).ends_with(".mprec") &&
        fs::is_regular_file(entry->path()))
      files.push_back(entry->path());
  if (code)
    return llvm::createStringError(path + ": " + code.message());
  if (files.empty())
    return llvm::createStringError(path + ": has no record (*.mprec)");
  llvm::sort(files);
  return files;
}

static bool isLedger(StringRef path, StringRef digest) {
  Expected<std::unique_ptr<llvm::MemoryBuffer>> file = readInputFile(path);
  if (!file) {
    llvm::consumeError(file.takeError());
    return false;
  }
  return sha256((*file)->getBuffer()) == digest;
}

Expected<std::string> mpopt::findLedger(StringRef path,
                                        llvm::ArrayRef<std::string> known) {
  Expected<std::unique_ptr<llvm::MemoryBuffer>> file = readInputFile(path);
  if (!file)
    return llvm::createStringError(path + ": " +
                                   llvm::toString(file.takeError()));
  StringRef bytes = (*file)->getBuffer();
  kernels::RecordFileResult parsed =
      kernels::parseRecordFile(bytes.data(), bytes.size());
  if (!parsed.error.empty())
    return llvm::createStringError(path + ": " + parsed.error);
  std::string digest = llvm::toHex(llvm::ArrayRef(parsed.file.header.ledger),
                                   /*LowerCase=*/true);
  for (const std::string &ledger : known)
    if (isLedger(ledger, digest))
      return ledger;
  StringRef folder = llvm::sys::path::parent_path(path);
  std::set<std::string> beside;
  std::error_code code;
  for (llvm::sys::fs::directory_iterator
           entry(folder.empty() ? "." : folder, code),
       end;
       !code && entry != end; entry.increment(code))
    if (StringRef(entry->path()).ends_with(".probes.json"))
      beside.insert(entry->path());
  for (const std::string &ledger : beside)
    if (isLedger(ledger, digest))
      return ledger;
  return llvm::createStringError(
      path + ": its ledger (" + digest.substr(0, 12) +
      "...) is not beside it; --ledger and --against-ledger name it");
}

Expected<RecordedRun>
mpopt::readRecordedRun(llvm::ArrayRef<std::string> records, StringRef option,
                       StringRef path) {
  Expected<std::unique_ptr<llvm::MemoryBuffer>> file = readInputFile(path);
  if (!file)
    return llvm::createStringError(path + ": " +
                                   llvm::toString(file.takeError()));
  StringRef text = (*file)->getBuffer();
  Expected<Ledger> ledger = readLedger(text);
  if (!ledger)
    return llvm::createStringError(
        option + ": '" + path +
        "' is no ledger of mpopt: " + llvm::toString(ledger.takeError()));
  Expected<RunRecords> runs =
      readRuns(records, path, sha256(text), ledger->plan.probes);
  if (!runs)
    return runs.takeError();
  return RecordedRun{std::move(*ledger), std::move(*runs)};
}
