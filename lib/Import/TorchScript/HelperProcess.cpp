//===- HelperProcess.cpp - Runs mpopt-import-torchscript -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "HelperProcess.h"

#include "mpopt/Import/TorchScript/HelperProtocol.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

using namespace mpopt;
using namespace mpopt::torchscript;
using llvm::SmallVector;
using llvm::StringRef;
using llvm::Twine;

/// The program, beside this one.
static constexpr llvm::StringLiteral kHelper = "mpopt-import-torchscript";
/// Loading takes half a second, and a second for a GiB of weights.
static constexpr unsigned kSecondsToWait = 120;

/// Empty if this build has none.
static std::string findHelper() {
  static int anchor;
  llvm::SmallString<128> path(
      llvm::sys::fs::getMainExecutable("mpopt", static_cast<void *>(&anchor)));
  llvm::sys::path::remove_filename(path);
  llvm::sys::path::append(path, kHelper);
  return llvm::sys::fs::can_execute(path) ? path.str().str() : std::string();
}

bool mpopt::torchscript::hasHelper() { return !findHelper().empty(); }

TemporaryFile::TemporaryFile(StringRef suffix) {
  if (llvm::sys::fs::createTemporaryFile("mpopt", suffix, path))
    path.clear();
}

TemporaryFile::~TemporaryFile() {
  if (!path.empty())
    (void)llvm::sys::fs::remove(path); // No harm if it stays.
}

bool TemporaryFile::write(StringRef bytes) const {
  if (path.empty())
    return false;
  std::error_code code;
  llvm::raw_fd_ostream os(path, code);
  os << bytes;
  os.close();
  bool written = !code && !os.has_error();
  os.clear_error();
  return written;
}

static void reportFailure(StringRef messages, int status, StringRef how,
                          ErrorSink &sink, ImportResult &result) {
  SmallVector<StringRef> lines;
  messages.split(lines, '\n', -1, /*KeepEmpty=*/false);
  bool reported = false;
  for (StringRef line : lines)
    if (std::optional<ImportError> error = parseError(line)) {
      result.errors.push_back(std::move(*error));
      reported = true;
    }
  if (reported)
    return;
  // The dynamic loader's complaints.
  for (StringRef line : lines)
    if (line.contains("error while loading shared libraries") ||
        line.contains("symbol lookup error")) {
      sink.error(ImportCode::HelperFailed, "",
                 "the TorchScript reader was built for PyTorch " +
                     Twine(MPOPT_TORCH_VERSION) + ", which is not there (" +
                     line.split(": ").second +
                     "): install that version of torch");
      return;
    }
  // -2: killed by a signal or by the time limit; `how` says which.
  if (status < 0)
    sink.error(ImportCode::HelperFailed, "",
               "the TorchScript reader did not survive this archive" +
                   (how.empty() ? Twine() : " (" + how + ")"));
  else
    sink.error(
        ImportCode::HelperFailed, "",
        "the TorchScript reader failed: " +
            (lines.empty() ? StringRef("it said nothing") : lines.back()));
}

std::unique_ptr<llvm::MemoryBuffer>
mpopt::torchscript::runHelper(std::vector<std::string> arguments,
                              StringRef archive, ErrorSink &sink,
                              ImportResult &result) {
  std::string helper = findHelper();
  TemporaryFile output("out"), messages("log");
  std::vector<std::string> all = {helper, "-o", output.path.str().str()};
  all.insert(all.end(), arguments.begin(), arguments.end());
  all.insert(all.end(), {"--", archive.str()});
  SmallVector<StringRef> line(all.begin(), all.end());
  std::string how;
  int status = llvm::sys::ExecuteAndWait(
      helper, line, std::nullopt,
      {StringRef(""), StringRef(""), messages.path.str()}, kSecondsToWait,
      /*MemoryLimit=*/0, &how);
  if (status != 0) {
    auto said = llvm::MemoryBuffer::getFile(messages.path);
    reportFailure(said ? (*said)->getBuffer() : StringRef(), status, how, sink,
                  result);
    return nullptr;
  }
  auto made = llvm::MemoryBuffer::getFile(output.path);
  if (made)
    return std::move(*made);
  sink.error(ImportCode::HelperFailed, "",
             "the TorchScript reader left no result");
  return nullptr;
}
